import { expect, test } from "vitest";
import { Fuzzer } from "./fuzzer.ts";

test("MOE-27: random programs let through the same events compiled and in isolated-vm, bit by bit", async () => {
  await using fuzzer = new Fuzzer();
  await fuzzer.run(1, 48, 64);
  const { result } = fuzzer;
  expect(result.differences).toEqual([]);
  // Most are compiled, or nothing is compared.
  expect(result.programs).toBeGreaterThan(40);
});

test("MOE-29: of many filters of one channel, each lets through the same as in isolated-vm, while what they compare with changes", async () => {
  await using fuzzer = new Fuzzer();
  await fuzzer.runFilters(1, 2, 300);
  const { result } = fuzzer;
  expect(result.differences).toEqual([]);
  expect(result.programs).toBeGreaterThan(60);
});

/* Of each the first programs that find it. */
test.each([
  ["another operator", 1, " && ", " || "],
  ["another field", 1, /event\.wide\b/g, "event.small"],
  ["another beginning of a field", 65, "n = 0;", "n = 1;"],
  ["another field of a parent", 1, "from = this.parameters.deep.by * 2", "from = 0"],
  ["another element of an array", 17, /(x\d+\[[^\]]+\]) = /g, "$1 = 1 + "],
  ["a loop of another length", 97, / % 6/g, " % 5"],
  ["another value of what is not there", 97, " ?? ", " + 1 ?? "],
  ["another function of several", 17, "HOW[parameters.how]", "HOW.twice"],
  ["another field by its name", 1, "event[parameters.field]", "event.wide"],
  ["another part of an object", 1, "first: c", "first: c + 1"],
  ["a program that does not throw", 1, 'throw new RangeError("thrown")', "return true"],
  ["a check that refuses less", 1, "n < 3;", "n < 1e9;"],
] as const)("MOE-27: %s on one side alone is found by random programs", async (_, seed, wrong, instead) => {
  await using fuzzer = new Fuzzer(text => text.replaceAll(wrong, instead));
  await fuzzer.run(seed, 16, 48);
  expect(fuzzer.result.differences.length).toBeGreaterThan(0);
});
