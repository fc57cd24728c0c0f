/** Picture that a view has received and shows: the newest raster, and under it the last one of another place. */
import type { FieldEvent } from "../field-view.ts";
import { type GeoWindow, normaliseLongitude } from "./projection.ts";
import { goesRound, type Raster, type RasterGeometry, sameGeometry } from "./raster.ts";

/** A picture as it can be kept. */
export interface SavedPicture {
  readonly geometry: RasterGeometry;
  readonly values: Float32Array;
  readonly step: number;
  readonly time: number;
  /** Its layer, or the longitude of a section. */
  readonly of: number;
}

/** Members that pictures of all kinds have. */
export interface Picture {
  readonly top: Raster | undefined;
  /** When cells changed last, on the page's clock. */
  readonly changedSeconds: number;
  /** Undefined before there is anything. */
  save(): SavedPicture | undefined;
  restore(saved: SavedPicture): void;
  clear(): void;
}

/** A window of one layer, on the earth. */
export class LayerPicture implements Picture {
  top: Raster | undefined;
  /** Older raster of the same layer. */
  under: Raster | undefined;
  layer = -1;
  /** When cells changed last, on the page's clock. */
  changedSeconds = 0;

  /** Takes an event's values as they are, without a copy. `nowSeconds` is on the page's clock. */
  receive(event: FieldEvent, nowSeconds: number): void {
    const { layer, step, time, values, cells } = event;
    const geometry = earthGeometry(event);
    const known = this.top;
    if (known !== undefined && this.layer === layer && sameGeometry(known, geometry)) {
      if (cells === undefined) known.changedAt = undefined;
      else markChanges(known, 0, values, cells, nowSeconds);
      known.values = values;
      known.step = step;
      known.time = time;
      known.revision++;
    } else {
      this.under = this.layer === layer ? known : undefined;
      const changedAt = cells && new Float32Array(values.length).fill(Number.NEGATIVE_INFINITY);
      this.top = { ...geometry, values, changedAt, revision: 0, step, time };
    }
    this.layer = layer;
    if (cells !== undefined) this.changedSeconds = nowSeconds;
  }

  save(): SavedPicture | undefined {
    return this.top && saved(this.top, this.layer);
  }

  restore(picture: SavedPicture): void {
    this.clear();
    this.top = restored(picture);
    this.layer = picture.of;
  }

  clear(): void {
    this.top = this.under = undefined;
  }

  /** Centres widened by half a cell, as far as the earth goes. */
  get window(): GeoWindow | undefined {
    return this.top && earthWindow(this.top);
  }
}

/** All layers along one meridian: columns are latitudes, rows are layers. */
export class SectionPicture implements Picture {
  top: Raster | undefined;
  under: Raster | undefined;
  longitude = Number.NaN;
  /** When cells changed last, on the page's clock. */
  changedSeconds = 0;
  readonly #layers: number;

  constructor(layers: number) {
    this.#layers = layers;
  }

  receive(event: FieldEvent, nowSeconds: number): void {
    const { layer, step, time, rows, columns, cells } = event;
    if (layer < 0 || layer >= this.#layers) return;
    const values = columns === 1 ? event.values : firstColumn(event.values, rows, columns);
    const geometry: RasterGeometry = {
      columns: rows,
      rows: this.#layers,
      xFirst: event.latFirst,
      xStep: event.latStep,
      yFirst: 0,
      yStep: 1,
      period: 0,
    };
    let raster = this.top;
    if (raster === undefined || this.longitude !== event.lonFirst || !sameGeometry(raster, geometry)) {
      const moved = raster !== undefined && this.longitude !== event.lonFirst;
      // A picture of another meridian must not shine through as if it were of this one.
      this.under = moved ? undefined : raster;
      const size = rows * this.#layers;
      const empty = new Float32Array(size).fill(Number.NaN);
      raster = { ...geometry, values: empty, changedAt: undefined, revision: 0, step, time };
      this.top = raster;
      this.longitude = event.lonFirst;
    }
    const offset = layer * rows;
    if (cells === undefined) raster.changedAt = undefined;
    else if (columns === 1) markChanges(raster, offset, values, cells, nowSeconds);
    raster.values.set(values, offset);
    raster.revision++;
    raster.step = step;
    raster.time = time;
    if (cells !== undefined) this.changedSeconds = nowSeconds;
  }

  save(): SavedPicture | undefined {
    return this.top && saved(this.top, this.longitude);
  }

  restore(picture: SavedPicture): void {
    this.clear();
    this.top = restored(picture);
    this.longitude = picture.of;
  }

  clear(): void {
    this.top = this.under = undefined;
  }
}

function saved(raster: Raster, of: number): SavedPicture {
  const { values, changedAt: _, revision: __, step, time, ...geometry } = raster;
  return { geometry, values, step, time, of };
}

function restored({ geometry, values, step, time }: SavedPicture): Raster {
  return { ...geometry, values, changedAt: undefined, revision: 0, step, time };
}

function earthGeometry(event: FieldEvent): RasterGeometry {
  const { columns, rows, lonFirst, lonStep, latFirst, latStep } = event;
  return { columns, rows, xFirst: lonFirst, xStep: lonStep, yFirst: latFirst, yStep: latStep, period: 360 };
}

function earthWindow(raster: RasterGeometry): GeoWindow {
  const { columns, rows, xFirst, xStep, yFirst, yStep } = raster;
  const edges = [yFirst - yStep / 2, yFirst + (rows - 0.5) * yStep];
  const lats = { south: Math.max(-90, Math.min(...edges)), north: Math.min(90, Math.max(...edges)) };
  if (goesRound(raster)) return { ...lats, west: -180, east: 180 };
  const west = normaliseLongitude(xFirst - xStep / 2);
  return { ...lats, west, east: west + columns * xStep };
}

/**
 * Notes when the cells changed. Where an event names all of them it may be a refresh: then those count that differ from
 * what was there.
 */
function markChanges(
  raster: Raster,
  offset: number,
  values: Float32Array,
  cells: Uint32Array,
  nowSeconds: number,
): void {
  raster.changedAt ??= new Float32Array(raster.values.length).fill(Number.NEGATIVE_INFINITY);
  const isRefresh = cells.length === values.length;
  for (const cell of cells) {
    const before = raster.values[offset + cell] as number;
    if (!isRefresh || (before !== values[cell] && !Number.isNaN(before)))
      raster.changedAt[offset + cell] = nowSeconds;
  }
}

function firstColumn(values: Float32Array, rows: number, columns: number): Float32Array {
  return Float32Array.from({ length: rows }, (_, row) => values[row * columns] as number);
}
