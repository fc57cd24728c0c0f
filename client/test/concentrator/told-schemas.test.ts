import { expect, test } from "vitest";
import { ToldSchemas } from "../../src/concentrator/told-schemas.ts";

test("schemas are kept once each, in their order, in memory of their own", () => {
  const told = new ToldSchemas();
  // All bytes that there are, some of which are no text in any encoding.
  const wire = Uint8Array.from({ length: 512 }, (_, i) => i);
  const [first, second] = [wire.subarray(0, 256), wire.subarray(1, 257)];
  const kept = told.add(first);
  expect(told.add(second)).not.toBe(kept);
  expect(told.add(first.slice())).toBe(kept);
  wire.fill(0);
  const expected = [0, 1].map(from => Uint8Array.from({ length: 256 }, (_, i) => from + i));
  expect(told.all).toEqual(expected);
});

test("schemas that differ in one byte alone, whichever that is, are two", () => {
  const told = new ToldSchemas();
  for (let byte = 0; byte < 256; byte++) told.add(Uint8Array.of(7, byte, 7));
  expect(told.all).toHaveLength(256);
});
