import { checkDiff } from "./parameters.js";
import { bitsOf, ViewModulator } from "./view-modulator.js";
import { cutOf } from "./window.js";

/** A layer's events that are sent before one with all cells, for those who came late or missed one. */
const REFRESH_EVENTS = 50;

/**
 * Of each layer in the view, the cells of its window that differ from what was last sent of them by more than a
 * threshold. The first event of a layer, and the first after the window changed, has all cells; one without any is not sent.
 */
export default class Diff extends ViewModulator {
  static output = {
    name: "GridChange",
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
      stream: "uint32",
      n: "uint32",
      since: "uint32",
      cells: "uint32[]",
      values: "float32[]",
    },
  };

  #stream = Math.floor(Math.random() * 0x1_0000_0000);
  /** Counts what was sent. */
  #n = 0;
  #cells = new Uint32Array(0);
  /** @type {import("./window.js").Window | undefined} */
  #window;
  /** Of each layer what was sent, in so many events since one with all cells, the last of them the `n`th. @type {Map<number, { sent: Float32Array, events: number, n: number }>} */
  #layers = new Map();

  /**
   * @param {any} parameters
   * @param {any} objects
   */
  static check(parameters, objects) {
    ViewModulator.check(parameters, objects);
    checkDiff(parameters);
  }

  /** @param {any} event GridData */
  enqueue(event) {
    const window = this.windowOf(event);
    if (window === undefined) return;
    if (window !== this.#window) this.#layers.clear();
    this.#window = window;
    const values = window.whole ? wholeOf(event) : this.crop(window, event);
    const change = this.#change(event.layer, values);
    if (change === undefined) return;
    const cut = cutOf(window, event);
    cut.cells = change.cells;
    cut.values = change.values;
    cut.stream = this.#stream;
    cut.n = this.#n;
    cut.since = change.since;
    super.enqueue(cut);
  }

  /**
   * @param {number} layer
   * @param {Float32Array} values
   */
  #change(layer, values) {
    const known = this.#layers.get(layer);
    if (known === undefined) return this.#whole(layer, values);
    const { sent, n: since } = known;
    const { threshold } = /** @type {{ threshold: number }} */ (this.parameters);
    if (this.#cells.length < values.length) this.#cells = new Uint32Array(values.length);
    const cells = this.#cells;
    let count = 0;
    for (let cell = 0; cell < values.length; cell++) {
      const apart = Math.abs(values[cell] - sent[cell]);
      // No difference to tell of where one of the two is no finite number, unless they are the same.
      if (apart > threshold || (Number.isNaN(apart) && !Object.is(values[cell], sent[cell]))) {
        cells[count++] = cell;
      }
    }
    if (count === 0) return undefined;
    if (++known.events >= REFRESH_EVENTS) return this.#whole(layer, values);
    const changed = new Float32Array(count);
    for (let i = 0; i < count; i++) {
      changed[i] = values[cells[i]];
      sent[cells[i]] = changed[i];
    }
    known.n = ++this.#n;
    return { cells: cells.subarray(0, count), values: changed, since };
  }

  /**
   * @param {number} layer
   * @param {Float32Array} values
   */
  #whole(layer, values) {
    this.#layers.set(layer, { sent: values.slice(), events: 0, n: ++this.#n });
    return { cells: Uint32Array.from(values, (_, cell) => cell), values, since: 0 };
  }
}

/**
 * @param {import("./window.js").Grid} grid
 * @returns {Float32Array} all of its values
 * @throws {RangeError} where they are not so many
 */
function wholeOf({ values, rows, columns }) {
  bitsOf(values, rows, columns);
  return values;
}
