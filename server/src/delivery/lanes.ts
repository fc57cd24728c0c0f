import { type EventsFrame, Few, type Position } from "@jecho/shared/internal";

/** One source's events on one channel, as they are counted: those of a producer, or its urgent ones, which are counted apart. */
interface Lane {
  readonly source: bigint;
  readonly urgent: boolean;
  producer: number;
  /** Count of the newest event that was taken. */
  raised: number;
  /** Its producer is here and sends what it raises. */
  live: boolean;
}

/** Lanes whose producers have gone are remembered up to this number: one that comes back may send again what was taken. */
const MOST_REMEMBERED = 4096;

/** Where each producer of a channel is in the count of its events, over its connections. */
export class Lanes {
  /** That of the newest run, which mostly is that of the next. */
  #newest: Lane | undefined;
  readonly #bySource = new Few<string, Lane>();
  readonly #byProducer = new Few<number, Lane>();

  /** What an earlier gateway has taken. */
  restore(lanes: Iterable<{ source: bigint; urgent: boolean; raised: number }>): void {
    for (const lane of lanes) {
      this.#bySource.set(nameOf(lane), { ...lane, producer: 0, live: false });
    }
  }

  /** A producer says where it is. @returns where its events go on from the consumers' view */
  place(position: Position): Position {
    const { producer, urgent, source } = position;
    const raised = Number(position.raised);
    const name = nameOf(position);
    let lane = this.#bySource.get(name);
    if (lane === undefined) {
      lane = { source, urgent, producer, raised, live: true };
      this.#bySource.set(name, lane);
      this.#forgetOldest();
    }
    // What lies between was raised and never sent; what was taken already is not to come again.
    lane.raised = Math.max(lane.raised, raised);
    this.#newest = undefined;
    lane.producer = producer;
    lane.live = true;
    this.#byProducer.set(numberOf(producer, urgent), lane);
    return { ...position, raised: BigInt(lane.raised) };
  }

  /** Counts a run. @returns its source, or undefined where it was taken before */
  take(run: EventsFrame): bigint | undefined {
    const lane = this.#of(run.producer, run.isUrgent);
    if (lane === undefined) return 0n;
    const last = run.raised + run.count - 1;
    if (last <= lane.raised) return undefined;
    lane.raised = last;
    return lane.source;
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
      if (lane !== undefined) lane.live = false;
      this.#byProducer.delete(numberOf(producer, urgent));
    }
  }

  /** Nobody listens to these producers: what they raise now is not sent, and each says where it is when somebody listens again. */
  rest(isMeant: (producer: number) => boolean): void {
    for (const lane of this.#byProducer.values()) if (isMeant(lane.producer)) lane.live = false;
  }

  /** Where the producers are that send, for a consumer that begins now. */
  *positions(channel: number): Generator<Position> {
    for (const { source, urgent, producer, raised, live } of this.#byProducer.values()) {
      if (live)
        yield { kind: "Position", channel, producer, urgent, source, raised: BigInt(raised), process: 0 };
    }
  }

  #forgetOldest(): void {
    if (this.#bySource.size <= MOST_REMEMBERED) return;
    for (const [name, lane] of this.#bySource) {
      if (lane.live) continue;
      this.#bySource.delete(name);
      return;
    }
  }
}

function nameOf({ source, urgent }: { source: bigint; urgent: boolean }): string {
  return `${source} ${urgent}`;
}

function numberOf(producer: number, urgent: boolean): number {
  return 2 * producer + (urgent ? 1 : 0);
}
