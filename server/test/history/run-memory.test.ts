import { EventsFrame } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { type RunBlock, RunMemory } from "../../src/history/run-memory.ts";
import { encodedRun } from "../raw-client.ts";
import { seeded } from "../seeded.ts";

/** A run of one event of so many bytes, all of which are its number. */
function run(raised: number, length: number): EventsFrame {
  const bytes = new Uint8Array(length).fill(raised);
  return EventsFrame.at(encodedRun({ channel: 1, producer: 1, raised }, bytes));
}

interface Kept {
  readonly raised: number;
  readonly size: number;
  readonly frame: EventsFrame;
  readonly block: RunBlock | undefined;
}

/** Copies runs of these lengths, and lets the oldest go as long as they take more than so many bytes. */
function* keep(memory: RunMemory, lengths: Iterable<number>, mostBytes: number): Generator<readonly Kept[]> {
  const kept: Kept[] = [];
  let bytes = 0;
  let raised = 1;
  for (const length of lengths) {
    const copied = run(raised, length);
    const size = copied.end - copied.start;
    kept.push({ raised: raised++, size, ...memory.copy(copied) });
    bytes += size;
    while (bytes > mostBytes) {
      const oldest = kept.shift() as Kept;
      bytes -= oldest.size;
      oldest.block?.letGo(oldest.size);
    }
    yield kept;
  }
}

test("HIST-1: runs of all sizes stay what they were as long as they are kept", () => {
  const random = seeded(5);
  const lengths = Array.from({ length: 4000 }, () => Math.floor(2 ** (random() * 20)));
  let looks = 0;
  for (const kept of keep(new RunMemory(), lengths, 4 << 20)) {
    if (looks++ % 200 > 0) continue;
    for (const { raised, frame } of kept) {
      expect(frame.raised).toBe(raised);
      const event = frame.bytes.subarray(frame.eventStart(0), frame.eventEnd(0));
      expect(event.every(byte => byte === raised % 256)).toBe(true);
    }
  }
});

test("HIST-1: memory is used again, and is not much more than the runs take", () => {
  const lengths = [...Array(5000).fill(2000), ...Array(400).fill(270_000), ...Array(30_000).fill(100)];
  const mostBytes = 2 << 20;
  const blocks = new Set<RunBlock>();
  let looks = 0;
  for (const kept of keep(new RunMemory(), lengths, mostBytes)) {
    if (looks++ % 20 > 0) continue;
    let bytes = 0;
    for (const block of new Set(kept.map(({ block }) => block))) {
      if (block === undefined) continue;
      blocks.add(block);
      bytes += block.bytes.byteLength;
    }
    expect(bytes).toBeLessThan(2.5 * mostBytes);
  }
  // More than 120 MB went through them.
  expect(blocks.size).toBeLessThan(60);
});

test("HIST-1: an idle channel keeps no memory", () => {
  const memory = new RunMemory();
  const { block } = memory.copy(run(1, 1000));
  block?.letGo(run(1, 1000).end);
  expect(memory.copy(run(2, 1000)).block).not.toBe(block);
});
