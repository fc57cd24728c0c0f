import { createHash, randomBytes } from "node:crypto";
import { connect as connectTcp, isIP, type Socket as TcpSocket } from "node:net";
import { connect as connectTls } from "node:tls";
import { MessageMemory } from "../concentrator/outgoing/message-memory.ts";
import type { Socket } from "./face.ts";
import { MessageReader, OPCODE, ProtocolError } from "./message-reader.ts";

/** Most bytes that a server may send at once: of a message, and of the answer to the handshake. */
const LIMIT_BYTES = 100 << 20;
const RESPONSE_BYTES = 16 << 10;
/** Parts of up to this size are copied into one block of memory, behind the header if they come first: that costs less than further blocks. */
const JOIN_BYTES = 64 << 10;
/** Size below which memory comes out of Node's pooled blocks. */
const POOLED_BYTES = 4 << 10;
/** Time that the other side has to close the connection after our close frame. */
const CLOSE_MS = 10_000;
/** RFC 6455, 1.3 */
const ACCEPT = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Memory that all sockets of a thread write short parts from. */
const OUTGOING = new MessageMemory();
/** Memory that all sockets of a thread read into: it is dealt with before the next read. */
const INCOMING = new Uint8Array(64 << 10);

/**
 * A WebSocket of a program, on TCP or TLS, with as little between the wire and us as can be: it has no extensions, no masks (zeros:
 * unpredictable ones keep a page's script from forging requests to intermediaries, RFC 6455, 10.3, which a program could send
 * anyway), and no streams on the way in.
 */
