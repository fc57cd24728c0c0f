/** A wait is longer than it is said to be by a part of at most this. */
const PARTS = 8;

/**
 * Waits that all last equally long, with one timer for all of them: to start and stop one for each takes longer than what is waited for,
 * and memory as long as it runs. No clock is read for them either: they are counted in rounds of the timer.
 */
export class Deadlines<T> {
  readonly #roundMs: number;
  readonly #late: (one: T) => void;
  /** After which round each is over; the first one's is the first. */
  readonly #ends = new Map<T, number>();
  #round = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param ms that each lasts at least, and an eighth more at most
   * @param late told of each whose time is over, which is none of these any more
   */
  constructor(ms: number, late: (one: T) => void) {
    this.#roundMs = ms / PARTS;
    this.#late = late;
  }

  add(one: T): void {
    // The round that has begun is not a whole one.
    this.#ends.set(one, this.#round + PARTS + 1);
    this.#timer ??= this.#begin();
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

  #begin(): NodeJS.Timeout {
    // What has come while this process had no time is taken first.
    return setTimeout(() => setImmediate(() => this.#look()), this.#roundMs).unref();
  }

  #look(): void {
    this.#round++;
    for (const [one, end] of this.#ends) {
      if (end > this.#round) break;
      this.#ends.delete(one);
      this.#late(one);
    }
    this.#timer = this.#ends.size > 0 ? this.#begin() : undefined;
  }
}
