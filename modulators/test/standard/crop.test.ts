import { type CropWindow, crop, type GridData } from "@jecho/modulators";
import { type, unpack } from "@jecho/shared";
import { expect, test } from "vitest";
import { layerOf } from "../grid.ts";
import { openBench, Rig } from "../rig.ts";

const Plate = type("Plate", {
  step: "uint32",
  rows: "uint16",
  columns: "uint16",
  values: "float64[]",
  whole: "int16[]",
  big: "int64[]",
  flags: "bool[]",
  names: "string[]",
});
type Plate = typeof Plate.event;

/** A grid with the number `100 * row + column` in each cell. */
function plate(rows: number, columns: number): Plate {
  const cells = Array.from(
    { length: rows * columns },
    (_, cell) => 100 * Math.floor(cell / columns) + (cell % columns),
  );
  return {
    step: 1,
    rows,
    columns,
    values: Float64Array.from(cells),
    whole: Int16Array.from(cells),
    big: BigInt64Array.from(cells, BigInt),
    flags: Uint8Array.from(cells, cell => cell % 2),
    names: cells.map(String),
  };
}

test.for<[CropWindow, number[][]]>([
  [
    { rows: [1, 2], columns: [2, 4] },
    [
      [102, 103, 104],
      [202, 203, 204],
    ],
  ],
  [{ columns: [3, 3] }, [[3], [103], [203]]],
  [{ rows: [2, 99] }, [[200, 201, 202, 203, 204]]],
  [
    { stride: 2 },
    [
      [0, 2, 4],
      [200, 202, 204],
    ],
  ],
  [{ rows: [1, 2], columns: [1, 4], stride: 3 }, [[101, 104]]],
  [{}, [0, 1, 2].map(row => [0, 1, 2, 3, 4].map(column => 100 * row + column))],
])("crop lets through the rows and columns of %o, and says how many", async ([window, wanted]) => {
  await using bench = await openBench<Plate>(crop(window), { type: Plate });
  const [got] = await bench.push(plate(3, 5));
  expect(unpack(got)).toEqual({
    ...plate(3, 5),
    rows: wanted.length,
    columns: wanted[0]?.length,
    values: Float64Array.from(wanted.flat()),
  });
});

test("crop takes a thousand columns as they are, and nothing from beyond the grid", async () => {
  await using bench = await openBench<Plate>(crop({ columns: [40, 60] }), { type: Plate });
  const [got, ...more] = await bench.push(plate(2, 1000), plate(2, 40), plate(0, 0));
  expect([got?.columns, more]).toEqual([21, []]);
});

test.each(["whole", "big", "flags", "names"] as const)(
  "crop takes a vector of another kind: %s",
  async field => {
    await using bench = await openBench<Plate>(crop({ columns: [1, 1] }, { field, shape: [2, 3] }), {
      type: Plate,
    });
    const sent = plate(2, 3);
    const [got] = await bench.push(sent);
    const cut = unpack(got) as Plate;
    expect([...cut[field]]).toEqual([sent[field][1], sent[field][4]]);
    expect({ ...cut, [field]: sent[field] }).toEqual(sent);
  },
);

test("crop follows a shared object, and a grid that has not the shape that it says ends it", async () => {
  await using rig = new Rig();
  const state: CropWindow = { rows: [0, 1], stride: 1 };
  const derived = await rig.install(crop({ id: "window", version: 1, state }).modulator);
  rig.step();
  const later: CropWindow = { columns: [3, 5], stride: 2 };
  rig.host.update({ object: "window", version: 2, state: JSON.stringify(later) });
  rig.step();
  await rig.settled();
  const shapes = rig.received(derived).map(({ event: { rows, columns } }) => `${rows} x ${columns}`);
  expect([...new Set(shapes)]).toEqual(["2 x 16", "5 x 2"]);
  rig.publish([{ ...(unpack(layerOf(3, 0)) as GridData), rows: 7 }]);
  await rig.settled();
  expect(rig.removed.get(derived)).toMatchObject({
    code: "MODULATOR_FAILED",
    message: expect.stringContaining("values: 7 x 16 values are wanted, not 144"),
  });
});
