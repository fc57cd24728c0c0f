import type { Socket as TcpSocket } from "node:net";
import { fuzz, mutated } from "@jecho/e2e/fuzz";
import { expect, test } from "vitest";
import { MessageReader, OPCODE, ProtocolError } from "../../src/platform/message-reader.ts";
import { Inbox } from "../rig.ts";
import { frameOf, greeting, listen, watch } from "./bare-server.ts";

/** Cases are numbered as those of the Autobahn test suite, with a server that sends what they say. */
const { text, binary, continuation, close, ping, pong } = OPCODE;
const payload = (length: number): Buffer => Buffer.alloc(length, 0xfe);
const fragments = (...parts: readonly [opcode: number, payload: Uint8Array, isLast: boolean][]): Buffer =>
  Buffer.concat(parts.map(part => frameOf(...part)));
const closing = (code: number, reason: Uint8Array = Buffer.alloc(0)): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(code);
  return frameOf(close, Buffer.concat([bytes, reason]));
};

async function serve(bytes: Uint8Array, step: number, heard: (chunk: Buffer) => void): Promise<number> {
  return await listen(async (socket: TcpSocket, key) => {
    socket.on("data", heard);
    socket.write(greeting(key));
    for (let at = 0; at < bytes.byteLength; at += step) {
      socket.write(bytes.subarray(at, at + step));
      // Each goes out by itself.
      if (step < bytes.byteLength) await new Promise(resolve => setImmediate(resolve));
    }
  });
}

const greek = Buffer.from("\u03ba\u1f79\u03c3\u03bc\u03b5 \u{1f30d}\u{10ffff}");

test.for<[name: string, bytes: Uint8Array, told: unknown[], step?: number]>([
  ["1.1.1 an empty text", frameOf(text, payload(0)), [""]],
  ["1.1.6 a text of 65,535 bytes", frameOf(text, Buffer.alloc(65_535, 42)), ["*".repeat(65_535)]],
  ["1.2.1 an empty message", frameOf(binary, payload(0)), [[]]],
  ["1.2.4 a message of 127 bytes", frameOf(binary, payload(127)), [[...payload(127)]]],
  ["1.2.7 a message of 65,536 bytes", frameOf(binary, payload(65_536)), [[...payload(65_536)]]],
  ["1.2.8 the same in pieces", frameOf(binary, payload(65_536)), [[...payload(65_536)]], 997],
  ["2.7 a pong that nobody asked for", frameOf(pong, payload(0)), []],
  [
    "5.3 a text in two fragments",
    fragments([text, Buffer.from("a"), false], [continuation, Buffer.from("b"), true]),
    ["ab"],
  ],
  [
    "5.6 a ping between two fragments",
    fragments(
      [text, Buffer.from("a"), false],
      [ping, payload(3), true],
      [continuation, Buffer.from("b"), true],
    ),
    ["ab"],
  ],
  [
    "5.8 the same, an octet at a time",
    fragments(
      [text, Buffer.from("a"), false],
      [ping, payload(3), true],
      [continuation, Buffer.from("b"), true],
    ),
    ["ab"],
    1,
  ],
  [
    "6.1.2 empty fragments",
    fragments([text, payload(0), false], [continuation, payload(0), false], [continuation, payload(0), true]),
    [""],
  ],
  ["6.2.1 a text of letters of several bytes", frameOf(text, greek), [greek.toString()]],
  [
    "6.2.3 the same, each octet a fragment",
    fragments(
      ...[...greek].map(
        (byte, i) =>
          [i === 0 ? text : continuation, Uint8Array.of(byte), i === greek.byteLength - 1] as [
            number,
            Uint8Array,
            boolean,
          ],
      ),
    ),
    [greek.toString()],
  ],
  ["6.7.3 a text of U+FFFE and U+FEFF", frameOf(text, Buffer.from("\ufeff\ufffe")), ["\ufeff\ufffe"]],
  ["9.2.6 a message of 16 MiB", frameOf(text, Buffer.alloc(16 << 20, 42)), ["*".repeat(16 << 20)]],
  [
    "9.5 the same in many fragments",
    fragments(
      ...Array.from(
        { length: 1024 },
        (_, i) =>
          [i === 0 ? text : continuation, Buffer.alloc(16 << 10, 42), i === 1023] as [
            number,
            Uint8Array,
            boolean,
          ],
      ),
    ),
    ["*".repeat(16 << 20)],
  ],
])("WebSocket %s is taken", async ([, bytes, expected, step = bytes.byteLength]) => {
  const port = await serve(Buffer.concat([bytes, closing(4003)]), step, () => {});
  const { told } = watch(port);
  expect(await told.take(expected.length + 2)).toEqual(["open", ...expected, { code: 4003, reason: "" }]);
});

