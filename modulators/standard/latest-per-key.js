import { Modulator } from "jecho:moe";
import { checkTag } from "./check.js";
import { checkLatestPerKey } from "./parameters.js";

/**
 * The newest event of each key. While the transport is busy, or during an interval, an event takes the place of the one
 * with the same key that waits; keys go out in the order in which their first event came.
 */
export default class LatestPerKey extends Modulator {
  /** @type {Map<unknown, object>} */
  #waiting = new Map();
  #open;

  /**
   * @param {any} parameters
   * @param {any} moe
   */
  constructor(parameters, moe) {
    super(parameters, moe);
    this.periodMs = parameters.intervalMs;
    this.#open = parameters.intervalMs === 0;
  }

  /** @param {any} parameters */
  static check(parameters) {
    checkLatestPerKey(parameters);
  }

  /**
   * @param {any} fields
   * @param {any} parameters
   */
  static checkInput(fields, { field }) {
    checkTag(fields, field);
  }

  /** @param {object} event */
  enqueue(event) {
    const { field, keys } = /** @type {any} */ (this.parameters);
    const key = /** @type {any} */ (event)[field];
    if (!this.#waiting.has(key) && this.#waiting.size >= keys) {
      this.#waiting.delete(this.#waiting.keys().next().value);
    }
    this.#waiting.set(key, event);
  }

  period() {
    this.#open = true;
  }

  dequeue() {
    if (!this.#open) return undefined;
    const [first] = this.#waiting;
    if (first === undefined) {
      // All that waited when the interval ended has gone.
      this.#open = /** @type {any} */ (this.parameters).intervalMs === 0;
      return undefined;
    }
    this.#waiting.delete(first[0]);
    return first[1];
  }
}
