/**
 * Deadlines of equal length, with one timer for all: starting and stopping a timer for each takes longer than most waits, and takes
 * memory.
 */
export class Deadlines<T> {
  readonly #ms: number;
  readonly #late: (one: T) => void;
  /** The deadlines by `performance.now()`, earliest first. */
  readonly #ends = new Map<T, number>();
  #timer: NodeJS.Timeout | undefined;

  /** @param late called with each entry whose deadline has passed; it has been removed */
  constructor(ms: number, late: (one: T) => void) {
    this.#ms = ms;
    this.#late = late;
  }

  get size(): number {
    return this.#ends.size;
  }

  add(one: T): void {
    this.#ends.set(one, performance.now() + this.#ms);
    this.#timer ??= this.#lookIn(this.#ms);
  }

  delete(one: T): void {
    // The timer goes on: another deadline may soon need it.
    if (this.#ends.size > 0) this.#ends.delete(one);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#ends.clear();
  }

  #lookIn(ms: number): NodeJS.Timeout {
    // Messages that came while this process was busy are taken first.
    return setTimeout(() => setImmediate(() => this.#look()), ms).unref();
  }

  #look(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [one, end] of this.#ends) {
      if (end > now) {
        this.#timer = this.#lookIn(end - now);
        return;
      }
      this.#ends.delete(one);
      this.#late(one);
    }
  }
}
