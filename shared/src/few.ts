/**
 * A map that mostly has one entry or none, and keeps that without a map: there are many thousands of these, some for each channel
 * and each connection. Its order is that of a map.
 */
export class Few<K, V> {
  #key: K | undefined;
  #only: V | undefined;
  #all: Map<K, V> | undefined;

  get size(): number {
    return this.#all?.size ?? (this.#only === undefined ? 0 : 1);
  }

  get(key: K): V | undefined {
    if (this.#all !== undefined) return this.#all.get(key);
    return this.#key === key ? this.#only : undefined;
  }

  has(key: K): boolean {
    return this.get(key) !== undefined;
  }

  set(key: K, value: V & {}): void {
    if (this.#all !== undefined) this.#all.set(key, value);
    else if (this.#only === undefined || this.#key === key) {
      this.#key = key;
      this.#only = value;
    } else {
      this.#all = new Map([
        [this.#key as K, this.#only],
        [key, value],
      ]);
      this.#key = undefined;
      this.#only = undefined;
    }
  }

  /** @returns false where there was none */
  delete(key: K): boolean {
    if (this.#all !== undefined) {
      const isThere = this.#all.delete(key);
      if (this.#all.size === 0) this.#all = undefined;
      return isThere;
    }
    if (!this.has(key)) return false;
    this.clear();
    return true;
  }

  clear(): void {
    this.#key = undefined;
    this.#only = undefined;
    this.#all = undefined;
  }

  keys(): Iterable<K> {
    if (this.#all !== undefined) return this.#all.keys();
    return this.#only === undefined ? [] : [this.#key as K];
  }

  values(): Iterable<V> {
    if (this.#all !== undefined) return this.#all.values();
    return this.#only === undefined ? [] : [this.#only];
  }

  [Symbol.iterator](): Iterator<[K, V]> {
    if (this.#all !== undefined) return this.#all[Symbol.iterator]();
    const entries: [K, V][] = this.#only === undefined ? [] : [[this.#key as K, this.#only]];
    return entries[Symbol.iterator]();
  }
}
