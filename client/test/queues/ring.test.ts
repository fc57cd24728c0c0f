import { Worker } from "node:worker_threads";
import { Dice } from "@jecho/e2e/dice";
import { expect, test } from "vitest";
import { Ring, type RingRecord, recordsIn } from "../../src/queues/ring.ts";

function write(ring: Ring, endpoint: number, bytes: number[]): boolean {
  const at = ring.reserve(bytes.length);
  if (at < 0) return false;
  ring.bytes.set(bytes, at);
  ring.commit(endpoint, 1, at + bytes.length);
  return true;
}

function drain(ring: Ring): [endpoint: number, bytes: number[]][] {
  const read: [number, number[]][] = [];
  ring.drain((records: readonly RingRecord[]) => {
    for (const { endpoint, bytes, start, end } of records)
      read.push([endpoint, [...bytes.subarray(start, end)]]);
    return records.length;
  });
  return read;
}

test("records come out as they went in, over many rounds of the ring (seeded)", () => {
  const ring = Ring.ofBytes(256);
  const dice = new Dice(3);
  let next = 0;
  for (let round = 0; round < 5000; round++) {
    const written: [number, number[]][] = [];
    for (let n = dice.below(6); n > 0; n--) {
      const bytes = Array.from({ length: dice.below(60) }, () => next++ & 255);
      const endpoint = dice.below(1000);
      if (write(ring, endpoint, bytes)) written.push([endpoint, bytes]);
    }
    expect(drain(ring)).toEqual(written);
    expect(ring.usedBytes).toBe(0);
  }
});

test("counts of bytes pass 2^31 and 2^32", () => {
  for (const start of [0x7fff_ff00, 0xffff_ff00]) {
    const memory = new ArrayBuffer(Ring.memoryBytes(256));
    const control = new Int32Array(memory, 0, 17);
    control[0] = start;
    control[16] = start;
    const ring = new Ring(memory);
    for (let round = 0; round < 20; round++) {
      expect(write(ring, 1, [round])).toBe(true);
      expect(write(ring, 2, [round, round])).toBe(true);
      expect(ring.usedBytes).toBeGreaterThan(0);
      expect(Array.from(ring.waiting(), ({ endpoint }) => endpoint)).toEqual([1, 2]);
      if (round % 2 === 0) {
        expect(drain(ring)).toEqual([
          [1, [round]],
          [2, [round, round]],
        ]);
      } else {
        let bytes = 0;
        while (ring.usedBytes > 0) bytes += ring.take(256)?.byteLength ?? 0;
        expect(bytes).toBe(64);
      }
      expect(ring.usedBytes).toBe(0);
    }
  }
});

test("a full ring takes nothing, and takes again once it was drained", () => {
  const ring = Ring.ofBytes(64);
  expect(write(ring, 1, new Array(8).fill(1))).toBe(true);
  expect(write(ring, 2, new Array(8).fill(2))).toBe(true);
  expect(write(ring, 3, [3])).toBe(false);
  expect(drain(ring)).toHaveLength(2);
  expect(write(ring, 3, [3])).toBe(true);
});

test("the largest event fits wherever the ring stands", () => {
  const ring = Ring.ofBytes(256);
  for (let round = 0; round < 64; round++) {
    expect(write(ring, 1, [1])).toBe(true);
    drain(ring);
    expect(write(ring, 2, new Array(ring.limitBytes).fill(2)), `round ${round}`).toBe(true);
    drain(ring);
  }
});

test("what a visit leaves is offered again, from the first that it left", () => {
  const ring = Ring.ofBytes(256);
  const seen: number[] = [];
  for (const n of [1, 2, 3, 4, 5, 6]) expect(write(ring, n, new Array(n).fill(n)), `${n}`).toBe(true);
  const visit = (most: number) => (records: readonly RingRecord[]) => {
    for (const { endpoint } of records.slice(0, most)) seen.push(endpoint);
    return Math.min(most, records.length);
  };
  expect(ring.drain(visit(0))).toBe(false);
  expect(ring.drain(visit(2))).toBe(false);
  for (const n of [7, 8]) expect(write(ring, n, [n]), `room for ${n}`).toBe(true);
  expect(ring.drain(visit(1))).toBe(false);
  while (!ring.drain(visit(100)));
  expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(ring.usedBytes).toBe(0);
});

test("counts of events go up to 2^53 - 1", () => {
  const ring = Ring.ofBytes(64);
  const at = ring.reserve(0);
  ring.commit(0x3fff_ffff, Number.MAX_SAFE_INTEGER, at, true);
  ring.drain(records => {
    const [{ endpoint, raised, sync }] = records as [RingRecord];
    expect({ endpoint, raised, sync }).toEqual({
      endpoint: 0x3fff_ffff,
      raised: Number.MAX_SAFE_INTEGER,
      sync: true,
    });
    return 1;
  });
});

test("a sleeping reader is to be woken once, and does not fall asleep over a record", () => {
  const ring = Ring.ofBytes(256);
  const commit = (): boolean => ring.commit(1, 1, ring.reserve(8) + 8);
  expect(commit()).toBe(false);
  expect(ring.sleep()).toBe(false);
  drain(ring);
  expect(ring.sleep()).toBe(true);
  expect([commit(), commit()]).toEqual([true, false]);
});

test.each([1, 2, 3, 4])(
  "a writer that drops the oldest and a reader in another thread: nothing torn, lost or twice (seed %i)",
  async seed => {
    const events = 60_000;
    const memory = new SharedArrayBuffer(Ring.memoryBytes(1 << 16));
    const ring = new Ring(memory);
    const writer = new Worker(new URL("ring-writer.ts", import.meta.url), {
      workerData: { memory, events, seed },
    });
    const read: number[] = [];
    let dropped: number[] | undefined;
    const failed = new Promise<never>((_, reject) => writer.on("error", reject));
    const drops = new Promise<void>(resolve => {
      writer.on("message", message => {
        if (message === "drops") resolve();
        else if (message !== "wake") dropped = message.dropped;
      });
    });
    const take = (): boolean => {
      const copy = ring.take(4096);
      if (copy === undefined) return false;
      const view = new DataView(copy.buffer, copy.byteOffset, copy.byteLength);
      for (const { bytes, endpoint, raised, sync, start, end } of recordsIn(copy, view, 0, copy.byteLength)) {
        read.push(raised);
        if (endpoint !== 1 + (raised % 3) || sync !== (raised % 5 === 0)) throw new Error(`torn: ${raised}`);
        for (let i = start; i < end; i++) if (bytes[i] !== (raised & 255)) throw new Error(`torn: ${raised}`);
      }
      return true;
    };
    try {
      // However slow the writer is, it has to drop something.
      await Promise.race([drops, failed]);
      while (dropped === undefined) {
        for (let i = 0; i < 50 && take(); i++);
        await Promise.race([new Promise(resolve => setImmediate(resolve)), failed]);
      }
      while (take());
    } finally {
      await writer.terminate();
    }
    expect(dropped.length).toBeGreaterThan(0);
    expect(read.length, "the reader got nothing").toBeGreaterThan(0);
    expect(read).toEqual(read.toSorted((a, b) => a - b));
    expect([...read, ...dropped].sort((a, b) => a - b)).toEqual(
      Array.from({ length: events }, (_, i) => i + 1),
    );
  },
);
