import { FifoModulator } from "jecho:moe";
import { checkNumbers } from "./check.js";
import { checkAggregate } from "./parameters.js";

/**
 * What some events have in common: each `every` events, the mean, least and greatest of a field's numbers over the last
 * `window` events, and how many of them fall into each bin of a histogram. Numbers that are not finite are left out.
 */
export default class Aggregate extends FifoModulator {
  static keepsEvents = false;
  static output = {
    name: "Aggregate",
    description: {
      events: "uint32",
      count: "float64",
      mean: "float64",
      min: "float64",
      max: "float64",
      low: "float64",
      high: "float64",
      histogram: "uint32[]",
    },
  };

  /** Counts the events. Each of the last ones has a place in the arrays: those of event n lie at n modulo `window`. */
  #n = 0;
  #counts = new Float64Array(0);
  #sums = new Float64Array(0);
  #mins = new Float64Array(0);
  #maxs = new Float64Array(0);
  /** Bins of one event behind those of another. */
  #bins = new Uint32Array(0);

  /** @param {any} parameters */
  static check(parameters) {
    checkAggregate(parameters);
  }

  /**
   * @param {any} fields
   * @param {any} parameters
   */
  static checkInput(fields, { field }) {
    checkNumbers(fields, field);
  }

  /** @param {object} event */
  enqueue(event) {
    const { field, every, window, bins } = /** @type {any} */ (this.parameters);
    if (this.#n === 0) {
      this.#counts = new Float64Array(window);
      this.#sums = new Float64Array(window);
      this.#mins = new Float64Array(window);
      this.#maxs = new Float64Array(window);
      this.#bins = new Uint32Array(window * bins);
    }
    this.#summarise(this.#n++ % window, /** @type {any} */ (event)[field] ?? []);
    if (this.#n % every === 0) super.enqueue(this.#total());
  }

  /**
   * @param {number} at the event's place
   * @param {number | ArrayLike<number>} value nothing in place of what an event may do without
   */
  #summarise(at, value) {
    const { bins, low, high } = /** @type {any} */ (this.parameters);
    const isOne = typeof value === "number";
    const length = isOne ? 1 : value.length;
    const range = high - low;
    let count = 0;
    let sum = 0;
    let min = Infinity;
    let max = -Infinity;
    const own = this.#bins.subarray(at * bins, (at + 1) * bins);
    for (let bin = 0; bin < bins; bin++) own[bin] = 0;
    for (let i = 0; i < length; i++) {
      const number = isOne ? value : value[i];
      if (!Number.isFinite(number)) continue;
      count++;
      sum += number;
      if (number < min) min = number;
      if (number > max) max = number;
      // The last bin has its upper edge in it; what lies outside is in none.
      if (bins > 0 && number >= low && number <= high)
        own[Math.min(bins - 1, Math.floor(((number - low) / range) * bins))]++;
    }
    this.#counts[at] = count;
    this.#sums[at] = sum;
    this.#mins[at] = min;
    this.#maxs[at] = max;
  }

  #total() {
    const { window, bins, low, high } = /** @type {any} */ (this.parameters);
    const events = Math.min(this.#n, window);
    const histogram = new Uint32Array(bins);
    let [count, sum, min, max] = [0, 0, Infinity, -Infinity];
    // From the oldest on: sums depend on their order.
    for (let n = this.#n - events; n < this.#n; n++) {
      const at = n % window;
      count += this.#counts[at];
      sum += this.#sums[at];
      min = Math.min(min, this.#mins[at]);
      max = Math.max(max, this.#maxs[at]);
      for (let bin = 0; bin < bins; bin++) histogram[bin] += this.#bins[at * bins + bin];
    }
    return { events, count, mean: sum / count, min, max, low, high, histogram };
  }
}
