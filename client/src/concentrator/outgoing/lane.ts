import type { Provenance } from "@jecho/modulators/internal";
import type { EventsFrame } from "@jecho/shared/internal";
import type { CountedPlace } from "../incoming/reception.ts";
import { TrackedSource } from "../incoming/tracked-source.ts";

/** Most bytes that a lane without a connection holds. */
const HELD_BYTES = 8 << 20;

/**
 * A modulator's position in a raw source's count. The modulator has been through (start, through] without a
 * gap; each run that it makes accounts for the events since the run before it, or since the last gap.
 */
export class Coverage {
  /** The raw source. */
  readonly source: TrackedSource;
  /** Event behind which the modulator's present stretch begins. */
  start: number;
  /** Last event of that stretch. */
  through: number;
  /** The last event that the newest run accounts for. */
  #told: number;
  /** The last event accounted for by a run or a position. */
  #said: number;
  /** The last event of which the modulators behind this one were given what was made of it. */
  #passed: number;

  /** @param reached count of the newest event before the modulator began */
  constructor(source: TrackedSource, reached: number) {
    this.source = source;
    this.start = reached;
    this.through = reached;
    this.#told = reached;
    this.#said = reached;
    this.#passed = reached;
  }

  /** Event behind which the next run's stretch begins. */
  get told(): number {
    return this.#told;
  }

  /** Whether the modulator has been through more than was accounted for. */
  get isBehind(): boolean {
    return this.#said < this.through;
  }

  /** A position accounts for all of it. */
  said(): void {
    this.#said = this.through;
  }

  /**
   * The stretch that the modulators behind this one were not given yet. It does not begin earlier: what got lost on its way to one of these
   * would count as passed.
   */
  passOn(): Provenance {
    const after = Math.max(this.start, this.#passed);
    this.#passed = this.through;
    return { source: this.source, after, through: this.through };
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
   * Writes the stretch of its events into a run.
   *
   * @param isLast whether it is the stretch's last run, which accounts for it
   */
  accountIn(run: EventsFrame, isLast: boolean): void {
    run.account(this.#told, this.through, !isLast);
    if (isLast) this.#told = this.#said = this.#passed = this.through;
  }
}

/** A stream of counted events: a producer's usual or urgent ones, or a modulator's output of either. */
export class Lane {
  // Fields that each run needs come first, so that they are adjacent in memory.
  /** Count of the newest event that was sent, or that nobody elsewhere wanted. */
  raised = 0;
  /** Number of the gathering with the lane's newest run, and of the run in it. */
  gathering = 0;
  newestRun = 0;
  readonly urgent: boolean;
  /** Whether the gateway knows the count. */
  isPlaced = false;
  /**
   * Count of the raw source's newest event when the connection broke, until the gateway knows where this lane goes on: consumers that began
   * meanwhile lack what is behind it.
   */
  leftAt: number | undefined;
  /** Numbers at the present connection; 0 while there is none. */
  channel = 0;
  producer = 0;
  /** The lane's source, the same over connections, by which consumers recognise events. */
  readonly source: TrackedSource;
  /** The input for which a modulator's output accounts; undefined for raw events. */
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

  /** Runs that a broken connection may have lost, or that wait for a connection. */
  get unconfirmed(): readonly EventsFrame[] {
    return this.#unconfirmed;
  }

  /** Keeps a run until there is a connection again. Beyond the limit the oldest are dropped. */
  hold(frame: EventsFrame): void {
    this.#unconfirmed.push(frame);
    this.#unconfirmedBytes += frame.end - frame.start;
    while (this.#unconfirmedBytes > HELD_BYTES) {
      const { start, end } = this.#unconfirmed.shift() as EventsFrame;
      this.#unconfirmedBytes -= end - start;
    }
  }

  /** Takes out the runs that it holds. */
  takeUnconfirmed(): EventsFrame[] {
    const taken = this.#unconfirmed;
    this.#unconfirmed = [];
    this.#unconfirmedBytes = 0;
    return taken;
  }

  /** Whether it has a number at the present connection. */
  get isAddressed(): boolean {
    return this.channel !== 0 && this.producer !== 0;
  }

  /** Sets the numbers that its events have at the present connection; 0 for none yet. */
  address(channel: number, producer: number): void {
    this.channel = channel;
    this.producer = producer;
    this.isPlaced = false;
  }

  /** Whether it holds runs to be sent, or has a position to state. */
  get owes(): boolean {
    return this.#unconfirmed.length > 0 || this.coverage?.isBehind === true;
  }

  /** Whether a new listener has to know its count. */
  get isBegun(): boolean {
    return this.raised > 0 || this.#unconfirmed.length > 0 || this.coverage !== undefined;
  }
}

/** The position of a lane, for consumers here. */
export function placeOf({ source, raised, coverage }: Lane): CountedPlace {
  const { source: origin, start: after = 0, through = 0 } = coverage ?? {};
  return { producer: 0, of: { source, origin }, raised, after, through, agoMs: 0 };
}

/** A producer's two lanes: usual events, and urgent ones, which are counted separately because they overtake. */
export class Lanes {
  readonly usual: Lane;
  readonly urgent: Lane;

  /** @param incarnation of the modulator whose output they are, for as long as it keeps its state; 0 for a producer's */
  constructor(incarnation = 0) {
    const [random = 0n] = crypto.getRandomValues(new BigUint64Array(1));
    const id = incarnation === 0 ? random : (BigInt(incarnation) << 32n) | (random & 0xffff_ffffn);
    this.usual = new Lane(new TrackedSource(id, false));
    this.urgent = new Lane(new TrackedSource(id, true));
  }

  /** Whether one of the lanes owes something. */
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

/** The lanes of a process's own events, by which it recognises them on the wire. */
export class OwnLanes {
  readonly #sources = new Set<bigint>();

  /** @param incarnation as of `Lanes` */
  create(incarnation = 0): Lanes {
    const lanes = new Lanes(incarnation);
    this.#sources.add(lanes.usual.source.id);
    return lanes;
  }

  /** Forgets lanes that have ended. */
  forget(lanes: Lanes): void {
    this.#sources.delete(lanes.usual.source.id);
  }

  /** Whether one of the lanes has this source. */
  has(source: bigint): boolean {
    return this.#sources.has(source);
  }
}
