import { Dice } from "@jecho/e2e/dice";
import { JechoError, type Type, unpack } from "@jecho/shared";
import { expect, test } from "vitest";
import { typeFromFbs } from "../src/fbs.ts";
import { encodeEvent } from "../src/mod.ts";

const Whole = typeFromFbs<Record<string, unknown>>(`
  enum Sky : byte { Clear, Rain }
  struct Place { latitude: double; height: short; }
  struct Path { from: Place; to: Place; }
  table Leaf { text: string; next: Leaf; }
  table Box { id: int; size: double; }
  table Circle { radius: float; }
  table Text { words: [string]; }
  union Shape { Circle, Text }
  table Whole {
    a: bool; b: byte; c: ushort; d: int; e: long; f: float; g: double; sky: Sky;
    name: string (required); place: Place; path: Path; track: [Place]; leaf: Leaf; leaves: [Leaf]; shape: Shape;
    bytes: [ubyte]; shorts: [short]; floats: [float]; doubles: [double]; longs: [ulong]; names: [string];
    boxes: [Box];
  }
  root_type Whole;`);
const Part = typeFromFbs<Record<string, unknown>>(`
  table Leaf { text: string; }
  table Box { size: double; }
  table Circle { radius: double; }
  union Shape { Circle }
  table Whole { floats: [double]; e: long; leaves: [Leaf]; d: double; shape: Shape; track: [Place]; names: [string];
    boxes: [Box]; }
  table Place { height: int; }
  root_type Whole;`);

const place = { latitude: 47.5, height: 400 };
const VALID = [
  {
    a: true,
    b: -1,
    c: 7,
    d: -9,
    e: 2n ** 40n,
    f: 1.5,
    g: 2.5,
    sky: 1,
    name: "station",
    place,
    path: { from: place, to: place },
    track: [place, place],
    leaf: { text: "leaf", next: { text: "inner" } },
    leaves: [{ text: "one" }, {}, { text: "three", next: {} }],
    shape: { kind: "Text", words: ["some", "words"] },
    bytes: Uint8Array.of(1, 2, 3),
    shorts: Int16Array.of(1, -2),
    floats: Float32Array.of(1, 2, 3),
    doubles: Float64Array.of(1.5),
    longs: BigUint64Array.of(1n, 2n ** 63n),
    names: ["", "zwei", "drei"],
    boxes: [{ id: 1, size: 2 }, { id: 3, size: 4 }, { id: 5 }, { size: 6 }],
  },
  { name: "", shape: { kind: "Circle", radius: 2 } },
].map(event => encodeEvent(Whole, event));

function read(type: Type, bytes: Uint8Array): unknown {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  type.verifierOf(Whole)(view, 0, bytes.byteLength);
  return unpack(type.readerOf(Whole)(view, bytes, 0));
}

/** The same bytes where other bytes follow, which nothing may read. */
function followed(bytes: Uint8Array): Uint8Array {
  const room = new Uint8Array(bytes.length + 64).fill(0x5a);
  room.set(bytes);
  return room.subarray(0, bytes.length);
}

const text = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    typeof one === "bigint"
      ? `${one}n`
      : ArrayBuffer.isView(one)
        ? Array.from(one as Uint8Array, String)
        : one,
  );

test.each([
  ["its own type", Whole, 11],
  ["an extended one", Part, 12],
])(
  "TYPE-4: what is accepted is read without throwing, and nothing beyond its end (seeded), by %s",
  (_, type, first) => {
    const dice = new Dice(first);
    const interesting = [0, 1, 2, 3, 4, 7, 8, 127, 128, 254, 255];
    let accepted = 0;
    for (let round = 0; round < 8000; round++) {
      const valid = VALID[round % VALID.length] as Uint8Array;
      const bytes = valid.slice(0, dice.below(16) === 0 ? dice.below(valid.length) : valid.length);
      for (let n = dice.below(4); n > 0 && bytes.length > 0; n--)
        bytes[dice.below(bytes.length)] =
          dice.below(2) === 0 ? dice.below(256) : (interesting[dice.below(interesting.length)] as number);
      let value: unknown;
      try {
        value = read(type as Type, bytes);
      } catch (error) {
        // No matcher where it is not needed: there are thousands of rounds.
        if (!(error instanceof JechoError) || error.code !== "EVENT_INVALID")
          expect(error, `round ${round}`).toBe("coded");
        continue;
      }
      accepted++;
      const again = text(read(type as Type, followed(bytes)));
      if (again !== text(value)) expect(again, `round ${round}`).toBe(text(value));
    }
    expect(accepted).toBeGreaterThan(500);
  },
);

const Plain = typeFromFbs(
  "table Plain { n: int; v: [double]; s: string (required); t: Plain; l: [Plain]; } root_type Plain;",
);

/** The bytes of `event` after `change`. */
function broken(
  event: unknown,
  change: (view: DataView, table: number, fieldAt: (slot: number) => number) => void,
): Uint8Array {
  const bytes = encodeEvent(Plain, event).slice();
  const view = new DataView(bytes.buffer);
  const table = view.getUint32(0, true);
  const vtable = table - view.getInt32(table, true);
  change(view, table, slot => table + view.getUint16(vtable + 4 + 2 * slot, true));
  return bytes;
}

const target = (view: DataView, at: number): number => at + view.getUint32(at, true);
const plain = { n: 1, v: Float64Array.of(1, 2), s: "text", t: { s: "inner" }, l: [{ s: "a" }] };

