import { describe, expect, test } from "vitest";
import { EARTH_RADIUS, Grid } from "../../src/model/grid.ts";
import { Transport } from "../../src/model/transport.ts";
import { randomOf } from "../../src/model/waves.ts";
import { cosineBell, errors, fieldOf, ROTATION_SECONDS, range, rotation } from "./rotation.ts";

const grid = Grid.ofResolution(2.5);

const coarse = Grid.ofResolution(5);

/** A rough flow: independent values at neighbouring corners, winds up to about 50 m/s. */
function roughStream(on: Grid, seed: number): Float64Array {
  const random = randomOf(seed);
  const radians = Math.PI / 180;
  return Float64Array.from({ length: (on.rows - 1) * on.columns }, (_, n) => {
    const latitude = (on.latitudes[Math.floor(n / on.columns)] as number) - on.latStep / 2;
    return EARTH_RADIUS * on.latStep * radians * Math.cos(latitude * radians) * 50 * (random() - 0.5);
  });
}

describe("solid-body rotation of a cosine bell (Williamson et al. 1992, test 1)", () => {
  const cases = [
    { name: "0", alpha: 0, limits: { l1: 1e-6, l2: 1e-6, linf: 1e-6 } },
    { name: "0.05", alpha: 0.05, limits: { l1: 0.02, l2: 0.02, linf: 0.04 } },
    { name: "pi/2 - 0.05", alpha: Math.PI / 2 - 0.05, limits: { l1: 0.09, l2: 0.09, linf: 0.17 } },
    { name: "pi/2 (over the poles)", alpha: Math.PI / 2, limits: { l1: 0.09, l2: 0.095, linf: 0.16 } },
  ];
  test.each(cases)("alpha = $name comes back after one turn", ({ name, alpha, limits }) => {
    const transport = new Transport(grid);
    const stream = rotation(grid, alpha);
    const start = cosineBell(grid);
    const field = start.slice();
    const steps = ROTATION_SECONDS / 7200;
    for (let s = 0; s < steps; s++) transport.advect(field, stream, 7200, s % 2 === 0);
    const { l1, l2, linf } = errors(grid, field, start);
    // biome-ignore lint/suspicious/noConsole: the errors are figures to be read, not only to be bounded
    console.log(`rotation, alpha ${name}: l1 ${l1.toFixed(4)} l2 ${l2.toFixed(4)} linf ${linf.toFixed(4)}`);
    expect(l1).toBeLessThan(limits.l1);
    expect(l2).toBeLessThan(limits.l2);
    expect(linf).toBeLessThan(limits.linf);
    expect(Math.abs(grid.integrate(field) / grid.integrate(start) - 1)).toBeLessThan(1e-6);
    expect(range(field)[0]).toBeGreaterThanOrEqual(0);
    expect(range(field)[1]).toBeLessThanOrEqual(1000.001);
  });

  test("half the grid step brings at most a third of the error", () => {
    const error = (on: Grid) => {
      const transport = new Transport(on);
      const stream = rotation(on, Math.PI / 2 - 0.05);
      const start = cosineBell(on);
      const field = start.slice();
      for (let s = 0; s < 144; s++) transport.advect(field, stream, 7200, s % 2 === 0);
      return errors(on, field, start).l2;
    };
    expect(error(Grid.ofResolution(2.5))).toBeLessThan(error(Grid.ofResolution(5)) / 3);
  });
});

test("a constant stays constant to the last bit of float32, in the roughest flow", () => {
  const transport = new Transport(coarse);
  const field = new Float32Array(coarse.rows * coarse.columns).fill(5.3);
  const stream = roughStream(coarse, 3);
  for (let s = 0; s < 25; s++) transport.advect(field, stream, 7200, s % 2 === 0);
  const [low, high] = range(field);
  expect(low).toBe(Math.fround(5.3));
  expect(high).toBe(Math.fround(5.3));
});

test("rough fields in rough flows keep their mass and get no new extremum", () => {
  for (let seed = 1; seed <= 3; seed++) {
    const random = randomOf(seed);
    const transport = new Transport(coarse);
    const stream = roughStream(coarse, 100 + seed);
    const poles = [random(), random()] as const;
    const field = fieldOf(coarse, latitude =>
      latitude === 90 ? poles[0] : latitude === -90 ? poles[1] : random() < 0.5 ? 0.25 : 1,
    );
    const mass = coarse.integrate(field);
    for (let s = 0; s < 25; s++) {
      const [low, high] = range(field);
      transport.advect(field, stream, 5000, s % 2 === 0);
      const [newLow, newHigh] = range(field);
      expect(newLow).toBeGreaterThanOrEqual(low - 1e-6);
      expect(newHigh).toBeLessThanOrEqual(high + 1e-6);
    }
    expect(Math.abs(coarse.integrate(field) / mass - 1)).toBeLessThan(1e-6);
  }
});

test("a step of a whole week is stable: it is divided", () => {
  const transport = new Transport(grid);
  const field = cosineBell(grid, 1);
  const mass = grid.integrate(field);
  const subSteps = transport.advect(field, rotation(grid, 1), 7 * 86400, true);
  expect(subSteps).toBeGreaterThan(10);
  const [low, high] = range(field);
  expect(low).toBeGreaterThanOrEqual(1 - 1e-5);
  expect(high).toBeLessThanOrEqual(1001.001);
  expect(Math.abs(grid.integrate(field) / mass - 1)).toBeLessThan(1e-6);
});

test("all columns of a pole stay one cell", () => {
  const transport = new Transport(grid);
  const field = fieldOf(grid, (latitude, longitude) => 2 + Math.sin(latitude) + Math.cos(longitude));
  for (let s = 0; s < 20; s++) transport.advect(field, rotation(grid, Math.PI / 2), 7200, s % 2 === 0);
  for (const j of [0, grid.rows - 1]) {
    const row = field.subarray(j * grid.columns, (j + 1) * grid.columns);
    expect(new Set(row).size).toBe(1);
  }
});

test("a field without longitude is not changed by a zonal wind", () => {
  const transport = new Transport(grid);
  const field = fieldOf(grid, latitude => 3 + Math.sin((latitude * Math.PI) / 180));
  const before = field.slice();
  for (let s = 0; s < 20; s++) transport.advect(field, rotation(grid, 0), 7200, s % 2 === 0);
  expect(errors(grid, field, before).linf).toBeLessThan(1e-6);
});
