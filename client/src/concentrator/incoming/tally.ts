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
  #consumers = 0;
  #failed = 0;
  #missing = 0;
  #message = "";

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

  /** Settles one part. @returns whether it was the last one */
  settle({ consumers, failed, message, missing }: Outcome = NOBODY): boolean {
    if (this.#waiting === 0) return false;
    this.#consumers += consumers;
    this.#failed += failed;
    this.#missing += missing;
    if (this.#message === "") this.#message = message;
    if (--this.#waiting > 0) return false;
    const [total, lost, silent] = [this.#consumers, this.#failed, this.#missing];
    this.#done({ consumers: total, failed: lost, message: this.#message, missing: silent });
    return true;
  }
}
