import { createGateway, type Gateway } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { encodeControl, joinFrames, parseMessage } from "@jecho/shared/internal";
import { afterAll, expect, test } from "vitest";
import {
  type BareSocket,
  FIN,
  frameOf,
  framesIn,
  head,
  OPCODE,
  openBare,
  type ServerFrame,
} from "./bare-socket.ts";
import { RawClient } from "./raw-client.ts";

/** Cases are numbered as those of the Autobahn test suite. Its echo is here a message of ours, which is answered. */
const PING = encodeControl({ kind: "Ping", time: 1 });
const LIMIT_BYTES = 1 << 20;
const NO_CODE = 1005;
const { text, binary, continuation, close, ping, pong } = OPCODE;

// One for all cases, each of which has to leave it as it was.
const gateway = await createGateway({ server: "uWebSockets.js", limitBytes: LIMIT_BYTES });
afterAll(() => gateway.close());

/** A message that is answered with so many `Pong`s. */
const message = (pings = 1): Uint8Array => joinFrames(Array(pings).fill(PING));

function pongsIn(frames: readonly ServerFrame[]): number {
  let pongs = 0;
  for (const { opcode, payload } of frames)
    if (opcode === binary)
      parseMessage(new Uint8Array(payload), frame => {
        if (frame.kind === "Pong") pongs++;
      });
  return pongs;
}

/** What came behind `Welcome`. */
const answers = ({ heard }: BareSocket): ServerFrame[] => framesIn(heard()).slice(1);

/** The code of the gateway's close frame; `NO_CODE` where it has none, undefined where there is no such frame. */
function codeOf(bare: BareSocket): number | undefined {
  const frame = answers(bare).find(({ opcode }) => opcode === close);
  if (frame === undefined) return undefined;
  return frame.payload.byteLength < 2 ? NO_CODE : frame.payload.readUInt16BE(0);
}

async function send(bare: BareSocket, bytes: Uint8Array, step: number): Promise<void> {
  for (let at = 0; at < bytes.byteLength; at += step) {
    bare.socket.write(bytes.subarray(at, at + step));
    // Each goes out by itself.
    if (step < bytes.byteLength) await new Promise(resolve => setImmediate(resolve));
  }
}

const payload = (length: number): Buffer => Buffer.alloc(length, 0xfe);
const fragments = (...parts: readonly [opcode: number, payload: Uint8Array, isLast: boolean][]): Buffer =>
  Buffer.concat(parts.map(part => frameOf(...part)));
const halves = (bytes: Uint8Array): [Uint8Array, Uint8Array] => {
  const middle = bytes.byteLength >> 1;
  return [bytes.subarray(0, middle), bytes.subarray(middle)];
};
const [first, second] = halves(message(3));

