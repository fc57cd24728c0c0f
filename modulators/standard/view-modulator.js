import { FifoModulator } from "jecho:moe";
import { checkField, checkScalar } from "./check.js";
import { checkView, findWindow } from "./window.js";

/** @typedef {import("./window.js").View} View */
/** @typedef {import("./window.js").Grid} Grid */
/** @typedef {import("./window.js").Window} Window */

/** What modulators have in common that show a view: a shared object "view", or the parameter of that name. */
export class ViewModulator extends FifoModulator {
  static keepsEvents = false;

  /** @type {View | undefined} */
  #view;
  /** @type {Omit<Grid, "layer" | "values"> | undefined} */
  #grid;
  /** @type {Window | undefined} */
  #window;
  /** Counts the windows: as long as it stays the same, the window does. */
  windows = 0;
  #room = new Int32Array(0);

  /**
   * @param {any} parameters
   * @param {any} objects
   */
  static check(parameters, objects) {
    checkView(viewOf(parameters, objects));
  }

  /** @param {any} fields */
  static checkInput(fields) {
    for (let i = 0; i < NUMBERS.length; i++) checkScalar(fields, NUMBERS[i]);
    checkField(fields, "values", ["float32[]"], "is no vector of float32");
  }

  /**
   * Where the view meets a layer.
   *
   * @param {Grid} grid
   * @returns {Window | undefined} undefined where nothing of the layer is in
   */
  windowOf(grid) {
    const view = viewOf(this.parameters, this.objects);
    if (grid.layer < view.firstLayer || grid.layer > view.lastLayer) return undefined;
    const { latFirst, latStep, rows, lonFirst, lonStep, columns } = grid;
    const last = this.#grid;
    if (
      last === undefined ||
      this.#view !== view ||
      last.latFirst !== latFirst ||
      last.latStep !== latStep ||
      last.rows !== rows ||
      last.lonFirst !== lonFirst ||
      last.lonStep !== lonStep ||
      last.columns !== columns
    ) {
      this.#view = view;
      this.#grid = { latFirst, latStep, rows, lonFirst, lonStep, columns };
      this.#window = findWindow(view, grid);
      this.windows++;
    }
    return this.#window;
  }

  /**
   * The values of a window that is not the whole grid, row by row and bit by bit: in room that the next call uses again, for an allocation for
   * each event costs more than the copying.
   *
   * @param {Window} window
   * @param {Grid} grid
   * @returns {Float32Array}
   */
  crop(window, { values, rows, columns }) {
    const bits = bitsOf(values, rows, columns);
    const count = window.rows * window.columns;
    if (count > this.#room.length) this.#room = new Int32Array(count);
    copyWindow(window, columns, bits, this.#room);
    return new Float32Array(this.#room.buffer, 0, count);
  }
}

const NUMBERS = ["layer", "latFirst", "latStep", "rows", "lonFirst", "lonStep", "columns"];

/**
 * @param {any} parameters
 * @param {any} objects
 * @returns {View}
 */
export function viewOf(parameters, objects) {
  return objects.view ?? parameters?.view;
}

/**
 * Values as bits, for a NaN that is read as a number need not keep its own.
 *
 * @param {unknown} values
 * @param {number} rows
 * @param {number} columns
 * @returns {Int32Array}
 * @throws {RangeError} where they are not so many float32
 */
export function bitsOf(values, rows, columns) {
  if (!(values instanceof Float32Array) || values.length !== rows * columns)
    throw new RangeError(`values: ${rows} x ${columns} float32 are wanted`);
  return new Int32Array(values.buffer, values.byteOffset, values.length);
}

/**
 * @param {Window} window
 * @param {number} gridColumns
 * @param {Int32Array} bits of the grid's values
 * @param {Int32Array | Uint32Array} to the window's, row by row, from the first place on
 */
export function copyWindow({ row, column, stride, rows, columns }, gridColumns, bits, to) {
  for (let r = 0; r < rows; r++) {
    const from = (row + r * stride) * gridColumns;
    const start = r * columns;
    // A plain loop: for rows as short as these it is faster than subarray and set.
    for (let c = 0; c < columns; c++) {
      const at = column + c * stride;
      to[start + c] = bits[from + (at < gridColumns ? at : at - gridColumns)];
    }
  }
}
