/** Smallest block that is kept: allocating smaller ones costs little. */
const LEAST_BYTES = 4 << 10;
/** Largest block that is kept: larger ones are rare. */
const MOST_BYTES = 4 << 20;
/** Most bytes of free blocks: as many as may be unconfirmed. */
const MOST_WAITING_BYTES = 8 << 20;

/**
 * Memory for outgoing messages, in blocks that are reused: to collect new ones for each message took a producer of 1 KB events a quarter of its
 * processor time.
 */
export class MessageMemory {
  /** Free blocks by their size, a power of two. */
  readonly #waiting = new Map<number, ArrayBuffer[]>();
  #waitingBytes = 0;
  readonly #blocks = new WeakSet<ArrayBufferLike>();

  /** @returns this many bytes, not zeroed */
  take(bytes: number): Uint8Array<ArrayBuffer> {
    if (bytes < LEAST_BYTES || bytes > MOST_BYTES) return new Uint8Array(bytes);
    const size = 2 ** (32 - Math.clz32(bytes - 1));
    let block = this.#waiting.get(size)?.pop();
    if (block === undefined) {
      block = new ArrayBuffer(size);
      this.#blocks.add(block);
    } else this.#waitingBytes -= size;
    return new Uint8Array(block, 0, bytes);
  }

  /** Takes back bytes that are no longer used. Other memory, and free blocks beyond the limit, are left to the engine. */
  giveBack({ buffer }: Uint8Array): void {
    const size = buffer.byteLength;
    if (!this.#blocks.has(buffer) || this.#waitingBytes + size > MOST_WAITING_BYTES) return;
    const waiting = this.#waiting.get(size);
    if (waiting === undefined) this.#waiting.set(size, [buffer as ArrayBuffer]);
    else waiting.push(buffer as ArrayBuffer);
    this.#waitingBytes += size;
  }
}
