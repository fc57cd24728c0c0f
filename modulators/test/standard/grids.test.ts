import { diff, fifo, type GridChange, type GridData, type View, viewFilter } from "@jecho/modulators";
import { unpack } from "@jecho/shared";
import { afterAll, expect, test } from "vitest";
import { layerOf } from "../grid.ts";
import { Rig } from "../rig.ts";
import { seeded } from "../tiers/compiled/random-values.ts";

const rig = new Rig();
afterAll(() => rig.host.close());

const NOTHING_INSIDE = { decode: () => undefined };
const WORLD: View = { firstLayer: 0, lastLayer: 99, south: -90, north: 90, west: -180, east: 180, stride: 1 };

/** Cells of a grid that are in, cell by cell from the definition, west to east. */
function filterAtConsumer(view: View, event: GridData): { rows: number[]; columns: number[] } | undefined {
  if (event.layer < view.firstLayer || event.layer > view.lastLayer) return undefined;
  const touches = (low: number, high: number, from: number, to: number) => high >= from && low <= to;
  const halfRow = Math.abs(event.latStep) / 2;
  const half = Math.abs(event.lonStep) / 2;
  const rows = Array.from({ length: event.rows }, (_, row) => row).filter(row => {
    const latitude = event.latFirst + row * event.latStep;
    return touches(latitude - halfRow, latitude + halfRow, view.south, view.north);
  });
  const all = view.east - view.west >= 360;
  const span = (((view.east - view.west) % 360) + 360) % 360;
  const isIn = (column: number) =>
    all ||
    [-3, -2, -1, 0, 1, 2, 3].some(turn => {
      const longitude = event.lonFirst + column * event.lonStep + 360 * turn;
      return touches(longitude - half, longitude + half, view.west, view.west + span);
    });
  const columns = Array.from({ length: event.columns }, (_, column) => column).filter(isIn);
  // Over the grid's edge the run begins where the gap ends.
  const gap = columns.findIndex((column, i) => i > 0 && column !== (columns[i - 1] as number) + 1);
  const turned = gap < 0 ? columns : [...columns.slice(gap), ...columns.slice(0, gap)];
  if (rows.length === 0 || turned.length === 0) return undefined;
  const every = <T>(list: T[]) => list.filter((_, i) => i % view.stride === 0);
  return { rows: every(rows), columns: every(turned) };
}

function expectWindow(view: View, sent: GridData, got: GridData | undefined): void {
  const expected = filterAtConsumer(view, sent);
  if (expected === undefined) return expect(got).toBeUndefined();
  const { rows, columns } = expected;
  const [row = 0] = rows;
  const [column = 0] = columns;
  expect(got).toMatchObject({
    step: sent.step,
    layer: sent.layer,
    time: sent.time,
    rows: rows.length,
    columns: columns.length,
    latFirst: Math.fround(sent.latFirst + row * sent.latStep),
    latStep: Math.fround(sent.latStep * view.stride),
    lonFirst: Math.fround(sent.lonFirst + column * sent.lonStep),
    lonStep: Math.fround(sent.lonStep * view.stride),
  });
  const values = rows.flatMap(r => columns.map(c => sent.values[r * sent.columns + c] as number));
  expect(Array.from(got?.values ?? [])).toEqual(values);
}

test("view-filter gives exactly what filtering at the consumer would, over 200 windows", async () => {
  const random = seeded(20240711);
  const view = { id: "window", version: 1, state: WORLD };
  const derived = await rig.install(viewFilter(view).modulator);
  const pick = (from: number, to: number) => from + random() * (to - from);
  const sent: { view: View; event: GridData; version: number }[] = [];
  for (let version = 2; version < 202; version++) {
    const south = version % 10 === 0 ? -90 : pick(-90, 90);
    const west = pick(-360, 360);
    const state: View = {
      firstLayer: Math.floor(pick(0, 3)),
      lastLayer: 3 + Math.floor(pick(0, 3)),
      south,
      north: version % 7 === 0 ? 90 : pick(south, 90),
      west,
      east: west + pick(-360, 400),
      stride: 1 + Math.floor(pick(0, 4)),
    };
    // An update counts for what waits, too.
    await rig.settled();
    rig.host.update({ object: "window", version, state: JSON.stringify(state) });
    const events = [1, 4].map(layer => layerOf(version, layer));
    rig.publish(events);
    for (const event of events) sent.push({ view: state, event, version });
  }
  await rig.settled();
  expect(rig.removed.get(derived)).toBeUndefined();
  const got = rig.received(derived);
  for (const { view, event, version } of sent) {
    const match = got.find(one => one.event.step === event.step && one.event.layer === event.layer);
    expectWindow(view, event, match?.event);
    if (match !== undefined) expect(match.parameters).toBe(version);
  }
});