test.for<[name: string, pings: number[], step?: number]>([
  ["2.1 a ping without a payload", [0]],
  ["2.4 a ping with 125 bytes", [125]],
  ["2.6 the same, an octet at a time", [125], 1],
  ["2.10 ten pings", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
])("WebSocket %s is answered with the same", async ([, pings, step]) => {
  const heard: Buffer[] = [];
  const bytes = Buffer.concat(pings.map(length => frameOf(ping, payload(length))));
  const port = await serve(bytes, step ?? bytes.byteLength, chunk => heard.push(chunk));
  const { socket, told } = watch(port);
  await told.take(1);
  const expected = Buffer.concat(
    pings.map(length =>
      Buffer.concat([Uint8Array.of(0x80 | pong, 0x80 | length, 0, 0, 0, 0), payload(length)]),
    ),
  );
  await expect.poll(() => Buffer.concat(heard)).toEqual(expected);
  socket.close();
});

test.for<[name: string, bytes: Uint8Array, code: number]>([
  ["2.5 a ping with 126 bytes", frameOf(ping, payload(126)), 1002],
  ["3.1 a reserved bit", Uint8Array.of(0xc0 | binary, 0), 1002],
  ["3.2 another reserved bit", Uint8Array.of(0xa0 | binary, 0), 1002],
  ["3.3 a third reserved bit", Uint8Array.of(0x90 | binary, 0), 1002],
  ["3.7 reserved bits of a close", Uint8Array.of(0xf0 | close, 0), 1002],
  ...[3, 4, 5, 6, 7].map(
    (opcode, i) =>
      [`4.1.${i + 1} the reserved opcode ${opcode}`, frameOf(opcode, payload(i)), 1002] as [
        string,
        Buffer,
        number,
      ],
  ),
  ...[11, 12, 13, 14, 15].map(
    (opcode, i) =>
      [`4.2.${i + 1} the reserved opcode ${opcode}`, frameOf(opcode, payload(i)), 1002] as [
        string,
        Buffer,
        number,
      ],
  ),
  [
    "5.1 a ping in two fragments",
    fragments([ping, payload(1), false], [continuation, payload(1), true]),
    1002,
  ],
  [
    "5.2 a pong in two fragments",
    fragments([pong, payload(1), false], [continuation, payload(1), true]),
    1002,
  ],
  ["5.9 a continuation of nothing", frameOf(continuation, payload(1)), 1002],
  ["5.12 a continuation of nothing, with more to come", frameOf(continuation, payload(1), false), 1002],
  [
    "5.18 a message within a fragmented one",
    fragments([text, payload(1), false], [text, payload(1), true]),
    1002,
  ],
  ["6.3.1 a text that is no UTF-8", frameOf(text, Buffer.from([0xce, 0xba, 0xed, 0xa0, 0x80])), 1007],
  [
    "6.3.2 the same in fragments",
    fragments(
      [text, Buffer.from([0xce, 0xba]), false],
      [continuation, Buffer.from([0xed, 0xa0, 0x80]), true],
    ),
    1007,
  ],
  ["6.6.1 a text that ends within a letter", frameOf(text, Buffer.from([0xce])), 1007],
  ["6.12.1 a text with an overlong letter", frameOf(text, Buffer.from([0xc0, 0x80])), 1007],
  ["7.3.2 a close with one byte", frameOf(close, payload(1)), 1002],
  ["7.3.6 a close with a reason of 124 bytes", closing(1000, Buffer.alloc(124, 65)), 1002],
  ["7.5.1 a close with a reason that is no UTF-8", closing(1000, Buffer.from([0xed, 0xa0, 0x80])), 1007],
  ...[0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65_535].map(
    (code, i) =>
      [`7.9.${i + 1} a close with the code ${code}, which is none`, closing(code), 1002] as [
        string,
        Buffer,
        number,
      ],
  ),
  ["a length of 2^63", Uint8Array.of(0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0), 1009],
  ["a frame with a mask", Uint8Array.of(0x82, 0x80, 0, 0, 0, 0), 1002],
])("F13, WebSocket %s is refused with a code", async ([, bytes, code]) => {
  const heard = new Inbox<Buffer>();
  const port = await serve(bytes, bytes.byteLength, chunk => heard.put(chunk));
  const { told } = watch(port);
  expect(await told.take(3)).toEqual(["open", "error", { code: 1006, reason: "" }]);
  const [frame] = await heard.take(1);
  expect((frame?.[0] as number) & 15).toBe(close);
  expect(frame?.readUInt16BE(6)).toBe(code);
});

test.for<[name: string, bytes: Uint8Array, code: number]>([
  ["7.1.2 two closes", Buffer.concat([closing(1000), closing(1001)]), 1000],
  ["7.1.3 a ping behind a close", Buffer.concat([closing(1000), frameOf(ping, payload(1))]), 1000],
  [
    "7.1.5 a close between fragments",
    Buffer.concat([frameOf(binary, payload(1), false), closing(1000)]),
    1000,
  ],
  ["7.3.1 a close without a code", frameOf(close, payload(0)), 1005],
  ...[1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999].map(
    (code, i) =>
      [`7.7.${i + 1} a close with the code ${code}`, closing(code), code] as [string, Buffer, number],
  ),
])("WebSocket %s is told, and answered", async ([, bytes, code]) => {
  const heard = new Inbox<Buffer>();
  const port = await serve(bytes, bytes.byteLength, chunk => heard.put(chunk));
  const { told } = watch(port);
  expect(await told.take(2)).toEqual(["open", { code, reason: "" }]);
  const [frame] = await heard.take(1);
  expect(frame?.readUInt16BE(6)).toBe(code === 1005 ? 1000 : code);
});

test("F13: fragments that are many and small are counted with what they take", async () => {
  const port = await listen((socket, key) => {
    socket.on("data", () => {});
    socket.write(greeting(key));
    const many = Buffer.concat(
      Array.from({ length: 100_000 }, () => frameOf(continuation, payload(1), false)),
    );
    socket.write(frameOf(binary, payload(1), false));
    for (let times = 0; times < 9; times++) socket.write(many);
  });
  const { told } = watch(port);
  expect(await told.take(3)).toEqual(["open", "error", { code: 1006, reason: "" }]);
});

test("F13: whatever comes from a server is read or refused, however it is cut, and never more than may come is kept", async () => {
  await fuzz("client's reader", 3, dice => {
    const frames = Array.from({ length: 50 }, () => {
      const opcode = dice.of([text, binary, continuation, continuation, close, ping, pong]) as number;
      return frameOf(opcode, payload(dice.below(300)), dice.coin);
    });
    const bytes = mutated(dice, Buffer.concat(frames));
    let read = 0;
    const reader = new MessageReader(1000, (_, message) => {
      expect(message.byteLength).toBeLessThanOrEqual(1000);
      read++;
    });
    try {
      for (let at = 0; at < bytes.byteLength; ) {
        const end = Math.min(bytes.byteLength, at + 1 + dice.below(200));
        reader.take(bytes, at, end);
        at = end;
      }
    } catch (error) {
      expect(error).toBeInstanceOf(ProtocolError);
    }
    return read + 1;
  });
});