test.for<[name: string, bytes: Uint8Array, expected: { pongs?: number; controls?: Buffer[] }, step?: number]>(
  [
    ["1.2.2 a message with a length of 7 bits", frameOf(binary, message(1)), { pongs: 1 }],
    ["1.2.5 one with a length of 16 bits", frameOf(binary, message(100)), { pongs: 100 }],
    ["1.2.7 one with a length of 64 bits", frameOf(binary, message(3000)), { pongs: 3000 }],
    ["1.2.8 one that comes in pieces", frameOf(binary, message(100)), { pongs: 100 }, 97],
    ["2.1 a ping without a payload", frameOf(ping), { controls: [payload(0)] }],
    ["2.3 a ping with a payload that is no text", frameOf(ping, payload(8)), { controls: [payload(8)] }],
    ["2.4 a ping with 125 bytes", frameOf(ping, payload(125)), { controls: [payload(125)] }],
    ["2.6 the same, an octet at a time", frameOf(ping, payload(125)), { controls: [payload(125)] }, 1],
    ["2.7 a pong that nobody asked for", frameOf(pong), {}],
    ["2.8 the same with a payload", frameOf(pong, payload(8)), {}],
    [
      "2.9 the same, and then a ping",
      Buffer.concat([frameOf(pong), frameOf(ping, payload(3))]),
      { controls: [payload(3)] },
    ],
    [
      "2.10 ten pings",
      Buffer.concat(Array.from({ length: 10 }, (_, i) => frameOf(ping, payload(i)))),
      { controls: Array.from({ length: 10 }, (_, i) => payload(i)) },
    ],
    [
      "5.3 a message in two fragments",
      fragments([binary, first, false], [continuation, second, true]),
      { pongs: 3 },
    ],
    [
      "5.5 the same, an octet at a time",
      fragments([binary, first, false], [continuation, second, true]),
      { pongs: 3 },
      1,
    ],
    [
      "5.6 a ping between two fragments",
      fragments([binary, first, false], [ping, payload(5), true], [continuation, second, true]),
      { pongs: 3, controls: [payload(5)] },
    ],
    [
      "5.19 fragments and pings in turn",
      fragments(
        [binary, first, false],
        [ping, payload(1), true],
        [continuation, second, false],
        [ping, payload(2), true],
        [continuation, payload(0), true],
      ),
      { pongs: 3, controls: [payload(1), payload(2)] },
    ],
    [
      "6.1.2 empty fragments",
      fragments(
        [binary, payload(0), false],
        [continuation, message(2), false],
        [continuation, payload(0), true],
      ),
      { pongs: 2 },
    ],
    [
      "9.2.5 a message of a megabyte",
      frameOf(binary, message(Math.floor(LIMIT_BYTES / PING.byteLength))),
      { pongs: Math.floor(LIMIT_BYTES / PING.byteLength) },
    ],
    ["9.4.3 the same in many fragments", manyFragments(message(10_000), 1000), { pongs: 10_000 }],
  ],
)("WebSocket %s is taken", async ([, bytes, { pongs = 0, controls = [] }, step = bytes.byteLength]) => {
  const bare = await openBare(gateway);
  await send(bare, bytes, step);
  const end = frameOf(binary, PING);
  bare.socket.write(end);
  let [read, heard] = [0, 0];
  // Frames are read once: there may be very many answers.
  await expect
    .poll(() => {
      const frames = answers(bare);
      heard += pongsIn(frames.slice(read));
      read = frames.length;
      return heard;
    })
    .toBe(pongs + 1);
  expect(
    answers(bare)
      .filter(({ opcode }) => opcode === pong)
      .map(one => one.payload),
  ).toEqual(controls);
  bare.socket.destroy();
});

function manyFragments(bytes: Uint8Array, size: number): Buffer {
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.byteLength; at += size)
    frames.push(
      frameOf(at === 0 ? binary : continuation, bytes.subarray(at, at + size), at + size >= bytes.byteLength),
    );
  return Buffer.concat(frames);
}

