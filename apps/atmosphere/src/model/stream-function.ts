// biome-ignore-all lint/style/noNonNullAssertion: every index below is in range by construction of the loops
import { EARTH_RADIUS, type Grid } from "./grid.ts";

/** Wavenumbers up to this one count as planetary waves, the others as short ones. */
const LONGEST_SHORT_WAVE = 4;

/** A stream function in m2/s at the corners of a grid's cells ([rows - 1][columns]), taken apart by wavenumber. */
export interface StreamFunction {
  /** The mean along each row of corners. */
  zonal: Float64Array;
  /** Wavenumbers 1 to 3. */
  planetary: Float32Array;
  /** The planetary waves a quarter of a wavelength further west: with them, a wave can be turned by any phase. */
  planetaryTurned: Float32Array;
  /** Wavenumbers from 4 on. */
  short: Float32Array;
}

/**
 * The stream function whose wind comes nearest to the given one (m/s, row-major on the points of the grid):
 * the non-divergent part of its discrete Helmholtz decomposition.
 *
 * A monthly mean wind at one pressure has a small divergent part (its air rises or sinks elsewhere), which
 * has no place in a layer of constant air mass. What is kept minimises the kinetic energy of what is dropped,
 * on the C-grid that the transport uses: wind to fluxes through the faces, then a direct solution of the
 * normal equations, by a Fourier transform along the rows and a tridiagonal system across them.
 */
export function streamFunctionOf(
  grid: Grid,
  eastward: Float32Array,
  northward: Float32Array,
): StreamFunction {
  const { columns } = grid;
  const corners = grid.rows - 1;
  const half = columns / 2;
  const { meanFlux, source, rowWeight, edgeWeight } = normalEquations(grid, eastward, northward);
  const result: StreamFunction = {
    zonal: new Float64Array(corners),
    planetary: new Float32Array(corners * columns),
    planetaryTurned: new Float32Array(corners * columns),
    short: new Float32Array(corners * columns),
  };
  for (let c = 1; c < corners; c++) result.zonal[c] = result.zonal[c - 1]! + meanFlux[c]!;

  const cosine = Float64Array.from({ length: columns }, (_, n) => Math.cos((2 * Math.PI * n) / columns));
  const sine = Float64Array.from({ length: columns }, (_, n) => Math.sin((2 * Math.PI * n) / columns));
  const real = new Float64Array(corners);
  const imaginary = new Float64Array(corners);
  const diagonal = new Float64Array(corners);
  for (let m = 1; m <= half; m++) {
    for (let c = 0; c < corners; c++) {
      let re = 0;
      let im = 0;
      for (let i = 0, turn = 0; i < columns; i++, turn = (turn + m) % columns) {
        const value = source[c * columns + i]!;
        re += value * cosine[turn]!;
        im -= value * sine[turn]!;
      }
      const share = (m === half ? 1 : 2) / columns;
      real[c] = re * share;
      imaginary[c] = im * share;
      diagonal[c] = rowWeight[c]! + rowWeight[c + 1]! + edgeWeight[c]! * (2 - 2 * cosine[m]!);
    }
    solveTridiagonal(diagonal, rowWeight, real, imaginary);
    const target = m < LONGEST_SHORT_WAVE ? result.planetary : result.short;
    for (let c = 0; c < corners; c++) {
      const re = real[c]!;
      const im = imaginary[c]!;
      for (let i = 0, n = c * columns, turn = 0; i < columns; i++, n++, turn = (turn + m) % columns) {
        target[n]! += re * cosine[turn]! - im * sine[turn]!;
        if (m < LONGEST_SHORT_WAVE) result.planetaryTurned[n]! -= re * sine[turn]! + im * cosine[turn]!;
      }
    }
  }
  return result;
}

/**
 * The normal equations of the fit at each corner. rowWeight[j] belongs to the east faces of row j,
 * edgeWeight[c] to the faces between rows c and c + 1: the inverse of what makes a squared flux (m2/s) an
 * energy.
 */
