/** Bytes of the smallest block. Others are twice as large, or four times, and so on. */
const LEAST_BYTES = 64;
/** Bytes that all blocks take at most. */
const MOST_BYTES = 512 << 20;
const PAGE = 65_536;

/** The part of a memory behind its fixed places, in blocks that are given back: what modulators keep, and events that are larger than others. */
export class WindowHeap {
  readonly #memory: WebAssembly.Memory;
  readonly #start: number;
  readonly #onGrown: () => void;
  #top: number;
  /** Addresses of free blocks, by their size. */
  readonly #free = new Map<number, number[]>();

  /** @param onGrown called when the memory's buffer is another one */
  constructor(memory: WebAssembly.Memory, start: number, onGrown: () => void) {
    this.#memory = memory;
    this.#start = start;
    this.#top = start;
    this.#onGrown = onGrown;
  }

  /** The address of a block of so many bytes, which nobody else has; undefined where there is no room. Its bytes are anything. */
  take(bytes: number): number | undefined {
    const size = sizeOf(bytes);
    const free = this.#free.get(size)?.pop();
    if (free !== undefined) return free;
    const at = this.#top;
    const missing = at + size - this.#memory.buffer.byteLength;
    if (at + size - this.#start > MOST_BYTES) return undefined;
    if (missing > 0) {
      try {
        this.#memory.grow(Math.ceil(missing / PAGE));
      } catch {
        return undefined;
      }
      this.#onGrown();
    }
    this.#top = at + size;
    return at;
  }

  /** Gives a block back that was taken for so many bytes. */
  give(at: number, bytes: number): void {
    const size = sizeOf(bytes);
    const free = this.#free.get(size) ?? [];
    this.#free.set(size, free);
    free.push(at);
  }
}

function sizeOf(bytes: number): number {
  return 2 ** Math.max(Math.ceil(Math.log2(bytes)), Math.log2(LEAST_BYTES));
}
