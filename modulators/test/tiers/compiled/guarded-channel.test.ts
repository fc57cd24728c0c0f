import { modulatorFrom } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { encodeEvent, type } from "@jecho/shared";
import { expect, test } from "vitest";
import { Bench, CHANNEL, DERIVED, Reading, readings } from "./compiled-bench.ts";

test("MOE-29, PROV-2: a modulator that a run does not concern is not called, and has been through the run when that is asked", async () => {
  await using bench = new Bench();
  await bench.install(modulatorFrom(event => event.station === 7));
  bench.enqueue(Reading, readings(1, 2), "a");
  bench.enqueue(Reading, readings(3));
  expect([bench.seen, bench.unseen, bench.done]).toEqual([[], 2, ["a"]]);
  expect(bench.environment.modulators.get(DERIVED)?.eventsIn).toBe(3);
  bench.environment.tellSeen();
  bench.environment.tellSeen();
  expect(bench.seen).toEqual([3]);
  bench.enqueue(Reading, readings(4));
  // Earlier events are accounted for before what it lets through.
  bench.enqueue(Reading, readings(5, 7));
  expect([bench.seen, bench.stations]).toEqual([[3, 4, 6], [7]]);
  bench.enqueue(Reading, readings(8));
  bench.environment.remove(DERIVED);
  expect(bench.seen).toEqual([3, 4, 6, 7]);
});

test("MOE-29: a modulator of few steps that is alone is called with all of many events, for that costs less than to look them up", async () => {
  const many = readings(...Array.from({ length: 64 }, (_, i) => 100 + i));
  const cheap = modulatorFrom(event => event.station === 7);
  const dear = modulatorFrom(
    event => event.station === 7 && event.celsius.some((v: number) => Math.sin(v) > 0),
  );
  await using bench = new Bench();
  await bench.install(cheap);
  bench.enqueue(Reading, many);
  expect([bench.seen, bench.unseen]).toEqual([[64], 0]);
  bench.enqueue(Reading, many.slice(1));
  expect(bench.unseen).toBe(1);
  await bench.install(cheap, Reading.schema, DERIVED + 1);
  bench.enqueue(Reading, many);
  expect(bench.unseen).toBe(2);
  await using other = new Bench();
  await other.install(dear);
  other.enqueue(Reading, many);
  expect([other.placement?.tier, other.unseen]).toEqual(["compiled", 1]);
});

test("MOE-29, PROV-2: one that comes later accounts for nothing that was raised before", async () => {
  await using bench = new Bench();
  const one = modulatorFrom(event => event.station === 7);
  await bench.install(one);
  bench.enqueue(Reading, readings(1));
  await bench.environment.install({
    derived: DERIVED + 1,
    channel: CHANNEL,
    schema: Reading.schema,
    modulator: modulatorTable(one),
  });
  bench.enqueue(Reading, readings(2));
  bench.environment.tellSeen(DERIVED + 1);
  expect(bench.stretches).toEqual([[1, 2]]);
});

test("MOE-29, PROV-2: a modulator has been through what comes before dropped events, and through what comes behind them", async () => {
  await using bench = new Bench();
  const one = modulatorFrom(event => event.station === 7);
  await bench.install(one);
  await bench.install(one, Reading.schema, DERIVED + 1);
  for (const lost of [0, 2, 3]) {
    bench.drop(lost);
    bench.enqueue(Reading, readings(1));
    bench.enqueue(Reading, readings(1));
  }
  bench.environment.tellSeen(DERIVED);
  bench.enqueue(Reading, readings(1));
  bench.environment.tellSeen(DERIVED);
  const before = [
    [0, 2],
    [4, 6],
  ];
  expect(bench.stretches).toEqual([...before, [9, 11], [9, 12]]);
  bench.environment.tellSeen();
  expect(bench.stretches.slice(4)).toEqual([...before, [9, 12]]);
});

test("MOE-29, PROV-3: while events of a modulator wait, it is not through what comes behind them", async () => {
  await using bench = new Bench();
  await bench.install(modulatorFrom(event => event.station === 7));
  bench.environment.flow(DERIVED, false);
  bench.enqueue(Reading, readings(7, 1));
  bench.enqueue(Reading, readings(2));
  bench.environment.tellSeen();
  expect([bench.seen, bench.stations]).toEqual([[], []]);
  bench.environment.flow(DERIVED, true);
  expect([bench.seen, bench.stations]).toEqual([[2, 3], [7]]);
});

test("MOE-29: a modulator that failed is not found any more", async () => {
  await using bench = new Bench();
  await bench.install(modulatorFrom(event => event.station === 7));
  const broken = encodeEvent(Reading, { station: 7, celsius: new Float32Array(1) });
  broken[0] = 0xff;
  bench.raise(Reading, [broken]);
  expect(bench.removed.map(({ code }) => code)).toEqual(["MODULATOR_FAILED"]);
  bench.environment.addType(CHANNEL, type("Less", { celsius: "float32[]" }).schema);
  bench.enqueue(Reading, readings(7));
  await bench.environment.settled();
  expect([bench.stations, bench.environment.modulators.size]).toEqual([[], 0]);
});
