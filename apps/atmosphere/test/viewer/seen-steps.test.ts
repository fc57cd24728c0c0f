import { expect, test } from "vitest";
import { SeenSteps } from "../../viewer/src/seen-steps.ts";

function seen(...events: readonly (readonly [step: number, layer: number])[]): SeenSteps {
  const steps = new SeenSteps();
  for (const [step, layer] of events) steps.add(step, layer);
  return steps;
}

test("steps without gap or repeat are one range, however many layers each has", () => {
  expect(seen([4, 0], [4, 1], [5, 0], [5, 1], [6, 0]).toString()).toBe("4-6");
  expect(seen([4, 0], [5, 0]).last).toBe(5);
  expect(seen().toString()).toBe("");
});

test("a gap, a repeat and a step back each begin a new range", () => {
  expect(seen([4, 0], [6, 0]).toString()).toBe("4-4 6-6");
  expect(seen([4, 0], [5, 0], [5, 0], [6, 0]).toString()).toBe("4-5 5-6");
  expect(seen([8, 3], [9, 3], [2, 3], [3, 3]).toString()).toBe("8-9 2-3");
});

test("old ranges are forgotten", () => {
  const ranges = seen(...Array.from({ length: 50 }, (_, i) => [2 * i, 0] as const))
    .toString()
    .split(" ");
  expect(ranges).toHaveLength(16);
  expect(ranges.at(-1)).toBe("98-98");
});
