/** Numbers of one page: a power of two. */
const PAGE = 256;
const SHIFT = 8;

interface Page<T> {
  readonly things: (T | undefined)[];
  used: number;
}

/**
 * Things by numbers that count up: a look-up is two steps into arrays, however many there are. A page of numbers whose things
 * have all gone takes no memory, for numbers are not given again.
 */
export class NumberTable<T extends object> {
  readonly #pages: (Page<T> | undefined)[] = [];

  get(number: number): T | undefined {
    return this.#pages[number >>> SHIFT]?.things[number & (PAGE - 1)];
  }

  /** @param number that has none yet */
  set(number: number, thing: T): void {
    const at = number >>> SHIFT;
    // Numbers before it may have gone to things that are kept elsewhere.
    while (this.#pages.length <= at) this.#pages.push(undefined);
    let page = this.#pages[at];
    if (page === undefined) {
      page = { things: new Array<T | undefined>(PAGE).fill(undefined), used: 0 };
      this.#pages[at] = page;
    }
    page.things[number & (PAGE - 1)] = thing;
    page.used++;
  }

  delete(number: number): void {
    const at = number >>> SHIFT;
    const page = this.#pages[at];
    if (page?.things[number & (PAGE - 1)] === undefined) return;
    page.things[number & (PAGE - 1)] = undefined;
    if (--page.used === 0) this.#pages[at] = undefined;
  }
}
