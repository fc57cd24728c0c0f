import {
  type Aggregate,
  aggregate,
  cluster,
  compress,
  crop,
  diff,
  downsample,
  encrypt,
  type GridData,
  type HandlerPair,
  type Json,
  keyPair,
  latestPerKey,
  priority,
  quantise,
  rateLimit,
  sample,
  type View,
  viewFilter,
} from "@jecho/modulators";
import { encodeEvent, type } from "@jecho/shared";
import { expect, test } from "vitest";
import { grid } from "../grid.ts";
import { openBench } from "../rig.ts";

const Odd = type("Odd", {
  n: "uint32",
  name: "string",
  values: "float32[]",
  wide: "float64[]",
  whole: "int16[]",
  big: "int64",
  x: "float64",
});
const OPTIONS = { type: Odd };
const odd = (fields: Partial<typeof Odd.event>) => Odd.decode(encodeEvent(Odd, fields as never));
const VIEW: View = { firstLayer: 0, lastLayer: 3, south: -90, north: 90, west: 0, east: 360, stride: 1 };

test.for<[string, () => HandlerPair, string]>([
  ["sample", () => sample("2" as never), 'every: an integer from 1 to 2147483647 is wanted, not "2"'],
  ["sample", () => sample(0), "every: an integer from 1 to 2147483647 is wanted, not 0"],
  ["rateLimit", () => rateLimit(9), "intervalMs: a number from 10 is wanted, not 9"],
  ["latestPerKey", () => latestPerKey(""), 'field: the name of a field is wanted, not ""'],
  [
    "latestPerKey",
    () => latestPerKey("n", { intervalMs: 5 }),
    "intervalMs: 0, or a number from 10 is wanted, not 5",
  ],
  ["latestPerKey", () => latestPerKey("n", { keys: 0 }), "keys: an integer from 1"],
  ["priority", () => priority("", []), 'field: the name of a field is wanted, not ""'],
  ["priority", () => priority("n", "urgent" as never), 'urgent: a list of values is wanted, not "urgent"'],
  [
    "priority",
    () => priority("n", [1, null as never]),
    "urgent[1]: a number, text or boolean is wanted, not null",
  ],
  ["downsample", () => downsample("values", 0), "factor: an integer from 1"],
  [
    "downsample",
    () => downsample("values", 2, "median" as never),
    "method: one of stride, mean, min, max is wanted",
  ],
  ["aggregate", () => aggregate("x", { every: 0 }) as HandlerPair, "every: an integer from 1"],
  [
    "aggregate",
    () => aggregate("x", { low: "a" as never }) as HandlerPair,
    'low: a number is wanted, not "a"',
  ],
  [
    "aggregate",
    () => aggregate("x", { bins: 2, low: 1, high: 1 }) as HandlerPair,
    "low, high: the second is to be the greater one",
  ],
  ["aggregate", () => aggregate("x", { bins: 2, low: -1.7e308, high: 1.7e308 }) as HandlerPair, "low, high:"],
  ["cluster", () => cluster({ withinMs: 5 }), "withinMs: a number from 10 is wanted, not 5"],
  ["compress", () => compress({ refreshEvents: 0 }), "refreshEvents: an integer from 1"],
  ["crop", () => crop({ rows: [3, 2] }), "rows: the first and the last one from 0 are wanted"],
  [
    "crop",
    () => crop({ columns: 5 as never }),
    "columns: the first and the last one from 0 are wanted, not 5",
  ],
  ["crop", () => crop({ stride: 0 }), "stride: an integer from 1"],
  ["crop", () => crop({}, { shape: [3, 0] }), "columns: an integer from 1"],
  ["crop", () => crop({}, { shape: ["", 3] }), 'rows: the name of a field is wanted, not ""'],
  ["crop", () => crop({}, { field: "" }), "field: the name of a field is wanted"],
  ["crop", () => crop(5 as never), "window: a window, or a shared object with one, is wanted, not 5"],
  ["quantise", () => quantise("values", 0), "bound: a number greater than 0 is wanted, not 0"],
  ["diff", () => diff(VIEW, -1) as HandlerPair, "threshold: a number from 0 is wanted, not -1"],
  [
    "viewFilter",
    () => viewFilter({ ...VIEW, east: "360" as never }) as HandlerPair,
    'view.east: a finite number is wanted, not "360"',
  ],
])("%s refuses a parameter that is none where it is made, and names it: %o", ([, make, message]) => {
  expect(make).toThrow(
    expect.objectContaining({ code: "PARAMETERS_INVALID", message: expect.stringContaining(message) }),
  );
});

