import { encodeEvent, type Type, type } from "@jecho/shared";
import { expect, test } from "vitest";
import { Bench, Reading, readings } from "./compiled-bench.ts";
import { functionSource } from "./function-source.ts";

/** Takes as many steps as it may, and lets nothing through. */
const dear = (i: number) => ({
  source: functionSource(
    `event => { let n = ${i}; for (let j = 0; j < event.station; j++) n = n * 31 % 1000003; return n === 7.5; }`,
  ),
});

const classOf = (output: string, body: string): string =>
  `import { FifoModulator, unpack } from "jecho:moe"; export default class extends FifoModulator { ${output} enqueue(event) { ${body} } }`;
const times = (count: number, text: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => text(i)).join();
const manyFields = (count: number): Type<object> =>
  type("Many", Object.fromEntries(Array.from({ length: count }, (_, i) => [`v${i}`, "float32"])));

test.each([
  [
    "a vector of its that goes out in three fields",
    classOf(
      `static output = { name: "Out", description: { ${times(3, i => `f${i}: "float32[]"`)} } };`,
      `const { celsius } = event; super.enqueue({ ${times(3, i => `f${i}: celsius`)} });`,
    ),
    Reading,
    { station: 1, celsius: new Float32Array(1000) },
    "compiled",
  ],
  [
    "a vector of its that goes out in a hundred fields",
    classOf(
      `static output = { name: "Out", description: { ${times(100, i => `f${i}: "float32[]"`)} } };`,
      `const { celsius } = event; super.enqueue({ ${times(100, i => `f${i}: celsius`)} });`,
    ),
    Reading,
    { station: 1, celsius: new Float32Array(1000) },
    "hosted",
  ],
  [
    "a copy of it that is made in a hundred copies",
    classOf("", `super.enqueue({ ${times(100, () => "...unpack(event)")} });`),
    Reading,
    { station: 1, celsius: new Float32Array(1000) },
    "hosted",
  ],
  [
    "a copy of its hundred fields",
    classOf("", "super.enqueue({ ...unpack(event), v0: 1 });"),
    manyFields(100),
    { v0: 3 },
    "compiled",
  ],
  [
    "a copy of its thousand fields",
    classOf("", "super.enqueue({ ...unpack(event), v0: 1 });"),
    manyFields(1000),
    { v0: 3 },
    "hosted",
  ],
  [
    "a thousand remainders of numbers that are not far apart",
    functionSource(
      "event => { let s = 0; for (let i = 0; i < 1000; i++) s += (event.station + i * 1e12) % 7.5; return s !== 3; }",
    ),
    Reading,
    { station: 1, celsius: [] },
    "compiled",
  ],
  [
    "a thousand remainders of numbers that are as far apart as can be",
    functionSource(
      "event => { let s = event.station; for (let i = 0; i < 1000; i++) s += 1.7e308 % (5e-324 * (3 + i)); return s !== 3; }",
    ),
    Reading,
    { station: 1, celsius: [] },
    "hosted",
  ],
] as const)("MOE-27: an event costs what it takes: %s", async (_, source, of, event, tier) => {
  await using bench = new Bench();
  await bench.install({ source }, of.schema);
  bench.raise(of as Type, [encodeEvent(of as Type<object>, event)]);
  await bench.environment.settled();
  expect([bench.placement?.tier, bench.bytes.length]).toEqual([tier, 1]);
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
  const run = readings(...Array.from({ length: 16 }, (_, i) => 4001 + i));
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
      .fill([4001, 4003, 4005, 4007, 4009, 4011, 4013, 4015])
      .flat(),
  );
  expect(bench.removed).toEqual([]);
  expect(bench.impaired).toEqual([]);
});
