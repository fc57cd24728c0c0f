import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

/*
 * As little of a WebSocket client as a load generator needs: a thousand of them must cost less than what they measure.
 * All sockets read into one buffer, only the headers of frames are looked at, and messages of our own are "masked" with 0.
 */

const READ_BYTES = 256 * 1024;
const CONNECT_TIMEOUT_MS = 20_000;
const shared = new Uint8Array(READ_BYTES);

export const OPCODE = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Gets bytes as they come, valid until it returns. */
type Take = (bytes: Uint8Array, from: number, to: number) => void;

export interface RawWebSocket {
  readonly socket: Socket;
  /** Function that gets the bytes behind the handshake; may be changed at any time. */
  take: Take;
}

/** Connects and does the handshake of HTTP. */
export function openRaw(
  port: number,
  path: string,
  {
    protocol,
    take,
    localAddress,
  }: { protocol?: string | undefined; take: Take; localAddress?: string | undefined },
): Promise<RawWebSocket> {
  return new Promise((resolve, reject) => {
    let head = "";
    let isOpen = false;
    const socket = connect({
      port,
      host: "127.0.0.1",
      ...(localAddress === undefined ? {} : { localAddress }),
      noDelay: true,
      onread: {
        buffer: shared,
        callback: (length, bytes) => {
          if (isOpen) raw.take(bytes, 0, length);
          else greeted(bytes, length);
          return true;
        },
      },
    });
    const raw: RawWebSocket = { socket, take };
    const timer = setTimeout(() => fail(new Error("no handshake")), CONNECT_TIMEOUT_MS);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const greeted = (bytes: Uint8Array, length: number): void => {
      const before = head.length;
      head += Buffer.from(bytes.buffer, bytes.byteOffset, length).toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      if (!head.startsWith("HTTP/1.1 101")) return fail(new Error(`refused: ${head.slice(0, 120)}`));
      clearTimeout(timer);
      isOpen = true;
      const from = end + 4 - before;
      if (from < length) raw.take(bytes, from, length);
      resolve(raw);
    };
    socket.on("error", fail);
    socket.on("close", () => fail(new Error("closed")));
    socket.write(
      [
        `GET ${path} HTTP/1.1`,
        `Host: 127.0.0.1:${port}`,
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
        ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
        "\r\n",
      ].join("\r\n"),
    );
  });
}

/** One message of a client. */
export function clientFrame(opcode: number, payload: Uint8Array): Buffer {
  const { byteLength } = payload;
  const extended = byteLength < 126 ? 0 : byteLength < 65536 ? 2 : 8;
  const frame = Buffer.alloc(2 + extended + 4 + byteLength);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (extended === 0 ? byteLength : extended === 2 ? 126 : 127);
  if (extended === 2) frame.writeUInt16BE(byteLength, 2);
  if (extended === 8) frame.writeUIntBE(byteLength, 4, 6);
  frame.set(payload, 2 + extended + 4);
  return frame;
}

/** Messages in full, for the few that come before counting begins. */
export class MessageReader {
  #bytes = Buffer.alloc(0);

  take(bytes: Uint8Array, from: number, to: number): Buffer[] {
    this.#bytes = Buffer.concat([this.#bytes, bytes.subarray(from, to)]);
    const messages: Buffer[] = [];
    for (;;) {
      const header = headerOf(this.#bytes, 0, this.#bytes.length);
      if (header === undefined || this.#bytes.length < header.bytes + header.length) return messages;
      messages.push(this.#bytes.subarray(header.bytes, header.bytes + header.length));
      this.#bytes = this.#bytes.subarray(header.bytes + header.length);
    }
  }
}

export interface MessageHeader {
  readonly opcode: number;
  readonly bytes: number;
  readonly length: number;
}

/** The header of a server's frame, or undefined where it is not there in full. */
export function headerOf(bytes: Uint8Array, from: number, to: number): MessageHeader | undefined {
  if (to - from < 2) return undefined;
  const opcode = (bytes[from] as number) & 15;
  const short = (bytes[from + 1] as number) & 127;
  const extended = short < 126 ? 0 : short === 126 ? 2 : 8;
  if (to - from < 2 + extended) return undefined;
  let length = short;
  if (extended > 0) {
    length = 0;
    for (let i = 0; i < extended; i++) length = length * 256 + (bytes[from + 2 + i] as number);
  }
  return { opcode, bytes: 2 + extended, length };
}
