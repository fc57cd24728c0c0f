import { connect, type Socket } from "node:net";
import type { Gateway } from "@jecho/server";
import { encodeControl, PROTOCOL, SUBPROTOCOL } from "@jecho/shared/internal";
import { expect } from "vitest";

export const FIN = 0x80;
export const MASKED = 0x80;
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A frame's first bytes, as whoever breaks the rules may write them; the mask is 0. */
export function head(first: number, length: number, masked = MASKED): Buffer {
  const key = masked === 0 ? 0 : 4;
  if (length < 126) return Buffer.from([first, masked | length, ...Array(key).fill(0)]);
  const isShort = length < 65_536;
  const header = Buffer.alloc((isShort ? 4 : 10) + key);
  header[0] = first;
  header[1] = masked | (isShort ? 126 : 127);
  if (isShort) header.writeUInt16BE(length, 2);
  else header.writeBigUInt64BE(BigInt(length), 2);
  return header;
}

/** A client's frame. */
export function frameOf(opcode: number, payload: Uint8Array = Buffer.alloc(0), isLast = true): Buffer {
  return Buffer.concat([head((isLast ? FIN : 0) | opcode, payload.byteLength), payload]);
}

export interface ServerFrame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** The frames that a server has sent, behind the answer to the handshake; what is incomplete is left out. */
export function framesIn(heard: Buffer): ServerFrame[] {
  const frames: ServerFrame[] = [];
  for (let at = heard.indexOf("\r\n\r\n") + 4; at + 2 <= heard.byteLength; ) {
    const short = (heard[at + 1] as number) & 127;
    const extra = short < 126 ? 0 : short === 126 ? 2 : 8;
    if (at + 2 + extra > heard.byteLength) break;
    const length = extra === 0 ? short : heard.readUIntBE(extra === 2 ? at + 2 : at + 4, extra === 2 ? 2 : 6);
    const start = at + 2 + extra;
    if (start + length > heard.byteLength) break;
    frames.push({ opcode: (heard[at] as number) & 15, payload: heard.subarray(start, start + length) });
    at = start + length;
  }
  return frames;
}

/** A connection to a gateway of bare bytes. */
export interface BareSocket {
  readonly socket: Socket;
  /** All that has come, from the answer to the handshake on. */
  heard(): Buffer;
}

/** Opens a connection, behind the handshake. @param greets whether it has said `Hello`, and been answered */
export async function openBare(gateway: Gateway, greets = true): Promise<BareSocket> {
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
    socket.write(frameOf(OPCODE.binary, encodeControl({ kind: "Hello", protocol: PROTOCOL, name: "" })));
    await expect.poll(() => framesIn(heard()).length).toBeGreaterThan(0);
  }
  return { socket, heard };
}