test.each<[string, string, Uint8Array]>([
  ["nothing at all", "Plain is shorter than any table", new Uint8Array(0)],
  [
    "a root beyond the end",
    "Plain reaches out of bounds",
    broken(plain, view => view.setUint32(0, 0xfffffff0, true)),
  ],
  ["a root at itself", "Plain points at itself", broken(plain, view => view.setUint32(0, 0, true))],
  [
    "an unaligned root",
    "Plain is not aligned",
    broken(plain, view => view.setUint32(0, view.getUint32(0, true) + 2, true)),
  ],
  [
    "a vtable beyond the start",
    "Plain has its vtable out of bounds",
    broken(plain, (view, table) => view.setInt32(table, 0x7fffffff, true)),
  ],
  [
    "a vtable beyond the end",
    "Plain has its vtable out of bounds",
    broken(plain, (view, table) => view.setInt32(table, -0x7fffffff, true)),
  ],
  [
    "a vector of 2^31 doubles",
    "Plain.v reaches out of bounds",
    broken(plain, (view, _, at) => view.setUint32(target(view, at(1)), 0x80000000, true)),
  ],
  [
    "a vector of 2^32 - 1 doubles",
    "Plain.v reaches out of bounds",
    broken(plain, (view, _, at) => view.setUint32(target(view, at(1)), 0xffffffff, true)),
  ],
  [
    "unaligned doubles",
    "Plain.v is not aligned",
    broken(plain, (view, _, at) => {
      view.setUint32(at(1), view.getUint32(at(1), true) + 4, true);
      view.setUint32(target(view, at(1)), 1, true);
    }),
  ],
  [
    "a string of 2^32 - 1 bytes",
    "Plain.s reaches out of bounds",
    broken(plain, (view, _, at) => view.setUint32(target(view, at(2)), 0xffffffff, true)),
  ],
  [
    "an offset backwards",
    "Plain.t reaches out of bounds",
    broken(plain, (view, _, at) => view.setUint32(at(3), 0xfffffff8, true)),
  ],
  [
    "a required field left out",
    "Plain.t.s is required and absent",
    broken({ ...plain, t: { n: 1, s: "x" } }, (view, _, at) => {
      const inner = target(view, at(3));
      view.setUint16(inner - view.getInt32(inner, true) + 4 + 2 * 2, 0, true);
    }),
  ],
])("TYPE-4: %s is refused: %s", (_, message, bytes) => {
  expect(() => Plain.decode(bytes)).toThrowError(
    expect.objectContaining({ code: "EVENT_INVALID", message: expect.stringContaining(message) }),
  );
});

const Boxes = typeFromFbs<{ boxes: { id: number; size: number }[] }>(
  "table Box { id: int; size: double; } table Boxes { boxes: [Box]; } root_type Boxes;",
);

/** The table at `table`, with the vtable that it has, begins at `place` instead. */
function moveTo(view: DataView, slot: number, table: number, place: number): void {
  const vtable = table - view.getInt32(table, true);
  view.setUint32(slot, place - slot, true);
  view.setInt32(place, place - vtable, true);
}

test.each<[string, string, (view: DataView, slot: number, table: number) => void]>([
  [
    "beyond the end",
    "Boxes.boxes reaches out of bounds",
    (view, slot, table) =>
      moveTo(view, slot, table, table + 8 * Math.floor((view.byteLength - 4 - table) / 8)),
  ],
  [
    "where its numbers are not aligned",
    "Boxes.boxes.size is not aligned",
    (view, slot, table) => moveTo(view, slot, table, table + 4),
  ],
  [
    "with another vtable, which is broken",
    "Boxes.boxes has a broken vtable",
    (view, _, table) => view.setInt32(table, view.getInt32(table, true) + 2, true),
  ],
])("TYPE-4: of many small tables one %s is refused, whatever the others: %s", (_, message, change) => {
  const boxes = Array.from({ length: 3 }, (_, id) => ({ id, size: id / 2 }));
  const bytes = encodeEvent(Boxes, { boxes }).slice();
  expect(unpack(Boxes.decode(bytes))).toEqual({ boxes });
  const view = new DataView(bytes.buffer);
  const root = view.getUint32(0, true);
  const vtable = root - view.getInt32(root, true);
  const vector = target(view, root + view.getUint16(vtable + 4, true));
  const slot = vector + 4 + 4;
  change(view, slot, target(view, slot));
  expect(() => Boxes.decode(bytes)).toThrowError(
    expect.objectContaining({ code: "EVENT_INVALID", message: expect.stringContaining(message) }),
  );
});

test("TYPE-4: events nested deeper than 16 are refused, up to that they are read", () => {
  const nested = (depth: number): unknown => (depth === 0 ? { s: "end" } : { s: "", t: nested(depth - 1) });
  expect(Plain.decode(encodeEvent(Plain, nested(16)))).toBeDefined();
  expect(() => Plain.decode(encodeEvent(Plain, nested(17)))).toThrowError("is nested deeper than 16");
});

test("TYPE-4: tables that share their parts take no more time than their size allows", () => {
  // Twelve tables, each with eight offsets to the next: 8^12 visits.
  const levels = 12;
  const bytes = new Uint8Array(64 + levels * 64);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 28, true);
  // One vtable for all: only `l` and `s` are there.
  for (const [i, word] of [14, 12, 0, 0, 4, 0, 8].entries()) view.setUint16(8 + 2 * i, word, true);
  for (let level = 0; level < levels; level++) {
    const table = 28 + 64 * level;
    view.setInt32(table, table - 8, true);
    view.setUint32(table + 4, 44, true);
    view.setUint32(table + 8, 4, true);
    view.setUint32(table + 12, level === levels - 1 ? 0 : 8, true);
    for (let i = 0; i < 8; i++) view.setUint32(table + 16 + 4 * i, 64 - 16 - 4 * i, true);
  }
  expect(() => Plain.decode(bytes)).toThrowError("has more parts than its size allows");
});
