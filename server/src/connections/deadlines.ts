/**
 * Waits that all last equally long, with one timer for all of them: to start and stop one for each takes longer than what is waited for,
 * and memory as long as it runs.
 */
export class Deadlines<T> {
  readonly #ms: number;
  readonly #late: (one: T) => void;
  /** End of each, by `performance.now()`, the earliest first. */
  readonly #ends = new Map<T, number>();
  #timer: NodeJS.Timeout | undefined;

  /** @param late told of each whose time is over, which is none of these any more */
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
    // The timer goes on: another one may soon want it.
    if (this.#ends.size > 0) this.#ends.delete(one);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#ends.clear();
  }

  #lookIn(ms: number): NodeJS.Timeout {
    // What has come while this process had no time is taken first.
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
