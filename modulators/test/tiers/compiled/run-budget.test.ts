import { expect, test } from "vitest";
import { Bench, Reading, readings } from "./compiled-bench.ts";
import { functionSource } from "./function-source.ts";

/** Takes as many steps as it may, and lets nothing through. */
const dear = (i: number) => ({
  source: functionSource(
    `event => { let n = ${i}; for (let j = 0; j < event.station; j++) n = n * 31 % 1000003; return n === 7.5; }`,
  ),
});

test("MOE-27: many modulators of one channel do not hold their producer for as many times what one may", async () => {
  await using bench = new Bench({ mostPerEvent: 1e9 });
  const [many, cheap] = [24, 100];
  for (let i = 0; i < many; i++) await bench.install(dear(i), Reading.schema, 10 + i);
  // Another producer's viewer, which costs next to nothing.
  await bench.install(
    { source: functionSource("event => event.station % 2 === 1 && event.celsius.length > 0") },
    Reading.schema,
    cheap,
  );
  const tiers = () => Array.from({ length: many }, (_, i) => bench.environment.placementOf(10 + i)?.tier);
  // In each run the steps of ten modulators are those that one may take.
  const run = readings(...Array.from({ length: 16 }, (_, i) => 8001 + i));
  for (let i = 0; i < 2 * many; i++) bench.enqueue(Reading, run);
  await bench.environment.settled();
  const stays = tiers().filter(tier => tier === "compiled").length;
  expect(stays).toBeGreaterThan(0);
  expect(stays).toBeLessThan(many);
  expect(bench.environment.placementOf(cheap)?.tier).toBe("compiled");
  const gone = tiers().indexOf("hosted");
  expect(bench.environment.placementOf(10 + gone)?.why).toContain("hold their producer for too long");
  expect(bench.stations).toEqual(
    Array(2 * many)
      .fill([8001, 8003, 8005, 8007, 8009, 8011, 8013, 8015])
      .flat(),
  );
  expect(bench.removed).toEqual([]);
  expect(bench.impaired).toEqual([]);
});
