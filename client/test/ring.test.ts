import { expect, test } from "vitest";
import { Ring, type RingRecord } from "../src/ring.ts";

function write(ring: Ring, endpoint: number, bytes: number[]): boolean {
  const at = ring.reserve(bytes.length);
  if (at < 0) return false;
  ring.bytes.set(bytes, at);
  ring.commit(endpoint, at + bytes.length);
  return true;
}

function drain(ring: Ring): [endpoint: number, bytes: number[]][] {
  const read: [number, number[]][] = [];
  ring.drain(records =>
    records.forEach(({ endpoint, start, end }: RingRecord) => {
      read.push([endpoint, [...ring.bytes.subarray(start, end)]]);
    }),
  );
  return read;
}

test("records come out as they went in, over many rounds of the ring (seeded)", () => {
  const ring = Ring.ofBytes(256);
  let seed = 3;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed % below;
  };
  let next = 0;
  for (let round = 0; round < 5000; round++) {
    const written: [number, number[]][] = [];
    for (let n = random(6); n > 0; n--) {
      const bytes = Array.from({ length: random(60) }, () => next++ & 255);
      const endpoint = random(1000);
      if (write(ring, endpoint, bytes)) written.push([endpoint, bytes]);
    }
    expect(drain(ring)).toEqual(written);
    expect(ring.isEmpty).toBe(true);
  }
});

test("a full ring takes nothing, and takes again once it was drained", () => {
  const ring = Ring.ofBytes(64);
  expect(write(ring, 1, new Array(20).fill(1))).toBe(true);
  expect(write(ring, 2, new Array(20).fill(2))).toBe(true);
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
