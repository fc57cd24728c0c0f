import { FifoModulator, unpack } from "jecho:moe";
import { checkArray, checkScalar } from "./check.js";
import { checkCrop, checkCropWindow } from "./parameters.js";

/** Of a field that holds a grid, row by row, the rows and columns of a window: a shared object "window", or the parameter of that name. */
export default class Crop extends FifoModulator {
  static keepsEvents = false;

  /**
   * @param {any} parameters
   * @param {any} objects
   */
  static check(parameters, objects) {
    checkCrop(parameters);
    checkCropWindow(objects.window ?? parameters.window);
  }

  /**
   * @param {any} fields
   * @param {any} parameters
   */
  static checkInput(fields, { field, shape }) {
    checkArray(fields, field);
    for (let i = 0; i < shape.length; i++) if (typeof shape[i] === "string") checkScalar(fields, shape[i]);
  }

  /** @param {any} event */
  enqueue(event) {
    const { field, shape, window } = /** @type {any} */ (this.parameters);
    const {
      rows: ofRows,
      columns: ofColumns,
      stride = 1,
    } = /** @type {any} */ (this.objects.window ?? window);
    const [rows, columns] = [sizeIn(event, shape[0]), sizeIn(event, shape[1])];
    const values = event[field];
    if (values.length !== rows * columns)
      throw new RangeError(`${field}: ${rows} x ${columns} values are wanted, not ${values.length}`);
    const [across, along] = [part(ofRows, rows, stride), part(ofColumns, columns, stride)];
    if (across.count === 0 || along.count === 0) return;
    if (across.count === rows && along.count === columns) return super.enqueue(event);
    const cut = { ...unpack(event), [field]: cropped(values, columns, across, along, stride) };
    if (typeof shape[0] === "string") cut[shape[0]] = across.count;
    if (typeof shape[1] === "string") cut[shape[1]] = along.count;
    super.enqueue(cut);
  }
}

/**
 * @typedef {object} Part of a grid's rows or columns
 * @property {number} first
 * @property {number} count how many come out
 */

/**
 * @param {any} event
 * @param {string | number} size or the name of the field that says it
 */
function sizeIn(event, size) {
  return typeof size === "string" ? event[size] : size;
}

/**
 * @param {readonly [number, number] | undefined} range from the first to the last one; all where there is none
 * @param {number} size how many there are
 * @param {number} stride
 * @returns {Part}
 */
function part(range, size, stride) {
  const [first, last] = range ?? [0, size - 1];
  return { first, count: Math.max(0, Math.ceil((Math.min(last, size - 1) - first + 1) / stride)) };
}

/**
 * @param {any} values
 * @param {number} columns of the grid
 * @param {Part} across rows
 * @param {Part} along columns
 * @param {number} stride
 */
function cropped(values, columns, across, along, stride) {
  const cut = new values.constructor(across.count * along.count);
  for (let row = 0, to = 0; row < across.count; row++) {
    let from = (across.first + row * stride) * columns + along.first;
    for (let column = 0; column < along.count; column++, from += stride) cut[to++] = values[from];
  }
  return cut;
}
