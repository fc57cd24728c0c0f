// biome-ignore-all lint/style/noNonNullAssertion: every index below is in range by construction of the loops
import type { Grid } from "./grid.ts";
import { MeridianSweep } from "./meridian-sweep.ts";
import { RowSweep } from "./row-sweep.ts";

/** The largest part of a cell's air that a sub-step may take out of it in one sweep. */
const LARGEST_PART = 0.95;

/**
 * Conservative transport of a tracer over the sphere by a flow given as a stream function.
 *
 * The scheme is a dimensionally split finite-volume one in flux form. Each sweep, along the rows or along the
 * meridians, moves air *and* tracer with the same fluxes and divides one by the other, so a constant mixing
 * ratio stays constant although each single sweep piles air up somewhere; what the first piles up, the second
 * takes away, since a stream function's flux has no divergence on this grid (the way of Russell and Lerner
 * 1981, Journal of Applied Meteorology 20, 1483-1498, and of Easter 1993, Monthly Weather Review 121,
 * 297-304). Inside a cell the tracer is a monotone parabola of the air's mass (PPM: Colella and Woodward
 * 1984, Journal of Computational Physics 54, 174-201; the successor of van Leer 1977, ibid. 23, 276-299).
 * Along the rows a flux comes from any number of cells, whole ones and a part (Lin and Rood 1996, Monthly
 * Weather Review 124, 2046-2070), which lifts the limit on the time step where the meridians meet. Each sweep
 * thus averages bounded parabolas between ordered bounds, so no new extremum can arise, in two dimensions as
 * in one. The order of the sweeps alternates, which makes the splitting second-order over a pair of
 * sub-steps.
 *
 * Across the rows the step is limited; `advect` divides it as needed, so every time step is stable.
 */
export class Transport {
  readonly #grid: Grid;
  readonly #tracer: Float64Array;
  readonly #air: Float64Array;
  readonly #eastward: Float64Array;
  readonly #northward: Float64Array;
  readonly #rowSweep: RowSweep;
  readonly #meridianSweep: MeridianSweep;

  constructor(grid: Grid) {
    const size = grid.rows * grid.columns;
    this.#grid = grid;
    this.#tracer = new Float64Array(size);
    this.#air = new Float64Array(size);
    this.#eastward = new Float64Array(size);
    this.#northward = new Float64Array(size - grid.columns);
    this.#rowSweep = new RowSweep(grid);
    this.#meridianSweep = new MeridianSweep(grid);
  }

  /**
   * Moves `field` (row-major mixing ratios, none negative, changed in place) over `seconds`.
   *
   * `stream` is the stream function in m2/s at the corners of the cells, [rows - 1][columns]: entry (c, i)
   * lies between rows c and c + 1, and between columns i and i + 1. The wind is u = -d(stream)/dy, v =
   * d(stream)/dx. `rowsFirst` tells which sweep begins: alternate it from call to call. Returns how many
   * sub-steps it took.
   */
  advect(field: Float32Array, stream: Float64Array, seconds: number, rowsFirst: boolean): number {
    const { rows, columns, pointArea } = this.#grid;
    const tracer = this.#tracer;
    const air = this.#air;
    const subSteps = Math.max(1, Math.ceil((this.#setFluxes(stream) * seconds) / LARGEST_PART));
    for (let n = 0; n < tracer.length; n++) tracer[n] = field[n]!;
    for (let s = 0; s < subSteps; s++) {
      for (let j = 0; j < rows; j++) air.fill(pointArea[j]!, j * columns, (j + 1) * columns);
      const rowsNow = rowsFirst === (s % 2 === 0);
      if (rowsNow) this.#rowSweep.run(tracer, air, this.#eastward, seconds / subSteps);
      this.#meridianSweep.run(tracer, air, this.#northward, seconds / subSteps);
      if (!rowsNow) this.#rowSweep.run(tracer, air, this.#eastward, seconds / subSteps);
    }
    // Roundoff can leave a trace below nothing, and numbers too small for full precision make arithmetic slow.
    for (let n = 0; n < tracer.length; n++) field[n] = tracer[n]! > 1e-30 ? tracer[n]! : 0;
    return subSteps;
  }

  /** Fills the fluxes (m2/s); returns the largest rate (1/s) at which a sweep may take a cell's air out of it. */
  #setFluxes(stream: Float64Array): number {
    const { rows, columns, pointArea } = this.#grid;
    const eastward = this.#eastward;
    const northward = this.#northward;
    for (let c = 0; c < rows - 1; c++) {
      const start = c * columns;
      northward[start] = stream[start]! - stream[start + columns - 1]!;
      for (let n = start + 1; n < start + columns; n++) northward[n] = stream[n]! - stream[n - 1]!;
    }
    let fastest = 0;
    for (let j = 1; j < rows - 1; j++) {
      let fastestInRow = 0;
      for (let n = j * columns; n < (j + 1) * columns; n++) {
        eastward[n] = stream[n]! - stream[n - columns]!;
        const north = northward[n - columns]!;
        const south = northward[n]!;
        // What the meridian sweep takes out at one face, after the row sweep took out (or put in) the difference.
        const outflow = Math.max(north, -south, 0) + Math.abs(north - south);
        if (outflow > fastestInRow) fastestInRow = outflow;
      }
      fastest = Math.max(fastest, fastestInRow / pointArea[j]!);
    }
    return Math.max(fastest, this.#capOutflow(0, -1), this.#capOutflow(rows - 2, 1));
  }

  #capOutflow(c: number, outward: 1 | -1): number {
    const { columns, pointArea } = this.#grid;
    let outflow = 0;
    for (let i = 0; i < columns; i++) {
      outflow += Math.max(0, outward * this.#northward[c * columns + i]!);
    }
    return outflow / (pointArea[0]! * columns);
  }
}
