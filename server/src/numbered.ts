/** Things by their numbers. One is kept without a map: a gateway has many thousands of connections with one consumer each. */
export class Numbered<T extends { readonly number: number }> {
  #only: T | undefined;
  #all: Map<number, T> | undefined;

  get size(): number {
    return this.#all?.size ?? (this.#only === undefined ? 0 : 1);
  }

  get(number: number): T | undefined {
    if (this.#all !== undefined) return this.#all.get(number);
    return this.#only?.number === number ? this.#only : undefined;
  }

  add(thing: T): void {
    if (this.#all !== undefined) this.#all.set(thing.number, thing);
    else if (this.#only === undefined) this.#only = thing;
    else {
      this.#all = new Map([
        [this.#only.number, this.#only],
        [thing.number, thing],
      ]);
      this.#only = undefined;
    }
  }

  delete(number: number): void {
    if (this.#all !== undefined) this.#all.delete(number);
    else if (this.#only?.number === number) this.#only = undefined;
  }

  values(): Iterable<T> {
    if (this.#all !== undefined) return this.#all.values();
    return this.#only === undefined ? [] : [this.#only];
  }
}
