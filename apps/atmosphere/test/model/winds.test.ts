import { expect, test } from "vitest";
import { Circulation } from "../../src/model/circulation.ts";
import { EARTH_RADIUS, Grid } from "../../src/model/grid.ts";
import { LAYER_PRESSURES_HPA } from "../../src/model/layers.ts";
import { interpolateStream, streamFunctionOf } from "../../src/model/stream-function.ts";
import { readWinds } from "../../src/model/winds-file.ts";
import { fieldOf, ROTATION_SPEED, rotation } from "./rotation.ts";

const winds = await readWinds();
const grid = Grid.ofResolution(2.5);

function sum(parts: { zonal: Float64Array; planetary: Float32Array; short: Float32Array }, columns: number) {
  return parts.planetary.map(
    (value, n) => value + (parts.short[n] as number) + (parts.zonal[Math.floor(n / columns)] as number),
  );
}

/** Largest difference of two stream functions that may differ by a constant, as a wind in m/s. */
function windDifference(a: ArrayLike<number>, b: ArrayLike<number>, on: Grid): number {
  const metres = EARTH_RADIUS * on.latStep * (Math.PI / 180);
  let largest = 0;
  for (let n = on.columns; n < a.length; n++) {
    const first = (a[n] as number) - (a[n - on.columns] as number);
    const second = (b[n] as number) - (b[n - on.columns] as number);
    largest = Math.max(largest, Math.abs(first - second) / metres);
  }
  return largest;
}

test("the stream function of a rotation's wind is the rotation's", () => {
  const alpha = 0.7;
  const radians = Math.PI / 180;
  const eastward = fieldOf(grid, (latitude, longitude) => {
    const tilted = Math.sin(latitude * radians) * Math.cos(longitude * radians) * Math.sin(alpha);
    return ROTATION_SPEED * (Math.cos(latitude * radians) * Math.cos(alpha) + tilted);
  });
  const northward = fieldOf(
    grid,
    (_, longitude) => -ROTATION_SPEED * Math.sin(longitude * radians) * Math.sin(alpha),
  );
  // The wind at a pole has a direction per longitude, which `fieldOf` does not give.
  for (let i = 0; i < grid.columns; i++) {
    for (const j of [0, grid.rows - 1]) {
      const longitude = (grid.longitudes[i] as number) * radians;
      northward[j * grid.columns + i] = -ROTATION_SPEED * Math.sin(longitude) * Math.sin(alpha);
    }
  }
  const found = sum(streamFunctionOf(grid, eastward, northward), grid.columns);
  expect(windDifference(found, rotation(grid, alpha), grid)).toBeLessThan(0.1);
});

test("the observed wind loses little with its divergent part", () => {
  const size = grid.rows * grid.columns;
  for (const month of [0, 6]) {
    const eastward = winds.eastward.subarray(month * size, (month + 1) * size);
    const northward = winds.northward.subarray(month * size, (month + 1) * size);
    const stream = sum(streamFunctionOf(grid, eastward, northward), grid.columns);
    const metres = EARTH_RADIUS * grid.latStep * (Math.PI / 180);
    let wrong = 0;
    let all = 0;
    for (let j = 1; j < grid.rows - 1; j++) {
      for (let i = 0; i < grid.columns; i++) {
        const n = j * grid.columns + i;
        const east = i + 1 < grid.columns ? n + 1 : n + 1 - grid.columns;
        const observed = ((eastward[n] as number) + (eastward[east] as number)) / 2;
        const kept = ((stream[n] as number) - (stream[n - grid.columns] as number)) / metres;
        wrong += (grid.pointArea[j] as number) * (kept - observed) ** 2;
        all += (grid.pointArea[j] as number) * observed ** 2;
      }
    }
    expect(Math.sqrt(wrong / all)).toBeLessThan(0.09);
  }
});

test("a stream function keeps its wind on a finer grid", () => {
  const fine = Grid.ofResolution(1.25);
  const coarse = rotation(grid, 0);
  const zonal = Float64Array.from({ length: grid.rows - 1 }, (_, c) => coarse[c * grid.columns] as number);
  const tilted = Float32Array.from(rotation(grid, Math.PI / 2));
  const none = new Float32Array(tilted.length);
  const parts = { zonal, planetary: tilted, planetaryTurned: none, short: none };
  const overPoles = rotation(fine, Math.PI / 2);
  const expected = rotation(fine, 0).map((value, n) => value + (overPoles[n] as number));
  expect(
    windDifference(sum(interpolateStream(parts, grid, fine), fine.columns), expected, fine),
  ).toBeLessThan(0.2);
});

test("the layers' winds have jets near 200 hPa, weak surface winds and a polar night jet", () => {
  const circulation = new Circulation(grid, LAYER_PRESSURES_HPA, winds, { weather: false, seed: 1 });
  const stream = new Float64Array((grid.rows - 1) * grid.columns);
  circulation.moveTo(0, 0);
  const fastest = (pressure: number, south: number, north: number) => {
    circulation.streamOf(LAYER_PRESSURES_HPA.indexOf(pressure), stream);
    const metres = EARTH_RADIUS * grid.latStep * (Math.PI / 180);
    let largest = Number.NEGATIVE_INFINITY;
    for (let n = grid.columns; n < stream.length; n++) {
      const latitude = grid.latitudes[Math.floor(n / grid.columns)] as number;
      if (latitude < south || latitude > north) continue;
      largest = Math.max(largest, ((stream[n] as number) - (stream[n - grid.columns] as number)) / metres);
    }
    return largest;
  };
  expect(fastest(200, -90, 90)).toBeGreaterThan(60);
  expect(fastest(200, -90, 90)).toBeLessThan(80);
  expect(fastest(1000, -90, 90)).toBeLessThan(20);
  expect(fastest(1, 45, 75)).toBeGreaterThan(50);
  expect(fastest(1, -60, -20)).toBeLessThan(0);
});

test("the wind is continuous over the months and over the turn of the year", () => {
  const circulation = new Circulation(grid, LAYER_PRESSURES_HPA, winds, { weather: true, seed: 1 });
  const at = (month: number) => {
    const stream = new Float64Array((grid.rows - 1) * grid.columns);
    circulation.moveTo(0, month);
    circulation.streamOf(22, stream);
    return stream;
  };
  for (const month of [0, 0.5, 3, 6.25, 11]) {
    expect(windDifference(at(month), at(month + 1e-6), grid)).toBeLessThan(1e-3);
  }
  expect(windDifference(at(12 - 1e-6), at(0), grid)).toBeLessThan(1e-3);
  const middle = at(3.5);
  const later = at(4);
  const ends = at(3).map((value, n) => (value + (later[n] as number)) / 2);
  expect(windDifference(middle, ends, grid)).toBeLessThan(2);
});
