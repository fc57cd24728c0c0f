import { expect, test } from "vitest";
import { LAYER_PRESSURES_HPA } from "../../src/model/layers.ts";
import {
  fractionOfPressure,
  heightAxis,
  kilometreTicks,
  layerOfFraction,
  layerTable,
  pressureOfFraction,
  pressureTicks,
} from "../../viewer/src/drawing/height-axis.ts";
import { LayerPicture, SectionPicture } from "../../viewer/src/drawing/picture.ts";
import { cellAt, interpolate, type Raster, valueAt } from "../../viewer/src/drawing/raster.ts";

/** Values say where they are: 1000 * row + column. */
function raster(geometry: Partial<Raster>): Raster {
  const { columns = 8, rows = 5 } = geometry;
  const values = Float32Array.from(
    { length: columns * rows },
    (_, i) => 1000 * Math.floor(i / columns) + (i % columns),
  );
  const whole = { columns, rows, xFirst: 0, xStep: 45, yFirst: 90, yStep: -45, period: 360 };
  return { ...whole, values, changedAt: undefined, revision: 0, step: 1, time: 0, ...geometry };
}

test("a place finds its cell, also over the date line and at the poles", () => {
  const world = raster({});
  expect(valueAt(world, 0, 90)).toBe(0);
  expect(valueAt(world, -45, 45)).toBe(1007);
  expect(valueAt(world, 350, -90)).toBe(4000);
  expect(valueAt(world, -170, 0)).toBe(2004);
});

test("a window of the grid knows nothing beyond its cells", () => {
  const window = raster({ xFirst: 170, xStep: 10, columns: 4, yFirst: 20, yStep: -10, rows: 3 });
  expect(valueAt(window, -170, 10)).toBe(1002);
  expect(valueAt(window, 166, 0)).toBe(2000);
  expect(cellAt(window, 164, 0)).toBeUndefined();
  expect(cellAt(window, -154, 0)).toBeUndefined();
  expect(cellAt(window, 180, 26)).toBeUndefined();
});

test("values are linear between the centres, also where the grid closes", () => {
  const world = raster({});
  expect(interpolate(world, 22.5, 90)).toBeCloseTo(0.5);
  expect(interpolate(world, 22.5, 67.5)).toBeCloseTo(500.5);
  expect(interpolate(world, -22.5, 90)).toBeCloseTo(3.5);
  // Thinned by three, the last gap of eight columns is narrower: centres at 0, 135, 270 degrees.
  const thin = raster({ columns: 3, xStep: 135 });
  expect(interpolate(thin, 315, 90)).toBeCloseTo(1);
});

test("unknown values are no values", () => {
  const world = raster({});
  world.values[0] = Number.NaN;
  expect(valueAt(world, 0, 90)).toBeUndefined();
  expect(interpolate(world, 40, 90)).toBe(1);
});

const EVENT = {
  step: 7,
  layer: 3,
  time: 0,
  latFirst: 20,
  latStep: -10,
  rows: 2,
  lonFirst: 170,
  lonStep: 10,
  columns: 3,
  values: Float32Array.of(1, 2, 3, 4, 5, 6),
};

test("a picture shows the received values themselves, at their place", () => {
  const picture = new LayerPicture();
  picture.receive(EVENT, 0);
  expect(picture.top?.values).toBe(EVENT.values);
  expect(picture.window).toEqual({ south: 5, north: 25, west: 165, east: 195 });
});

test("the last picture stays under one of another window, not under one of another layer", () => {
  const picture = new LayerPicture();
  picture.receive(EVENT, 0);
  const first = picture.top;
  picture.receive({ ...EVENT, step: 8 }, 0);
  expect(picture.top).toBe(first);
  expect(picture.top?.step).toBe(8);
  picture.receive({ ...EVENT, lonFirst: 180 }, 0);
  expect(picture.under).toBe(first);
  picture.receive({ ...EVENT, layer: 4 }, 0);
  expect(picture.under).toBeUndefined();
});

test("changed cells are marked, and a refresh marks only those that differ", () => {
  const picture = new LayerPicture();
  const all = Uint32Array.of(0, 1, 2, 3, 4, 5);
  picture.receive({ ...EVENT, cells: all }, 1);
  expect([...(picture.top?.changedAt ?? [])].some(Number.isFinite)).toBe(false);
  picture.receive({ ...EVENT, values: Float32Array.of(1, 2, 9, 4, 5, 6), cells: Uint32Array.of(2) }, 5);
  picture.receive({ ...EVENT, values: Float32Array.of(1, 2, 9, 4, 8, 6), cells: all }, 6);
  const never = Number.NEGATIVE_INFINITY;
  expect([...(picture.top?.changedAt ?? [])]).toEqual([never, never, 5, never, 6, never]);
  picture.receive(EVENT, 7);
  expect(picture.top?.changedAt).toBeUndefined();
});

test("a section takes one column of each layer, and begins anew at another longitude", () => {
  const section = new SectionPicture(5);
  section.receive({ ...EVENT, columns: 1, values: Float32Array.of(1, 4) }, 0);
  section.receive({ ...EVENT, layer: 4 }, 0);
  const top = section.top as Raster;
  expect([top.columns, top.rows]).toEqual([2, 5]);
  expect(valueAt(top, 20, 3)).toBe(1);
  expect(valueAt(top, 10, 4)).toBe(4);
  expect(valueAt(top, 10, 2)).toBeUndefined();
  section.receive({ ...EVENT, lonFirst: 0 }, 0);
  expect(section.top).not.toBe(top);
  expect(section.under).toBeUndefined();
});

test("the height axis is logarithmic in pressure and knows its layers", () => {
  const axis = heightAxis(LAYER_PRESSURES_HPA);
  LAYER_PRESSURES_HPA.forEach((pressure, layer) => {
    const fraction = fractionOfPressure(axis, pressure);
    expect(fraction).toBeGreaterThan(0);
    expect(fraction).toBeLessThan(1);
    expect(pressureOfFraction(axis, fraction)).toBeCloseTo(pressure, 6);
    expect(layerOfFraction(axis, fraction)).toBeCloseTo(layer, 6);
  });
  expect(layerOfFraction(axis, 0)).toBe(0);
  expect(layerOfFraction(axis, 1)).toBe(LAYER_PRESSURES_HPA.length - 1);
  const table = layerTable(axis, 512);
  expect([...table]).toEqual([...table].sort((a, b) => a - b));
});

test("ticks keep their distance", () => {
  const axis = heightAxis(LAYER_PRESSURES_HPA);
  for (const ticks of [pressureTicks(axis, 0.06), kilometreTicks(axis, 0.06)]) {
    expect(ticks.length).toBeGreaterThan(4);
    ticks.forEach(({ fraction }, i) => {
      expect(fraction).toBeGreaterThanOrEqual(0);
      expect(fraction).toBeLessThanOrEqual(1);
      const before = ticks[i - 1];
      if (before) expect(fraction - before.fraction).toBeGreaterThanOrEqual(0.06 - 1e-9);
    });
  }
});

test("a picture that was saved is the same again, and gives way to a new one", () => {
  const picture = new LayerPicture();
  expect(picture.save()).toBeUndefined();
  picture.receive({ ...EVENT, step: 8 }, 0);
  const other = new LayerPicture();
  const saved = picture.save();
  if (saved === undefined) throw new Error("there was a picture");
  other.restore(saved);
  expect(other.top).toEqual(picture.top);
  expect(other.layer).toBe(picture.layer);
  expect(other.window).toEqual(picture.window);
  other.clear();
  expect(other.save()).toBeUndefined();
});
