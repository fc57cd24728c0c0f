import { DIFF_SOURCE, FIFO_SOURCE, VIEW_FILTER_SOURCE } from "./generated/standard.ts";
import { GridDemodulator } from "./grid-demodulator.ts";
import type { EagerHandler, Json, Modulator, SharedReference } from "./modulator.ts";

/** What a viewer looks at: layers, and a window of rows and columns. A cell is in where it touches the window. */
export interface View {
  /** Inclusive; 0 is the lowest layer. */
  readonly firstLayer: number;
  readonly lastLayer: number;
  /** Degrees. */
  readonly south: number;
  readonly north: number;
  /** Degrees, taken modulo 360. */
  readonly west: number;
  /** Degrees; less than `west`: over the date line; `west` + 360 and more: all round. */
  readonly east: number;
  /** Every how manyth row and column, from the window's first. */
  readonly stride: number;
}

/** One layer of a field on a grid of latitudes and longitudes, in degrees. */
export interface GridData {
  readonly step: number;
  readonly layer: number;
  readonly time: number;
  /** Of the first row's centre. */
  readonly latFirst: number;
  readonly latStep: number;
  readonly rows: number;
  readonly lonFirst: number;
  readonly lonStep: number;
  readonly columns: number;
  /** Row by row. */
  readonly values: Float32Array;
}

/** The cells of a grid that changed. */
export interface GridChange extends GridData {
  /** Where `values` belong: row * columns + column. */
  readonly cells: Uint32Array;
}

/** A shared object with a `View` as its state, or a view that stays as it is. */
export type ViewReference = (SharedReference & { readonly state: Readonly<View> }) | View;

/** Every event, in order. */
export function fifo(): EagerHandler {
  return { modulator: { source: FIFO_SOURCE } };
}

/** Of the `GridData` of each layer in the view, the part in its window: again `GridData`. */
export function viewFilter(view: ViewReference): EagerHandler<GridData, GridData> {
  return { modulator: withView(VIEW_FILTER_SOURCE, view, {}) };
}

/**
 * Like `viewFilter`, but only those cells travel that differ from what was last sent of them by more than `threshold`
 * (in the unit of the values). The demodulator rebuilds whole `GridData`, which stay within the threshold. Nothing is sent, and
 * the handler not called, where nothing changed.
 */
export function diff(view: ViewReference, threshold: number): EagerHandler<GridChange, GridData> {
  return { modulator: withView(DIFF_SOURCE, view, { threshold }), demodulator: new GridDemodulator() };
}

function withView(source: string, view: ViewReference, parameters: Record<string, Json>): Modulator {
  if ("state" in view) return { source, parameters, objects: { view } };
  const { firstLayer, lastLayer, south, north, west, east, stride } = view;
  return {
    source,
    parameters: { ...parameters, view: { firstLayer, lastLayer, south, north, west, east, stride } },
  };
}
