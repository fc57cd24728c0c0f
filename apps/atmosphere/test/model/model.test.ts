import { describe, expect, test } from "vitest";
import { equilibriumOzone, LARGEST_SOURCE_COUNT, Model, relaxationTime } from "../../src/model/mod.ts";
import { readWinds } from "../../src/model/winds-file.ts";
import { range } from "./rotation.ts";

const winds = await readWinds();
const coarse = { winds, resolution: 5 };

describe("without chemistry", () => {
  test("200 steps keep each layer's mass and range", () => {
    const model = new Model({ ...coarse, chemistry: false });
    const layers = model.layers.map((_, k) => ({ mass: model.totalMass(k), range: range(model.layer(k)) }));
    for (let s = 0; s < 200; s++) model.step(7200);
    let largestDrift = 0;
    layers.forEach(({ mass, range: [low, high] }, k) => {
      largestDrift = Math.max(largestDrift, Math.abs(model.totalMass(k) / mass - 1));
      const [newLow, newHigh] = range(model.layer(k));
      expect(newLow).toBeGreaterThanOrEqual(low * (1 - 1e-6));
      expect(newHigh).toBeLessThanOrEqual(high * (1 + 1e-6));
    });
    // biome-ignore lint/suspicious/noConsole: the drift is a figure to be read, not only to be bounded
    console.log(`largest drift of a layer's mass over 200 steps: ${largestDrift.toExponential(1)}`);
    expect(largestDrift).toBeLessThan(1e-6);
  });

  test("a constant stays constant in every layer's wind", () => {
    const model = new Model({ ...coarse, chemistry: false });
    for (let k = 0; k < model.layers.length; k++) model.layer(k).fill(4.2);
    for (let s = 0; s < 30; s++) model.step(7200);
    for (let k = 0; k < model.layers.length; k++) {
      expect(range(model.layer(k))).toEqual([Math.fround(4.2), Math.fround(4.2)]);
    }
  });
});

test("chemistry takes a uniform offset away at the stated rate", () => {
  const still = { ...winds, eastward: winds.eastward.map(() => 0), northward: winds.northward.map(() => 0) };
  const model = new Model({ winds: still, resolution: 5, month: 6, weather: false });
  for (const [k, pressure] of model.layers.entries()) {
    model.grid.latitudes.forEach((latitude, j) => {
      model.layer(k).fill(equilibriumOzone(latitude, pressure, 6) + 1, j * 72, (j + 1) * 72);
    });
  }
  model.step(86400);
  for (const [k, pressure] of model.layers.entries()) {
    const kept = Math.exp(-86400 / relaxationTime(pressure));
    model.grid.latitudes.forEach((latitude, j) => {
      const offset = (model.layer(k)[j * 72 + 5] as number) - equilibriumOzone(latitude, pressure, 6);
      expect(offset).toBeCloseTo(kept, 4);
    });
  }
});

