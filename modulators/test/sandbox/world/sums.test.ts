import { expect, test } from "vitest";
import { mean, sum } from "../../../src/sandbox/world/sums.ts";
import { definedSum } from "../../defined-sum.ts";

const LISTS = Array.from({ length: 40 }, (_, length) =>
  Float64Array.from({ length }, (_, i) => Math.sin(length + i) * 10 ** ((7 * i) % 20)),
);

test("sum and mean are what they are said to be, of any list", () => {
  for (const list of LISTS)
    for (const one of [list, Float32Array.from(list), Array.from(list)]) {
      expect(sum(one)).toBe(definedSum(one));
      expect(mean(one)).toBe(definedSum(one) / one.length);
    }
  expect(sum([])).toBe(0);
  expect(mean([])).toBeNaN();
  expect(Object.is(sum([-0]), 0)).toBe(true);
});

test("of what is no number there is no sum", () => {
  expect(() => sum(["1"] as never)).toThrow(TypeError);
  expect(() => sum([1n] as never)).toThrow(TypeError);
});