test.for<[name: string, bytes: Uint8Array, code?: number]>([
  ["1.1.1 a text", frameOf(text, Buffer.from("hello")), ERRORS.FRAME_MALFORMED[0]],
  ["2.5 a ping with 126 bytes", frameOf(ping, payload(126))],
  ["3.1 a reserved bit", frameOf(0x40 | binary, message())],
  ["3.2 another reserved bit", frameOf(0x20 | binary, message())],
  ["3.3 a third reserved bit", frameOf(0x10 | binary, message())],
  ["3.5 a reserved bit of a ping", frameOf(0x40 | ping)],
  ["3.7 reserved bits of a close", frameOf(0x70 | close)],
  ...[3, 4, 5, 6, 7].map(
    (opcode, i) =>
      [`4.1.${i + 1} the reserved opcode ${opcode}`, frameOf(opcode, payload(i))] as [string, Buffer],
  ),
  ...[11, 12, 13, 14, 15].map(
    (opcode, i) =>
      [`4.2.${i + 1} the reserved opcode ${opcode}`, frameOf(opcode, payload(i))] as [string, Buffer],
  ),
  ["5.1 a ping in two fragments", fragments([ping, payload(1), false], [continuation, payload(1), true])],
  ["5.2 a pong in two fragments", fragments([pong, payload(1), false], [continuation, payload(1), true])],
  ["5.9 a continuation of nothing", frameOf(continuation, message(), true)],
  ["5.12 a continuation of nothing, with more to come", frameOf(continuation, message(), false)],
  ["6.3.1 a text that is no UTF-8", frameOf(text, Buffer.from([0xce, 0xba, 0xed, 0xa0, 0x80]))],
  ["7.3.2 a close with one byte", frameOf(close, payload(1)), NO_CODE],
  [
    "7.3.6 a close with a reason of 124 bytes",
    frameOf(close, Buffer.concat([Buffer.from([3, 232]), Buffer.alloc(124, 65)])),
  ],
  ["9.1.7 more than a message may have", head(FIN | binary, LIMIT_BYTES + 1)],
  [
    "9.3.9 fragments of more than a message may have",
    Buffer.concat([head(binary, LIMIT_BYTES), Buffer.alloc(LIMIT_BYTES), head(FIN, 8), Buffer.alloc(8)]),
  ],
  [
    "a length of 2^63",
    Buffer.concat([Buffer.from([FIN | binary, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0]), Buffer.alloc(4)]),
  ],
  [
    "a frame without a mask",
    Buffer.concat([head(FIN | binary, 64, 0), Buffer.alloc(68)]),
    ERRORS.FRAME_MALFORMED[0],
  ],
])("F13, WebSocket %s ends the connection, and nobody else notices", ([, bytes, code]) =>
  endsConnection(gateway, bytes, code),
);

// uWebSockets.js takes both for one message that is not at its end, so silence alone ends the connection.
test("F13, WebSocket 5.18 a message within a fragmented one ends the connection, and nobody else notices", async () => {
  await using impatient = await createGateway({ server: "uWebSockets.js", heartbeatMs: 1 });
  await endsConnection(impatient, fragments([binary, first, false], [binary, second, true]));
});

async function endsConnection(gateway: Gateway, bytes: Uint8Array, code?: number): Promise<void> {
  using other = await RawClient.connect(gateway);
  const bare = await openBare(gateway);
  const closed = new Promise(resolve => bare.socket.once("close", resolve));
  bare.socket.write(bytes);
  await closed;
  expect(codeOf(bare)).toBe(code);
  await other.isAlive();
}

const closing = (code: number, reason: Uint8Array = Buffer.alloc(0)): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(code);
  return frameOf(close, Buffer.concat([bytes, reason]));
};

test.for<[name: string, bytes: Uint8Array, code?: number]>([
  ["7.1.1 a close behind a message", Buffer.concat([frameOf(binary, message()), closing(1000)]), 1000],
  ["7.1.2 two closes", Buffer.concat([closing(1000), closing(1000)]), 1000],
  ["7.1.3 a ping behind a close", Buffer.concat([closing(1000), frameOf(ping)]), 1000],
  ["7.1.4 a message behind a close", Buffer.concat([closing(1000), frameOf(binary, message())]), 1000],
  ["7.1.5 a close between fragments", Buffer.concat([frameOf(binary, first, false), closing(1000)]), 1000],
  ["7.3.1 a close without a code", frameOf(close), NO_CODE],
  ["7.3.5 a close with a reason of 123 bytes", closing(1000, Buffer.alloc(123, 65)), 1000],
  ["7.5.1 a close with a reason that is no UTF-8", closing(1000, Buffer.from([0xed, 0xa0, 0x80])), NO_CODE],
  // uWebSockets.js leaves out codes from 3000 to 3999.
  ...[1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999].map(
    (code, i) =>
      [
        `7.7.${i + 1} a close with the code ${code}`,
        closing(code),
        code >= 3000 && code < 4000 ? NO_CODE : code,
      ] as [string, Buffer, number],
  ),
  ...[0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999].map(
    (code, i) =>
      [`7.9.${i + 1} a close with the code ${code}, which is none`, closing(code), NO_CODE] as [
        string,
        Buffer,
        number,
      ],
  ),
])("WebSocket %s ends the connection", ([, bytes, code]) => endsConnection(gateway, bytes, code));
