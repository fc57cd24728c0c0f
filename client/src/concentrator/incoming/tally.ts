/** Outcome of an event at some of its consumers: number of consumers, number of failed handlers, and the first reason. */
export interface Outcome {
  readonly consumers: number;
  readonly failed: number;
  readonly message: string;
  /** Consumers that had not answered when the producer gave up waiting. */
  readonly missing: number;
}

export const NOBODY: Outcome = { consumers: 0, failed: 0, message: "", missing: 0 };

/** Waits for several outcomes and adds them up. */
export class Tally {
  readonly #done: (outcome: Outcome) => void;
  #waiting: number;
  #total = NOBODY;

  /** Tallies an event. Without parts it is done at once. */
  constructor(parts: number, done: (outcome: Outcome) => void) {
    this.#waiting = parts;
    this.#done = done;
    if (parts === 0) done(NOBODY);
  }

  /** Parts that have not been settled. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Adds a part to wait for. */
  add(): void {
    this.#waiting++;
  }

  /** Settles one part. */
  settle(part: Outcome = NOBODY): void {
    if (this.#waiting === 0) return;
    const { consumers, failed, message, missing } = this.#total;
    this.#total = {
      consumers: consumers + part.consumers,
      failed: failed + part.failed,
      message: message || part.message,
      missing: missing + part.missing,
    };
    if (--this.#waiting === 0) this.#done(this.#total);
  }
}