test("a view of a grid of one region gives what of it is looked at, over its edges and beside it", async () => {
  const region = { latFirst: 40, latStep: 1, rows: 11, lonFirst: 170, lonStep: 0.5, columns: 50 };
  const values = Float32Array.from({ length: region.rows * region.columns }, (_, cell) => cell);
  const event: GridData = { step: 1, layer: 2, time: 1800, ...region, values };
  const windows = [
    { south: 42, north: 44, west: 175, east: 180 },
    { south: 30, north: 45, west: 160, east: 172 },
    { south: 49, north: 60, west: -170, east: -120 },
    { south: 42, north: 44, west: 178, east: -179 },
    { south: 42, north: 44, west: 0, east: 90 },
    { south: -90, north: 90, west: -180, east: 180 },
  ].map(window => ({ ...WORLD, ...window, stride: 2 }));
  const derived = await Promise.all(windows.map(view => rig.install(viewFilter(view).modulator)));
  rig.publish([event]);
  await rig.settled();
  for (const [i, view] of windows.entries())
    expectWindow(view, event, rig.received(derived[i] as number)[0]?.event);
});

test("a window that is the whole grid passes the event's own bytes", async () => {
  const derived = await rig.install(viewFilter(WORLD).modulator);
  const sent = layerOf(1, 2);
  rig.publish([sent]);
  await rig.settled();
  const [run] = rig.frames(derived);
  const bytes = run?.bytes.slice(run.eventStart(0), run.eventEnd(0));
  expect(rig.received(derived)[0]?.event.values).toEqual(sent.values);
  expect(bytes?.byteLength).toBeLessThan(sent.values.byteLength + 200);
});

/** The bits of a float32 grid's values, those of some of its cells. */
function bitsOf({ values, columns }: GridData, cells?: { rows: number[]; columns: number[] }): number[] {
  const bits = new Uint32Array(values.slice().buffer);
  if (cells === undefined) return Array.from(bits);
  return cells.rows.flatMap(row => cells.columns.map(column => bits[row * columns + column] as number));
}

/** -0, infinities, the least and the greatest numbers, and NaN of either kind and sign with all bits and with few. */
const SPECIAL_BITS = [
  0, 0x8000_0000, 1, 0x8000_0001, 0x007f_ffff, 0x0080_0000, 0x7f7f_ffff, 0xff7f_ffff, 0x7f80_0000,
  0xff80_0000, 0x7f80_0001, 0xff80_0001, 0x7fc0_0000, 0xffc0_0000, 0x7fff_ffff, 0xffff_ffff, 0x7fab_cdef,
  0x3f80_0000,
];

