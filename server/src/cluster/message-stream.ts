import { JechoError } from "@jecho/shared";
import { joinFrames } from "@jecho/shared/internal";
import { MOST_WAITING_BYTES } from "./trunk-carrier.ts";

/** A message's length goes before it. */
const LENGTH_BYTES = 4;

/** A copy of the message as it goes into a stream of bytes: its length, and its parts. */
export function inStream(parts: readonly Uint8Array[]): Uint8Array {
  const length = new Uint8Array(LENGTH_BYTES);
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0);
  new DataView(length.buffer).setUint32(0, bytes, true);
  return joinFrames([length, ...parts]);
}

/** Finds the messages in a stream of bytes, each in memory of its own. A message without bytes says nothing, and is left out. */
export class TrunkReader {
  /** Most bytes of a message. */
  limitBytes: number;
  readonly #whole: (message: Uint8Array) => void;
  readonly #length = new Uint8Array(LENGTH_BYTES);
  #lengthBytes = 0;
  #message: Uint8Array | undefined;
  #filled = 0;

  /** @param limitBytes by default as many as a carrier has under way: how much its clients may send is each gateway's own matter */
  constructor(whole: (message: Uint8Array) => void, limitBytes = MOST_WAITING_BYTES) {
    this.limitBytes = limitBytes;
    this.#whole = whole;
  }

  /** Takes the next bytes of the stream. @throws JechoError `FRAME_TOO_LARGE` */
  take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.byteLength; ) at += this.#takeSome(bytes, at);
  }

  /** @returns how many bytes it has taken */
  #takeSome(bytes: Uint8Array, at: number): number {
    if (this.#message === undefined) {
      const taken = Math.min(LENGTH_BYTES - this.#lengthBytes, bytes.byteLength - at);
      this.#length.set(bytes.subarray(at, at + taken), this.#lengthBytes);
      this.#lengthBytes += taken;
      if (this.#lengthBytes < LENGTH_BYTES) return taken;
      this.#lengthBytes = 0;
      const length = new DataView(this.#length.buffer).getUint32(0, true);
      if (length > this.limitBytes) throw new JechoError("FRAME_TOO_LARGE");
      if (length > 0) {
        this.#message = new Uint8Array(length);
        this.#filled = 0;
      }
      return taken;
    }
    const message = this.#message;
    const taken = Math.min(message.byteLength - this.#filled, bytes.byteLength - at);
    message.set(bytes.subarray(at, at + taken), this.#filled);
    this.#filled += taken;
    if (this.#filled === message.byteLength) {
      this.#message = undefined;
      this.#whole(message);
    }
    return taken;
  }
}
