import { expect, test } from "vitest";
import { rowsOfUntyped } from "../../viewer/src/any-channel/untyped.ts";

const shown = (text: string) =>
  rowsOfUntyped(new TextEncoder().encode(text)).map(({ path, written, value }) => [path, written, value]);

test("JSON has a row for each value, and an object's values have its name before them", () => {
  expect(shown('{"n": 3, "at": {"x": 1.5, "y": null}, "list": [1, 2]}')).toEqual([
    ["n", "JSON", 3],
    ["at.x", "JSON", 1.5],
    ["at.y", "JSON", null],
    ["list", "JSON", [1, 2]],
  ]);
  expect(shown("7.25")).toEqual([["value", "JSON", 7.25]]);
});

test("other text is shown as text", () => {
  expect(shown("t=3 ü\n")).toEqual([["text", "text", "t=3 ü\n"]]);
});

test("what is no text, or too long for one, is shown as bytes", () => {
  for (const bytes of [
    new Uint8Array([0x7b, 0xff]),
    new Uint8Array([0x31, 0x00]),
    new Uint8Array(65537).fill(0x31),
  ])
    expect(rowsOfUntyped(bytes)).toEqual([
      { path: "bytes", written: "bytes", value: bytes, name: undefined },
    ]);
});

test("an event with very many values, or very deep ones, has 200 rows at most", () => {
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`v${i}`, i]));
  expect(shown(JSON.stringify(many))).toHaveLength(200);
  expect(shown('{"a":{"b":{"c":{"d":1}}}}')).toEqual([["a.b.c", "JSON", { d: 1 }]]);
});