test.each([
  ["packed", true],
  ["plain", false],
])(
  "a %s view gives bit by bit what filtering at the consumer would, whatever the bits are",
  async (name, packed) => {
    const random = seeded(16);
    const any = () => Math.floor(random() * 2 ** 32);
    const float = new Float32Array(1);
    const bitsOfNumber = (number: number) => {
      float[0] = number;
      return new Uint32Array(float.buffer)[0] as number;
    };
    const fields: Record<string, (cell: number) => number> = {
      noise: any,
      "noise of few bits": () => any() & 0xff,
      "smooth, over zero": cell => bitsOfNumber(Math.sin(cell / 16) + (cell % 16) / 100),
      "all the same": () => bitsOfNumber(-3.5),
      special: cell => SPECIAL_BITS[cell % SPECIAL_BITS.length] as number,
      "special at random": () => SPECIAL_BITS[any() % SPECIAL_BITS.length] as number,
      "smooth with special": cell =>
        random() < 0.1 ? (SPECIAL_BITS[any() % SPECIAL_BITS.length] as number) : bitsOfNumber(cell),
      "noise of one sign": () => any() | 0x8000_0000,
    };
    const windows: Partial<View>[] = [
      {},
      { south: -40, north: 40, west: 300, east: 60 },
      { south: 1, north: 1 },
      { west: 1, east: 1 },
      { south: 1, north: 1, west: 1, east: 1 },
      { stride: 3 },
      { south: -30, north: -20, west: 40, east: 80 },
    ];
    const view = { id: name, version: 1, state: WORLD };
    const { modulator, demodulator } = viewFilter(view, { packed });
    const derived = await rig.install(modulator);
    const wanted: { geometry: unknown; bits: number[] }[] = [];
    let version = 1;
    for (const window of windows) {
      const state = { ...WORLD, ...window };
      await rig.settled();
      rig.host.update({ object: name, version: ++version, state: JSON.stringify(state) });
      for (const fieldOf of Object.values(fields)) {
        const bits = Uint32Array.from({ length: 144 }, (_, cell) => fieldOf(cell));
        const sent = { ...plainGrid(wanted.length), values: new Float32Array(bits.buffer) };
        rig.publish([sent]);
        const cells = filterAtConsumer(state, sent) as { rows: number[]; columns: number[] };
        const geometry = { step: sent.step, rows: cells.rows.length, columns: cells.columns.length };
        wanted.push({ geometry, bits: bitsOf(sent, cells) });
      }
    }
    await rig.settled();
    expect(rig.removed.get(derived)).toBeUndefined();
    const got: GridData[] = [];
    for (const { event } of rig.received(derived)) {
      if (demodulator === undefined) got.push(event);
      else demodulator.push(event, grid => got.push(grid as GridData), NOTHING_INSIDE);
    }
    expect(got.length).toBe(wanted.length);
    for (const [i, { geometry, bits }] of wanted.entries()) {
      expect(got[i]).toMatchObject(geometry as object);
      expect(bitsOf(got[i] as GridData)).toEqual(bits);
    }
  },
);

test("a packed view of a smooth field takes half the bytes, and of noise no more than the values", async () => {
  const random = seeded(17);
  const whole = unpack(layerOf(1, 0, 73, 144)) as GridData;
  const smooth = whole.values.map((_, cell) => {
    const [row, column] = [Math.floor(cell / 144), cell % 144];
    return 5 + 3 * Math.sin(row / 12) * Math.cos((column * Math.PI) / 36) + row / 50;
  });
  const noise = new Float32Array(whole.values.map(() => (random() - 0.5) * 2 ** (random() * 200 - 100)));
  const [packed, plain] = [
    await rig.install(viewFilter(WORLD, { packed: true }).modulator),
    await rig.install(viewFilter(WORLD).modulator),
  ];
  rig.publish([
    { ...whole, step: 1, values: smooth },
    { ...whole, step: 2, values: noise },
  ]);
  await rig.settled();
  const sizes = (derived: number) =>
    rig
      .frames(derived)
      .flatMap(run => Array.from({ length: run.count }, (_, i) => run.eventEnd(i) - run.eventStart(i)));
  const [smoothBytes, noiseBytes] = sizes(packed) as [number, number];
  const [bytes] = sizes(plain) as [number];
  expect(smoothBytes).toBeLessThan(bytes / 2);
  expect(noiseBytes).toBeLessThan(bytes + 20);
});

