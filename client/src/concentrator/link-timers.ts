type Timer = ReturnType<typeof setTimeout>;

/** Timers of one connection, which end with it. */
export class LinkTimers {
  readonly #timers = new Set<Timer>();

  after(ms: number, act: () => void): Timer {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
    return timer;
  }

  cancel(timer: Timer | undefined): void {
    if (timer === undefined) return;
    clearTimeout(timer);
    this.#timers.delete(timer);
  }

  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
