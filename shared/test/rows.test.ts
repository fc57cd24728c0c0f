import { ByteBuffer } from "flatbuffers";
import { expect, test } from "vitest";
import { typeFromFbs } from "../src/fbs.ts";
import { encodeInto, measure } from "../src/internal.ts";
import { encodeEvent, type, unpack } from "../src/mod.ts";

const Mixed = type("Mixed", {
  before: "string",
  rows: [
    {
      flag: "bool",
      i8: "int8",
      u16: "uint16",
      i32: "int32",
      u32: "uint32",
      f32: "float32",
      f64: "float64",
      i64: "int64",
    },
  ],
  after: "string",
});

const rowOf = (i: number) => ({
  flag: i % 2 === 0,
  i8: 9 - i,
  u16: 60_000 + i,
  i32: -100_000 * (i + 1),
  u32: 4_000_000_000 + i,
  f32: i / 2,
  f64: i / 3,
  i64: -BigInt(i),
});

test.each([0, 1, 2, 3, 20])("%i tables of numbers read back as they were written", count => {
  const event = { before: "a", rows: Array.from({ length: count }, (_, i) => rowOf(i)), after: "b" };
  expect(unpack(Mixed.decode(encodeEvent(Mixed, event)))).toEqual(event);
});

test("structs of numbers read back as they were written, with zeros between their fields", () => {
  const Stars = typeFromFbs<{ stars: object[] }>(`
    struct Star { kind:ubyte; mass:double; x:float; }
    table Stars { stars:[Star]; }
    root_type Stars;
  `);
  const stars = Array.from({ length: 5 }, (_, i) => ({ kind: i, mass: i / 3, x: i / 2 }));
  // Memory that held other things before.
  const bytes = new Uint8Array(512).fill(0xff);
  const end = encodeInto(Stars.root, { stars }, bytes, new DataView(bytes.buffer), 0);
  expect(bytes.subarray(0, end)).toEqual(encodeEvent(Stars, { stars }));
  expect(unpack(Stars.decode(bytes.subarray(0, end)))).toEqual({ stars });
});

test("what is not given in a row reads as its default", () => {
  const Shots = typeFromFbs<{ shots: object[] }>(
    "table Shot { power:int = 7; angle:float; } table Shots { shots:[Shot]; } root_type Shots;",
  );
  const bytes = encodeEvent(Shots, { shots: [{}, { power: 1, angle: null }, { angle: 2 }] });
  expect(unpack(Shots.decode(bytes))).toEqual({
    shots: [
      { power: 7, angle: 0 },
      { power: 1, angle: 0 },
      { power: 7, angle: 2 },
    ],
  });
});

test("the official library reads tables of numbers in a vector, and all of an event share one vtable", () => {
  const Boxes = typeFromFbs(
    "table Box { value:int; } table Boxes { boxes:[Box]; more:[Box]; } root_type Boxes;",
  );
  const buffer = new ByteBuffer(
    encodeEvent(Boxes, { boxes: [{ value: 5 }, { value: -6 }], more: [{ value: 7 }] }),
  );
  const root = buffer.readInt32(0);
  const tables = [0, 1].flatMap(slot => {
    const vector = root + buffer.__offset(root, 4 + 2 * slot);
    const first = buffer.__vector(vector);
    return Array.from({ length: buffer.__vector_len(vector) }, (_, i) => buffer.__indirect(first + 4 * i));
  });
  expect(tables.map(table => buffer.readInt32(table + buffer.__offset(table, 4)))).toEqual([5, -6, 7]);
  expect(new Set(tables.map(table => table - buffer.readInt32(table))).size).toBe(1);
});

test.each([
  [[{ ...rowOf(1) }, null], /Mixed\.rows: an object is wanted, not null/],
  [[5], /Mixed\.rows: an object is wanted, not 5/],
  [new Float32Array(2), /Mixed\.rows: an object is wanted, not 0/],
  [[{ ...rowOf(1) }, { ...rowOf(2), i8: 128 }], /i8: an integer from -128 to 127 is wanted, not 128/],
  [[{ ...rowOf(1), i64: 1 }], /i64: a bigint is wanted, not 1/],
])("a row that does not fit is refused by name: %#", (rows, message) => {
  expect(() => encodeEvent(Mixed, { before: "", rows, after: "" } as never)).toThrowError(
    expect.objectContaining({ code: "EVENT_INVALID", message: expect.stringMatching(message) }),
  );
});

test("a list that grows while it is read has no more written than there is room for", () => {
  const rows: object[] = [];
  rows.push({
    ...rowOf(1),
    get i8() {
      for (let i = 0; i < 100; i++) rows.push(rowOf(i));
      return 1;
    },
  });
  const event = { before: "", rows, after: "" } as never;
  const room = measure(Mixed.root, event);
  const bytes = new Uint8Array(8192);
  const end = encodeInto(Mixed.root, event, bytes, new DataView(bytes.buffer), 0);
  expect(end).toBeLessThanOrEqual(room);
  expect(bytes.subarray(end).every(byte => byte === 0)).toBe(true);
  expect(Mixed.decode(bytes.subarray(0, end)).rows).toHaveLength(1);
});

test("measure bounds what rows take", () => {
  for (let length = 0; length < 40; length++) {
    const event = { before: "", rows: Array.from({ length }, (_, i) => rowOf(i)), after: "" };
    expect(encodeEvent(Mixed, event).byteLength, `${length}`).toBeLessThanOrEqual(measure(Mixed.root, event));
  }
});