test("a view of a grid that is no globe is refused, and one of a globe whose last column is its first is not", async () => {
  const view = { ...WORLD, west: 40, east: 60 };
  const [wide, closed] = await Promise.all([0, 1].map(() => rig.install(viewFilter(view).modulator)));
  const publish = (columns: number, lonStep: number) =>
    rig.publish([{ ...plainGrid(1), rows: 1, columns, lonStep, values: new Float32Array(columns) }]);
  publish(17, 22.5);
  await rig.settled();
  expect(rig.received(closed as number)).toHaveLength(1);
  publish(1000, 1);
  await rig.settled();
  expect(rig.removed.get(wide as number)).toMatchObject({
    message: expect.stringContaining("1000 columns of 1 degrees are more than 360 degrees; crop takes"),
  });
});

test("a packed view of a grid with too few values is refused", async () => {
  const derived = await rig.install(viewFilter(WORLD, { packed: true }).modulator);
  rig.publish([{ ...plainGrid(1), values: new Float32Array(143) }]);
  await rig.settled();
  expect(rig.removed.get(derived)).toMatchObject({
    message: expect.stringContaining("9 x 16 float32 are wanted"),
  });
});

test("words that are no packed grid are refused, whatever they say", () => {
  const { demodulator } = viewFilter(WORLD, { packed: true });
  const push = (rows: number, columns: number, words: number[]) =>
    demodulator?.push(
      { ...plainGrid(1), rows, columns, words: Uint32Array.from(words) },
      () => {},
      NOTHING_INSIDE,
    );
  const refused = expect.objectContaining({ code: "EVENT_INVALID" });
  expect(() => push(1, 8, [0])).not.toThrow();
  expect(() => push(1, 8, []), "nothing").toThrow(refused);
  expect(() => push(1, 8, [33]), "a width beyond 32").toThrow(refused);
  expect(() => push(1, 8, [4]), "eight values of 4 bits in 26 bits").toThrow(refused);
  expect(() => push(1, 8, [0, 0]), "a word too many").toThrow(refused);
  expect(() => push(1, 8, new Array(9).fill(0)), "more words than values").toThrow(refused);
  expect(() => push(0, 8, [0]), "words for no values").toThrow(refused);
  expect(() => push(65_535, 65_535, [0, 0]), "a grid too large for its words").toThrow(refused);
  expect(() => push(2, 8, [3]), "no room for the second width").toThrow(refused);
});

test.each([
  ["no number", { south: null }, "view.south"],
  ["south of north", { south: 10, north: -10 }, "is north of"],
  ["stride 0", { stride: 0 }, "view.stride"],
  ["a broken stride", { stride: 1.5 }, "view.stride"],
  ["layers upside down", { firstLayer: 5, lastLayer: 2 }, "view.firstLayer"],
])(
  "a bad view is refused by name where it is given, at installation and on update: %s",
  async (_, change, named) => {
    const bad = { ...WORLD, ...change } as View;
    const refusal = { code: "PARAMETERS_INVALID", message: expect.stringContaining(named) };
    expect(() => viewFilter(bad)).toThrow(expect.objectContaining(refusal));
    const { source } = viewFilter(WORLD).modulator;
    const parameters = { view: { ...bad } };
    await expect(rig.install({ source, parameters })).rejects.toMatchObject(refusal);
    const id = `view ${named}`;
    const derived = await rig.install(viewFilter({ id, version: 1, state: WORLD }).modulator);
    rig.host.update({ object: id, version: 2, state: JSON.stringify(bad) });
    rig.step();
    await rig.settled();
    expect(rig.removed.get(derived)).toMatchObject(refusal);
  },
);

test("a missing view is refused", async () => {
  const { source } = viewFilter(WORLD).modulator;
  await expect(rig.install({ source })).rejects.toMatchObject({ code: "PARAMETERS_INVALID" });
});

