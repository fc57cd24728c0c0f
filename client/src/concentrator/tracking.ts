import type { EventsFrame } from "@jecho/shared/internal";

/** A lane of some producer, as consumers know it: the same over connections. */
export class Source {
  readonly id: bigint;
  readonly urgent: boolean;
  #name: string | undefined;

  constructor(id: bigint, urgent: boolean) {
    this.id = id;
    this.urgent = urgent;
  }

  /** Equal for equal sources. */
  get name(): string {
    this.#name ??= `${this.id} ${this.urgent}`;
    return this.#name;
  }
}

/** More than a channel has producers, and few enough to be kept: nobody says of a source that it has gone for good. */
const MOST_REMEMBERED = 65_536;

/**
 * What is known of sources, by key. Most often it is one source that is asked for, again and again, so the one that was asked for last is
 * at hand, and a map is made for more than one. Of too many, the quarter is forgotten that was not asked for for the longest time.
 */
export class Remembered<K, V extends { heard: number }> {
  #newestKey: K | undefined;
  #newest: V | undefined;
  /** All of them, where they are more than one. */
  #all: Map<K, V> | undefined;
  #clock = 0;

  get(key: K): V | undefined {
    if (key === this.#newestKey) return this.#newest;
    const known = this.#all?.get(key);
    if (known !== undefined) this.#hear(key, known);
    return known;
  }

  set(key: K, value: V): void {
    if (this.#all === undefined && this.#newest !== undefined && key !== this.#newestKey)
      this.#all = new Map([[this.#newestKey as K, this.#newest]]);
    this.#all?.set(key, value);
    this.#hear(key, value);
    if (this.#all !== undefined && this.#all.size > MOST_REMEMBERED) forgetSilent(this.#all);
  }

  #hear(key: K, known: V): void {
    known.heard = ++this.#clock;
    this.#newestKey = key;
    this.#newest = known;
  }

  values(): Iterable<V> {
    if (this.#all !== undefined) return this.#all.values();
    return this.#newest === undefined ? [] : [this.#newest];
  }

  clear(): void {
    this.#newestKey = undefined;
    this.#newest = undefined;
    this.#all = undefined;
  }
}

function forgetSilent<K, V extends { heard: number }>(all: Map<K, V>): void {
  const silent = [...all].sort(([, a], [, b]) => a.heard - b.heard);
  for (const [key] of silent.slice(0, MOST_REMEMBERED / 4)) all.delete(key);
}

/** What came of a run's counts at one consumer. */
export interface Counted {
  /** Events at the run's beginning that it has had before. */
  readonly had: number;
  /** Events before the run that never came. */
  readonly missing: number;
}

const ALL_NEW: Counted = { had: 0, missing: 0 };

interface Reached {
  source: Source;
  /** Count of the newest event. */
  raised: number;
  heard: number;
}

/** How far several consumers were together. */
export class Had {
  readonly #reached = new Remembered<string, Reached>();

  of(source: Source): number {
    return this.#reached.get(source.name)?.raised ?? 0;
  }

  /** One of them was that far. */
  add(source: Source, raised: number): void {
    const reached = this.#reached.get(source.name);
    if (reached === undefined) this.#reached.set(source.name, { source, raised, heard: 0 });
    else reached.raised = Math.max(reached.raised, raised);
  }

  /** Adds all of that to another one. */
  leaveTo(after: Had): void {
    for (const { source, raised } of this.#reached.values()) after.add(source, raised);
  }
}

const NOTHING = new Had();

/** How far one consumer is in each source's count: what it has had does not come again, and what never came is told. */
export class Tracker {
  /** Where it is in the count of the source that was heard last, which mostly is the one that is heard next, without a look at its name. */
  #newest: Reached | undefined;
  readonly #reached = new Remembered<string, Reached>();
  readonly #before: Had;

  /** @param before how far another one was, whose stead this one takes: that does not come again, but what is missing behind it was nobody's */
  constructor(before: Had = NOTHING) {
    this.#before = before;
  }

  /** A run came. */
  take(source: Source, { raised, count }: EventsFrame): Counted {
    const reached = this.#of(source);
    const newest = raised + count - 1;
    if (reached === undefined) {
      const before = this.#before.of(source);
      this.#enter(source, Math.max(newest, before));
      return { had: Math.max(0, Math.min(count, before + 1 - raised)), missing: 0 };
    }
    const last = reached.raised;
    if (newest > last) reached.raised = newest;
    if (raised === last + 1) return ALL_NEW;
    return { had: Math.max(0, Math.min(count, last + 1 - raised)), missing: Math.max(0, raised - last - 1) };
  }

  /** The source goes on behind this event. @returns how many never came */
  place(source: Source, raised: number): number {
    const reached = this.#of(source);
    if (reached === undefined) {
      this.#enter(source, Math.max(raised, this.#before.of(source)));
      return 0;
    }
    const missing = Math.max(0, raised - reached.raised);
    reached.raised += missing;
    return missing;
  }

  /** Adds how far this one is, for those that come after it. */
  leaveTo(after: Had): void {
    for (const { source, raised } of this.#reached.values()) after.add(source, raised);
  }

  places(): { source: bigint; raised: bigint; urgent: boolean }[] {
    return [...this.#reached.values()].map(({ source: { id, urgent }, raised }) => ({
      source: id,
      raised: BigInt(raised),
      urgent,
    }));
  }

  clear(): void {
    this.#newest = undefined;
    this.#reached.clear();
  }

  #of(source: Source): Reached | undefined {
    if (this.#newest?.source === source) return this.#newest;
    const reached = this.#reached.get(source.name);
    if (reached === undefined) return undefined;
    // Equal sources may be several objects.
    reached.source = source;
    this.#newest = reached;
    return reached;
  }

  #enter(source: Source, raised: number): void {
    this.#newest = { source, raised, heard: 0 };
    this.#reached.set(source.name, this.#newest);
  }
}