test.for<[string, HandlerPair, Json, string]>([
  ["sample", sample(2), { every: 0 }, "every: an integer from 1"],
  ["rateLimit", rateLimit(10), { intervalMs: 9 }, "intervalMs: a number from 10 is wanted, not 9"],
  ["latestPerKey", latestPerKey("n"), null, "field: the name of a field is wanted, not undefined"],
  ["priority", priority("n", []), { field: "n" }, "urgent: a list of values is wanted"],
  ["downsample", downsample("values", 2), { field: "values", factor: 2 }, "method: one of stride"],
  ["aggregate", aggregate("x") as HandlerPair, { field: "x", every: 0 }, "every: an integer from 1"],
  ["cluster", cluster(), { events: 1, bytes: 1 }, "withinMs: a number from 10"],
  ["compress", compress(), { refreshEvents: 0.5 }, "refreshEvents: an integer from 1"],
  ["crop", crop({}), { field: "values", shape: [1] }, "shape: rows and columns are wanted"],
  ["crop", crop({}), { field: "values", shape: [1, 1] }, "window: a window, or a shared object with one"],
  ["quantise", quantise("values", 1), { field: "values", bound: 0 }, "bound: a number greater than 0"],
  ["encrypt", encrypt(keyPair()), { publicKey: "00" }, "publicKey: 32 bytes"],
  ["diff", diff(VIEW, 1) as HandlerPair, { threshold: -1, view: { ...VIEW } }, "threshold: a number from 0"],
  ["viewFilter", viewFilter(VIEW) as HandlerPair, {}, "there is no view"],
])(
  "MOE-10: %s refuses such a parameter from whoever sends it: %o",
  async ([, handler, parameters, message]) => {
    const modulator = { source: handler.modulator.source, parameters };
    await expect(openBench(modulator, OPTIONS)).rejects.toMatchObject({
      code: "PARAMETERS_INVALID",
      message: expect.stringContaining(message),
    });
  },
);

test.for<[string, (options: never) => unknown, string]>([
  ["latestPerKey", options => latestPerKey("n", options), "intervalMs"],
  ["aggregate", options => aggregate("x", options), "window"],
  ["cluster", options => cluster(options), "withinMs"],
  ["compress", options => compress(options), "refreshEvents"],
  ["crop", options => crop({}, options), "shape"],
  ["quantise", options => quantise("values", 1, options), "refreshEvents"],
  ["viewFilter", options => viewFilter(VIEW, options), "packed"],
])(
  "%s refuses options that are none, and one that it does not have, naming the nearest",
  ([name, make, known]) => {
    const refusal = (message: string) => expect.objectContaining({ code: "ARGUMENT_INVALID", message });
    const misspelt = known.replace(/.$/, "");
    expect(() => make({ [misspelt]: 10 } as never)).toThrow(
      refusal(`${name}() has no option "${misspelt}"; did you mean "${known}"?`),
    );
    expect(() => make({ colour: 1 } as never)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(`no option "colour"; there are .*${known}`) }),
    );
    expect(() => make(null as never)).toThrow(refusal(`${name}(): options is null; an object is wanted`));
    expect(() => make(10 as never)).toThrow(refusal(`${name}(): options is 10; an object is wanted`));
  },
);

test("a view that is none is refused where it is given", () => {
  for (const view of [undefined, null, 5])
    expect(() => viewFilter(view as never)).toThrow(expect.objectContaining({ code: "PARAMETERS_INVALID" }));
});

test.for<[string, HandlerPair, string]>([
  ["latestPerKey", latestPerKey("nope"), 'field: an event has no field "nope"'],
  ["latestPerKey", latestPerKey("values"), 'field: "values" is no number, text or boolean'],
  ["priority", priority("values", [1]), 'field: "values" is no number, text or boolean'],
  ["crop", crop({}, { shape: [1, 1], field: "x" }), 'field: "x" is no vector'],
  ["crop", crop({}, { shape: [1, "columns"] }), 'an event has no field "columns"'],
  ["crop", crop({}, { shape: ["name", 1] }), 'field: "name" is no number'],
  ["downsample", downsample("x", 2), 'field: "x" is no vector of numbers'],
  ["downsample", downsample("name", 2), 'field: "name" is no vector of numbers'],
  ["aggregate", aggregate("big") as HandlerPair, 'field: "big" holds no numbers'],
  ["quantise", quantise("whole", 1), 'field: "whole" is no vector of floats'],
  ["viewFilter", viewFilter(VIEW), 'an event has no field "layer"'],
  ["aggregate", aggregate("whole[]") as HandlerPair, 'an event has no field "whole[]"'],
])("TYPE-11: %s says which field it cannot do with: %o", async ([, handler, message]) => {
  await using bench = await openBench(handler, OPTIONS);
  await expect(bench.push(odd({ n: 1 }))).rejects.toMatchObject({
    code: "TYPE_MISMATCH",
    message: expect.stringContaining(message),
  });
});

