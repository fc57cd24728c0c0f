import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { EventsFrame, encodeRun } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RunMemory } from "../../src/history/run-memory.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const HEADER = { channel: 1, producer: 1, token: 0n, parameters: 0, flags: 0 };

/** A run of one event of so many bytes, all of which are its number. */
function run(raised: number, length: number): EventsFrame {
  const bytes = new Uint8Array(length).fill(raised);
  return EventsFrame.at(encodeRun({ ...HEADER, raised }, [{ bytes, start: 0, end: length }]));
}

test("runs of all sizes stay what they were, whatever comes behind them", () => {
  const memory = new RunMemory();
  const lengths = [1, 100, 3000, 5, 40_000, 8, 20_000, 20_000, 300_000, 7];
  const copies = lengths.map((length, i) => memory.copy(run(i + 1, length)));
  expect(copies.map(({ raised }) => raised)).toEqual(lengths.map((_, i) => i + 1));
  for (const [i, copy] of copies.entries())
    expect(copy.raw()).toEqual(run(i + 1, lengths[i] as number).raw());
});

test("HIST-1: memory goes when the runs in it have gone", async () => {
  const memory = new RunMemory();
  const kept: EventsFrame[] = [];
  const blocks = new Map<ArrayBufferLike, WeakRef<ArrayBufferLike>>();
  for (let i = 0; i < 20_000; i++) {
    kept.push(memory.copy(run(i + 1, 200)));
    if (kept.length > 100) kept.shift();
    const { buffer } = (kept.at(-1) as EventsFrame).bytes;
    if (!blocks.has(buffer)) blocks.set(buffer, new WeakRef(buffer));
  }
  const all = [...blocks.values()];
  blocks.clear();
  await setImmediate();
  collect();
  expect(all.length).toBeGreaterThan(10);
  expect(all.filter(ref => ref.deref() !== undefined).length).toBeLessThanOrEqual(2);
});
