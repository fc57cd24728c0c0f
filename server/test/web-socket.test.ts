import { connect, type Socket } from "node:net";
import { createGateway, type Gateway } from "@jecho/server";
import { encodeControl, PROTOCOL, SUBPROTOCOL } from "@jecho/shared/internal";
import { describe, expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

const BINARY = 2;
const FIN = 0x80;
const MASKED = 0x80;

/** A frame's first bytes, as who breaks the rules may write them. */
function head(first: number, length: number, masked = MASKED): Buffer {
  const key = masked === 0 ? 0 : 4;
  if (length < 126) return Buffer.from([first, masked | length, ...Array(key).fill(0)]);
  const header = Buffer.alloc(10 + key);
  header[0] = first;
  header[1] = masked | 127;
  header.writeBigUInt64BE(BigInt(length), 2);
  return header;
}

/** A connection of bare bytes, behind the handshake. */
async function open(gateway: Gateway, greets = true): Promise<{ socket: Socket; heard: () => Buffer }> {
  const socket = connect(gateway.port, gateway.host);
  const chunks: Buffer[] = [];
  socket.on("data", chunk => chunks.push(chunk));
  socket.on("error", () => {});
  const heard = (): Buffer => Buffer.concat(chunks);
  socket.write(
    `GET / HTTP/1.1\r\nHost: ${gateway.address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ${SUBPROTOCOL}\r\n\r\n`,
  );
  await expect.poll(() => heard().includes("\r\n\r\n")).toBe(true);
  if (greets) {
    const hello = encodeControl({ kind: "Hello", protocol: PROTOCOL, name: "" });
    const before = heard().length;
    socket.write(Buffer.concat([head(FIN | BINARY, hello.length), hello]));
    await expect.poll(() => heard().length).toBeGreaterThan(before);
  }
  return { socket, heard };
}

/** Resolves when it is closed, be it by a reset. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise(resolve => socket.once("close", () => resolve()));
}

/** Sends a message's beginning, and more of it a byte at a time, until the other side has had enough. */
async function dribble(socket: Socket): Promise<void> {
  const closed = closeOf(socket);
  socket.write(head(BINARY, 1 << 20));
  const dribbling = setInterval(() => socket.writable && socket.write(Buffer.alloc(1)), 10);
  await closed;
  clearInterval(dribbling);
}

/** Does the last that was heard say a close code? */
function saysCode(heard: Buffer, code: number): boolean {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(code);
  return heard.includes(bytes);
}

describe.for(["uWebSockets.js", "ws"] as const)("served by %s", server => {
  test("CON-3: a message without end is bounded in time, for it alone", async () => {
    await using gateway = await createGateway({ server, messageTimeoutMs: 400 });
    using other = await RawClient.connect(gateway);
    const { socket, heard } = await open(gateway);
    const done = dribble(socket);
    let isDone = false;
    void done.then(() => {
      isDone = true;
    });
    // Who pings is heard.
    while (!isDone) await other.isAlive();
    expect(saysCode(heard(), 4001)).toBe(true);
    await other.isAlive();
  });

  test("CON-1: before Hello it is bounded by the time for that", async () => {
    await using gateway = await createGateway({ server, requestTimeoutMs: 200 });
    const { socket, heard } = await open(gateway, false);
    await dribble(socket);
    expect(saysCode(heard(), 4004)).toBe(true);
  });

  test.for<[what: string, bytes: Buffer]>([
    ["a reserved bit", head(FIN | 0x40 | BINARY, 0)],
    ["an unknown opcode", head(FIN | 3, 0)],
    ["an unknown control opcode", head(FIN | 11, 0)],
    ["a ping in fragments", head(9, 0)],
    ["a long ping", head(FIN | 9, 126)],
    ["a length of 2^62", head(FIN | BINARY, 2 ** 62)],
    ["more than a message may have", head(FIN | BINARY, 1 << 21)],
    ["a continuation of nothing", Buffer.concat([head(FIN, 8), Buffer.alloc(8)])],
    [
      "more fragments than a message may have",
      Buffer.concat([head(BINARY, 1 << 20), Buffer.alloc(1 << 20), head(FIN, 8), Buffer.alloc(8)]),
    ],
    ["a frame without a mask", Buffer.concat([head(FIN | BINARY, 64, 0), Buffer.alloc(68)])],
  ])("WIRE-5: %s ends the connection, and nobody else notices", async ([, bytes]) => {
    await using gateway = await createGateway({ server, limitBytes: 1 << 20 });
    using other = await RawClient.connect(gateway);
    const { socket } = await open(gateway);
    const closed = closeOf(socket);
    socket.write(bytes);
    await closed;
    await other.isAlive();
  });
});
