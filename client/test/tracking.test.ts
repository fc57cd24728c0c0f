import { EventsFrame, encodeRun } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { Source, Tracker } from "../src/concentrator/tracking.ts";

const EVENT = { bytes: new Uint8Array(8), start: 0, end: 8 };

/** Events `raised` to `raised + count - 1`. */
function run(raised: number, count = 1): EventsFrame {
  const header = { channel: 1, producer: 1, raised, token: 0n, parameters: 0, flags: 0 };
  return EventsFrame.at(
    encodeRun(
      header,
      Array.from({ length: count }, () => EVENT),
    ),
  );
}

test("DEL-4: what was had is not new, and what is missing is told, for each source apart", () => {
  const tracker = new Tracker();
  const [a, b] = [new Source(1n, false), new Source(1n, true)];
  expect(tracker.take(a, run(5, 3))).toEqual({ had: 0, missing: 0 });
  expect(tracker.take(b, run(1))).toEqual({ had: 0, missing: 0 });
  expect(tracker.take(a, run(6, 4))).toEqual({ had: 2, missing: 0 });
  expect(tracker.take(a, run(12))).toEqual({ had: 0, missing: 2 });
  // Another object for the same source.
  expect(tracker.take(new Source(1n, false), run(12))).toEqual({ had: 1, missing: 0 });
  expect(tracker.place(b, 4)).toBe(3);
  expect(tracker.places()).toEqual([
    { source: 1n, urgent: false, raised: 12n },
    { source: 1n, urgent: true, raised: 4n },
  ]);
});

test("DEL-4: of very many sources those are remembered that were heard last", () => {
  const tracker = new Tracker();
  const first = new Source(0n, false);
  tracker.take(first, run(1, 10));
  for (let id = 1n; id < 200_000n; id++) {
    tracker.take(new Source(id, false), run(1));
    if (id % 10_000n === 0n) tracker.take(first, run(10));
  }
  expect(tracker.take(first, run(10)).had).toBe(1);
  const remembered = new Set(tracker.places().map(({ source }) => source));
  expect(remembered.size).toBeLessThanOrEqual(65_536);
  for (let id = 200_000n - 49_151n; id < 200_000n; id++) expect(remembered.has(id)).toBe(true);
});
