import { Dice } from "@jecho/e2e/dice";
import { expect, test } from "vitest";
import { FRAME_SCHEMA } from "../src/generated/frame-schema.ts";
import {
  type Control,
  EventsFrame,
  encodeControl,
  encodeRun,
  encodeStretches,
  type Frame,
  joinFrames,
  type ObjectType,
  parseMessage,
  type RunHeader,
  sliceRun,
} from "../src/internal.ts";
import { encodeEvent, JechoError, typeFromSchema } from "../src/mod.ts";
import type { Kind } from "../src/types/schema.ts";

const HEADER: RunHeader = {
  channel: 7,
  producer: 3,
  raised: 2 ** 40 + 1,
  token: 0xfedcba9876543210n,
  parameters: 9,
  flags: 1,
};

const bytesOf = (...bytes: number[]) => ({ bytes: Uint8Array.from(bytes), start: 0, end: bytes.length });

function parse(message: Uint8Array): Frame[] {
  const frames: Frame[] = [];
  parseMessage(message, frame => frames.push(frame));
  return frames;
}

const INSTALL = {
  kind: "Install",
  request: 1,
  channel: 2,
  derived: 3,
  modulator: {
    source: "export default class {}",
    parameters: "{}",
    key: "k",
    objects: [{ name: "view", object: "o", version: 4, state: '{"a":1}', lazy: true }],
    capabilities: ["steer"],
    compares: true,
  },
  instead: undefined,
  by: "",
  behind: 3,
  timeMs: 1_700_000_000_000.5,
  offers: [{ name: "services.celsius", granted: true, text: "k => k - 273.15", capability: "" }],
} as const;

test("WIRE-2, WIRE-3: frames of both kinds go back to back in one message", () => {
  const message = joinFrames([
    encodeControl(INSTALL),
    encodeRun(HEADER, [bytesOf(1, 2, 3), bytesOf(), bytesOf(4)]),
    encodeControl({ kind: "Ping", time: 0.5 }),
  ]);
  const [install, run, ping] = parse(message) as [Frame, EventsFrame, Frame];
  expect(install).toEqual(INSTALL);
  expect(ping).toEqual({ kind: "Ping", time: 0.5 });
  expect(run).toMatchObject({
    count: 3,
    channel: 7,
    producer: 3,
    raised: 2 ** 40 + 1,
    token: HEADER.token,
    parameters: 9,
    flags: 1,
  });
});

test.for([
  { kind: "Ack", channel: 7, seq: 2 ** 40 + 1, consumers: 3, failed: 0, message: "" },
  { kind: "Ack", channel: 7, seq: 1, consumers: 3, failed: 1, message: "Höhe unbekannt" },
  {
    kind: "Processed",
    channel: 7,
    producer: 2,
    raised: 9,
    consumers: 4,
    failed: 2,
    message: "no",
    missing: 1,
    taken: 5,
  },
] as const)("SYNC-1: the reply %o goes there and comes back, and is a FlatBuffer of the schema", reply => {
  const bytes = encodeControl(reply);
  expect(parse(bytes)).toEqual([reply]);
  // A frame behind another one begins at a multiple of 8, too.
  expect(parse(joinFrames([bytes, encodeControl({ kind: "Ping", time: 1 }), bytes]))).toHaveLength(3);
  const schema = typeFromSchema(Uint8Array.from(atob(FRAME_SCHEMA), char => char.charCodeAt(0)));
  // Places are counted from the message's start, behind which the frame's size comes first.
  const view = new DataView(bytes.buffer);
  schema.verify(view, 4, bytes.byteLength);
  const frame = schema.readerOf(schema)(view, bytes, 4) as { reply: Record<string, unknown>; reason: string };
  expect(frame.reply.number).toBe(BigInt("seq" in reply ? reply.seq : reply.raised));
  expect(frame.reply.processed).toBe(reply.kind === "Ack" ? 0 : 1);
  expect(frame.reason ?? "").toBe(reply.message);
});