export class NodeSocket implements Socket {
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  onerror: Socket["onerror"] = null;
  readonly #tcp: TcpSocket;
  readonly #reader = new MessageReader(LIMIT_BYTES, (opcode, payload) => this.#frame(opcode, payload));
  readonly #key = randomBytes(16).toString("base64");
  readonly #protocols: readonly string[];
  #protocol = "";
  #state: "connecting" | "open" | "closing" | "closed" = "connecting";
  /** The part of the answer to the handshake that has come. */
  #response = "";
  /** Code and reason of the other side's close frame, if there was one. */
  #closed: { code: number; reason: string } | undefined;
  /** The other side has broken the protocol. */
  #isBroken = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param url `ws://` or `wss://`; what goes wrong comes as `error` and `close`
   * @param protocols the subprotocols that the other side may choose from
   */
  constructor(url: string, protocols: readonly string[]) {
    this.#protocols = protocols;
    const { protocol: scheme, hostname, port, host, pathname, search } = new URL(url);
    const isSecure = scheme === "wss:";
    const name = hostname.replace(/^\[|\]$/g, "");
    const options = {
      host: name,
      port: Number(port || (isSecure ? 443 : 80)),
      noDelay: true,
      onread: {
        buffer: INCOMING,
        callback: (bytes: number): boolean => {
          this.#read(bytes);
          return true;
        },
      },
    };
    const request = [
      `GET ${pathname}${search} HTTP/1.1`,
      `Host: ${host}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      `Sec-WebSocket-Key: ${this.#key}`,
      `Sec-WebSocket-Protocol: ${protocols.join(", ")}`,
      "\r\n",
    ].join("\r\n");
    this.#tcp = isSecure
      ? connectTls(
          { ...options, servername: isIP(name) === 0 ? name : "", ALPNProtocols: ["http/1.1"] },
          () => this.#tcp.write(request),
        )
      : connectTcp(options, () => this.#tcp.write(request));
    this.#tcp.setNoDelay(true);
    this.#tcp.on("error", error => this.onerror?.(error as never));
    this.#tcp.on("close", () => this.#gone());
  }

  get bufferedAmount(): number {
    return this.#tcp.writableLength;
  }

  get protocol(): string {
    return this.#protocol;
  }

  send(data: Uint8Array): void {
    if (this.#state === "open") this.#write(OPCODE.binary, [data]);
  }

  sendParts(parts: readonly Uint8Array[]): void {
    if (this.#state === "open") this.#write(OPCODE.binary, parts);
  }

  pause(isPaused: boolean): void {
    if (this.#state !== "open") return;
    if (isPaused) this.#tcp.pause();
    else this.#tcp.resume();
  }

  close(code = 1000, reason = ""): void {
    if (this.#state === "connecting") this.#tcp.destroy();
    if (this.#state !== "open") return;
    this.#state = "closing";
    // For the answer.
    this.#tcp.resume();
    this.#write(OPCODE.close, [closePayload(code, reason)]);
    // Whoever ends its program does not wait for a connection that is dead.
    this.#timer = setTimeout(() => this.#tcp.destroy(), CLOSE_MS).unref();
  }

  #read(bytes: number): void {
    // Nothing can be made of what comes behind a frame that may not be.
    if (this.#isBroken) return;
    try {
      const from = this.#state === "connecting" ? this.#greeted(bytes) : 0;
      this.#reader.take(INCOMING, from, bytes);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#isBroken = true;
      this.onerror?.(error as never);
      this.close(error.code, error.message);
      this.#tcp.destroySoon();
    }
  }

  /** The answer to the handshake, or a part of it. @returns where what follows begins */
  #greeted(bytes: number): number {
    const before = this.#response.length;
    this.#response += Buffer.from(INCOMING.buffer, 0, bytes).toString("latin1");
    const end = this.#response.indexOf("\r\n\r\n");
    if (end < 0 && this.#response.length < RESPONSE_BYTES) return bytes;
    const [status = "", ...lines] = this.#response.slice(0, Math.max(0, end)).split("\r\n");
    this.#response = "";
    const headers = new Map(
      lines.map(line => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const accept = createHash("sha1")
      .update(this.#key + ACCEPT)
      .digest("base64");
    const protocol = headers.get("sec-websocket-protocol") ?? "";
    const isUpgraded =
      /^HTTP\/1\.1 101\b/.test(status) &&
      headers.get("upgrade")?.toLowerCase() === "websocket" &&
      headers.get("sec-websocket-accept") === accept &&
      this.#protocols.includes(protocol);
    if (!isUpgraded) throw new ProtocolError(1002, `the server does not upgrade: ${status.slice(0, 100)}`);
    this.#state = "open";
    this.#protocol = protocol;
    this.onopen?.(undefined as never);
    return end + 4 - before;
  }

  #frame(opcode: number, payload: Uint8Array<ArrayBuffer>): void {
    switch (opcode) {
      case OPCODE.binary:
        if (this.#state === "open") this.onmessage?.({ data: payload } as never);
        return;
      case OPCODE.text:
        if (this.#state === "open") this.onmessage?.({ data: textOf(payload) } as never);
        return;
      case OPCODE.ping:
        if (this.#state === "open") this.#write(OPCODE.pong, [payload]);
        return;
      case OPCODE.close: {
        // Nothing counts that comes behind one.
        if (this.#closed !== undefined) return;
        const code = closeCodeOf(payload);
        this.#closed = { code, reason: textOf(payload.subarray(2)) };
        if (code === 1005) this.close();
        else this.close(code);
        this.#tcp.end();
        return;
      }
      case OPCODE.pong:
        // This side sends no pings: a flipped bit makes one of a short message.
        if (payload.byteLength > 0) throw new ProtocolError(1002, "a pong that nobody asked for");
        return;
      default:
    }
  }

  #write(opcode: number, parts: readonly Uint8Array[]): void {
    let byteLength = 0;
    for (const part of parts) byteLength += part.byteLength;
    const header = byteLength < 126 ? 6 : byteLength < 65536 ? 8 : 14;
    const first = blockOf(parts, 0, header);
    const { block } = first;
    block[0] = 0x80 | opcode;
    block[1] = 0x80 | (header === 6 ? byteLength : header === 8 ? 126 : 127);
    if (header === 8) block.writeUInt16BE(byteLength, 2);
    if (header === 14) {
      block.writeUInt16BE(0, 2);
      block.writeUIntBE(byteLength, 4, 6);
    }
    block.writeUInt32LE(0, header - 4);
    if (first.next === parts.length) {
      this.#writeBlock(block);
      return;
    }
    this.#tcp.cork();
    this.#writeBlock(block);
    for (let i = first.next; i < parts.length; ) {
      const part = parts[i] as Uint8Array;
      if (part.byteLength > JOIN_BYTES) {
        this.#tcp.write(part);
        i++;
      } else {
        const { block, next } = blockOf(parts, i, 0);
        this.#writeBlock(block);
        i = next;
      }
    }
    this.#tcp.uncork();
  }

  /** Writes a block that nobody else has. */
  #writeBlock(block: Buffer): void {
    if (block.byteLength < POOLED_BYTES) this.#tcp.write(block);
    else this.#tcp.write(block, () => OUTGOING.giveBack(block));
  }

  #gone(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    clearTimeout(this.#timer);
    this.onclose?.((this.#closed ?? { code: 1006, reason: "" }) as never);
  }
}

/** Short parts in a row in one block of memory, behind a header. @returns that, and the part after them */
function blockOf(
  parts: readonly Uint8Array[],
  from: number,
  headerBytes: number,
): { readonly block: Buffer; readonly next: number } {
  let next = from;
  let bytes = headerBytes;
  for (; next < parts.length; next++) {
    const { byteLength } = parts[next] as Uint8Array;
    if (byteLength > JOIN_BYTES) break;
    bytes += byteLength;
  }
  const block =
    bytes < POOLED_BYTES ? Buffer.allocUnsafe(bytes) : Buffer.from(OUTGOING.take(bytes).buffer, 0, bytes);
  let at = headerBytes;
  for (let i = from; i < next; i++) {
    const part = parts[i] as Uint8Array;
    block.set(part, at);
    at += part.byteLength;
  }
  return { block, next };
}

/** @throws ProtocolError where it is no UTF-8 */
function textOf(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new ProtocolError(1007, "a text that is no UTF-8");
  }
}

/** The code of a close frame; 1005 where it has none. @throws ProtocolError where it may not stand there (RFC 6455, 7.4) */
function closeCodeOf(payload: Uint8Array): number {
  const { byteLength } = payload;
  if (byteLength === 0) return 1005;
  const code = byteLength === 1 ? 0 : new DataView(payload.buffer, payload.byteOffset).getUint16(0);
  const isStandard = code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006;
  if (!isStandard && (code < 3000 || code > 4999))
    throw new ProtocolError(1002, `${code} is no code of a close`);
  return code;
}

function closePayload(code: number, reason: string): Uint8Array {
  const text = Buffer.from(reason).subarray(0, 123);
  const payload = Buffer.alloc(2 + text.byteLength);
  payload.writeUInt16BE(code, 0);
  payload.set(text, 2);
  return payload;
}