test.each([
  ["min", [1, 1, 1, Number.NaN, Number.NEGATIVE_INFINITY]],
  ["max", [2, 2, 2, Number.NaN, Number.POSITIVE_INFINITY]],
] as const)(
  "downsample's %s is that of the numbers, wherever NaN stands among them",
  async (method, wanted) => {
    await using bench = await openBench(downsample("values", 3, method), OPTIONS);
    const { NaN: none, POSITIVE_INFINITY: most } = Number;
    const threes = [
      [1, none, 2],
      [none, 1, 2],
      [2, 1, none],
      [none, none, none],
      [most, none, -most],
    ];
    const out = await bench.push(odd({ values: Float32Array.from(threes.flat()) }), odd({}));
    expect(out.map(({ values }) => [...values])).toEqual([wanted, []]);
  },
);

test("aggregate takes no number, none that is finite, and bins as narrow as numbers can be", async () => {
  const handler = aggregate("values", { bins: 2, low: 0, high: Number.MIN_VALUE });
  await using bench = await openBench<ReturnType<typeof odd>, Aggregate>(handler as never, OPTIONS);
  const out = await bench.push(odd({}), odd({ values: Float32Array.of(Number.NaN, Infinity, 0) }));
  expect(out.map(({ count, mean, min, max }) => [count, mean, min, max])).toEqual([
    [0, Number.NaN, Infinity, -Infinity],
    [1, 0, 0, 0],
  ]);
  expect(out.map(({ histogram }) => [...histogram])).toEqual([
    [0, 0],
    [1, 0],
  ]);
});

test("latestPerKey takes NaN as one key, and both zeros as one", async () => {
  await using bench = await openBench(latestPerKey("x", { intervalMs: 10 }), OPTIONS);
  const keys = [Number.NaN, 0, Number.NaN, -0, 1];
  await bench.push(...keys.map((x, n) => odd({ n, x })));
  expect((await bench.pass(10)).map(({ n }) => n)).toEqual([2, 3, 4]);
});

test("quantise keeps within its bound whatever the numbers, and exactly what is no number", async () => {
  const values = Float32Array.of(Number.NaN, Infinity, -Infinity, 3e38, 1e-40, 0.2, -7);
  for (const bound of [Number.MIN_VALUE, 0.5, 1e38, 1.7e308]) {
    await using bench = await openBench(quantise("values", bound), OPTIONS);
    const [empty, all] = await bench.push(odd({}), odd({ values }));
    expect(empty?.values).toHaveLength(0);
    expect([...(all?.values ?? [])].slice(0, 3)).toEqual([Number.NaN, Infinity, -Infinity]);
    for (let i = 3; i < values.length; i++)
      expect(Math.abs((all?.values[i] ?? Number.NaN) - (values[i] as number))).toBeLessThanOrEqual(bound);
  }
});

const cell = (fields: Partial<GridData>): GridData =>
  grid.decode(
    encodeEvent(grid, {
      ...{
        step: 1,
        layer: 0,
        time: 0,
        latFirst: 0,
        latStep: 1,
        rows: 1,
        lonFirst: 0,
        lonStep: 1,
        columns: 1,
      },
      values: Float32Array.of(5),
      ...fields,
    }),
  );

test.for<[string, HandlerPair<never, GridData>]>([
  ["viewFilter", viewFilter(VIEW) as never],
  ["viewFilter, packed", viewFilter(VIEW, { packed: true }) as never],
  ["diff", diff(VIEW, 0) as never],
])("%s takes grids of one cell, of none, and of cells without a size", async ([, handler]) => {
  await using bench = await openBench<GridData, GridData>(handler as never, { type: grid as never });
  const out = await bench.push(
    cell({}),
    cell({ values: Float32Array.of(Number.NaN) }),
    cell({ rows: 0, columns: 0, values: new Float32Array(0) }),
    cell({ latStep: 0, lonStep: 0 }),
    cell({ rows: 3, latFirst: 90, latStep: -90, values: Float32Array.of(1, Infinity, Number.NaN) }),
  );
  expect(out.map(({ values }) => [...values])).toEqual([[5], [Number.NaN], [5], [1, Infinity, Number.NaN]]);
});
