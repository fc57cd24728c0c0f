// biome-ignore-all lint/style/noNonNullAssertion: every index below is in range by construction of the loops
import type { Grid } from "./grid.ts";
import { edgeValue, halfSlope, limitedEnd, meanNextTo } from "./parabola.ts";

/**
 * The sweep along the rows (Lin and Rood 1996): a face's flux is as many whole cells upstream as its air
 * amounts to, and a part of the next. Any Courant number will do, as long as every cell keeps some air.
 */
export class RowSweep {
  readonly #grid: Grid;
  readonly #value: Float64Array;
  readonly #west: Float64Array;
  readonly #east: Float64Array;
  readonly #mass: Float64Array;
  readonly #moved: Float64Array;
  readonly #carried: Float64Array;

  constructor(grid: Grid) {
    const { columns } = grid;
    this.#grid = grid;
    this.#value = new Float64Array(columns + 4);
    this.#west = new Float64Array(columns);
    this.#east = new Float64Array(columns);
    this.#mass = new Float64Array(columns);
    this.#moved = new Float64Array(columns);
    this.#carried = new Float64Array(columns);
  }

  /** Moves tracer (mixing ratio) and air (m2) by the eastward fluxes (m2/s) through each cell's east face. */
  run(tracer: Float64Array, air: Float64Array, eastward: Float64Array, seconds: number): void {
    const { rows, columns } = this.#grid;
    for (let j = 1; j < rows - 1; j++) {
      const start = j * columns;
      for (let i = 0; i < columns; i++) {
        this.#value[i + 2] = tracer[start + i]!;
        this.#mass[i] = air[start + i]!;
        this.#moved[i] = eastward[start + i]! * seconds;
      }
      this.#shape();
      this.#carry();
      this.#settle(tracer, air, start);
    }
  }

  // #value[i + 2] is cell i: two cells are repeated beyond either end.
  #shape(): void {
    const { columns } = this.#grid;
    const value = this.#value;
    const west = this.#west;
    const east = this.#east;
    value[0] = value[columns]!;
    value[1] = value[columns + 1]!;
    value[columns + 2] = value[2]!;
    value[columns + 3] = value[3]!;
    let here = value[2]!;
    let after = value[3]!;
    let slope = halfSlope(value[1]!, here, after);
    let edge = edgeValue(value[1]!, here, halfSlope(value[0]!, value[1]!, here), slope);
    for (let i = 0; i < columns; i++) {
      const next = value[i + 4]!;
      const nextSlope = halfSlope(here, after, next);
      const nextEdge = edgeValue(here, after, slope, nextSlope);
      west[i] = limitedEnd(edge - here, nextEdge - here);
      east[i] = limitedEnd(nextEdge - here, edge - here);
      here = after;
      after = next;
      slope = nextSlope;
      edge = nextEdge;
    }
  }

  #carry(): void {
    const last = this.#grid.columns - 1;
    const value = this.#value;
    const west = this.#west;
    const east = this.#east;
    const mass = this.#mass;
    const moved = this.#moved;
    const carried = this.#carried;
    for (let i = 0; i <= last; i++) {
      const flux = moved[i]!;
      let sum = 0;
      if (flux >= 0) {
        let from = i;
        let rest = flux;
        while (rest > mass[from]!) {
          sum += mass[from]! * value[from + 2]!;
          rest -= mass[from]!;
          from = from === 0 ? last : from - 1;
        }
        carried[i] = sum + rest * meanNextTo(east[from]!, west[from]!, value[from + 2]!, rest / mass[from]!);
      } else {
        let from = i === last ? 0 : i + 1;
        let rest = -flux;
        while (rest > mass[from]!) {
          sum += mass[from]! * value[from + 2]!;
          rest -= mass[from]!;
          from = from === last ? 0 : from + 1;
        }
        carried[i] = -sum - rest * meanNextTo(west[from]!, east[from]!, value[from + 2]!, rest / mass[from]!);
      }
    }
  }

  #settle(tracer: Float64Array, air: Float64Array, start: number): void {
    const { columns } = this.#grid;
    const value = this.#value;
    const mass = this.#mass;
    const moved = this.#moved;
    const carried = this.#carried;
    let movedIn = moved[columns - 1]!;
    let carriedIn = carried[columns - 1]!;
    for (let i = 0; i < columns; i++) {
      const left = mass[i]! + (movedIn - moved[i]!);
      tracer[start + i] = (mass[i]! * value[i + 2]! + (carriedIn - carried[i]!)) / left;
      air[start + i] = left;
      movedIn = moved[i]!;
      carriedIn = carried[i]!;
    }
  }
}
