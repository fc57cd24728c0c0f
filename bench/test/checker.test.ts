import { expect, test } from "vitest";
import { ConsumerChecker } from "../src/chaos/checker.ts";
import { MISSED } from "../src/chaos/event.ts";

const life = { producer: 1, life: 1, confirmed: 6, wasKilled: false };

test("what came whole and in order is in order", () => {
  const checker = new ConsumerChecker("all", 1);
  checker.take([0, 1, 2, 3, 4, 5].map(n => [1, 1, n]));
  expect(checker.hasSeen(life)).toBe(true);
  expect(checker.finish([life])).toEqual({
    lost: 0,
    duplicated: 0,
    reordered: 0,
    handoverGap: 0,
    told: 0,
    events: 6,
  });
});

test.for([
  ["a gap", [0, 1, 3, 4, 5], { lost: 1 }],
  ["an end that never came", [0, 1, 2, 3], { lost: 2 }],
  ["a beginning that never came", [2, 3, 4, 5], { lost: 2 }],
  ["a repetition", [0, 1, 1, 2, 3, 4, 5], { duplicated: 1 }],
  ["a step back", [0, 1, 3, 2, 4, 5], { reordered: 1 }],
] as const)("%s is seen", ([, ns, expected]) => {
  const checker = new ConsumerChecker("all", 1);
  checker.take(ns.map(n => [1, 1, n]));
  expect(checker.finish([life])).toMatchObject(expected);
});

test("a gap that was told is not lost", () => {
  const checker = new ConsumerChecker("all", 1);
  checker.take([
    [1, 1, 0],
    [MISSED, 3, 0],
    [1, 1, 4],
    [1, 1, 5],
  ]);
  expect(checker.finish([life])).toMatchObject({ lost: 0, told: 3 });
});

test("a gap and a repetition where a session was handed over are counted as that, too", () => {
  const checker = new ConsumerChecker("even", 2);
  checker.take([
    [1, 1, 0],
    [1, 1, 2],
  ]);
  checker.handedOver();
  checker.take([[1, 1, 6]]);
  checker.handedOver();
  checker.take([[1, 1, 6]]);
  expect(checker.finish([])).toMatchObject({ lost: 1, duplicated: 1, handoverGap: 2 });
});
