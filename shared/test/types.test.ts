import { Dice } from "@jecho/e2e/dice";
import { Builder, ByteBuffer } from "flatbuffers";
import { expect, test } from "vitest";
import { typeFromFbs } from "../src/fbs.ts";
import { encodeControl, encodeInto, measure, parseMessage } from "../src/internal.ts";
import { encodeEvent, JechoError, type Type, type, typeFromSchema, unpack } from "../src/mod.ts";

const Reading = type("Reading", {
  id: "uint32",
  at: "float64",
  big: "int64",
  ok: "bool",
  name: "string",
  values: "float32[]",
  tags: "string[]",
  inner: { x: "int16", text: "string" },
  parts: [{ weight: "float32" }],
});

const VALUE = {
  id: 7,
  at: 1.5,
  big: -(2n ** 40n),
  ok: true,
  name: "Ozon über 10 hPa ✓ 𝄞",
  values: Float32Array.of(1, 2.5, -3),
  tags: ["a", "", "ccc"],
  inner: { x: -2, text: "deep" },
  parts: [{ weight: 0.5 }, { weight: 2 }],
};

test("an event reads back as it was written", () => {
  expect(unpack(Reading.decode(encodeEvent(Reading, VALUE)))).toEqual(VALUE);
});

test.each([0, 20, 60, 3000])(
  "a text keeps all its characters, the first one too, with %d behind it",
  length => {
    for (const first of ["", "a", "é", "\uFEFF", "𝄞"]) {
      const text = first + "x".repeat(length);
      expect(Reading.decode(encodeEvent(Reading, { ...VALUE, name: text })).name).toBe(text);
      const fault = { kind: "Fault", code: 1, message: text, producer: 0 } as const;
      parseMessage(encodeControl(fault), frame => expect(frame).toEqual(fault));
    }
  },
);

test("typed arrays are views on the event's own bytes", () => {
  const bytes = encodeEvent(Reading, VALUE);
  expect(Reading.decode(bytes).values.buffer).toBe(bytes.buffer);
});

test("TYPE-1: the binary schema gives the same type and token again", () => {
  const again = typeFromSchema<typeof VALUE>(Reading.schema);
  expect(again.token).toBe(Reading.token);
  expect(unpack(again.decode(encodeEvent(Reading, VALUE)))).toEqual(VALUE);
});

test("TYPE-1: types that differ have different tokens", () => {
  const tokens = [
    type("A", { x: "int32" }),
    type("A", { x: "uint32" }),
    type("A", { y: "int32" }),
    type("B", { x: "int32" }),
    type("A", { x: "int32", y: "int32" }),
  ].map(({ token }) => token);
  expect(new Set(tokens).size).toBe(tokens.length);
});

test("a schema may lie in a Buffer of Node, as a small file does that was read, amid the bytes of others", () => {
  const read = Buffer.from(Reading.schema);
  expect(read.buffer.byteLength).toBeGreaterThan(read.byteLength);
  expect(typeFromSchema(read).token).toBe(Reading.token);
});

test("the official library reads what we write", () => {
  const Small = type("Small", { a: "int32", s: "string", v: "float64[]" });
  const buffer = new ByteBuffer(encodeEvent(Small, { a: -5, s: "hello", v: Float64Array.of(1, 2) }));
  const table = buffer.readInt32(0);
  const field = (slot: number): number => table + buffer.__offset(table, 4 + 2 * slot);
  expect(buffer.readInt32(field(0))).toBe(-5);
  expect(buffer.__string(field(1))).toBe("hello");
  const vector = buffer.__vector(field(2));
  expect([buffer.readFloat64(vector), buffer.readFloat64(vector + 8)]).toEqual([1, 2]);
});

