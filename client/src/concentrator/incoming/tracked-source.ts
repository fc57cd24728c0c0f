/** A lane of some producer, as consumers know it: the same over connections. */
export class TrackedSource {
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

/** Most remembered sources, or incarnations: more than a channel has producers. Nobody says that one has gone for good. */
export const MOST_REMEMBERED = 65_536;

/**
 * Remembers sources by key. Most often the same source is asked for again, so the newest one is at hand, and a map is made only for
 * more than one. When there are too many, the quarter that was not asked for longest is forgotten.
 */
export class Remembered<K, V extends { heard: number }> {
  #newestKey: K | undefined;
  #newest: V | undefined;
  /** All entries, if there is more than one. */
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

/** The furthest position that several consumers reached together in each source. */
export class Had {
  readonly #reached = new Remembered<
    string,
    { readonly source: TrackedSource; raised: number; heard: number }
  >();

  of(source: TrackedSource): number {
    return this.#reached.get(source.name)?.raised ?? 0;
  }

  /** Adds a consumer's position. */
  add(source: TrackedSource, raised: number): void {
    const reached = this.#reached.get(source.name);
    if (reached === undefined) this.#reached.set(source.name, { source, raised, heard: 0 });
    else reached.raised = Math.max(reached.raised, raised);
  }

  /** Adds all of that to another one. */
  leaveTo(after: Had): void {
    for (const { source, raised } of this.#reached.values()) after.add(source, raised);
  }
}