/** A value for each field of a table, of its kind. */
function valuesOf({ fields }: ObjectType, dice: Dice): Record<string, unknown> {
  const text = (): string =>
    ["", "a", "Höhe", "longer than what is read as single characters", "x".repeat(9000)][dice.below(5)] ?? "";
  const anyOf = (kind: Kind): unknown => {
    if (kind.is === "string") return text();
    if (kind.is === "object") return valuesOf(kind.object, dice);
    if (kind.is === "vector") {
      const length = dice.below(4);
      if (kind.of.is === "scalar" && kind.of.scalar === "uint8")
        return Uint8Array.from({ length }, () => dice.below(256));
      const of = kind.of;
      return Array.from({ length }, () => anyOf(of));
    }
    if (kind.is !== "scalar") throw new TypeError("no union in a control message");
    if (kind.scalar === "bool") return dice.below(2) === 1;
    if (kind.scalar === "int64" || kind.scalar === "uint64") return 2n ** BigInt(dice.below(63));
    return dice.below(256);
  };
  return Object.fromEntries(fields.map(({ name, kind }) => [name, anyOf(kind)]));
}

test("WIRE-2: control messages of every kind go there and come back, and are FlatBuffers of the schema (seeded)", () => {
  const schema = typeFromSchema(Uint8Array.from(atob(FRAME_SCHEMA), char => char.charCodeAt(0)));
  const control = schema.root.fields.find(({ name }) => name === "control");
  const members = control?.kind.is === "union" ? control.kind.members : [];
  expect(members.length).toBeGreaterThan(40);
  const dice = new Dice(3);
  // Numbers of all kinds, in lists or typed arrays, as text.
  const plain = (value: unknown): string =>
    JSON.stringify(value, (_, inner: unknown) => {
      if (typeof inner === "bigint" || typeof inner === "number") return String(inner);
      return ArrayBuffer.isView(inner) ? Array.from(inner as Uint8Array) : inner;
    });
  for (let round = 0; round < 5; round++) {
    for (const { name, object } of members) {
      const message = { kind: name, ...valuesOf(object, dice) } as unknown as Control;
      const bytes = encodeControl(message);
      expect(bytes.byteLength % 8, name).toBe(0);
      const [read] = parse(joinFrames([encodeControl({ kind: "Ping", time: 1 }), bytes])).slice(1);
      expect(plain(read), `${name} in round ${round}`).toEqual(plain(message));
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      schema.verify(view, 4, bytes.byteLength);
      const official = schema.readerOf(schema)(view, bytes, 4) as { control: unknown };
      expect(plain(official.control), `${name} in round ${round}`).toEqual(plain(message));
      // What another one has written is read the same.
      const other = encodeEvent(schema, { control: message });
      const framed = new Uint8Array(8 * Math.ceil((8 + other.byteLength) / 8));
      framed.set(other, 8);
      const words = new DataView(framed.buffer);
      words.setUint32(0, framed.byteLength - 4, true);
      words.setUint32(4, 4 + words.getUint32(8, true), true);
      expect(plain(parse(framed)[0]), `${name} in round ${round}`).toEqual(plain(message));
    }
  }
});

const BYTES_OF_OPEN_CONSUMER = [
  "vAEAABQAAAAOAAkAAAAAAAAACAAEAAAAEAAAACAAAAAIABoAMAAEAAgADAAQABQAAAAcAAAAAAAoACwAGgAAAAcAAA",
  "AoAAAAMAAAAEgAAAD8AAAAAAAAABQBAAAAAAAAAAAAAAAAAAAQAQAABAAAAGdyaWQAAAAAAwAAAAECAwAAAAAAEAAZ",
  "AAQACAAMABAAFAAYABAAAAAYAAAAHAAAACAAAAAkAAAAcAAAAAAAAAABAAAAcwAAAAIAAAB7fQAAAAAAAAAAAAABAA",
  "AAGAAAAAAAAAAAAA4AFQAEAAgADAAQABQADgAAABQAAAAcAAAABAAAABwAAAABAAAABAAAAHZpZXcAAAAAAQAAAG8A",
  "AAACAAAAe30AAAIAAAAIAAAAEAAAAAUAAABzdGVlcgAAAAMAAABzZWUAAAAAAAAADgAdABwAFAAEAAwAGAAOAAAAAQ",
  "AAAAABAAAAAAAAAADgPwIAAAAAAMA/AwAAAAUAAABIw7ZoZQAAAAEAAAAYAAAAAAAAAAAADgAlAAQAJAAMABQAHAAO",
  "AAAACQAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABAAAAAAAAAA==",
].join("");

