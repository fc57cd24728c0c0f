/** The producer's time for its modulators: no sandbox has a clock or timer of its own. */
export interface HostClock {
  /** Milliseconds since 1970; never goes back. */
  now(): number;
  /** Calls back once, after so many milliseconds. Returns a function that cancels it. */
  after(ms: number, callback: () => void): () => void;
}

const { timeOrigin } = performance;

export const SYSTEM_CLOCK: HostClock = {
  now: () => Math.floor(timeOrigin + performance.now()),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    // In a page a timer is a number, and keeps no process alive.
    timer.unref?.();
    return () => clearTimeout(timer);
  },
};

/** The timers of modulators with a period. */
export class Periods {
  readonly #clock: HostClock;
  readonly #fire: (derived: number) => void;
  readonly #timers = new Map<number, { readonly periodMs: number; stop: (() => void) | undefined }>();

  /** @param fire asks for one call; the next period begins with `done` */
  constructor(clock: HostClock, fire: (derived: number) => void) {
    this.#clock = clock;
    this.#fire = fire;
  }

  /** @param periodMs 0 to stop */
  set(derived: number, periodMs: number): void {
    this.#timers.get(derived)?.stop?.();
    this.#timers.delete(derived);
    if (periodMs === 0) return;
    this.#timers.set(derived, { periodMs, stop: undefined });
    this.done(derived);
  }

  /** The call that was asked for has ended: the next period begins. */
  done(derived: number): void {
    const entry = this.#timers.get(derived);
    if (entry === undefined || entry.stop !== undefined) return;
    entry.stop = this.#clock.after(entry.periodMs, () => {
      entry.stop = undefined;
      this.#fire(derived);
    });
  }

  /** Asks for a call now. @returns false for a modulator without a period */
  now(derived: number): boolean {
    const entry = this.#timers.get(derived);
    if (entry === undefined) return false;
    entry.stop?.();
    entry.stop = undefined;
    this.#fire(derived);
    return true;
  }

  clear(): void {
    for (const { stop } of this.#timers.values()) stop?.();
    this.#timers.clear();
  }
}
