/** Bits of a number below those that say which gateway of a cluster gave it. */
const BITS = 24;
/** Most gateways of a cluster. */
export const MOST_GATEWAYS = 2 ** (32 - BITS);

/** Index of the gateway that gave a number: of a channel, an endpoint or a question. */
export function gatewayOf(number: number): number {
  return number >>> BITS;
}

/**
 * Numbers that count up, of which no two gateways of a cluster give the same: a client's endpoints may be at several. When all have been given it
 * begins again with those that are free.
 */
export class Numbers {
  /** Smallest number that it gives. */
  readonly first: number;
  readonly #end: number;
  readonly #isUsed: (number: number) => boolean;
  #next: number;
  /** Whether it has begun again. */
  #isOver = false;

  /** @param index of the gateway in its cluster; undefined: it stands alone, and all numbers are its own */
  constructor(index: number | undefined, isUsed: (number: number) => boolean) {
    // 0 is no number.
    this.first = (index ?? 0) * 2 ** BITS + 1;
    this.#end = index === undefined ? 2 ** 32 : (index + 1) * 2 ** BITS;
    this.#isUsed = isUsed;
    this.#next = this.first;
  }

  /** Whether it has given this number, perhaps long ago. */
  hasGiven(number: number): boolean {
    return number >= this.first && number < (this.#isOver ? this.#end : this.#next);
  }

  next(): number {
    for (;;) {
      const number = this.#next;
      this.#next++;
      if (this.#next === this.#end) {
        this.#isOver = true;
        this.#next = this.first;
      }
      if (!this.#isUsed(number)) return number;
    }
  }
}
