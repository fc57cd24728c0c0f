import type { GridData } from "@jecho/modulators";
import { type Modulator, viewFilter } from "@jecho/modulators";
import type { Type } from "@jecho/shared";
import { expect, test } from "vitest";
import { grid } from "../../grid.ts";
import { Bench } from "./compiled-bench.ts";
import { seeded } from "./random-values.ts";

const [ROWS, COLUMNS] = [37, 120];
const VIEW = { firstLayer: 1, lastLayer: 2, south: -90, north: 90, west: -20, east: 60, stride: 1 };
/** As somebody moves a view: over the date line, out of the layers, all round, with a stride. */
const MOVES = [
  {},
  { south: 1, north: 40 },
  { west: 170, east: -170 },
  { firstLayer: 7, lastLayer: 9 },
  { firstLayer: 0, lastLayer: 1, stride: 3 },
  { west: 0, east: 360, stride: 1, south: -90, north: 90 },
  { west: -20, east: 60 },
];

/** A step's layers: smooth fields, with numbers whose bits are easily lost. */
function layersOf(step: number, random: () => number): GridData[] {
  return Array.from({ length: 4 }, (_, layer) => {
    const values = Float32Array.from({ length: ROWS * COLUMNS }, (__, i) => {
      const smooth = 250 + 40 * Math.sin((i % COLUMNS) / 20 + step) + Math.floor(i / COLUMNS);
      return random() < 0.01 ? random() * 1e30 : smooth;
    });
    const bits = new Uint32Array(values.buffer);
    // NaN of several kinds, infinities, -0 and the least number.
    for (const pattern of [0x7fc00000, 0x7f800001, 0xffc12345, 0x7f800000, 0xff800000, 0x80000000, 1])
      bits[Math.floor(random() * bits.length)] = pattern;
    const shape = { latFirst: 90, latStep: -5, rows: ROWS, lonFirst: 0, lonStep: 3, columns: COLUMNS };
    return { step, layer, time: step, ...shape, values } as GridData;
  });
}

test.each([{ packed: true }, { packed: false }])(
  "MOE-27: a viewer's modulator whose text the producer does not know shows the same as one that it knows, bit by bit: %o",
  async options => {
    const { modulator } = viewFilter(VIEW, options);
    const { source } = modulator as Modulator;
    const stranger = `${source}\n// Another one.`;
    const shown = [];
    for (const of of [source, stranger]) {
      const random = seeded(1);
      await using bench = new Bench({ trusted: [source], mostPerEvent: 2_000_000 });
      const objects = { view: { id: "view", version: 1, state: VIEW } };
      await bench.install({ source: of, parameters: null, objects }, grid.schema);
      let state = VIEW;
      for (const [i, move] of MOVES.entries()) {
        state = { ...state, ...move };
        bench.environment.update({ object: "view", version: i + 2, state: JSON.stringify(state) });
        for (let step = 0; step < 3; step++)
          bench.enqueue(grid as Type<GridData>, layersOf(3 * i + step, random));
      }
      await bench.environment.settled();
      expect(bench.placement).toEqual({ tier: of === source ? "local" : "compiled", why: "" });
      expect(bench.removed).toEqual([]);
      shown.push(bench.bytes);
    }
    expect(shown[1]).toEqual(shown[0]);
    // Two layers of each step, but of those that move out of the grid.
    expect(shown[0]?.length).toBe(2 * 3 * (MOVES.length - 1));
  },
);
