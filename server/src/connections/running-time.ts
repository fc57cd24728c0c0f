/** Longest time between two looks at the clock while anything waits, in milliseconds. */
const LOOK_MS = 250;
/** A look that is later than this says that the process did not run meanwhile: it was stopped or starved, or its machine slept. */
const STOPPED_MS = 1000;

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
  readonly #waits = new Set<Wait>();
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
    this.#waits.add(wait);
    if (this.#timer === undefined || ms < this.#lookMs) this.#lookIn(ms);
    return () => {
      this.#waits.delete(wait);
    };
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#lookMs = Math.min(Math.max(1, Math.ceil(ms)), LOOK_MS);
    this.#lookedAt = performance.now();
    this.#timer = setTimeout(() => setImmediate(() => this.#look()), this.#lookMs).unref();
  }

  #look(): void {
    const now = this.#now();
    this.#timer = undefined;
    // One that is over may end others.
    for (const wait of [...this.#waits]) if (wait.due <= now && this.#waits.delete(wait)) wait.over();
    if (this.#timer !== undefined || this.#waits.size === 0) return;
    let next = LOOK_MS;
    for (const { due } of this.#waits) next = Math.min(next, due - now);
    this.#lookIn(next);
  }

  /** The time, after all waits have begun anew where the process did not run since the last look. */
  #now(): number {
    const now = performance.now();
    if (this.#timer !== undefined && now - this.#lookedAt - this.#lookMs > STOPPED_MS)
      for (const wait of this.#waits) wait.due = now + wait.ms;
    return now;
  }
}
