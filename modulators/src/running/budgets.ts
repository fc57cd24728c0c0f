import { JechoError } from "@jecho/shared";
import { FREE_MS_PER_EVENT, type Limits } from "../sandbox/sandbox.ts";

/** A modulator's budget of processor time. It refills with wall-clock time. */
export class TimeBudget {
  readonly #capacityMs: number;
  readonly #share: number;
  #leftMs: number;
  /** Time of the last refill; 0 where the budget is full. */
  #then = 0;

  constructor({ timeShare, shareWindowMs }: Limits) {
    this.#share = timeShare;
    this.#capacityMs = timeShare * shareWindowMs;
    this.#leftMs = this.#capacityMs;
  }

  /**
   * @param events number of events that the time was used for
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

/** Seconds of its rate that a modulator may use at once. */
const CAPACITY_S = 2;

/** A modulator's budget of events and bytes beyond those of its input. It refills with wall-clock time. */
export class OutputBudget {
  readonly #limits: Limits;
  readonly #most: { readonly events: number; readonly bytes: number };
  #events: number;
  #bytes: number;
  #then = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
    // The output of one whole batch may come at once.
    const { eventsPerSecond, bytesPerSecond, outputEvents, outputBytes } = limits;
    this.#most = {
      events: Math.max(outputEvents, CAPACITY_S * eventsPerSecond),
      bytes: Math.max(outputBytes, CAPACITY_S * bytesPerSecond),
    };
    this.#events = this.#most.events;
    this.#bytes = this.#most.bytes;
  }

  /** A batch begins. Input that earlier batches left unused is forgotten in time. */
  refill(): void {
    if (this.#events >= this.#most.events && this.#bytes >= this.#most.bytes) {
      this.#events = this.#most.events;
      this.#bytes = this.#most.bytes;
      this.#then = 0;
      return;
    }
    const now = performance.now();
    const seconds = this.#then === 0 ? 0 : (now - this.#then) / 1000;
    this.#then = now;
    const { eventsPerSecond, bytesPerSecond } = this.#limits;
    this.#events = Math.min(this.#most.events, this.#events + seconds * eventsPerSecond);
    this.#bytes = Math.min(this.#most.bytes, this.#bytes + seconds * bytesPerSecond);
  }

  /** Input: as much output is free. */
  give(events: number, bytes: number): void {
    this.#events += events;
    this.#bytes += bytes;
  }

  /** @throws JechoError `MODULATOR_OUTPUT_EXCEEDED` */
  spend(events: number, bytes: number): void {
    this.#events -= events;
    this.#bytes -= bytes;
    if (this.#events >= 0 && this.#bytes >= 0) return;
    const { eventsPerSecond, bytesPerSecond } = this.#limits;
    throw new JechoError(
      "MODULATOR_OUTPUT_EXCEEDED",
      `it made more than ${eventsPerSecond} events or ${bytesPerSecond} bytes a second beyond those that it was given`,
    );
  }
}