test("WIRE-2: a control message with fields of all kinds is the same bytes for ever", () => {
  const message = {
    kind: "OpenConsumer",
    request: 7,
    channel: "grid",
    schema: Uint8Array.of(1, 2, 3),
    modulator: {
      source: "s",
      parameters: "{}",
      key: "",
      objects: [{ name: "view", object: "o", version: 4, state: "{}", lazy: true }],
      capabilities: ["steer", "see"],
      compares: false,
    },
    from: { from: 3, epoch: 2, seq: 2n ** 40n + 1n, at: 0.5, speed: 1.5 },
    queue: undefined,
    label: "Höhe",
    sources: [{ source: 9n, urgent: true, raised: 1n, origin: 0n, through: 0n }],
  } as const;
  const bytes = encodeControl(message);
  expect(Buffer.from(bytes).toString("base64")).toBe(BYTES_OF_OPEN_CONSUMER);
  expect(parse(bytes)).toEqual([{ ...message, as: "", feed: undefined, compared: 0 }]);
});

test("WIRE-4: every event lies at a multiple of 8 and ends where it says", () => {
  const events = [bytesOf(1, 2, 3), bytesOf(), bytesOf(4, 5, 6, 7, 8, 9, 10, 11, 12)];
  const [run] = parse(encodeRun(HEADER, events)) as [EventsFrame];
  const read = events.map((_, i) => {
    expect(run.eventStart(i) % 8).toBe(0);
    return [...run.bytes.subarray(run.eventStart(i), run.eventEnd(i))];
  });
  expect(read).toEqual(events.map(({ bytes }) => [...bytes]));
});

test("WIRE-4: stretches of events make the run that the events make one by one", () => {
  const bytes = Uint8Array.from({ length: 200 }, (_, i) => i + 1);
  const dense = { bytes, bounds: [8, 11, 16, 24, 24, 24, 24, 95], first: 0, end: 4 };
  const apart = { bytes, bounds: [0, 5, 16, 20, 104, 191], first: 1, end: 3 };
  const stretches = [dense, { ...apart, first: 2 }, dense, apart];
  const events = stretches.flatMap(({ bounds, first, end }) =>
    Array.from({ length: end - first }, (_, i) => {
      const at = 2 * (first + i);
      return { bytes, start: bounds[at] as number, end: bounds[at + 1] as number };
    }),
  );
  const [run] = parse(encodeStretches(HEADER, stretches)) as [EventsFrame];
  const [one] = parse(encodeRun(HEADER, events)) as [EventsFrame];
  const read = (frame: EventsFrame): number[][] =>
    Array.from({ length: frame.count }, (_, i) => [
      ...frame.bytes.subarray(frame.eventStart(i), frame.eventEnd(i)),
    ]);
  expect(run.count).toBe(events.length);
  expect(read(run)).toEqual(events.map(({ start, end }) => [...bytes.subarray(start, end)]));
  expect(read(one)).toEqual(read(run));
  expect(read(sliceRun(run, 2, 7))).toEqual(read(run).slice(2, 7));
});

test.for([0, 4, 2])(
  "WIRE-4: events of any length that lie apart, in memory that begins %i bytes into its block, leave bit by bit, with zeros between them",
  offset => {
    const lengths = Array.from({ length: 160 }, (_, i) => (i * 37) % 161);
    const bytes = new Uint8Array(new ArrayBuffer(offset + 200 * lengths.length), offset).fill(0xff);
    const bounds: number[] = [];
    let at = 0;
    for (const [i, length] of lengths.entries()) {
      at = ((at + 7) & ~7) + 24;
      for (let j = 0; j < length; j++) bytes[at + j] = i + j;
      bounds.push(at, at + length);
      at += length;
    }
    const few = { bytes, bounds: bounds.slice(0, 14), first: 0, end: 7 };
    const many = { bytes, bounds, first: 0, end: lengths.length };
    for (const stretch of [few, many]) {
      const message = encodeStretches(HEADER, [stretch]);
      const [run] = parse(message) as [EventsFrame];
      for (let i = 0; i < stretch.end; i++) {
        const [start, end] = [bounds[2 * i] as number, bounds[2 * i + 1] as number];
        expect(message.slice(run.eventStart(i), run.eventEnd(i))).toEqual(bytes.slice(start, end));
        const next = i + 1 < stretch.end ? run.eventStart(i + 1) : (run.eventEnd(i) + 3) & ~3;
        expect(message.slice(run.eventEnd(i), next).every(byte => byte === 0)).toBe(true);
      }
    }
  },
);