test("we read what the official library writes", () => {
  const Small = type("Small", { a: "int32", s: "string", v: "float64[]" });
  const builder = new Builder(16);
  const s = builder.createString("hello");
  builder.startVector(8, 2, 8);
  builder.addFloat64(2);
  builder.addFloat64(1);
  const v = builder.endVector();
  builder.startObject(3);
  builder.addFieldInt32(0, -5, 0);
  builder.addFieldOffset(1, s, 0);
  builder.addFieldOffset(2, v, 0);
  builder.finish(builder.endObject());
  // asUint8Array is a tail of the builder's buffer; a copy begins at a multiple of 8.
  expect(unpack(Small.decode(builder.asUint8Array().slice()))).toEqual({
    a: -5,
    s: "hello",
    v: Float64Array.of(1, 2),
  });
});

test("absent fields read as their defaults", () => {
  const bytes = encodeEvent(Reading, {} as typeof VALUE);
  const event = unpack(Reading.decode(bytes));
  expect(event).toMatchObject({
    id: 0,
    at: 0,
    big: 0n,
    ok: false,
    name: "",
    tags: [],
    inner: undefined,
    parts: [],
  });
  expect(Reading.decode(bytes).values).toHaveLength(0);
});

test("TYPE-3: a reader finds its fields by name in a superset, whatever their order, and widens numbers", () => {
  const Writer = type("Grid", { extra: "string", values: "float32[]", layer: "int16", time: "float32" });
  const Reader = type("Grid", { layer: "int32", time: "float64", values: "float32[]", missing: "uint8" });
  const bytes = encodeEvent(Writer, { extra: "new", values: Float32Array.of(1, 2), layer: -3, time: 0.5 });
  const event = Reader.readerOf(Writer as Type)(new DataView(bytes.buffer, 0, bytes.length), bytes, 0);
  expect(unpack(event)).toEqual({ layer: -3, time: 0.5, values: Float32Array.of(1, 2), missing: 0 });
});

test("TYPE-3: types that cannot be matched are refused, naming the field and both sides", () => {
  const Writer = type("Old", { layer: "string" });
  const Reader = type("New", { layer: "int32" });
  expect(() => Reader.readerOf(Writer as Type)).toThrowError(
    expect.objectContaining({
      code: "TYPE_MISMATCH",
      message: expect.stringMatching(/layer.*Old.*New.*string.*int32/),
    }),
  );
});

test.each([
  [{ id: -1 }, "Reading.id"],
  [{ id: 1.5 }, "Reading.id"],
  [{ id: Number.NaN }, "Reading.id"],
  [{ id: "1" }, "Reading.id"],
  [{ big: 5 }, "Reading.big"],
  [{ name: 5 }, "Reading.name"],
  [{ values: 5 }, "Reading.values"],
  [{ inner: "x" }, "Reading.inner"],
  [{ tags: [1] }, "Reading.tags"],
])("what does not fit the type is refused by field: %o", (patch, path) => {
  const bad = { ...VALUE, ...patch } as typeof VALUE;
  expect(() => encodeEvent(Reading, bad)).toThrowError(
    expect.objectContaining({ code: "EVENT_INVALID", message: expect.stringContaining(path) }),
  );
});

test("bad descriptions and schemas are refused", () => {
  expect(() => type("T", { x: "float" as "float32" })).toThrowError(
    expect.objectContaining({ code: "TYPE_INVALID" }),
  );
  expect(() => type("T", {})).toThrowError(expect.objectContaining({ code: "TYPE_INVALID" }));
  expect(() => typeFromSchema(new Uint8Array(40))).toThrowError(
    expect.objectContaining({ code: "TYPE_INVALID" }),
  );
});

