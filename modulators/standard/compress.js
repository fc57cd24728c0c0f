import { bytesOf, FifoModulator, typeToken } from "jecho:moe";
import { differ } from "./differ.js";
import { checkCompress } from "./parameters.js";
import { packZeros } from "./zero-runs.js";

/** Lossless: how each event differs from the one before, byte by byte. Good where events resemble each other. */
export default class Compress extends FifoModulator {
  static keepsEvents = false;
  static output = {
    name: "Compressed",
    description: {
      token: "uint64",
      stream: "uint32",
      n: "uint32",
      whole: "bool",
      length: "uint32",
      packed: "uint8[]",
    },
  };

  #stream = Math.floor(Math.random() * 0x1_0000_0000);
  #n = 0;
  #last = new Uint8Array(0);

  /** @param {any} parameters */
  static check(parameters) {
    checkCompress(parameters);
  }

  /** @param {object} event */
  enqueue(event) {
    const { refreshEvents } = /** @type {any} */ (this.parameters);
    const bytes = bytesOf(event).slice();
    const whole = this.#n % refreshEvents === 0;
    if (whole) this.#last = new Uint8Array(0);
    const packed = packZeros(differ(bytes, this.#last));
    this.#last = bytes;
    super.enqueue({
      token: typeToken(),
      stream: this.#stream,
      n: this.#n++,
      whole,
      length: this.#last.length,
      packed,
    });
  }
}
