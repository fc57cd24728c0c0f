import type { EventsFrame } from "@jecho/shared/internal";
import { TrackedSource } from "../incoming/tracking.ts";

/** Bytes that a lane without a connection may hold back. */
const HELD_BYTES = 8 << 20;

/**
 * A modulator's position in a raw source's count. The modulator has been through [start, through] without a
 * break; each run that it makes accounts for what came since the run before it, or since the last break.
 */
export class Coverage {
  /** The raw source. */
  readonly source: TrackedSource;
  /** The stretch that the modulator has been through reaches from the event behind this one... */
  start: number;
  /** ...to this one. */
  through: number;
  /** The last event that the newest run accounts for. */
  #told: number;
  /** The last event that a run or a position has said. */
  #said: number;

  /** @param reached count of the newest event that was raised before the modulator was there */
  constructor(source: TrackedSource, reached: number) {
    this.source = source;
    this.start = reached;
    this.through = reached;
    this.#told = reached;
    this.#said = reached;
  }

  /** Whether the modulator has been through more than was said. */
  get isBehind(): boolean {
    return this.#said < this.through;
  }

  /** A position says all of it. */
  said(): void {
    this.#said = this.through;
  }

  /** The modulator has been through these events. */
  seen(after: number, through: number): void {
    if (after > this.through) {
      this.start = after;
      this.#told = after;
    }
    this.through = Math.max(this.through, through);
  }

  /**
   * Writes into a run which stretch its events are of.
   *
   * @param isLast whether it is the last that the modulator made of that stretch: then it accounts for it
   */
  accountIn(run: EventsFrame, isLast: boolean): void {
    run.account(this.#told, this.through, !isLast);
    if (isLast) this.#told = this.#said = this.through;
  }
}

/** One stream of counted events on its way out: a producer's, its urgent ones, or a modulator's output of either. */
export class Lane {
  // What each run needs comes first, for it to lie together in memory.
  /** Count of the newest event that was sent, or went nowhere because nobody elsewhere wanted it. */
  raised = 0;
  /** Numbers of the gathering that has the lane's newest run, and of the run in it. */
  gathering = 0;
  newestRun = 0;
  readonly urgent: boolean;
  /** Whether the gateway has been told where the count is. */
  isPlaced = false;
  /** Numbers at the present connection; 0 while there is none. */
  channel = 0;
  producer = 0;
  /** The lane's source, the same over connections: consumers know by it what they have had. */
  readonly source: TrackedSource;
  /** The stretch of its input that a modulator's output accounts for. */
  coverage: Coverage | undefined;
  #unconfirmed: EventsFrame[] = [];
  #unconfirmedBytes = 0;

  constructor(source: TrackedSource) {
    this.source = source;
    this.urgent = source.urgent;
  }

  /** The raw source that its events are made of. */
  get origin(): TrackedSource | undefined {
    return this.coverage?.source;
  }

  /** Runs that a broken connection may have swallowed, or that wait for a connection. */
  get unconfirmed(): readonly EventsFrame[] {
    return this.#unconfirmed;
  }

  /** Keeps a run until there is a connection again; the oldest go where that takes too long. */
  hold(frame: EventsFrame): void {
    this.#unconfirmed.push(frame);
    this.#unconfirmedBytes += frame.end - frame.start;
    while (this.#unconfirmedBytes > HELD_BYTES) {
      const { start, end } = this.#unconfirmed.shift() as EventsFrame;
      this.#unconfirmedBytes -= end - start;
    }
  }

  /** Gives up what it holds, for somebody who sends it or for nobody. */
  takeUnconfirmed(): EventsFrame[] {
    const taken = this.#unconfirmed;
    this.#unconfirmed = [];
    this.#unconfirmedBytes = 0;
    return taken;
  }

  /** Whether it has a number at the present connection: its source has been met there. */
  get isAddressed(): boolean {
    return this.channel !== 0 && this.producer !== 0;
  }

  /** Sets the numbers that its events have at the present connection; 0 for none yet. */
  address(channel: number, producer: number): void {
    this.channel = channel;
    this.producer = producer;
    this.isPlaced = false;
  }

  /** Whether it holds runs that are to be sent, or has a position to say. */
  get owes(): boolean {
    return this.#unconfirmed.length > 0 || this.coverage?.isBehind === true;
  }

  /** Whether there is a count that somebody who begins to listen has to know. */
  get isBegun(): boolean {
    return this.raised > 0 || this.#unconfirmed.length > 0 || this.coverage !== undefined;
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
    this.usual = new Lane(new TrackedSource(id, false));
    this.urgent = new Lane(new TrackedSource(id, true));
  }

  /** Whether one of these lanes owes something. */
  get owe(): boolean {
    return this.usual.owes || this.urgent.owes;
  }

  of(urgent: boolean): Lane {
    return urgent ? this.urgent : this.usual;
  }

  *[Symbol.iterator](): Generator<Lane> {
    yield this.usual;
    yield this.urgent;
  }

  /** Whether the lanes have these numbers. */
  areAt(channel: number, producer: number): boolean {
    const { usual, urgent } = this;
    if (usual.channel !== channel || usual.producer !== producer) return false;
    return urgent.channel === channel && urgent.producer === producer;
  }

  /** Sets the numbers that the events have at the present connection; 0 for none yet. */
  address(channel: number, producer: number): void {
    for (const lane of this) lane.address(channel, producer);
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

  /** Forgets lanes that raise nothing any more. */
  forget(lanes: Lanes): void {
    this.#sources.delete(lanes.usual.source.id);
  }

  /** Whether one of the lanes has this source. */
  has(source: bigint): boolean {
    return this.#sources.has(source);
  }
}
