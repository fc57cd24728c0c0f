import { expect, test } from "vitest";
import { Fuzzer } from "./fuzzer.ts";
import { randomProgram, seeded } from "./random-programs.ts";

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

/* Of each a seed from which on it is found soon. */
test.each([
  ["another operator", 1, " && ", " || "],
  ["another field", 1, /event\.wide\b/g, "event.small"],
  ["another beginning of a field", 17, "n = 0;", "n = 1;"],
  ["another field of a parent", 49, "from = this.parameters.deep.by * 2", "from = 0"],
  ["another element of an array", 1, /(x\d+\[[^\]]+\]) = /g, "$1 = 1 + "],
  ["a loop of another length", 401, / % 6/g, " % 5"],
  ["another value of what is not there", 1, " ?? ", " + 1 ?? "],
  ["another function of several", 81, "HOW[parameters.how]", "HOW.twice"],
  ["another field by its name", 1, "event[parameters.field]", "event.wide"],
  ["another part of an object", 385, "first: c", "first: c + 1"],
  ["a program that does not throw", 1, 'throw new RangeError("thrown")', "return true"],
  [
    "another default of what is not there",
    289,
    "parameters.absent === undefined ? ",
    "parameters.absent !== undefined ? ",
  ],
  ["another part that is assigned to", 129, ".second = ", ".second = 1 + "],
  ["another order of a list's items", 17, /const \[(x\d+), (x\d+),/g, "const [$2, $1,"],
  ["another kind of a parameter", 17, "typeof parameters.field === ", "typeof parameters.field !== "],
  ["another object that a field holds", 1, "this.held = { a: ", "this.held = { a: 1 + "],
  ["another object of several returns", 1, /\{ c: [1ab], d: /g, "{ c: 77, d: "],
  ["another part of an array", 1, ".subarray(", ".subarray(1 + "],
  ["another first array of a field", 1, "Array(3);\n", "Array(4);\n"],
  [
    "another part of the data than a field's",
    1,
    "this.kept === parameters.levels",
    "this.kept !== parameters.levels",
  ],
  ["a check that refuses less", 1, "n < 3;", "n < 1e9;"],
] as const)("MOE-27: %s on one side alone is found by random programs", async (_, first, wrong, instead) => {
  const wronged = (text: string): string => text.replaceAll(wrong, instead);
  await using fuzzer = new Fuzzer(wronged);
  for (let seed = first; seed < first + 512 && fuzzer.result.differences.length === 0; seed += 16) {
    const texts = Array.from({ length: 16 }, (__, i) => randomProgram(seeded(seed + i)).text);
    if (texts.some(text => wronged(text) !== text)) await fuzzer.run(seed, 16, 48);
  }
  expect(fuzzer.result.differences.length).toBeGreaterThan(0);
});
