import { text } from "./check.js";

/*
 * The part of a grid that a view shows. Rows and columns are cells around their centres; longitudes go round.
 */

/**
 * @typedef {object} View
 * @property {number} firstLayer the lowest layer shown, 0 = the model's lowest
 * @property {number} lastLayer the highest layer shown
 * @property {number} south degrees
 * @property {number} north degrees
 * @property {number} west degrees, taken modulo 360
 * @property {number} east degrees; less than west: over the date line; west + 360 and more: all round
 * @property {number} stride every how manyth row and column, from the window's first
 */

/**
 * @typedef {object} Grid
 * @property {number} layer
 * @property {number} latFirst
 * @property {number} latStep
 * @property {number} rows
 * @property {number} lonFirst
 * @property {number} lonStep
 * @property {number} columns
 * @property {Float32Array} values
 */

/**
 * @typedef {object} Window where a view meets a grid
 * @property {number} row the first row of the grid that is in
 * @property {number} column the first column, the westernmost
 * @property {number} stride
 * @property {number} rows rows that come out
 * @property {number} columns columns that come out
 * @property {boolean} whole is it simply the whole grid?
 */

const NUMBERS = ["firstLayer", "lastLayer", "south", "north", "west", "east", "stride"];

/**
 * @param {any} view
 * @throws {RangeError} naming what is wrong
 */
export function checkView(view) {
  if (typeof view !== "object" || view === null)
    throw new RangeError("there is no view: neither a shared object nor a parameter of that name");
  for (const name of NUMBERS) {
    if (!Number.isFinite(view[name]))
      throw new RangeError(`view.${name}: a finite number is wanted, not ${text(view[name])}`);
  }
  if (view.south > view.north)
    throw new RangeError(`view.south (${view.south}) is north of view.north (${view.north})`);
  if (view.firstLayer > view.lastLayer)
    throw new RangeError(`view.firstLayer (${view.firstLayer}) is above view.lastLayer (${view.lastLayer})`);
  if (!Number.isInteger(view.stride) || view.stride < 1)
    throw new RangeError(`view.stride: an integer from 1 is wanted, not ${view.stride}`);
}

/**
 * @param {View} view
 * @param {Grid} grid
 * @returns {Window | undefined} undefined where nothing is in
 * @throws {RangeError} where the grid goes round more than once: its columns are no longitudes
 */
export function findWindow(view, grid) {
  const wide = grid.columns * Math.abs(grid.lonStep);
  // Some grids have their first column again as their last one.
  if (wide > 360 + 1.5 * Math.abs(grid.lonStep))
    throw new RangeError(
      `lonStep: ${grid.columns} columns of ${Math.abs(grid.lonStep)} degrees are more than 360 degrees; crop takes any grid by its rows and columns`,
    );
  const rows = rowsIn(view, grid);
  const columns = columnsIn(view, grid);
  if (rows.count === 0 || columns.count === 0) return undefined;
  const { stride } = view;
  return {
    row: rows.first,
    column: columns.first,
    stride,
    rows: Math.ceil(rows.count / stride),
    columns: Math.ceil(columns.count / stride),
    whole: stride === 1 && rows.count === grid.rows && columns.count === grid.columns,
  };
}

/**
 * @param {View} view
 * @param {Grid} grid
 */
function rowsIn({ south, north }, { latFirst, latStep, rows }) {
  const half = Math.abs(latStep) / 2;
  let first = 0;
  let count = 0;
  for (let row = 0; row < rows; row++) {
    const latitude = latFirst + row * latStep;
    if (latitude + half < south || latitude - half > north) continue;
    if (count++ === 0) first = row;
  }
  return { first, count };
}

/**
 * Columns go round where the grid does: then a window over the grid's edge is one run from its western end. A grid of
 * less than the full circle gives everything between the first and the last column that is in.
 *
 * @param {View} view
 * @param {Grid} grid
 */
function columnsIn({ west, east }, { lonFirst, lonStep, columns }) {
  if (east - west >= 360) return { first: 0, count: columns };
  const width = Math.abs(lonStep);
  const span = modulo(east - west, 360);
  /** @param {number} column */
  const isIn = column => {
    const edge = lonFirst + column * lonStep - width / 2;
    return modulo(edge - west, 360) <= span || modulo(west - edge, 360) <= width;
  };
  const global = Math.abs(columns * width - 360) < width / 2;
  let count = 0;
  let first = 0;
  let last = 0;
  let start = -1;
  let before = isIn(columns - 1);
  for (let column = 0; column < columns; column++) {
    const now = isIn(column);
    if (now) {
      if (count++ === 0) first = column;
      last = column;
      if (!before) start = column;
    }
    before = now;
  }
  if (count === 0 || count === columns) return { first: 0, count };
  return global ? { first: start, count } : { first, count: last - first + 1 };
}

/**
 * @param {number} value
 * @param {number} by
 */
function modulo(value, by) {
  return ((value % by) + by) % by;
}

/**
 * What an event of the window says besides its values.
 *
 * @param {Window} window
 * @param {any} grid the event that it is cut out of
 * @returns {any} without the values
 */
export function cutOf({ row, column, stride, rows, columns }, grid) {
  // Field by field: spreading one object into another takes ten times as long.
  return {
    step: grid.step,
    layer: grid.layer,
    time: grid.time,
    latFirst: grid.latFirst + row * grid.latStep,
    latStep: grid.latStep * stride,
    rows,
    lonFirst: grid.lonFirst + column * grid.lonStep,
    lonStep: grid.lonStep * stride,
    columns,
    // For the values, whichever way they go. A shape that an object gets only by adding a field is forgotten when garbage is collected
    // while there is no such object, and all that engines have compiled for it.
    values: undefined,
    cells: undefined,
    words: undefined,
    stream: undefined,
    n: undefined,
    since: undefined,
  };
}