test("diff sends only what changed, and its demodulator rebuilds the field within the threshold", async () => {
  const random = seeded(7);
  const threshold = 0.25;
  const window: View = { ...WORLD, south: -40, north: 40, west: 300, east: 60 };
  const view = { id: "alarm", version: 1, state: window };
  const { modulator, demodulator } = diff(view, threshold);
  const derived = await rig.install(modulator);
  const whole = await rig.install(viewFilter(view).modulator);
  const field = Float32Array.from({ length: 9 * 16 }, () => random() * 10);
  const steps = 130;
  for (let step = 1; step <= steps; step++) {
    for (let cell = 0; cell < field.length; cell++) {
      if (random() < 0.1) field[cell] = (field[cell] as number) + (random() - 0.5);
    }
    if (step === 60) {
      await rig.settled();
      rig.host.update({ object: "alarm", version: 2, state: JSON.stringify({ ...window, stride: 2 }) });
    }
    rig.publish([{ ...layerOf(step, 0), ...plainGrid(step), values: field.slice() }]);
  }
  await rig.settled();
  const truth = new Map(rig.received(whole).map(({ event }) => [event.step, event]));
  const changes = rig.received<GridChange>(derived);
  const [first] = changes;
  expect(first?.event.values.length).toBe((first?.event.rows ?? 0) * (first?.event.columns ?? 0));
  const fewer = changes.filter(({ event }) => event.values.length < event.rows * event.columns);
  expect(fewer.length).toBeGreaterThan(steps / 2);
  for (const { event } of changes) {
    const check = (rebuilt: GridData) => {
      const real = truth.get(rebuilt.step) as GridData;
      expect(rebuilt).toMatchObject({ rows: real.rows, columns: real.columns, lonFirst: real.lonFirst });
      for (const [cell, value] of real.values.entries()) {
        expect(Math.abs(value - (rebuilt.values[cell] as number))).toBeLessThanOrEqual(threshold);
      }
    };
    demodulator?.push(event, check, NOTHING_INSIDE);
  }
  expect(changes.find(({ event }) => event.step >= 60)?.parameters).toBe(2);
});

function plainGrid(step: number) {
  const { layer, time, latFirst, latStep, rows, lonFirst, lonStep, columns } = layerOf(step, 0);
  return { step, layer, time, latFirst, latStep, rows, lonFirst, lonStep, columns };
}

/** One row of cells, changed step by step, at each of two producers' processes. */
const ROWS = [
  [0, [1, 1, 1]],
  [1, [100, 100, 100]],
  [0, [1, 5, 1]],
  [1, [100, 100, 200]],
  [0, [9, 5, 1]],
] as const;

test.for([
  ["of several processes are rebuilt apart", [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]],
  ["behind one that is missing are left out", [0, 1, 3, 4], [0, 1, 3]],
] as const)("diff: changes of a layer %s", async ([, arrive, wanted]) => {
  const { modulator, demodulator } = diff(WORLD, 0.5);
  const processes = [new Rig(), new Rig()];
  const installed = await Promise.all(processes.map(rig => rig.install(modulator)));
  const changes: GridChange[] = [];
  for (const [process, row] of ROWS) {
    const [rig, derived] = [processes[process] as Rig, installed[process] as number];
    const step = changes.length;
    const values = Float32Array.from(row);
    rig.publish([{ ...plainGrid(step), latFirst: 0, rows: 1, columns: row.length, values }]);
    await rig.settled();
    changes.push(rig.received<GridChange>(derived).at(-1)?.event as GridChange);
  }
  const rebuilt: [number, number[]][] = [];
  for (const i of arrive)
    demodulator?.push(
      changes[i] as GridChange,
      ({ step, values }) => rebuilt.push([step, [...values]]),
      NOTHING_INSIDE,
    );
  expect(rebuilt).toEqual(wanted.map(i => [i, [...(ROWS[i]?.[1] ?? [])]]));
  for (const rig of processes) await rig[Symbol.asyncDispose]();
});

test("diff sends nothing where nothing changed", async () => {
  const derived = await rig.install(diff(WORLD, 0).modulator);
  for (let i = 0; i < 5; i++)
    rig.publish([{ ...layerOf(3, 1), ...plainGrid(3), values: new Float32Array(144) }]);
  await rig.settled();
  expect(rig.frames(derived).length).toBe(1);
});

test("fifo passes every event, also opaque bytes", async () => {
  const other = new Rig();
  await using _ = other;
  const derived = await other.install(fifo().modulator, undefined as never);
  other.step();
  await other.settled();
  expect(other.received(derived).map(({ event }) => event.layer)).toEqual([0, 1, 2]);
});
