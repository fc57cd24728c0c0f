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

  /** @type {{ count: number, sum: number, min: number, max: number, bins: Uint32Array }[]} */
  #window = [];
  #since = 0;

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
    const { field, every, window } = /** @type {any} */ (this.parameters);
    // What an event may do without is not there.
    const value = /** @type {any} */ (event)[field] ?? [];
    this.#window.push(this.#summary(typeof value === "number" ? [value] : value));
    if (this.#window.length > window) this.#window.shift();
    if (++this.#since < every) return;
    this.#since = 0;
    super.enqueue(this.#total());
  }

  /** @param {ArrayLike<number>} values */
  #summary(values) {
    const { bins: count, low, high } = /** @type {any} */ (this.parameters);
    const bins = new Uint32Array(count);
    const range = high - low;
    const summary = { count: 0, sum: 0, min: Infinity, max: -Infinity, bins };
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (!Number.isFinite(value)) continue;
      summary.count++;
      summary.sum += value;
      if (value < summary.min) summary.min = value;
      if (value > summary.max) summary.max = value;
      // The last bin has its upper edge in it; what lies outside is in none.
      if (count > 0 && value >= low && value <= high)
        bins[Math.min(count - 1, Math.floor(((value - low) / range) * count))]++;
    }
    return summary;
  }

  #total() {
    const { bins, low, high } = /** @type {any} */ (this.parameters);
    const histogram = new Uint32Array(bins);
    let [count, sum, min, max] = [0, 0, Infinity, -Infinity];
    for (const part of this.#window) {
      count += part.count;
      sum += part.sum;
      min = Math.min(min, part.min);
      max = Math.max(max, part.max);
      for (let i = 0; i < histogram.length; i++) histogram[i] += part.bins[i];
    }
    return { events: this.#window.length, count, mean: sum / count, min, max, low, high, histogram };
  }
}