describe("a source", () => {
  const place = { latitude: 40, longitude: -100, layer: 22, amount: 12, radiusKm: 700, durationHours: 5 };

  test.each([
    ["on land", place],
    ["at a pole", { ...place, latitude: -90, longitude: 33 }],
    ["smaller than a cell", { ...place, latitude: 1, radiusKm: 20 }],
  ])("%s adds the mass it says, over its duration, and ends", (_, wanted) => {
    const model = new Model({ ...coarse, chemistry: false });
    const before = model.totalMass(22);
    const others = model.totalMass() - before;
    const source = model.addSource(wanted);
    model.step(7200);
    expect((model.totalMass(22) - before) / source.massKg).toBeCloseTo(2 / 5, 3);
    expect(model.sources).toHaveLength(1);
    for (let s = 0; s < 3; s++) model.step(7200);
    expect((model.totalMass(22) - before) / source.massKg).toBeCloseTo(1, 3);
    expect(model.totalMass() - model.totalMass(22)).toBeCloseTo(others, -4);
    expect(model.sources).toEqual([]);
  });

  test("gives the same mass on every grid, the one its footprint amounts to", () => {
    const masses = [5, 2.5].map(resolution => new Model({ winds, resolution }).addSource(place).massKg);
    expect(masses[0]).toBe(masses[1]);
    const airKgPerSquareMetre = 2500 / 9.80665;
    const expected = 12 * (5 / 24) * 1e-6 * (47.998 / 28.965) * airKgPerSquareMetre * Math.PI * 700e3 ** 2;
    expect((masses[0] as number) / expected).toBeCloseTo(1, 6);
  });

  test("stands where it was put, and several add up", () => {
    const model = new Model({ ...coarse, chemistry: false });
    const plain = new Model({ ...coarse, chemistry: false });
    const first = model.addSource({ ...place, amount: 100 });
    const second = model.addSource({ ...place, amount: 100, latitude: -20, longitude: 200 });
    expect(model.sources.map(({ id }) => id)).toEqual([first.id, second.id]);
    model.step(3600);
    plain.step(3600);
    const added = model.layer(22).map((value, n) => value - (plain.layer(22)[n] as number));
    const at = (latitude: number, longitude: number) =>
      added[((90 - latitude) / 5) * 72 + ((longitude + 360) % 360) / 5] as number;
    expect(at(40, -100)).toBeGreaterThan(3);
    expect(at(-20, 200)).toBeGreaterThan(3);
    expect(at(0, 20)).toBe(0);
  });

  test("added during a step counts from the next, and loses nothing", () => {
    const model = new Model({ ...coarse, chemistry: false });
    const before = model.totalMass(22);
    const slices = model.stepInSlices(7200, 5);
    slices.next();
    const source = model.addSource(place);
    for (const _ of slices);
    expect(model.totalMass(22) / before).toBeCloseTo(1, 7);
    for (let s = 0; s < 3; s++) model.step(7200);
    expect((model.totalMass(22) - before) / source.massKg).toBeCloseTo(1, 3);
  });
});

describe("a step in slices", () => {
  test("gives what a whole step gives", () => {
    const whole = new Model(coarse);
    const sliced = new Model(coarse);
    for (let s = 0; s < 3; s++) {
      whole.step(7200);
      expect([...sliced.stepInSlices(7200, 10)]).toEqual([10, 20, 30]);
    }
    expect(sliced.time).toBe(21600);
    for (let k = 0; k < whole.layers.length; k++) expect(sliced.layer(k)).toEqual(whole.layer(k));
  });

  test("given up half way is finished", () => {
    const whole = new Model(coarse);
    const stopped = new Model(coarse);
    whole.step(7200);
    for (const _ of stopped.stepInSlices(7200, 3)) break;
    expect(stopped.time).toBe(7200);
    expect(stopped.layer(36)).toEqual(whole.layer(36));
  });

  test("keeps another step out", () => {
    const model = new Model(coarse);
    const slices = model.stepInSlices(7200);
    slices.next();
    expect(() => model.step(7200)).toThrow("under way");
    slices.return();
    model.step(7200);
    expect(model.time).toBe(14400);
  });
});

test("the same seed gives the same field, another one another", () => {
  const fields = [1, 1, 2].map(seed => {
    const model = new Model({ ...coarse, seed });
    model.step(7200);
    return model.layer(20);
  });
  expect(fields[1]).toEqual(fields[0]);
  expect(fields[2]).not.toEqual(fields[0]);
});

test("the field moves visibly from step to step", () => {
  const model = new Model({ winds });
  const before = model.layer(22).slice();
  model.step(7200);
  const [low, high] = range(before);
  const moved = before.filter(
    (value, n) => Math.abs(value - (model.layer(22)[n] as number)) > 0.01 * (high - low),
  );
  expect(moved.length / before.length).toBeGreaterThan(0.05);
});

test("month and time go on with the steps, around the year", () => {
  const model = new Model({ ...coarse, month: 11.99 });
  model.step(86400);
  expect(model.time).toBe(86400);
  expect(model.month).toBeCloseTo(11.99 + 12 / 365.25 - 12, 9);
  model.setMonth(6.5);
  expect(model.month).toBe(6.5);
  expect(model.time).toBe(86400);
});

test("a finer grid can be had, by resolution or by size", () => {
  const fine = new Model({ winds, resolution: 1.25 });
  expect([fine.grid.rows, fine.grid.columns, fine.layer(0).length]).toEqual([145, 288, 145 * 288]);
  const before = fine.totalMass(22);
  fine.step(1800);
  expect(fine.totalMass(22) / before).toBeCloseTo(1, 3);
  const own = new Model({ winds, rows: 31, columns: 80 });
  own.step(7200);
  expect(own.layer(36)).toHaveLength(31 * 80);
});

