import { latestPerKey, priority, rateLimit, sample } from "@jecho/modulators";
import { type } from "@jecho/shared";
import { expect, test } from "vitest";
import { openBench } from "../rig.ts";

const Reading = type("Reading", { n: "uint32", station: "string", value: "float32" });
const reading = (n: number, station = "a") => ({ n, station, value: n });
const numbers = (events: readonly { n: number }[]) => events.map(({ n }) => n);
const OPTIONS = { type: Reading };

test("sample passes every Nth event, over batches", async () => {
  await using bench = await openBench(sample(3), OPTIONS);
  expect(numbers(await bench.push(...[1, 2, 3, 4, 5].map(n => reading(n))))).toEqual([1, 4]);
  expect(numbers(await bench.push(...[6, 7, 8].map(n => reading(n))))).toEqual([7]);
});

test("sample takes opaque bytes as well", async () => {
  await using bench = await openBench<Uint8Array>(sample(2));
  const [a, b, c] = [1, 2, 3].map(n => Uint8Array.of(n, n)) as [Uint8Array, Uint8Array, Uint8Array];
  expect(await bench.push(a, b, c)).toEqual([a, c]);
});

test("rateLimit passes the first event at once, and the newest of those that came in the interval when it ends", async () => {
  await using bench = await openBench(rateLimit(1000), OPTIONS);
  expect(numbers(await bench.push(reading(1), reading(2)))).toEqual([1]);
  expect(numbers(await bench.pass(400))).toEqual([]);
  expect(numbers(await bench.push(reading(3)))).toEqual([]);
  expect(numbers(await bench.pass(599))).toEqual([]);
  expect(numbers(await bench.pass(1))).toEqual([3]);
  expect(numbers(await bench.pass(5000))).toEqual([]);
  expect(numbers(await bench.push(reading(4)))).toEqual([4]);
});

test("rateLimit never passes more than one event an interval, and never keeps the last one back", async () => {
  await using bench = await openBench(rateLimit(100), OPTIONS);
  const times: { n: number; at: number }[] = [];
  let n = 0;
  for (let at = 0; at < 2000; at += 7) {
    const out = at % 49 === 0 ? await bench.push(reading(++n), reading(++n)) : await bench.pass(7);
    for (const event of out) times.push({ n: event.n, at });
  }
  for (const event of await bench.pass(1000)) times.push({ n: event.n, at: 3000 });
  expect(times.at(-1)?.n).toBe(n);
  expect(times.length).toBeGreaterThan(10);
  for (let i = 1; i < times.length; i++) {
    const [before, after] = [times[i - 1], times[i]] as [
      { n: number; at: number },
      { n: number; at: number },
    ];
    expect(after.at - before.at).toBeGreaterThanOrEqual(93);
    expect(after.n).toBeGreaterThan(before.n);
  }
});

test("latestPerKey keeps the newest of each key while the transport is busy, in the order of the keys", async () => {
  await using bench = await openBench(latestPerKey("station"), OPTIONS);
  expect(numbers(await bench.push(reading(1, "a"), reading(2, "a")))).toEqual([1, 2]);
  await bench.ready(false);
  expect(await bench.push(reading(3, "b"), reading(4, "a"), reading(5, "b"), reading(6, "c"))).toEqual([]);
  expect(numbers(await bench.ready(true))).toEqual([5, 4, 6]);
});

test("latestPerKey gathers for an interval", async () => {
  await using bench = await openBench(latestPerKey("station", { intervalMs: 500 }), OPTIONS);
  expect(await bench.push(reading(1, "a"), reading(2, "b"), reading(3, "a"))).toEqual([]);
  expect(numbers(await bench.pass(500))).toEqual([3, 2]);
  expect(await bench.push(reading(4, "a"))).toEqual([]);
  expect(numbers(await bench.pass(499))).toEqual([]);
  expect(numbers(await bench.pass(1))).toEqual([4]);
});

test("latestPerKey holds so many keys and no more", async () => {
  await using bench = await openBench(latestPerKey("station", { keys: 2 }), OPTIONS);
  await bench.ready(false);
  await bench.push(reading(1, "a"), reading(2, "b"), reading(3, "c"));
  expect(numbers(await bench.ready(true))).toEqual([2, 3]);
});

test("priority sends tagged events first, and marks them urgent", async () => {
  await using bench = await openBench(priority("station", ["alarm"]), OPTIONS);
  await bench.ready(false);
  await bench.push(reading(1), reading(2, "alarm"), reading(3), reading(4, "alarm"));
  expect(numbers(await bench.ready(true))).toEqual([2, 4, 1, 3]);
  expect(bench.made.map(({ urgent }) => urgent)).toEqual([true, true, false, false]);
});

test("a field that events do not have is named", async () => {
  await using bench = await openBench(latestPerKey("town"), OPTIONS);
  await expect(bench.push(reading(1))).rejects.toMatchObject({
    code: "TYPE_MISMATCH",
    message: expect.stringContaining('"town"'),
  });
});
