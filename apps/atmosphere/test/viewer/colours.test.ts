import { expect, test } from "vitest";
import { COLOUR_MAPS, colourMap, colourTable, cssColour } from "../../viewer/src/drawing/colour-map.ts";
import {
  ColourRange,
  followRange,
  niceRange,
  spreadOf,
  ticksOf,
} from "../../viewer/src/drawing/colour-range.ts";

/** Relative luminance by the sRGB standard. */
function luminance([red, green, blue]: readonly [number, number, number]): number {
  const linear = (c: number): number => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

test("viridis runs between its published ends", () => {
  const bytes = (t: number): number[] =>
    colourMap("viridis")
      .colour(t)
      .map(c => Math.round(c * 255));
  // matplotlib: #440154 and #fde725; the polynomial is good to a few per cent.
  for (const [t, expected] of [
    [0, [0x44, 0x01, 0x54]],
    [0.5, [0x21, 0x91, 0x8c]],
    [1, [0xfd, 0xe7, 0x25]],
  ] as const) {
    for (const [i, byte] of bytes(t).entries())
      expect(Math.abs(byte - (expected[i] as number))).toBeLessThanOrEqual(9);
  }
});

test("viridis and cividis grow lighter all the way", () => {
  for (const name of ["viridis", "cividis"]) {
    const { colour } = colourMap(name);
    let before = -1;
    for (let i = 0; i <= 32; i++) {
      const now = luminance(colour(i / 32));
      expect(now, `${name} at ${i}/32`).toBeGreaterThan(before);
      before = now;
    }
  }
});

test("a table has 256 opaque colours and the ends of the map", () => {
  for (const map of COLOUR_MAPS) {
    const table = colourTable(map);
    expect(table.length).toBe(1024);
    expect(table[3]).toBe(255);
    expect(cssColour(map, 1)).toBe(`rgb(${table.slice(1020, 1023).join(" ")})`);
  }
});

test("an unknown map is the first one", () => {
  expect(colourMap("no such map").name).toBe("viridis");
});

test("ranges have round ends", () => {
  expect(niceRange({ low: 0.031, high: 9.43 })).toEqual({ low: 0, high: 10 });
  expect(niceRange({ low: 4.97, high: 9.81 })).toEqual({ low: 4, high: 10 });
  expect(niceRange({ low: 0.0212, high: 0.0388 })).toEqual({ low: 0.02, high: 0.04 });
  const flat = niceRange({ low: 3, high: 3 });
  expect(flat.low).toBeLessThan(3);
  expect(flat.high).toBeGreaterThan(3);
});

test("ticks are round and inside", () => {
  expect(ticksOf({ low: 0, high: 10 })).toEqual({ ticks: [0, 2, 4, 6, 8, 10], digits: 0 });
  expect(ticksOf({ low: 0.02, high: 0.04 }).ticks).toEqual([0.02, 0.025, 0.03, 0.035, 0.04]);
  expect(ticksOf({ low: 0.02, high: 0.04 }).digits).toBe(3);
});

test("a range grows at once and shrinks only after a while", () => {
  let state = followRange(undefined, { low: 0, high: 10 });
  state = followRange(state, { low: 0, high: 10.5 });
  expect(state.range.high).toBeGreaterThanOrEqual(10.5);
  const wide = state.range;
  for (let i = 0; i < 11; i++) state = followRange(state, { low: 1, high: 3 });
  expect(state.range).toEqual(wide);
  state = followRange(state, { low: 1, high: 3 });
  expect(state.range).toEqual({ low: 1, high: 3 });
});

test("a range that is needed now and then does not shrink", () => {
  let state = followRange(undefined, { low: 0, high: 10 });
  for (let i = 0; i < 100; i++) state = followRange(state, { low: 0, high: i % 10 === 0 ? 10 : 2 });
  expect(state.range).toEqual({ low: 0, high: 10 });
});

test("the spread leaves out what is no number, and is unknown without any", () => {
  const spread = { low: 1, high: 3, least: 1, most: 3 };
  expect(spreadOf(Float32Array.of(Number.NaN, 2, 1, 3))).toEqual(spread);
  expect(spreadOf(Float32Array.of(Number.NaN))).toBeUndefined();
  expect(spreadOf(new Float32Array(0))).toBeUndefined();
});

test("a few values far out take no colours from all others, and are said to be beyond", () => {
  const field = Float32Array.from({ length: 1000 }, (_, i) => 5 + (i % 100) / 20);
  field.fill(500, 300, 310);
  const range = new ColourRange();
  range.offer("map", "31", spreadOf(field));
  expect(range.rangeOf("31")).toEqual({ low: 5, high: 10 });
  expect(range.scaleOf("31")).toEqual({ low: 5, high: 10, isBelow: false, isAbove: true });
  expect(range.scaleOf("30")).toBeUndefined();
});

const spread = (low: number, high: number) => ({ low, high, least: low, most: high });

test("views of one layer share a range, layers have their own, and a lock holds what it is given", () => {
  const range = new ColourRange();
  let told = 0;
  range.subscribe(() => told++);
  range.offer("map", "5", spread(2, 4));
  range.offer("globe", "5", spread(0, 10));
  expect(range.rangeOf("5")).toEqual({ low: 0, high: 10 });
  // The map alone would not need as much, the globe still does.
  for (let i = 0; i < 50; i++) range.offer("map", "5", spread(2, 4));
  expect(range.rangeOf("5")).toEqual({ low: 0, high: 10 });
  range.offer("map", "6", spread(0, 1));
  expect(range.rangeOf("5")).toEqual({ low: 0, high: 10 });
  expect(range.rangeOf("6")).toEqual({ low: 0, high: 1 });
  range.lock({ low: 0, high: 2 });
  range.offer("map", "6", spread(0, 50));
  expect(range.rangeOf("6")).toEqual({ low: 0, high: 2 });
  range.lock(undefined);
  expect(range.rangeOf("6")).toEqual({ low: 0, high: 50 });
  expect(told).toBeGreaterThan(3);
});
