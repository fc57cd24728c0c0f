import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { EventsFrame } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { EventLog } from "../../src/history/event-log.ts";
import { encodedRun } from "../raw-client.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const EVENT = new Uint8Array(1 << 16);
const HEADER = { channel: 1, producer: 1, raised: 1 };
const BOUNDS = {
  events: Number.POSITIVE_INFINITY,
  seconds: Number.POSITIVE_INFINITY,
  bytes: 1 << 30,
  latest: false,
  key: "",
  durable: false,
};

/** Appends runs of one event each. @returns the memory of each */
function fill(log: EventLog, runs: number): WeakRef<ArrayBufferLike>[] {
  return Array.from({ length: runs }, (_, i) => {
    const frame = EventsFrame.at(encodedRun(HEADER, EVENT)).copy();
    frame.stamp(1, i + 1);
    log.append({ frame, source: 1n, origin: 0n, by: "", at: i });
    return new WeakRef(frame.bytes.buffer);
  });
}

test.for([
  ["one event", { ...BOUNDS, events: 1 }, 1],
  ["1 MiB", { ...BOUNDS, bytes: 1 << 20 }, 15],
  // That is in memory of its own.
  ["the newest event of the only key", { ...BOUNDS, events: 0, latest: true }, 0],
] as const)("HIST-1: of a history of %s the memory is kept of that alone", async ([_, retention, kept]) => {
  const log = new EventLog(retention, () => "", 1);
  const memory = fill(log, 1000);
  // What a WeakRef has shown lives until the end of the turn.
  await setImmediate();
  collect();
  expect(memory.filter(ref => ref.deref() !== undefined)).toHaveLength(kept);
  expect([...log.newest()]).toHaveLength(1);
});

test("HIST-7: behind places is what their sources raised later, and what began behind all that the places say", () => {
  const log = new EventLog(BOUNDS, () => "", 1);
  let seq = 1;
  const append = (source: bigint, raised: number): void => {
    const frame = EventsFrame.at(encodedRun({ ...HEADER, raised }, EVENT, EVENT)).copy();
    frame.stamp(1, seq);
    seq += 2;
    log.append({ frame, source, origin: 0n, by: "", at: seq });
  };
  const behind = (...places: [source: bigint, raised: number][]) => {
    const found = log.behind(
      places.map(([source, raised]) => ({
        source,
        urgent: false,
        raised: BigInt(raised),
        origin: 0n,
        through: 0n,
      })),
    );
    return found && [found.seq, Object.fromEntries(found.sources)];
  };
  append(1n, 1); // 1 and 2
  append(2n, 1); // 3 and 4
  append(3n, 1); // 5 and 6
  append(2n, 3); // 7 and 8
  append(4n, 1); // 9 and 10
  expect(behind([2n, 3])).toEqual([5, { "2 false": 3, "3 false": 0, "4 false": 0 }]);
  expect(behind([2n, 4])).toEqual([9, { "4 false": 0 }]);
  expect(behind([2n, 4], [1n, 1])).toEqual([2, { "1 false": 1, "4 false": 0 }]);
  expect(behind([4n, 2])).toBeUndefined();
  // Nothing says when one that has had none of these was there.
  expect(behind([5n, 9])).toBeUndefined();
  expect(behind([1n, 0])).toEqual([1, { "1 false": 0 }]);
  append(2n, 5); // 11 and 12
  expect(behind([4n, 2])).toEqual([11, { "2 false": 0 }]);
  log.retention = { ...BOUNDS, events: 6 };
  log.trim(0);
  expect(behind([1n, 0])).toBeUndefined();
  expect(behind([2n, 1])).toEqual([7, { "2 false": 1 }]);
});
