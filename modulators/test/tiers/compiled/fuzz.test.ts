import { afterAll, expect, test } from "vitest";
import { Fuzzer } from "./fuzzer.ts";
import { randomProgram } from "./random-programs.ts";
import { seeded } from "./random-values.ts";

const fuzzer = new Fuzzer();
afterAll(() => fuzzer.close());

function* seedsBelow(
  end: number,
  isMeant: (seed: number) => boolean = () => true,
  first = 1,
): Generator<number> {
  for (let seed = first; seed < end; seed++) if (isMeant(seed)) yield seed;
  for (let seed = 1; seed < first; seed++) if (isMeant(seed)) yield seed;
}

test("MOE-27: random programs let through the same events compiled and in isolated-vm, bit by bit", async () => {
  const before = fuzzer.result.programs;
  expect(await fuzzer.run(seedsBelow(49), 64)).toEqual([]);
  // Most are compiled, or nothing is compared.
  expect(fuzzer.result.programs - before).toBeGreaterThan(40);
});

test("MOE-29: of many filters of one channel, each lets through the same as in isolated-vm, while what they compare with changes", async () => {
  const before = fuzzer.result.programs;
  expect(await fuzzer.runFilters(1, 2, 300)).toEqual([]);
  expect(fuzzer.result.programs - before).toBeGreaterThan(60);
});

// The seed, if any, is one of the few that find it: the search begins there.
test.each<[string, string | RegExp, string, first?: number]>([
  ["another operator", " && ", " || "],
  ["another field", /event\.wide\b/g, "event.small"],
  ["another beginning of a field", "n = 0;", "n = 1;"],
  ["another field of a parent", "from = this.parameters.deep.by * 2", "from = 0", 316],
  ["another element of an array", /(x\d+\[[^\]]+\]) = /g, "$1 = 1 + ", 138],
  ["a loop of another length", / % 6/g, " % 5"],
  ["another value of what is not there", " ?? ", " + 1 ?? "],
  ["another function of several", "HOW[parameters.how]", "HOW.twice"],
  ["another field by its name", "event[parameters.field]", "event.wide"],
  ["another part of an object", "first: c", "first: c + 1"],
  ["a program that does not throw", 'throw new RangeError("thrown")', "return true"],
  [
    "another default of what is not there",
    "parameters.absent === undefined ? ",
    "parameters.absent !== undefined ? ",
  ],
  ["another part that is assigned to", ".second = ", ".second = 1 + "],
  ["another function with a default", ", q) => p - q", ", q) => 1 + p - q", 4221],
  ["another array that a field holds within an expression", "other[0] = n;", "other[0] = n + 1;", 1262],
  ["another order of a list's items", /const \[(x\d+), (x\d+),/g, "const [$2, $1,"],
  ["another kind of a parameter", "typeof parameters.field === ", "typeof parameters.field !== "],
  ["another object that a field holds", "this.held = { a: ", "this.held = { a: 1 + "],
  ["another object of several returns", /\{ c: [1ab], d: /g, "{ c: 77, d: "],
  ["another part of an array", ".subarray(", ".subarray(1 + "],
  ["another sameness", "Object.is(", "!Object.is("],
  ["another copy", "= bytesOf(event).slice();", "= event.bytes.slice();"],
  ["another place of what is copied", /\.set\((\S+), 1\)/g, ".set($1, 2)"],
  [
    "another event in an event",
    "bytesOf({ ...unpack(event), wide: ",
    "bytesOf({ ...unpack(event), wide: 1 + ",
  ],
  ["another first array of a field", "Array(3);\n", "Array(4);\n", 660],
  [
    "another part of the data than a field's",
    "this.kept === parameters.levels",
    "this.kept !== parameters.levels",
  ],
  ["another time", "this.moe.clock() % 7", "this.moe.clock() % 5"],
  ["another period", "static periodMs = 12", "static periodMs = 24"],
  ["another entry of a map", "return entry[1];", "return this.list.shift();"],
  ["another number of a map", "this.sums.get(", "1 + this.sums.get("],
  ["another sum", "sum(event", "1 + sum(event"],
  ["another list that is gone over", /(of event\.\w+)\.slice\(\)/g, "$1.subarray(1)"],
  ["another end that changes", /\.(n|size); (x\d+\+\+)/g, ".$1 - 1; $2"],
  ["another number of what is not there", /Number\((event\.\w+\[.+?\])\) \?\? /g, "$1 ?? "],
  ["a check that refuses less", "n < 3;", "n < 1e9;"],
])("MOE-27: %s on one side alone is found by random programs", async (_, wrong, instead, first) => {
  const wronged = (text: string): string => text.replaceAll(wrong, instead);
  const isWronged = (seed: number): boolean => {
    const { text } = randomProgram(seeded(seed));
    return wronged(text) !== text;
  };
  expect(await fuzzer.run(seedsBelow(8192, isWronged, first), 48, wronged)).not.toEqual([]);
});
