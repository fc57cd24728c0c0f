import type { HostClock } from "./periods.ts";

/** A clock that stands still until it is advanced. */
export class HandClock implements HostClock {
  #nowMs: number;
  readonly #timers = new Set<{ readonly atMs: number; readonly callback: () => void }>();

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { atMs: this.#nowMs + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** @param settled resolves when all that a timer caused has ended */
  async pass(ms: number, settled: () => Promise<void>): Promise<void> {
    const endMs = this.#nowMs + ms;
    await settled();
    for (;;) {
      const [next] = [...this.#timers].sort((a, b) => a.atMs - b.atMs);
      if (next === undefined || next.atMs > endMs) break;
      this.#timers.delete(next);
      this.#nowMs = next.atMs;
      next.callback();
      await settled();
    }
    this.#nowMs = endMs;
  }
}
