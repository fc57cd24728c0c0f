import { JechoError } from "@jecho/shared";
import type { Limits } from "../sandbox/sandbox.ts";

/** Milliseconds that an event may cost in any case: how many there are is the producer's doing. */
const FREE_MS_PER_EVENT = 1;

/** A modulator's processor time, that refills with the time on the wall. */
export class TimeBudget {
  readonly #capacityMs: number;
  readonly #share: number;
  #leftMs: number;
  /** When it was refilled; 0 where it is full. */
  #then = 0;

  constructor({ timeShare, shareWindowMs }: Limits) {
    this.#share = timeShare;
    this.#capacityMs = timeShare * shareWindowMs;
    this.#leftMs = this.#capacityMs;
  }

  /**
   * @param events that the time was for
   * @throws JechoError `MODULATOR_TIMED_OUT`
   */
  spend(cpuMs: number, events: number): void {
    const ms = cpuMs - FREE_MS_PER_EVENT * events;
    if (ms <= 0) return;
    const now = performance.now();
    this.#leftMs = Math.min(this.#capacityMs, this.#leftMs + this.#share * (now - this.#then)) - ms;
    this.#then = now;
    if (this.#leftMs < 0) {
      throw new JechoError(
        "MODULATOR_TIMED_OUT",
        `it used more than ${100 * this.#share} % of a processor for too long`,
      );
    }
  }
}
