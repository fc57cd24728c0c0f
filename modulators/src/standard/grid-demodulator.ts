import type { Demodulator } from "../authoring/modulator.ts";
import { keepNewest } from "../running/newest-entries.ts";
import type { GridChange, GridData } from "./modulators.ts";

/** A layer as its newest event left it. */
interface Layer {
  readonly grid: GridData;
  readonly n: number;
}

/** Streams that are kept; beyond, the one that was silent longest is forgotten, till it brings whole layers. */
const MOST_STREAMS = 64;

/**
 * Rebuilds whole layers from their changed cells, each stream's for itself. Changes of a layer that was never seen whole are left out, and
 * those behind one that is missing, until it comes whole again.
 */
export class GridDemodulator implements Demodulator<GridChange, GridData> {
  readonly #streams = new Map<number, Map<number, Layer>>();

  push(change: GridChange, emit: (event: GridData) => void): void {
    const { step, layer, time, latFirst, latStep, rows, lonFirst, lonStep, columns, cells, values } = change;
    const grid = { step, layer, time, latFirst, latStep, rows, lonFirst, lonStep, columns };
    const layers = this.#layersOf(change.stream);
    let whole: Float32Array;
    if (values.length === rows * columns) whole = values.slice();
    else {
      const known = layers.get(layer);
      if (known === undefined || known.n !== change.since || !sameGrid(known.grid, grid)) return;
      whole = known.grid.values.slice();
      for (let i = 0; i < cells.length; i++) {
        const cell = cells[i] as number;
        if (cell < whole.length) whole[cell] = values[i] as number;
      }
    }
    const rebuilt = { ...grid, values: whole };
    layers.set(layer, { grid: rebuilt, n: change.n });
    emit(rebuilt);
  }

  #layersOf(stream: number): Map<number, Layer> {
    const layers = this.#streams.get(stream) ?? new Map<number, Layer>();
    keepNewest(this.#streams, stream, layers, MOST_STREAMS);
    return layers;
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
