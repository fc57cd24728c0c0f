import type { Socket } from "node:net";
import { createGateway } from "@jecho/server";
import { describe, expect, test } from "vitest";
import { FIN, head, OPCODE, openBare } from "./bare-socket.ts";
import { RawClient } from "./raw-client.ts";

/** Resolves when it is closed, be it by a reset. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise(resolve => socket.once("close", () => resolve()));
}

/** Sends a message's beginning, and more of it a byte at a time, until the other side has had enough. */
async function dribble(socket: Socket): Promise<void> {
  const closed = closeOf(socket);
  socket.write(head(OPCODE.binary, 1 << 20));
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
    const { socket, heard } = await openBare(gateway);
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
    const { socket, heard } = await openBare(gateway, false);
    await dribble(socket);
    expect(saysCode(heard(), 4004)).toBe(true);
  });

  test.for<[what: string, bytes: Buffer]>([
    ["a reserved bit", head(FIN | 0x40 | OPCODE.binary, 0)],
    ["an unknown opcode", head(FIN | 3, 0)],
    ["an unknown control opcode", head(FIN | 11, 0)],
    ["a ping in fragments", head(9, 0)],
    ["a long ping", head(FIN | 9, 126)],
    ["a length of 2^62", head(FIN | OPCODE.binary, 2 ** 62)],
    ["more than a message may have", head(FIN | OPCODE.binary, 1 << 21)],
    ["a continuation of nothing", Buffer.concat([head(FIN, 8), Buffer.alloc(8)])],
    [
      "more fragments than a message may have",
      Buffer.concat([head(OPCODE.binary, 1 << 20), Buffer.alloc(1 << 20), head(FIN, 8), Buffer.alloc(8)]),
    ],
    ["a frame without a mask", Buffer.concat([head(FIN | OPCODE.binary, 64, 0), Buffer.alloc(68)])],
  ])("WIRE-5: %s ends the connection, and nobody else notices", async ([, bytes]) => {
    await using gateway = await createGateway({ server, limitBytes: 1 << 20 });
    using other = await RawClient.connect(gateway);
    const { socket } = await openBare(gateway);
    const closed = closeOf(socket);
    socket.write(bytes);
    await closed;
    await other.isAlive();
  });
});