test("TYPE-4: no damaged event is read out of bounds (seeded)", () => {
  const good = encodeEvent(Reading, VALUE);
  const dice = new Dice(1);
  let refused = 0;
  for (let round = 0; round < 20_000; round++) {
    const bytes = good.slice(0, dice.below(8) === 0 ? dice.below(good.length) : good.length);
    for (let n = dice.below(4); n >= 0 && bytes.length > 0; n--)
      bytes[dice.below(bytes.length)] = dice.below(256);
    try {
      unpack(Reading.decode(bytes));
    } catch (error) {
      expect(error, `round ${round}`).toBeInstanceOf(JechoError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(1000);
});

test("a large vector of scalars lies at a multiple of 8, so that it is copied by words into shared memory", () => {
  const Field = type("Field", { name: "string", layer: "uint8", values: "float32[]" });
  for (let length = 0; length < 9; length++) {
    const bytes = encodeEvent(Field, {
      name: "x".repeat(length),
      layer: 1,
      values: Float32Array.from({ length: 16 }, (_, i) => i),
    });
    const { values } = Field.decode(bytes);
    expect((values as Float32Array).byteOffset % 8, `${length}`).toBe(bytes.byteOffset % 8);
  }
});

test("texts of any length can be written into shared memory", () => {
  const Note = type("Note", { text: "string" });
  for (const text of ["ä", "ö".repeat(1000)]) {
    const memory = new SharedArrayBuffer(8192);
    const bytes = new Uint8Array(memory);
    const end = encodeInto(Note.root, { text }, bytes, new DataView(memory), 0);
    expect(Note.decode(bytes.slice(0, end)).text).toBe(text);
  }
});

test.each([
  ["a text", (long: boolean) => ({ text: "x".repeat(long ? 60 : 1) })],
  ["a long text", (long: boolean) => ({ text: "x".repeat(long ? 5000 : 1) })],
  ["numbers", (long: boolean) => ({ numbers: new Float64Array(long ? 40 : 1) })],
  ["rows", (long: boolean) => ({ rows: Array.from({ length: long ? 40 : 1 }, () => ({ x: 1 })) })],
  ["texts", (long: boolean) => ({ texts: Array.from({ length: long ? 100 : 1 }, () => "") })],
  ["a text in place of a list", (long: boolean) => ({ texts: [long ? "x".repeat(90) : ""] })],
  ["a table", (long: boolean) => ({ inner: long ? { x: 1 } : undefined })],
])(
  "%s that grows between measuring and writing is refused, and nothing is written behind the room",
  (_, of) => {
    const Row = { x: "float64" } as const;
    const All = type("All", {
      text: "string",
      numbers: "float64[]",
      texts: "string[]",
      rows: [Row],
      inner: Row,
    });
    const small = of(false) as Record<string, unknown>;
    const large = of(true) as Record<string, unknown>;
    const memory = new Uint8Array(16_384);
    const room = measure(All.root, small as never);
    expect(() => encodeInto(All.root, large as never, memory, new DataView(memory.buffer), 0, room)).toThrow(
      expect.objectContaining({ code: "EVENT_INVALID" }),
    );
    expect(memory.subarray(room).every(byte => byte === 0)).toBe(true);
  },
);

test("row 55: types of thousands of fields and enum values are compared in no more time than it takes to read their schemas", () => {
  const values = Array.from({ length: 3000 }, (_, i) => `V${i}`).join(", ");
  const fields = Array.from({ length: 1500 }, (_, i) => `f${i}: E;`).join(" ");
  const schemaOf = (more: string): Uint8Array =>
    typeFromFbs(`enum E: int { ${values} } table T { ${fields} ${more} } root_type T;`).schema.slice();
  const [written, read] = [schemaOf("a: int;"), schemaOf("b: int;")];
  const cpuOf = <T>(act: () => T): [T, number] => {
    const before = process.cpuUsage();
    const result = act();
    const { user, system } = process.cpuUsage(before);
    return [result, user + system];
  };
  const [types, readingUs] = cpuOf(() => [typeFromSchema(written), typeFromSchema(read)] as const);
  const [, comparingUs] = cpuOf(() => types[1].readerOf(types[0]));
  // It was some hundred times as much.
  expect(comparingUs).toBeLessThan(10 * readingUs);
});
