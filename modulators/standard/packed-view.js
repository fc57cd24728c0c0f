import { mostWords, packFloats } from "./packed-floats.js";
import { bitsOf, copyWindow, ViewModulator } from "./view-modulator.js";
import { cutOf } from "./window.js";

/** Of each layer in the view, the part that lies in its window, in fewer bytes and bit by bit the same. */
export default class PackedView extends ViewModulator {
  static output = {
    name: "PackedGrid",
    description: {
      step: "uint32",
      layer: "int32",
      time: "float64",
      latFirst: "float32",
      latStep: "float32",
      rows: "uint16",
      lonFirst: "float32",
      lonStep: "float32",
      columns: "uint16",
      words: "uint32[]",
    },
  };

  #numbers = new Int32Array(0);
  #words = new Uint32Array(0);

  /** @param {any} event GridData */
  enqueue(event) {
    const window = this.windowOf(event);
    if (window === undefined) return;
    const cut = cutOf(window, event);
    cut.words = this.#pack(window, event);
    super.enqueue(cut);
  }

  /**
   * @param {import("./window.js").Window} window
   * @param {import("./window.js").Grid} grid
   */
  #pack(window, { values, rows, columns }) {
    const bits = bitsOf(values, rows, columns);
    const count = window.rows * window.columns;
    if (count > this.#numbers.length) {
      this.#numbers = new Int32Array(count);
      this.#words = new Uint32Array(mostWords(count));
    }
    const numbers = this.#numbers.subarray(0, count);
    copyWindow(window, columns, bits, numbers);
    const length = packFloats(numbers, window.columns, this.#words);
    if (length >= count) copyWindow(window, columns, bits, this.#words);
    return this.#words.subarray(0, Math.min(length, count));
  }
}
