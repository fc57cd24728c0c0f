import { bytesOf, FifoModulator, typeToken, unpack } from "jecho:moe";
import { checkFloats } from "./check.js";
import { differ } from "./differ.js";
import { checkQuantise } from "./parameters.js";
import { packZeros } from "./zero-runs.js";

/** Steps that a number may be away from zero; beyond, it travels as it is. */
const MOST_STEPS = 0x3fff_ffff;

/**
 * Lossy with a bound: a float vector's numbers in steps of twice the bound, and of those how they differ from the event
 * before. Numbers that would be off by more, and those that are none, travel as they are.
 */
export default class Quantise extends FifoModulator {
  static keepsEvents = false;
  static output = {
    name: "Quantised",
    description: {
      token: "uint64",
      stream: "uint32",
      n: "uint32",
      whole: "bool",
      field: "string",
      bound: "float64",
      wide: "bool",
      length: "uint32",
      packed: "uint8[]",
      exact: "uint32[]",
      values: "float64[]",
      rest: "uint8[]",
    },
  };

  #stream = Math.floor(Math.random() * 0x1_0000_0000);
  #n = 0;
  #last = new Uint8Array(0);

  /** @param {any} parameters */
  static check(parameters) {
    checkQuantise(parameters);
  }

  /**
   * @param {any} fields
   * @param {any} parameters
   */
  static checkInput(fields, { field }) {
    checkFloats(fields, field);
  }

  /** @param {object} event */
  enqueue(event) {
    const { field, bound, refreshEvents } = /** @type {any} */ (this.parameters);
    const values = /** @type {any} */ (event)[field];
    const wide = values instanceof Float64Array;
    const step = 2 * bound;
    const steps = new Int32Array(values.length);
    const exact = new Uint32Array(values.length);
    let others = 0;
    for (let i = 0; i < values.length; i++) {
      const count = Math.round(values[i] / step);
      const rebuilt = wide ? count * step : Math.fround(count * step);
      if (Math.abs(count) <= MOST_STEPS && Math.abs(rebuilt - values[i]) <= bound) steps[i] = count;
      else exact[others++] = i;
    }
    const whole = this.#n % refreshEvents === 0;
    if (whole) this.#last = new Uint8Array(0);
    const unsigned = zigzag(steps);
    const bytes = new Uint8Array(unsigned.buffer);
    const packed = packZeros(differ(bytes, this.#last));
    this.#last = bytes;
    const exactValues = new Float64Array(others);
    for (let i = 0; i < others; i++) exactValues[i] = values[exact[i]];
    super.enqueue({
      token: typeToken(),
      stream: this.#stream,
      n: this.#n++,
      whole,
      field,
      bound,
      wide,
      length: values.length,
      packed,
      exact: exact.subarray(0, others),
      values: exactValues,
      rest: bytesOf({ ...unpack(event), [field]: new values.constructor(0) }),
    });
  }
}

/**
 * Small numbers of either sign as small numbers: 0, -1, 1, -2 as 0, 1, 2, 3.
 *
 * @param {Int32Array} steps
 */
function zigzag(steps) {
  const packed = new Uint32Array(steps.length);
  for (let i = 0; i < steps.length; i++) packed[i] = (steps[i] << 1) ^ (steps[i] >> 31);
  return packed;
}
