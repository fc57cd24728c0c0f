/** Things that are kept of many, with one bound for all: beyond it, whoever has most of them loses the oldest. */
export class FairShares<T> {
  readonly #most: number;
  readonly #things = new Map<string, Set<T>>();
  #size = 0;

  /** @param most things of all together */
  constructor(most: number) {
    this.#most = most;
  }

  *[Symbol.iterator](): Generator<T> {
    for (const things of this.#things.values()) yield* things;
  }

  /** Adds one that is not there. @returns the one that had to go for it, if any */
  add(whose: string, thing: T): T | undefined {
    const own = this.#things.get(whose) ?? new Set();
    this.#things.set(whose, own.add(thing));
    if (++this.#size <= this.#most) return undefined;
    let [loser, lost] = [whose, own];
    for (const [other, things] of this.#things) if (things.size > lost.size) [loser, lost] = [other, things];
    const [oldest = thing] = lost;
    this.delete(loser, oldest);
    return oldest;
  }

  delete(whose: string, thing: T): void {
    const things = this.#things.get(whose);
    if (things?.delete(thing) !== true) return;
    this.#size--;
    if (things.size === 0) this.#things.delete(whose);
  }
}
