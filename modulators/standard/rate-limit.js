import { FifoModulator } from "jecho:moe";
import { checkRateLimit } from "./parameters.js";

/** At most one event per interval: the newest. What comes in between is replaced by what comes after it. */
export default class RateLimit extends FifoModulator {
  static needs = ["clock"];

  #next = 0;
  /** @type {object | undefined} */
  #held;

  /** @param {any} parameters @param {any} moe */
  constructor(parameters, moe) {
    super(parameters, moe);
    this.mostPerSecond = 1000 / parameters.intervalMs;
  }

  /** @param {any} parameters */
  static check(parameters) {
    checkRateLimit(parameters);
  }

  /** @param {object} event */
  enqueue(event) {
    if (this.moe.clock() >= this.#next) this.#pass(event);
    else {
      this.#held = event;
      // Not only with the next event: the newest is to be seen even if none follows.
      this.periodMs = Math.max(1, this.#next - this.moe.clock());
    }
  }

  period() {
    this.periodMs = 0;
    if (this.#held === undefined) return;
    if (this.moe.clock() >= this.#next) this.#pass(this.#held);
    else this.periodMs = Math.max(1, this.#next - this.moe.clock());
  }

  /** @param {object} event */
  #pass(event) {
    this.#held = undefined;
    this.periodMs = 0;
    this.#next = this.moe.clock() + /** @type {any} */ (this.parameters).intervalMs;
    super.enqueue(event);
  }
}
