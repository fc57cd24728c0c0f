import type { EventsFrame } from "@jecho/shared/internal";
import { Source } from "./tracking.ts";

/**
 * How far a modulator is in a raw source's count. What it has been through without a break is [start, through]; each run that it makes
 * accounts for what came since the run before it, or since the last break.
 */
export class Coverage {
  /** The raw source. */
  readonly source: Source;
  /** What it has been through reaches from the event behind this one... */
  start: number;
  /** ...to this one. */
  through: number;
  /** How far the newest run accounts for it. */
  #told: number;

  /** @param reached count of the newest event that was raised before the modulator was there */
  constructor(source: Source, reached: number) {
    this.source = source;
    this.start = reached;
    this.through = reached;
    this.#told = reached;
  }

  /** It has been through these. */
  seen(after: number, through: number): void {
    if (after > this.through) {
      this.start = after;
      this.#told = after;
    }
    this.through = Math.max(this.through, through);
  }

  /** Writes into the newest run what that accounts for. */
  accountIn(run: EventsFrame): void {
    run.account(this.#told, this.through);
    this.#told = this.through;
  }
}

/** One stream of counted events on its way out: a producer's, its urgent ones, or what a modulator made of either. */
export class Lane {
  // What each run needs comes first, for it to lie together in memory.
  /** Count of the newest event that was sent, or went nowhere because nobody elsewhere wanted it. */
  raised = 0;
  /** Which of what is being gathered has its newest run, and which of the runs there that is. */
  gathering = 0;
  newestRun = 0;
  readonly urgent: boolean;
  /** Has the gateway been told where the count is? */
  isPlaced = false;
  /** At the present connection; 0 while there is none. */
  channel = 0;
  producer = 0;
  /** The same over connections: consumers know by it what they have had. */
  readonly source: Source;
  /** Of what a modulator made: what of its input that accounts for. */
  coverage: Coverage | undefined;
  /** Runs that a broken connection may have swallowed, or that wait for a connection. */
  unconfirmed: EventsFrame[] = [];

  constructor(source: Source) {
    this.source = source;
    this.urgent = source.urgent;
  }

  /** The raw source that its events are made of. */
  get origin(): Source | undefined {
    return this.coverage?.source;
  }

  /** What somebody who begins to listen has to know. */
  get isBegun(): boolean {
    return this.raised > 0 || this.unconfirmed.length > 0 || this.coverage !== undefined;
  }
}

/** A producer's two lanes: its events, and the urgent ones, which are counted apart because they overtake. */
export class Lanes {
  readonly usual: Lane;
  readonly urgent: Lane;

  /** @param incarnation of the modulator that makes them, in which its state is one; 0 of a producer's */
  constructor(incarnation = 0) {
    const [random = 0n] = crypto.getRandomValues(new BigUint64Array(1));
    const id = incarnation === 0 ? random : (BigInt(incarnation) << 32n) | (random & 0xffff_ffffn);
    this.usual = new Lane(new Source(id, false));
    this.urgent = new Lane(new Source(id, true));
  }

  of(urgent: boolean): Lane {
    return urgent ? this.urgent : this.usual;
  }

  *[Symbol.iterator](): Generator<Lane> {
    yield this.usual;
    yield this.urgent;
  }

  /** Where their events go at the present connection. */
  address(channel: number, producer: number): void {
    for (const lane of this) {
      lane.channel = channel;
      lane.producer = producer;
      lane.isPlaced = false;
    }
  }
}

/** The lanes of a process' own events, by which it knows these when they come over the wire. */
export class OwnLanes {
  readonly #sources = new Set<bigint>();

  /** @param incarnation as of `Lanes` */
  create(incarnation = 0): Lanes {
    const lanes = new Lanes(incarnation);
    this.#sources.add(lanes.usual.source.id);
    return lanes;
  }

  /** These raise nothing any more. */
  forget(lanes: Lanes): void {
    this.#sources.delete(lanes.usual.source.id);
  }

  /** Is it the source of one of them? */
  has(source: bigint): boolean {
    return this.#sources.has(source);
  }
}
