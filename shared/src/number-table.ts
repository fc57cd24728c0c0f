/** Numbers of one page: a power of two. */
const PAGE = 256;
const SHIFT = 8;

interface Page<T> {
  readonly things: (T | undefined)[];
  used: number;
}

/**
 * Things by numbers that count up: a look-up is two steps into arrays, however many there are, and those that are asked for one after
 * the other lie beside one another. A page of numbers whose things have all gone takes no memory, for numbers are not given again.
 */
export class NumberTable<T extends object | number> {
  readonly #pages: (Page<T> | undefined)[] = [];
  readonly #first: number;

  /** @param first least number of all */
  constructor(first = 0) {
    this.#first = first;
  }

  get(number: number): T | undefined {
    const at = number - this.#first;
    return this.#pages[at >>> SHIFT]?.things[at & (PAGE - 1)];
  }

  /** @param number up to 2^32 - 1 */
  set(number: number, thing: T): void {
    const offset = number - this.#first;
    const at = offset >>> SHIFT;
    let page = this.#pages[at];
    if (page === undefined) {
      page = { things: new Array<T | undefined>(PAGE).fill(undefined), used: 0 };
      this.#pages[at] = page;
    }
    if (page.things[offset & (PAGE - 1)] === undefined) page.used++;
    page.things[offset & (PAGE - 1)] = thing;
  }

  delete(number: number): void {
    const offset = number - this.#first;
    const at = offset >>> SHIFT;
    const page = this.#pages[at];
    if (page?.things[offset & (PAGE - 1)] === undefined) return;
    page.things[offset & (PAGE - 1)] = undefined;
    if (--page.used === 0) this.#pages[at] = undefined;
  }

  clear(): void {
    this.#pages.length = 0;
  }

  /** All entries, in the order of their numbers. */
  *[Symbol.iterator](): Generator<[number, T]> {
    // Numbers may lie far apart: pages that never were are passed over.
    for (const at of Object.keys(this.#pages).map(Number))
      for (const [i, thing] of this.#pages[at]?.things.entries() ?? [])
        if (thing !== undefined) yield [this.#first + at * PAGE + i, thing];
  }
}