test("OBJ-13: a run says several versions behind its events, wherever it is copied to", () => {
  const events = [bytesOf(1, 2, 3), bytesOf(4, 5)];
  const versions = [3, 0, 2 ** 31 + 1];
  const bytes = joinFrames([
    encodeControl({ kind: "Ping", time: 0 }),
    encodeRun({ ...HEADER, versions }, events),
    encodeRun(HEADER, events),
    encodeRun({ ...HEADER, parameters: 0 }, events),
  ]);
  const [, several, one, none] = parse(bytes) as [Frame, EventsFrame, EventsFrame, EventsFrame];
  expect([several.versions, one.versions, none.versions]).toEqual([versions, [HEADER.parameters], []]);
  const alone = several.raw().slice();
  expect(EventsFrame.at(alone).versions).toEqual(versions);
  for (const run of [several, several.copy(), sliceRun(several, 1), EventsFrame.at(alone)]) {
    expect(run.versions).toEqual(versions);
    const last = run.count - 1;
    expect([...run.bytes.subarray(run.eventStart(last), run.eventEnd(last))]).toEqual([4, 5]);
  }
  const schema = typeFromSchema(Uint8Array.from(atob(FRAME_SCHEMA), char => char.charCodeAt(0)));
  const view = new DataView(alone.buffer);
  schema.verify(view, 4, alone.byteLength);
  const frame = schema.readerOf(schema)(view, alone, 4) as { versions: Uint32Array };
  expect([...frame.versions]).toEqual(versions);
});

test("CHAN-3: a stamp changes the frame where it lies and nothing else", () => {
  const frame = encodeRun(HEADER, [bytesOf(1, 2, 3)]);
  const before = frame.slice();
  (parse(frame)[0] as EventsFrame).stamp(5, 2 ** 50 + 3);
  expect(parse(frame)[0]).toMatchObject({ epoch: 5, seq: 2 ** 50 + 3, channel: 7, raised: HEADER.raised });
  const changed = [...frame.keys()].filter(i => frame[i] !== before[i]);
  expect(Math.max(...changed) - Math.min(...changed)).toBeLessThan(12);
});

test.each([
  ["nothing but zeros", new Uint8Array(64)],
  ["a cut frame", encodeControl(INSTALL).slice(0, 40)],
  ["a length of 2^31", withWord(encodeRun(HEADER, [bytesOf(1)]), 0, 0x8000_0000)],
  ["a payload of 2^31", withWord(encodeRun(HEADER, [bytesOf(1)]), 92, 0x8000_0000)],
  ["a count that is not the number of ends", withWord(encodeRun(HEADER, [bytesOf(1)]), 40 + 48 - 8, 2)],
  ["a root that points outside", withWord(encodeRun(HEADER, [bytesOf(1)]), 4, 0x7fff_fff0)],
  ["an unaligned length", encodeRun(HEADER, [bytesOf(1)]).subarray(0, -1)],
])("WIRE-5: %s is refused as FRAME_MALFORMED", (_, bytes) => {
  expect(() => parse(bytes)).toThrowError(expect.objectContaining({ code: "FRAME_MALFORMED" }));
});

test("WIRE-5: damaged frames are refused or read within their bounds, fast (seeded)", () => {
  const good = [
    encodeControl(INSTALL),
    encodeRun(HEADER, [bytesOf(1, 2, 3), bytesOf(4)]),
    encodeRun({ ...HEADER, versions: [1, 2] }, [bytesOf(1, 2, 3), bytesOf(4)]),
  ];
  const dice = new Dice(7);
  let refused = 0;
  const begin = process.cpuUsage();
  for (let round = 0; round < 20_000; round++) {
    const bytes = (good[round % 3] as Uint8Array).slice();
    for (let n = dice.below(4); n >= 0; n--) bytes[dice.below(bytes.length)] = dice.below(256);
    try {
      for (const frame of parse(bytes)) {
        if (frame.kind !== "Events") continue;
        expect(4 * frame.versions.length, `round ${round}`).toBeLessThanOrEqual(frame.end);
        for (let i = 0; i < frame.count; i++) {
          expect(frame.eventEnd(i), `round ${round}`).toBeLessThanOrEqual(frame.end);
          expect(frame.eventStart(i), `round ${round}`).toBeLessThanOrEqual(frame.eventEnd(i));
        }
      }
    } catch (error) {
      expect(error, `round ${round}`).toBeInstanceOf(JechoError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(1000);
  expect(process.cpuUsage(begin).user / 20_000, "microseconds per frame").toBeLessThan(1000);
});

function withWord(bytes: Uint8Array, at: number, value: number): Uint8Array {
  new DataView(bytes.buffer).setUint32(at, value, true);
  return bytes;
}
