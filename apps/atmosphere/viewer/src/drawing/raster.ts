/** A grid of values that lies somewhere: on the earth (x is longitude, y latitude) or in a section (x latitude, y layer). */
import { modulo } from "./projection.ts";

export interface RasterGeometry {
  readonly columns: number;
  readonly rows: number;
  /** Centre of the first column, and distance from column to column; likewise for rows. */
  readonly xFirst: number;
  readonly xStep: number;
  readonly yFirst: number;
  readonly yStep: number;
  /** 360 where x goes round, else 0. */
  readonly period: number;
}

export interface Raster extends RasterGeometry {
  /** Row by row; NaN where nothing is known. */
  values: Float32Array;
  /** Seconds of the page's clock at which each cell last changed; undefined where changes are not followed. */
  changedAt: Float32Array | undefined;
  /** Grows with each change of `values` or `changedAt`. */
  revision: number;
  /** Step of the model that the newest of it belongs to. */
  step: number;
  /** Model seconds of that step. */
  time: number;
}

export function sameGeometry(a: RasterGeometry, b: RasterGeometry): boolean {
  return (
    a.columns === b.columns &&
    a.rows === b.rows &&
    a.xFirst === b.xFirst &&
    a.xStep === b.xStep &&
    a.yFirst === b.yFirst &&
    a.yStep === b.yStep &&
    a.period === b.period
  );
}

/** Does the last column meet the first? */
export function goesRound({ period, columns, xStep }: RasterGeometry): boolean {
  return period > 0 && columns * Math.abs(xStep) >= period - 1e-3;
}

/** Fractional column and row of a place, whole numbers at the centres; undefined outside of the outer cells' edges. */
export function cellAt(
  raster: RasterGeometry,
  x: number,
  y: number,
): { column: number; row: number } | undefined {
  const { columns, rows, xFirst, xStep, yFirst, yStep, period } = raster;
  const half = xStep / 2;
  const across = period > 0 ? modulo(x - xFirst + half, period) - half : x - xFirst;
  const column = across / xStep;
  const row = (y - yFirst) / yStep;
  // At a pole the last row's cell ends half a row beyond: there is nothing to leave out.
  if (row < -0.5 || row > rows - 0.5 || column < -0.5) return undefined;
  if (column > columns - 0.5 && !goesRound(raster)) return undefined;
  return { column, row };
}

/** The value of the cell that a place lies in; undefined where there is none. */
export function valueAt(raster: Raster, x: number, y: number): number | undefined {
  const cell = cellAt(raster, x, y);
  if (cell === undefined) return undefined;
  const column = Math.round(cell.column) % raster.columns;
  const row = Math.min(raster.rows - 1, Math.round(cell.row));
  const value = raster.values[row * raster.columns + Math.max(0, column)];
  return value === undefined || Number.isNaN(value) ? undefined : value;
}

/** Linear between the centres of the cells, as the shader does it. */
export function interpolate(raster: Raster, x: number, y: number): number | undefined {
  const cell = cellAt(raster, x, y);
  if (cell === undefined) return undefined;
  const { columns, rows, values, xStep, period } = raster;
  const row = Math.min(rows - 1, Math.max(0, cell.row));
  const upper = Math.floor(row);
  const lower = Math.min(rows - 1, upper + 1);
  let left = Math.floor(cell.column);
  let right = left + 1;
  let weight = cell.column - left;
  if (goesRound(raster) && (left < 0 || left >= columns - 1)) {
    // A thinned grid need not divide the circle: the last gap has its own width.
    const gap = period / xStep - (columns - 1);
    weight = (left < 0 ? cell.column + gap : cell.column - (columns - 1)) / gap;
    left = columns - 1;
    right = 0;
  } else {
    left = Math.max(0, left);
    right = Math.min(columns - 1, Math.max(0, right));
  }
  const at = (r: number, c: number): number => values[r * columns + c] ?? Number.NaN;
  const north = at(upper, left) * (1 - weight) + at(upper, right) * weight;
  const south = at(lower, left) * (1 - weight) + at(lower, right) * weight;
  const value = north + (south - north) * (row - upper);
  return Number.isNaN(value) ? valueAt(raster, x, y) : value;
}
