// biome-ignore-all lint/style/noNonNullAssertion: every index below is in range by construction of the loops
import type { Grid } from "./grid.ts";
import { edgeValue, halfSlope, limitedEnd, meanNextTo } from "./parabola.ts";

/** Shape of one row, as the sweep knows it: the half slopes, the value at the south edge, and the ends of the parabolas. */
interface RowShape {
  slope: Float64Array;
  southEdge: Float64Array;
  north: Float64Array;
  south: Float64Array;
}

/** Flux that goes north through one row of faces. */
interface FaceFlux {
  moved: Float64Array;
  carried: Float64Array;
}

/**
 * The sweep along the meridians, from pole to pole. A meridian's slopes go on beyond a pole on the opposite
 * meridian; the pole itself is one cell without a shape, which all columns feed and draw on. No face may move
 * more air in one sweep than the cell upstream of it holds.
 */
export class MeridianSweep {
  readonly #grid: Grid;
  readonly #shapes: [RowShape, RowShape, RowShape];
  readonly #fluxes: [FaceFlux, FaceFlux];

  constructor(grid: Grid) {
    const line = () => new Float64Array(grid.columns);
    const shape = () => ({ slope: line(), southEdge: line(), north: line(), south: line() });
    const flux = () => ({ moved: line(), carried: line() });
    this.#grid = grid;
    this.#shapes = [shape(), shape(), shape()];
    this.#fluxes = [flux(), flux()];
  }

  /**
   * Moves tracer (mixing ratio) and air (m2) by the northward fluxes (m2/s) through each cell's south face.
   * The poles' air is left as it is: what a flow without divergence brings there, it takes away.
   */
  run(tracer: Float64Array, air: Float64Array, northward: Float64Array, seconds: number): void {
    const { rows } = this.#grid;
    let [before, here, next] = this.#shapes;
    let [northFlux, southFlux] = this.#fluxes;
    this.#slopeAtPole(tracer, 0, 1, here.slope);
    // In place: by the time a row is settled, no row further south needs what it held.
    for (let j = 0; j < rows; j++) {
      if (j < rows - 1) this.#meetNext(tracer, j, here, next);
      if (j > 0 && j < rows - 1) this.#shape(tracer, j, before, here);
      else {
        here.north.fill(0);
        here.south.fill(0);
      }
      if (j > 0) this.#carry(tracer, air, northward, j, seconds, before, here, southFlux);
      if (j === 1) this.#settleCap(tracer, 0, southFlux, 1);
      else if (j > 1) this.#settle(tracer, air, j - 1, northFlux, southFlux);
      [northFlux, southFlux] = [southFlux, northFlux];
      [before, here, next] = [here, next, before];
    }
    this.#settleCap(tracer, rows - 1, northFlux, -1);
  }

  #slopeAtPole(tracer: Float64Array, pole: number, neighbour: number, slope: Float64Array): void {
    const { columns } = this.#grid;
    const half = columns / 2;
    const value = tracer[pole * columns]!;
    // Slopes count southwards: towards the north pole on the far side, away from it on the near one.
    for (let i = 0; i < columns; i++) {
      const near = tracer[neighbour * columns + i]!;
      const far = tracer[neighbour * columns + (i < half ? i + half : i - half)]!;
      slope[i] = pole === 0 ? halfSlope(far, value, near) : halfSlope(near, value, far);
    }
  }

  /** The slopes of the row south of row j, and with them the values at the edge between the two. */
  #meetNext(tracer: Float64Array, j: number, here: RowShape, next: RowShape): void {
    const { rows, columns } = this.#grid;
    const { slope, southEdge } = here;
    const nextSlope = next.slope;
    const start = j * columns;
    if (j === rows - 2) this.#slopeAtPole(tracer, rows - 1, rows - 2, nextSlope);
    else {
      for (let i = 0, n = start; i < columns; i++, n++) {
        nextSlope[i] = halfSlope(tracer[n]!, tracer[n + columns]!, tracer[n + 2 * columns]!);
      }
    }
    for (let i = 0, n = start; i < columns; i++, n++) {
      southEdge[i] = edgeValue(tracer[n]!, tracer[n + columns]!, slope[i]!, nextSlope[i]!);
    }
  }

  #shape(tracer: Float64Array, j: number, before: RowShape, here: RowShape): void {
    const { columns } = this.#grid;
    const northEdge = before.southEdge;
    const { southEdge, north, south } = here;
    const start = j * columns;
    for (let i = 0; i < columns; i++) {
      const value = tracer[start + i]!;
      const toNorth = northEdge[i]! - value;
      const toSouth = southEdge[i]! - value;
      north[i] = limitedEnd(toNorth, toSouth);
      south[i] = limitedEnd(toSouth, toNorth);
    }
  }

  /** Computes the flux through the faces between row j and the row north of it. */
  #carry(
    tracer: Float64Array,
    air: Float64Array,
    northward: Float64Array,
    j: number,
    seconds: number,
    before: RowShape,
    here: RowShape,
    flux: FaceFlux,
  ): void {
    const { columns } = this.#grid;
    const { moved, carried } = flux;
    const start = j * columns;
    for (let i = 0; i < columns; i++) {
      const n = start + i;
      const amount = northward[n - columns]! * seconds;
      moved[i] = amount;
      carried[i] =
        amount >= 0
          ? amount * meanNextTo(here.north[i]!, here.south[i]!, tracer[n]!, amount / air[n]!)
          : amount *
            meanNextTo(before.south[i]!, before.north[i]!, tracer[n - columns]!, -amount / air[n - columns]!);
    }
  }

  #settle(tracer: Float64Array, air: Float64Array, j: number, north: FaceFlux, south: FaceFlux): void {
    const { columns } = this.#grid;
    for (let i = 0, n = j * columns; i < columns; i++, n++) {
      const held = air[n]!;
      const left = held + (south.moved[i]! - north.moved[i]!);
      tracer[n] = (held * tracer[n]! + (south.carried[i]! - north.carried[i]!)) / left;
      air[n] = left;
    }
  }

  #settleCap(tracer: Float64Array, j: number, flux: FaceFlux, inward: 1 | -1): void {
    const { columns, pointArea } = this.#grid;
    let gain = 0;
    for (let i = 0; i < columns; i++) gain += flux.carried[i]!;
    const start = j * columns;
    const value = tracer[start]! + (inward * gain) / (pointArea[j]! * columns);
    tracer.fill(value, start, start + columns);
  }
}