describe("is refused with its cause:", () => {
  const model = new Model(coarse);
  const source = { latitude: 0, longitude: 0, layer: 0, amount: 1 };
  test.each<[string, () => unknown, RegExp]>([
    ["a resolution that does not divide 180", () => new Model({ winds, resolution: 7 }), /resolution.*7/],
    ["no resolution", () => new Model({ winds, resolution: 0 }), /resolution/],
    ["rows without columns", () => new Model({ winds, rows: 73 }), /belong together/],
    ["odd columns", () => new Model({ winds, rows: 73, columns: 143 }), /columns.*143/],
    ["too few rows", () => new Model({ winds, rows: 3, columns: 144 }), /rows.*3/],
    ["both", () => new Model({ winds, resolution: 5, rows: 37, columns: 72 }), /not both/],
    ["a month after the last", () => new Model({ winds, month: 12.5 }), /month.*12\.5/],
    ["a seed that is none", () => new Model({ winds, seed: 0.5 }), /seed/],
    ["winds of another size", () => new Model({ winds: { ...winds, rows: 72 } }), /eastward winds/],
    ["a month that is none", () => model.setMonth(Number.NaN), /month/],
    ["a step of nothing", () => model.step(0), /step/],
    ["a step of a year", () => model.step(3e7), /step/],
    ["a slice of nothing", () => [...model.stepInSlices(3600, 0)], /slice/],
    ["a layer above the top", () => model.layer(37), /layer.*37/],
    ["the mass of no layer", () => model.totalMass(-1), /layer.*-1/],
    ["a source beyond the pole", () => model.addSource({ ...source, latitude: 91 }), /latitude.*91/],
    ["a source nowhere", () => model.addSource({ ...source, longitude: Number.NaN }), /longitude/],
    ["a source between layers", () => model.addSource({ ...source, layer: 1.5 }), /layer.*1\.5/],
    ["a source of nothing", () => model.addSource({ ...source, amount: 0 }), /amount/],
    ["a source too wide", () => model.addSource({ ...source, radiusKm: 9000 }), /radius/],
    ["a source without duration", () => model.addSource({ ...source, durationHours: 0 }), /duration/],
  ])("%s", (_, act, cause) => {
    expect(act).toThrow(RangeError);
    expect(act).toThrow(cause);
  });

  test("a source too many", () => {
    for (let n = 0; n < LARGEST_SOURCE_COUNT; n++) model.addSource(source);
    expect(() => model.addSource(source)).toThrow(/64 sources/);
  });
});

test("a model goes on from the state of another one, bit for bit, with its sources", () => {
  const first = new Model({ ...coarse, month: 3 });
  first.addSource({ latitude: 20, longitude: 10, layer: 25, amount: 30 });
  for (let s = 0; s < 3; s++) first.step(7200);
  const second = new Model({ ...coarse, month: 3 });
  second.restore(first.state);
  for (const model of [first, second]) for (let s = 0; s < 3; s++) model.step(7200);
  expect(second.time).toBe(first.time);
  expect(second.month).toBe(first.month);
  expect(second.sources).toEqual(first.sources);
  for (let k = 0; k < first.layers.length; k++) expect(second.layer(k)).toEqual(first.layer(k));
  expect(second.addSource({ latitude: 0, longitude: 0, layer: 1, amount: 1 }).id).toBe(2);
  expect(() => new Model({ winds, resolution: 10 }).restore(first.state)).toThrow(/another grid/);
});

test("a source that is removed gives off nothing more, and what it gave off stays", () => {
  const model = new Model({ ...coarse, chemistry: false, weather: false });
  const before = model.totalMass(25);
  const { id } = model.addSource({ latitude: 0, longitude: 0, layer: 25, amount: 100 });
  model.step(7200);
  const after = model.totalMass(25);
  expect(after).toBeGreaterThan(before);
  expect(model.removeSource(id)).toBe(true);
  expect(model.removeSource(id)).toBe(false);
  model.step(7200);
  expect(model.totalMass(25) / after).toBeCloseTo(1, 5);
});
