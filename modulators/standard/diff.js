import { checkDiff } from "./parameters.js";
import { bitsOf, ViewModulator, viewOf } from "./view-modulator.js";
import { checkView, cutOf } from "./window.js";

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
  /** The number of the window that these are of. */
  #shown = 0;
  /** What was sent of all layers, one behind the other. */
  #sent = new Float32Array(0);
  /** Of each layer: where in there it begins; in so many events since one with all cells; the last of them the `n`th. @type {Map<number, number>} */
  #begins = new Map();
  /** @type {Map<number, number>} */
  #events = new Map();
  /** @type {Map<number, number>} */
  #newest = new Map();

  /**
   * @param {any} parameters
   * @param {any} objects
   */
  static check(parameters, objects) {
    checkView(viewOf(parameters, objects));
    checkDiff(parameters);
  }

  /** @param {any} event GridData */
  enqueue(event) {
    const window = this.windowOf(event);
    if (window === undefined) return;
    if (this.windows !== this.#shown) {
      this.#begins.clear();
      this.#sent = new Float32Array(0);
    }
    this.#shown = this.windows;
    if (window.whole) this.#send(window, event, wholeOf(event));
    else this.#send(window, event, this.crop(window, event));
  }

  /**
   * @param {import("./window.js").Window} window
   * @param {any} event
   * @param {Float32Array} values of the window
   */
  #send(window, event, values) {
    const { layer } = event;
    const isNew = !this.#begins.has(layer);
    if (isNew) this.#addLayer(layer, values.length);
    const begin = this.#begins.get(layer) ?? 0;
    if (this.#cells.length < values.length) this.#cells = new Uint32Array(values.length);
    const count = this.#compare(values, begin);
    if (count === 0 && !isNew) return;
    const events = isNew ? 0 : ((this.#events.get(layer) ?? 0) + 1) % REFRESH_EVENTS;
    this.#events.set(layer, events);
    if (events === 0) {
      for (let cell = 0; cell < values.length; cell++) {
        this.#cells[cell] = cell;
        this.#sent[begin + cell] = values[cell];
      }
      this.#pass(window, event, this.#cells.subarray(0, values.length), values, 0);
    } else {
      const changed = new Float32Array(count);
      for (let i = 0; i < count; i++) {
        const cell = this.#cells[i];
        changed[i] = values[cell];
        this.#sent[begin + cell] = values[cell];
      }
      this.#pass(window, event, this.#cells.subarray(0, count), changed, this.#newest.get(layer) ?? 0);
    }
  }

  /**
   * Room for a layer's values.
   *
   * @param {number} layer
   * @param {number} size
   */
  #addLayer(layer, size) {
    const begin = this.#sent.length;
    const sent = new Float32Array(begin + size);
    sent.set(this.#sent);
    this.#sent = sent;
    this.#begins.set(layer, begin);
  }

  /**
   * Notes the cells that differ from what was sent.
   *
   * @param {Float32Array} values
   * @param {number} begin where the layer's values begin in what was sent
   * @returns how many there are
   */
  #compare(values, begin) {
    const { threshold } = /** @type {{ threshold: number }} */ (this.parameters);
    let count = 0;
    for (let cell = 0; cell < values.length; cell++) {
      const sent = this.#sent[begin + cell];
      const apart = Math.abs(values[cell] - sent);
      // No difference to tell of where one of the two is no finite number, unless they are the same.
      if (apart > threshold || (Number.isNaN(apart) && !Object.is(values[cell], sent)))
        this.#cells[count++] = cell;
    }
    return count;
  }

  /**
   * @param {import("./window.js").Window} window
   * @param {any} event
   * @param {Uint32Array} cells
   * @param {Float32Array} values of these cells
   * @param {number} since
   */
  #pass(window, event, cells, values, since) {
    const cut = cutOf(window, event);
    cut.cells = cells;
    cut.values = values;
    cut.stream = this.#stream;
    cut.n = ++this.#n;
    cut.since = since;
    this.#newest.set(event.layer, this.#n);
    super.enqueue(cut);
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
