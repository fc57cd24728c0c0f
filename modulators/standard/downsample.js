import { FifoModulator, unpack } from "jecho:moe";
import { checkVector } from "./check.js";
import { checkDownsample } from "./parameters.js";

const METHODS = {
  /** @param {ArrayLike<number>} values @param {number} from */
  stride: (values, from) => values[from],
  /** @param {ArrayLike<number>} values @param {number} from @param {number} to */
  mean(values, from, to) {
    let sum = 0;
    for (let i = from; i < to; i++) sum += values[i];
    return sum / (to - from);
  },
  /** @param {ArrayLike<number>} values @param {number} from @param {number} to */
  min(values, from, to) {
    let least = +values[from];
    for (let i = from + 1; i < to; i++) if (values[i] < least || Number.isNaN(least)) least = values[i];
    return least;
  },
  /** @param {ArrayLike<number>} values @param {number} from @param {number} to */
  max(values, from, to) {
    let most = +values[from];
    for (let i = from + 1; i < to; i++) if (values[i] > most || Number.isNaN(most)) most = values[i];
    return most;
  },
};

/** Of a vector, one value for each `factor` of them: the first, their mean, the least or the greatest that is a number. */
export default class Downsample extends FifoModulator {
  static keepsEvents = false;

  /** @param {any} parameters */
  static check(parameters) {
    checkDownsample(parameters);
  }

  /**
   * @param {any} fields
   * @param {any} parameters
   */
  static checkInput(fields, { field }) {
    checkVector(fields, field);
  }

  /** @param {object} event */
  enqueue(event) {
    const { field, factor, method } = /** @type {any} */ (this.parameters);
    const values = /** @type {any} */ (event)[field];
    const reduce = METHODS[/** @type {keyof typeof METHODS} */ (method)];
    const fewer = new values.constructor(Math.ceil(values.length / factor));
    for (let i = 0, from = 0; i < fewer.length; i++, from += factor) {
      fewer[i] = reduce(values, from, Math.min(from + factor, values.length));
    }
    super.enqueue({ ...unpack(event), [field]: fewer });
  }
}
