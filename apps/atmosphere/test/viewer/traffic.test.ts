import { expect, test } from "vitest";
import {
  addSample,
  formatBytes,
  formatShare,
  ratesOf,
  type Sample,
  seriesOf,
  windowMsFor,
} from "../../viewer/src/panels/rate.ts";
import { Tally, Traffic } from "../../viewer/src/traffic.ts";

function sample(seconds: number, receivedBytes: number, producedBytes: number): Sample {
  return { at: seconds * 1000, receivedBytes, producedBytes };
}

test("rates are those of the window", () => {
  const samples = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(s => sample(s, s < 3 ? 0 : (s - 3) * 200, s * 1000));
  expect(ratesOf(samples, 5000)).toEqual({ receivedPerSecond: 200, producedPerSecond: 1000, share: 0.2 });
  expect(ratesOf(samples, 8000).receivedPerSecond).toBe(125);
});

test("without two samples or without production there is no share", () => {
  expect(ratesOf([], 5000)).toEqual({ receivedPerSecond: 0, producedPerSecond: 0, share: undefined });
  expect(ratesOf([sample(1, 5, 5)], 5000).share).toBeUndefined();
  expect(ratesOf([sample(1, 5, 5), sample(2, 9, 5)], 5000)).toMatchObject({
    receivedPerSecond: 4,
    share: undefined,
  });
});

test("a minute is kept, and totals that fall begin anew", () => {
  let samples: readonly Sample[] = [];
  for (let s = 0; s < 100; s++) samples = addSample(samples, sample(s, s * 10, s * 100));
  expect(samples.length).toBe(61);
  expect(seriesOf(samples)).toEqual(new Array(60).fill(10));
  expect(addSample(samples, sample(100, 0, 10_000))).toEqual([sample(100, 0, 10_000)]);
});

test("slow steps are measured over a longer window", () => {
  expect(windowMsFor(100)).toBe(5000);
  expect(windowMsFor(5000)).toBe(20_000);
  expect(windowMsFor(1e6)).toBe(60_000);
});

test("bytes and shares have three digits", () => {
  expect([0, 999, 999.6, 1234, 45_678, 999_499, 999_600, 3.2e9].map(formatBytes)).toEqual([
    "0 B",
    "999 B",
    "1.00 kB",
    "1.23 kB",
    "45.7 kB",
    "999 kB",
    "1.00 MB",
    "3.20 GB",
  ]);
  expect([undefined, 0.0123, 0.123, 1].map(formatShare)).toEqual(["–", "1.23 %", "12.3 %", "100 %"]);
});

test("what a subscription received stays counted when it is gone", () => {
  const tally = new Tally();
  const first = { bytes: 10 };
  const stop = tally.add(first);
  tally.add({ bytes: 5 });
  first.bytes = 20;
  expect(tally.bytes).toBe(25);
  stop();
  stop();
  first.bytes = 1000;
  expect(tally.bytes).toBe(25);
});

test("all parts of the page together are its traffic", () => {
  const traffic = new Traffic();
  traffic.of("map 0").add({ bytes: 10 });
  traffic.of("map 0").add({ bytes: 1 });
  traffic.of("status").add({ bytes: 100 });
  expect(traffic.of("map 0").bytes).toBe(11);
  expect(traffic.bytes).toBe(111);
});
