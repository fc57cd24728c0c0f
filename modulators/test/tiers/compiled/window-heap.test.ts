import { expect, test } from "vitest";
import { WindowHeap } from "../../../src/tiers/compiled/window-heap.ts";

test("a memory that grows no further has no room, and what is given back is taken again", () => {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 64 });
  const heap = new WindowHeap(memory, 0, () => {});
  expect(heap.take(4 << 20)).toBe(0);
  expect(heap.take(64)).toBeUndefined();
  heap.give(0, 4 << 20);
  expect(heap.take(3 << 20)).toBe(0);
});