function normalEquations(grid: Grid, eastward: Float32Array, northward: Float32Array) {
  const { rows, columns, latitudes, latStep, lonStep } = grid;
  const radians = Math.PI / 180;
  const height = EARTH_RADIUS * latStep * radians;
  const rowWeight = new Float64Array(rows);
  const edgeWeight = new Float64Array(rows - 1);
  const meanFlux = new Float64Array(rows);
  const source = new Float64Array((rows - 1) * columns);
  for (let j = 1; j < rows - 1; j++) {
    const weight = Math.cos(latitudes[j]! * radians) * (lonStep / latStep);
    rowWeight[j] = weight;
    for (let i = 0; i < columns; i++) {
      const east = j * columns + (i + 1 < columns ? i + 1 : 0);
      const flux = ((eastward[j * columns + i]! + eastward[east]!) / 2) * height;
      meanFlux[j]! += flux / columns;
      source[j * columns + i]! += weight * flux;
      source[(j - 1) * columns + i]! -= weight * flux;
    }
  }
  for (let c = 0; c < rows - 1; c++) {
    const cosine = Math.cos((latitudes[c]! - latStep / 2) * radians);
    const weight = latStep / lonStep / cosine;
    const width = EARTH_RADIUS * cosine * lonStep * radians;
    edgeWeight[c] = weight;
    for (let i = 0; i < columns; i++) {
      const n = c * columns + i;
      const flux = ((northward[n]! + northward[n + columns]!) / 2) * width;
      source[n]! += weight * flux;
      source[i > 0 ? n - 1 : n + columns - 1]! -= weight * flux;
    }
  }
  return { meanFlux, source, rowWeight, edgeWeight };
}

/** Solves for two right sides in place; the entry between c - 1 and c is -coupling[c]. Thomas' algorithm. */
function solveTridiagonal(
  diagonal: Float64Array,
  coupling: Float64Array,
  real: Float64Array,
  imaginary: Float64Array,
): void {
  const last = diagonal.length - 1;
  for (let c = 1; c <= last; c++) {
    const factor = coupling[c]! / diagonal[c - 1]!;
    diagonal[c]! -= factor * coupling[c]!;
    real[c]! += factor * real[c - 1]!;
    imaginary[c]! += factor * imaginary[c - 1]!;
  }
  for (let c = last; c >= 0; c--) {
    const beyond = c < last ? coupling[c + 1]! : 0;
    real[c] = (real[c]! + (c < last ? beyond * real[c + 1]! : 0)) / diagonal[c]!;
    imaginary[c] = (imaginary[c]! + (c < last ? beyond * imaginary[c + 1]! : 0)) / diagonal[c]!;
  }
}

/**
 * Brings a stream function to the corners of another grid, bicubically (Catmull and Rom), so that the wind is
 * smooth and still without divergence: interpolating the wind itself would keep neither. Beyond a pole a
 * meridian goes on opposite.
 */
export function interpolateStream(stream: StreamFunction, from: Grid, to: Grid): StreamFunction {
  if (from.rows === to.rows && from.columns === to.columns) return stream;
  const zonalField = new Float32Array((from.rows - 1) * from.columns);
  const origin = stream.zonal[0]!;
  for (let n = 0; n < zonalField.length; n++) {
    zonalField[n] = stream.zonal[Math.floor(n / from.columns)]! - origin;
  }
  const zonal = interpolateCorners(zonalField, from, to);
  return {
    zonal: Float64Array.from({ length: to.rows - 1 }, (_, c) => zonal[c * to.columns]!),
    planetary: interpolateCorners(stream.planetary, from, to),
    planetaryTurned: interpolateCorners(stream.planetaryTurned, from, to),
    short: interpolateCorners(stream.short, from, to),
  };
}

function interpolateCorners(values: Float32Array, from: Grid, to: Grid): Float32Array {
  const corners = from.rows - 1;
  const { columns } = from;
  const at = (c: number, i: number): number => {
    const beyond = c < 0 || c >= corners;
    const row = c < 0 ? -1 - c : c >= corners ? 2 * corners - 1 - c : c;
    return values[row * columns + ((((i + (beyond ? columns / 2 : 0)) % columns) + columns) % columns)]!;
  };
  const result = new Float32Array((to.rows - 1) * to.columns);
  for (let c = 0; c < to.rows - 1; c++) {
    const y = ((c + 0.5) * to.latStep) / from.latStep - 0.5;
    const row = Math.floor(y);
    for (let i = 0; i < to.columns; i++) {
      const x = ((i + 0.5) * to.lonStep) / from.lonStep - 0.5;
      const column = Math.floor(x);
      const along = (r: number) =>
        cubic(at(r, column - 1), at(r, column), at(r, column + 1), at(r, column + 2), x - column);
      result[c * to.columns + i] = cubic(along(row - 1), along(row), along(row + 1), along(row + 2), y - row);
    }
  }
  return result;
}

function cubic(before: number, left: number, right: number, after: number, part: number): number {
  const third = 3 * (left - right) + after - before;
  const second = 2 * before - 5 * left + 4 * right - after;
  return left + 0.5 * part * (right - before + part * (second + part * third));
}
