/** The timers of modulators that want their period called: the producer's, so that no sandbox has a clock of its own. */
export class Periods {
  readonly #fire: (derived: number) => void;
  readonly #timers = new Map<number, { readonly periodMs: number; timer: NodeJS.Timeout | undefined }>();

  /** @param fire asks for one call; the next period begins with `done` */
  constructor(fire: (derived: number) => void) {
    this.#fire = fire;
  }

  /** @param periodMs 0 for no calls any more */
  set(derived: number, periodMs: number): void {
    clearTimeout(this.#timers.get(derived)?.timer);
    this.#timers.delete(derived);
    if (periodMs === 0) return;
    this.#timers.set(derived, { periodMs, timer: undefined });
    this.done(derived);
  }

  /** What was asked for has been done. Where nothing was, nothing changes. */
  done(derived: number): void {
    const entry = this.#timers.get(derived);
    if (entry === undefined || entry.timer !== undefined) return;
    entry.timer = setTimeout(() => {
      entry.timer = undefined;
      this.#fire(derived);
    }, entry.periodMs).unref();
  }

  clear(): void {
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
