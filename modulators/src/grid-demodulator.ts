import type { Demodulator } from "./modulator.ts";
import type { GridChange, GridData } from "./standard.ts";

/** Rebuilds whole layers from their changed cells. Changes of a layer that was never seen whole are left out. */
export class GridDemodulator implements Demodulator<GridChange, GridData> {
  readonly #layers = new Map<number, GridData>();

  push(change: GridChange, emit: (event: GridData) => void): void {
    const { step, layer, time, latFirst, latStep, rows, lonFirst, lonStep, columns, cells, values } = change;
    const grid = { step, layer, time, latFirst, latStep, rows, lonFirst, lonStep, columns };
    let whole: Float32Array;
    if (values.length === rows * columns) whole = values.slice();
    else {
      const known = this.#layers.get(layer);
      if (known === undefined || !sameGrid(known, grid)) return;
      whole = known.values.slice();
      for (let i = 0; i < cells.length; i++) {
        const cell = cells[i] as number;
        if (cell < whole.length) whole[cell] = values[i] as number;
      }
    }
    const rebuilt = { ...grid, values: whole };
    this.#layers.set(layer, rebuilt);
    emit(rebuilt);
  }
}

function sameGrid(a: Omit<GridData, "values">, b: Omit<GridData, "values">): boolean {
  return (
    a.latFirst === b.latFirst &&
    a.latStep === b.latStep &&
    a.rows === b.rows &&
    a.lonFirst === b.lonFirst &&
    a.lonStep === b.lonStep &&
    a.columns === b.columns
  );
}
