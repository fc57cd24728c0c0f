import { bytesOf, FifoModulator, typeToken } from "jecho:moe";
import { checkCluster } from "./parameters.js";

/** Many small events in one: it goes out when it is full, or when its first event has waited for `withinMs`. */
export default class Cluster extends FifoModulator {
  static output = {
    name: "Cluster",
    description: { token: "uint64", ends: "uint32[]", bytes: "uint8[]" },
  };

  /** @type {Uint8Array[]} */
  #parts = [];
  #size = 0;
  /** Of the type that all of them are of. */
  #token = 0n;

  /** @param {any} parameters */
  static check(parameters) {
    checkCluster(parameters);
  }

  /** @param {object} event */
  enqueue(event) {
    const { events, bytes, withinMs } = /** @type {any} */ (this.parameters);
    const part = bytesOf(event);
    const token = typeToken();
    const isApart = token !== this.#token || this.#size + part.length > bytes;
    if (isApart && this.#parts.length > 0) this.#flush();
    this.#token = token;
    this.#parts.push(part);
    this.#size += part.length;
    if (this.#parts.length >= events || this.#size >= bytes) this.#flush();
    else this.periodMs = withinMs;
  }

  period() {
    if (this.#parts.length > 0) this.#flush();
  }

  #flush() {
    const ends = new Uint32Array(this.#parts.length);
    const bytes = new Uint8Array(this.#size);
    let at = 0;
    for (let i = 0; i < ends.length; i++) {
      bytes.set(this.#parts[i], at);
      at += this.#parts[i].length;
      ends[i] = at;
    }
    this.#parts = [];
    this.#size = 0;
    this.periodMs = 0;
    super.enqueue({ token: this.#token, ends, bytes });
  }
}
