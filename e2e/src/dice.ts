/** Throws that look random and are the same for the same seed: for the seeded tests of all packages. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b1) >>> 0;
  }

  /** A whole number from 0 to below the limit. */
  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return (this.#state >>> 8) % limit;
  }

  get coin(): boolean {
    return this.below(2) === 0;
  }

  /** One of these; undefined where there is none. */
  of<T>(list: readonly T[]): T | undefined {
    return list[this.below(Math.max(1, list.length))];
  }
}
