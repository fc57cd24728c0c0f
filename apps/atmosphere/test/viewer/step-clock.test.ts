import { expect, test } from "vitest";
import { StepClock } from "../../viewer/src/step-clock.ts";

/** The simulation's clock is that much behind this machine's. */
const AHEAD = 7_000_000;
const NOW = 1_000_000_000;

/** Step n was made at 500 ms times n, and is heard so much later. */
function heard(clock: StepClock, step: number, laterMs: number): number {
  const now = NOW + 500 * step + laterMs;
  clock.heard(step, NOW + 500 * step - AHEAD, now);
  return now;
}

test("a step is as old as it came later than the quickest one, whatever the simulation's clock shows", () => {
  const clock = new StepClock();
  expect(clock.ageMs(1, NOW)).toBeUndefined();
  heard(clock, 1, 40);
  heard(clock, 2, 20);
  const now = heard(clock, 3, 12_020);
  expect(clock.ageMs(3, now)).toBe(12_000);
  expect(clock.ageMs(3, now + 1000)).toBe(13_000);
  expect(clock.ageMs(2, now)).toBe(12_500);
});

test("the time of a step that was not told of lies between those of its neighbours, or goes on as they do", () => {
  const clock = new StepClock();
  heard(clock, 10, 0);
  const now = heard(clock, 20, 0);
  expect(clock.ageMs(15, now)).toBe(2500);
  expect(clock.ageMs(22, now + 1000)).toBe(0);
  expect(clock.ageMs(22, now + 1500)).toBe(500);
});

test("the newest step that was kept for who comes late says nothing of how long events take", () => {
  const clock = new StepClock();
  heard(clock, 1, 60_000);
  const now = heard(clock, 200, 10);
  expect(clock.ageMs(200, now)).toBe(0);
  expect(clock.ageMs(200, heard(clock, 201, 3010))).toBe(3500);
});

test("clocks that are set are believed after a while, and a simulation that was started anew at once", () => {
  const clock = new StepClock();
  heard(clock, 1, 0);
  let now = 0;
  for (let step = 2; step < 1300; step++) now = heard(clock, step, 5000);
  expect(clock.ageMs(1299, now)).toBe(0);
  clock.heard(0, 5, now);
  expect(clock.ageMs(0, now)).toBe(0);
  expect(clock.ageMs(0, now + 100)).toBe(100);
});
