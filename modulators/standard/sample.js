import { FifoModulator } from "jecho:moe";
import { checkSample } from "./parameters.js";

/** Every Nth event of its producer's, from the first. */
export default class Sample extends FifoModulator {
  static keepsEvents = false;

  #seen = 0;

  /** @param {any} parameters */
  static check(parameters) {
    checkSample(parameters);
  }

  /** @param {object} event */
  enqueue(event) {
    if (this.#seen++ % /** @type {any} */ (this.parameters).every === 0) super.enqueue(event);
  }
}
