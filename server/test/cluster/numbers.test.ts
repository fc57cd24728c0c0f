import { expect, test } from "vitest";
import { gatewayOf, Numbers } from "../../src/cluster/numbers.ts";

test("CLU-1: numbers of different gateways differ, and say whose they are", () => {
  const all = [0, 1, 255].map(index => new Numbers(index, () => false));
  const given = all.map(numbers => [numbers.next(), numbers.next()]);
  expect(new Set(given.flat()).size).toBe(6);
  expect(given.flat().map(gatewayOf)).toEqual([0, 0, 1, 1, 255, 255]);
});

test("when all numbers have been given those that are free are given again", () => {
  const used = new Set<number>();
  const numbers = new Numbers(3, number => used.has(number));
  const [first, second] = [numbers.next(), numbers.next()];
  used.add(first);
  expect(numbers.hasGiven(second)).toBe(true);
  expect(numbers.hasGiven(second + 1)).toBe(false);
  let [newest, before] = [second, 0];
  while (newest > before) [before, newest] = [newest, numbers.next()];
  // The first is in use, so the second is the first that is free.
  expect(newest).toBe(second);
});
