import { Blocks } from "@jecho/shared/internal";

/** Opcodes of WebSocket frames (RFC 6455, 11.8). */
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A frame that a server may not send, and the close code that says so. */
export class ProtocolError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Longest header of a server's frame: it does not mask. */
const HEADER_BYTES = 10;
const FIN = 0x80;
const RESERVED = 0x70;
const MASKED = 0x80;
const NOTHING = new Uint8Array(0);
/** Bytes that a fragment takes besides its payload. */
const FRAGMENT_BYTES = 128;

/**
 * Takes what comes from a WebSocket server apart, however it is cut, and puts the fragments of messages together. Each
 * payload is copied once, into memory that is not written again, to where multiples of 8 bytes lie.
 */
export class MessageReader {
  readonly #limitBytes: number;
  readonly #visit: (opcode: number, payload: Uint8Array<ArrayBuffer>) => void;
  readonly #header = new Uint8Array(HEADER_BYTES);
  #headerBytes = 0;
  /** Payload of the frame whose header is complete. */
  #payload: Uint8Array<ArrayBuffer> | undefined;
  #filled = 0;
  /** Opcode of the message that is not complete; 0 while there is none. */
  #opcode = 0;
  #fragments: Uint8Array[] = [];
  #fragmentBytes = 0;
  readonly #blocks = new Blocks();

  /**
   * @param limitBytes of a message
   * @param visit gets messages (text, binary) and control frames, in their order
   */
  constructor(limitBytes: number, visit: (opcode: number, payload: Uint8Array<ArrayBuffer>) => void) {
    this.#limitBytes = limitBytes;
    this.#visit = visit;
  }

  /** Takes [from, to) of what was read, which may be written again afterwards. @throws ProtocolError */
  take(bytes: Uint8Array, from: number, to: number): void {
    let at = from;
    while (at < to) {
      if (this.#payload === undefined) {
        this.#header[this.#headerBytes++] = bytes[at++] as number;
        if (this.#headerBytes < headerLength(this.#header, this.#headerBytes)) continue;
        this.#payload = this.#begin();
        this.#filled = 0;
      }
      const payload = this.#payload;
      const part = Math.min(to - at, payload.byteLength - this.#filled);
      if (part > 0) payload.set(bytes.subarray(at, at + part), this.#filled);
      this.#filled += part;
      at += part;
      if (this.#filled < payload.byteLength) return;
      this.#payload = undefined;
      this.#headerBytes = 0;
      this.#end(payload);
    }
  }

  #begin(): Uint8Array<ArrayBuffer> {
    const first = this.#header[0] as number;
    const second = this.#header[1] as number;
    const opcode = first & 15;
    if ((first & RESERVED) !== 0) throw new ProtocolError(1002, "a reserved bit is set");
    if ((second & MASKED) !== 0) throw new ProtocolError(1002, "a server's frame is masked");
    const length = payloadLength(this.#header);
    if (opcode >= OPCODE.close) {
      if ((first & FIN) === 0 || length > 125 || opcode > OPCODE.pong)
        throw new ProtocolError(1002, "a control frame is malformed");
    } else if (opcode > OPCODE.binary || (opcode === OPCODE.continuation) !== (this.#opcode !== 0)) {
      throw new ProtocolError(1002, `a frame of opcode ${opcode} where it may not be`);
    } else if (length + this.#fragmentBytes + FRAGMENT_BYTES * this.#fragments.length > this.#limitBytes) {
      throw new ProtocolError(1009, `a message of more than ${this.#limitBytes} bytes`);
    }
    return length === 0 ? NOTHING : this.#blocks.allocate(length);
  }

  #end(payload: Uint8Array<ArrayBuffer>): void {
    const first = this.#header[0] as number;
    const opcode = first & 15;
    const isLast = (first & FIN) !== 0;
    if (opcode >= OPCODE.close || (isLast && opcode !== OPCODE.continuation))
      return this.#visit(opcode, payload);
    if (opcode !== OPCODE.continuation) this.#opcode = opcode;
    if (payload.byteLength > 0) this.#fragments.push(payload);
    this.#fragmentBytes += payload.byteLength;
    if (!isLast) return;
    const whole = new Uint8Array(this.#fragmentBytes);
    let at = 0;
    for (const fragment of this.#fragments) {
      whole.set(fragment, at);
      at += fragment.byteLength;
    }
    const kind = this.#opcode;
    this.#opcode = 0;
    this.#fragments = [];
    this.#fragmentBytes = 0;
    this.#visit(kind, whole);
  }
}

/** Bytes of the header that begins so; more than `known` where that cannot be told yet. */
function headerLength(header: Uint8Array, known: number): number {
  if (known < 2) return 2;
  const short = (header[1] as number) & 127;
  return short < 126 ? 2 : short === 126 ? 4 : 10;
}

function payloadLength(header: Uint8Array): number {
  const short = (header[1] as number) & 127;
  const bytes = short < 126 ? 0 : short === 126 ? 2 : 8;
  let length = bytes === 0 ? short : 0;
  for (let i = 0; i < bytes; i++) length = length * 256 + (header[2 + i] as number);
  return length;
}
