/** Longest time between two looks at the clock while anything waits, in milliseconds. */
const LOOK_MS = 250;
/** A look that is later than this says that the process did not run meanwhile: it was stopped or starved, or its machine slept. */
const STOPPED_MS = 1000;
/** Milliseconds that one look spends on waits that are over: very many may be over together. */
const TURN_MS = 1;

interface Wait {
  readonly ms: number;
  readonly over: () => void;
  due: number;
}

/**
 * Waits for others to come back. In the time in which this process did not run nobody could: after it, each wait begins anew. What
 * came meanwhile is read before a wait is over.
 */
export class RunningTime {
  /** The waits by their length, of which there are few, and each in the order of their ends. */
  readonly #waits = new Map<number, Set<Wait>>();
  #timer: NodeJS.Timeout | undefined;
  #lookedAt = 0;
  #lookMs = 0;

  /**
   * Calls `over` once when this time has passed.
   *
   * @returns a function that ends the waiting
   */
  wait(ms: number, over: () => void): () => void {
    const wait = { ms, over, due: this.#now() + ms };
    const equal = this.#waits.get(ms) ?? new Set();
    this.#waits.set(ms, equal.add(wait));
    if (this.#timer === undefined || ms < this.#lookMs) this.#lookIn(ms);
    return () => {
      equal.delete(wait);
    };
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#lookMs = Math.min(Math.max(1, Math.ceil(ms)), LOOK_MS);
    this.#lookedAt = performance.now();
    this.#timer = setTimeout(() => setImmediate(() => this.#look()), this.#lookMs).unref();
  }

  #look(): void {
    const began = this.#now();
    this.#timer = undefined;
    let next: number | undefined;
    for (const [ms, equal] of this.#waits) {
      // One that is over may end others, and begin new ones.
      for (const wait of equal) {
        if (wait.due > began || performance.now() - began >= TURN_MS) {
          next = Math.min(next ?? LOOK_MS, wait.due - began);
          break;
        }
        equal.delete(wait);
        wait.over();
      }
      if (equal.size === 0) this.#waits.delete(ms);
    }
    if (next !== undefined && (this.#timer === undefined || next < this.#lookMs)) this.#lookIn(next);
  }

  /** The time, after all waits have begun anew where the process did not run since the last look. */
  #now(): number {
    const now = performance.now();
    if (this.#timer !== undefined && now - this.#lookedAt - this.#lookMs > STOPPED_MS)
      for (const equal of this.#waits.values()) for (const wait of equal) wait.due = now + wait.ms;
    return now;
  }
}
