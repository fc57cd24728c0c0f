import { type EventsFrame, Few, type Position } from "@jecho/shared/internal";

/** Where a source is on a channel: that of a producer's events, or of its urgent ones, which are counted apart. */
export interface SourceCount {
  readonly source: bigint;
  readonly urgent: boolean;
  /** Count of the newest event that was taken. */
  raised: number;
  /** Of what a modulator made: the raw source; 0n for none. Its modulator has been through the events behind `after` up to `through`. */
  origin: bigint;
  after: number;
  through: number;
}

interface Lane extends SourceCount {
  producer: number;
  /** Its producer is here and sends what it raises. */
  live: boolean;
}

/** The source of a run's events and, where they are derived, the raw source. */
export type Counted = Readonly<Pick<Lane, "source" | "origin">>;

const NOBODY: Counted = { source: 0n, origin: 0n };

/** Lanes whose producers have gone are remembered up to this number: one that comes back may send again what was taken. */
const MOST_REMEMBERED = 4096;

/** Where each producer of a channel is in the count of its events, over its connections. */
export class Lanes {
  /** That of the newest run, which mostly is that of the next. */
  #newest: Lane | undefined;
  readonly #bySource = new Few<string, Lane>();
  readonly #byProducer = new Few<number, Lane>();
  /** Those whose producers have gone, the longest gone first. */
  #gone: Map<string, Lane> | undefined;

  /** What an earlier gateway has taken. */
  restore(lanes: Iterable<SourceCount>): void {
    for (const lane of lanes) {
      const gone = { ...lane, producer: 0, live: false };
      this.#bySource.set(nameOf(lane), gone);
      this.#forgetLater(gone);
    }
  }

  /** A producer says where it is. @returns where its events go on from the consumers' view */
  place(position: Position): Position {
    const { producer, urgent, source, origin } = position;
    const raised = Number(position.raised);
    const [after, through] = [Number(position.after), Number(position.through)];
    const name = nameOf(position);
    let lane = this.#bySource.get(name);
    if (lane === undefined) {
      lane = { source, urgent, producer, raised, live: true, origin, after, through };
      this.#bySource.set(name, lane);
    }
    const number = numberOf(producer, urgent);
    const former = this.#byProducer.get(number);
    // It has another source now.
    if (former !== undefined && former !== lane) this.#leave(former, producer);
    this.#gone?.delete(name);
    // What lies between was raised and never sent; what was taken already is not to come again.
    lane.raised = Math.max(lane.raised, raised);
    lane.origin = origin;
    account(lane, after, through);
    this.#newest = undefined;
    lane.producer = producer;
    lane.live = true;
    this.#byProducer.set(number, lane);
    return { ...position, raised: BigInt(lane.raised) };
  }

  /** Counts a run. @returns whose it is, or undefined where it was taken before */
  take(run: EventsFrame): Counted | undefined {
    const lane = this.#of(run.producer, run.isUrgent);
    if (lane === undefined) return NOBODY;
    const last = run.raised + run.count - 1;
    if (last <= lane.raised) return undefined;
    lane.raised = last;
    if (lane.origin !== 0n) account(lane, run.after, run.through);
    return lane;
  }

  #of(producer: number, urgent: boolean): Lane | undefined {
    const newest = this.#newest;
    if (newest?.producer === producer && newest.urgent === urgent) return newest;
    const lane = this.#byProducer.get(numberOf(producer, urgent));
    if (lane !== undefined) this.#newest = lane;
    return lane;
  }

  /** The producer has gone. */
  leave(producer: number): void {
    this.#newest = undefined;
    for (const urgent of [false, true]) {
      const lane = this.#byProducer.get(numberOf(producer, urgent));
      this.#byProducer.delete(numberOf(producer, urgent));
      if (lane !== undefined) this.#leave(lane, producer);
    }
  }

  /** The producer does not send it any more. Another one may, by now, which has come in its stead. */
  #leave(lane: Lane, producer: number): void {
    if (lane.producer !== producer) return;
    lane.live = false;
    this.#forgetLater(lane);
  }

  /** Nobody listens to these producers: what they raise now is not sent, and each says where it is when somebody listens again. */
  rest(isMeant: (producer: number) => boolean): void {
    for (const lane of this.#byProducer.values()) if (isMeant(lane.producer)) lane.live = false;
  }

  /** Of what modulators made: where each lane is. */
  *made(): Generator<SourceCount> {
    for (const lane of this.#bySource.values()) if (lane.origin !== 0n) yield lane;
  }

  /** Where the producers are that send, for a consumer that begins now. */
  *positions(channel: number): Generator<Position> {
    for (const {
      source,
      urgent,
      producer,
      raised,
      live,
      origin,
      after,
      through,
    } of this.#byProducer.values()) {
      if (!live) continue;
      const counts = { raised: BigInt(raised), after: BigInt(after), through: BigInt(through) };
      yield { kind: "Position", channel, producer, urgent, source, origin, process: 0, ...counts };
    }
  }

  #forgetLater(lane: Lane): void {
    this.#gone ??= new Map();
    this.#gone.set(nameOf(lane), lane);
    for (const name of this.#gone.keys()) {
      if (this.#gone.size <= MOST_REMEMBERED) return;
      this.#gone.delete(name);
      this.#bySource.delete(name);
    }
  }
}

/** Its modulator has been through these, too: on from where it was, or, behind a break, from there. */
function account(lane: Lane, after: number, through: number): void {
  if (after > lane.through) lane.after = after;
  lane.through = Math.max(lane.through, through);
}

function nameOf({ source, urgent }: { source: bigint; urgent: boolean }): string {
  return `${source} ${urgent}`;
}

function numberOf(producer: number, urgent: boolean): number {
  return 2 * producer + (urgent ? 1 : 0);
}
