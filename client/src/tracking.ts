import type { EventsFrame } from "@jecho/shared/internal";

/** A lane of some producer, as consumers know it: the same over connections. */
export interface Source {
  readonly id: bigint;
  readonly urgent: boolean;
}

/** Which source the numbers in a run's header stand for at the present connection. */
export class Sources {
  readonly #known = new Map<string, Source>();
  readonly #byChannel = new Map<number, Map<number, Source>>();

  /** The one object that stands for this source. */
  named(id: bigint, urgent: boolean): Source {
    const name = `${id} ${urgent}`;
    let source = this.#known.get(name);
    if (source === undefined) {
      source = { id, urgent };
      this.#known.set(name, source);
    }
    return source;
  }

  place(channel: number, producer: number, source: Source): void {
    let producers = this.#byChannel.get(channel);
    if (producers === undefined) {
      producers = new Map();
      this.#byChannel.set(channel, producers);
    }
    producers.set(numberOf(producer, source.urgent), source);
  }

  of(frame: EventsFrame): Source | undefined {
    return this.#byChannel.get(frame.channel)?.get(numberOf(frame.producer, frame.isUrgent));
  }

  forgetChannel(channel: number): void {
    this.#byChannel.delete(channel);
  }

  /** The connection is gone, and its numbers with it. */
  clear(): void {
    this.#byChannel.clear();
  }
}

/** What came of a run's counts at one consumer. */
export interface Counted {
  /** Events at the run's beginning that it has had before. */
  readonly had: number;
  /** Events before the run that never came. */
  readonly missing: number;
}

const ALL_NEW: Counted = { had: 0, missing: 0 };

const NOTHING: ReadonlyMap<Source, number> = new Map();

/** How far one consumer is in each source's count: what it has had does not come again, and what never came is told. */
export class Tracker {
  readonly #raised = new Map<Source, number>();
  readonly #before: ReadonlyMap<Source, number>;

  /** @param before how far another one was, whose stead this one takes: that does not come again, but what is missing behind it was nobody's */
  constructor(before: ReadonlyMap<Source, number> = NOTHING) {
    this.#before = before;
  }

  /** A run came. */
  take(source: Source, frame: EventsFrame): Counted {
    const { raised, count } = frame;
    const last = this.#raised.get(source);
    const newest = raised + count - 1;
    if (last === undefined) {
      const before = this.#before.get(source) ?? 0;
      this.#raised.set(source, Math.max(newest, before));
      return { had: Math.max(0, Math.min(count, before + 1 - raised)), missing: 0 };
    }
    if (raised === last + 1) {
      this.#raised.set(source, newest);
      return ALL_NEW;
    }
    if (newest > last) this.#raised.set(source, newest);
    return { had: Math.max(0, Math.min(count, last + 1 - raised)), missing: Math.max(0, raised - last - 1) };
  }

  /** The source goes on behind this event. @returns how many never came */
  place(source: Source, raised: number): number {
    const last = this.#raised.get(source);
    if (last === undefined) {
      this.#raised.set(source, Math.max(raised, this.#before.get(source) ?? 0));
      return 0;
    }
    if (last >= raised) return 0;
    this.#raised.set(source, raised);
    return raised - last;
  }

  /** Adds how far this one is, for those that come after it. */
  leaveTo(after: Map<Source, number>): void {
    for (const [source, raised] of this.#raised)
      if (raised > (after.get(source) ?? 0)) after.set(source, raised);
  }

  places(): { source: bigint; raised: bigint; urgent: boolean }[] {
    return [...this.#raised].map(([{ id, urgent }, raised]) => ({
      source: id,
      raised: BigInt(raised),
      urgent,
    }));
  }

  clear(): void {
    this.#raised.clear();
  }
}

function numberOf(producer: number, urgent: boolean): number {
  return 2 * producer + (urgent ? 1 : 0);
}
