import { JechoError } from "../errors.ts";

/** Bytes that a checksum takes behind a message. */
export const CHECKSUM_BYTES = 4;

/** CRC-32 of IEEE 802.3, as gzip and PNG have it: its polynomial with the bits turned round. */
const POLYNOMIAL = 0xedb88320;
/** At `256 * k + b`: what byte `b` with `k` bytes behind it adds to the remainder. */
const TABLE = table();

function table(): Int32Array {
  const all = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let rest = byte;
    for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? POLYNOMIAL : 0);
    all[byte] = rest;
  }
  for (let i = 256; i < all.length; i++) {
    const shorter = all[i - 256] as number;
    all[i] = (shorter >>> 8) ^ (all[shorter & 0xff] as number);
  }
  return all;
}

/**
 * CRC-32 of some bytes, eight at a time (Kounavis and Berry, "A Systematic Approach to Building High Performance Software-based CRC
 * Generators", 2005). It finds each error of up to 32 bits in a row.
 *
 * @param before that of the bytes in front of them, if there are any
 */
export function crc32(bytes: Uint8Array, before = 0): number {
  const byte = (at: number): number => bytes[at] as number;
  const part = (k: number, byte: number): number => TABLE[256 * k + (byte & 0xff)] as number;
  let rest = ~before;
  let at = 0;
  for (; at + 8 <= bytes.length; at += 8) {
    const first = rest ^ (byte(at) | (byte(at + 1) << 8) | (byte(at + 2) << 16) | (byte(at + 3) << 24));
    rest =
      part(7, first) ^
      part(6, first >>> 8) ^
      part(5, first >>> 16) ^
      part(4, first >>> 24) ^
      part(3, byte(at + 4)) ^
      part(2, byte(at + 5)) ^
      part(1, byte(at + 6)) ^
      part(0, byte(at + 7));
  }
  for (; at < bytes.length; at++) rest = (rest >>> 8) ^ part(0, rest ^ byte(at));
  return ~rest >>> 0;
}

/** The checksum that goes behind the parts of a message, little-endian. */
export function checksumOf(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(CHECKSUM_BYTES);
  write(
    bytes,
    0,
    parts.reduce((sum, part) => crc32(part, sum), 0),
  );
  return bytes;
}

/** Appends checksums to messages, one after the other, in memory that the next one is written to. */
export class Sealer {
  #memory = new Uint8Array(4096);

  seal(message: Uint8Array): Uint8Array {
    const { length } = message;
    if (length + CHECKSUM_BYTES > this.#memory.length)
      this.#memory = new Uint8Array(2 * (length + CHECKSUM_BYTES));
    this.#memory.set(message);
    write(this.#memory, length, crc32(message));
    return this.#memory.subarray(0, length + CHECKSUM_BYTES);
  }
}

/** The message without its checksum. @throws JechoError `MESSAGE_DAMAGED` where it is not that of the message */
export function withoutChecksum(message: Uint8Array): Uint8Array {
  const end = message.length - CHECKSUM_BYTES;
  const content = message.subarray(0, Math.max(0, end));
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  if (end < 0 || view.getUint32(end, true) !== crc32(content))
    throw new JechoError("MESSAGE_DAMAGED", "a message was changed on the way: its checksum is wrong");
  return content;
}

function write(bytes: Uint8Array, at: number, sum: number): void {
  for (let i = 0; i < CHECKSUM_BYTES; i++) bytes[at + i] = sum >>> (8 * i);
}
