import type { EventsFrame } from "@jecho/shared/internal";

/** Bytes of a channel's first block, and the most of one; each has twice as much as the one before it. */
const FIRST_BYTES = 4 << 10;
const MOST_BYTES = 256 << 10;
/** Runs of this size have memory of their own. */
const LONG_BYTES = 32 << 10;

/**
 * Copies runs one behind the other into blocks, for memory of its own costs a run many times what its copy does. A block goes when all of its runs
 * have: where the oldest go first, no more than one block has runs that are gone.
 */
export class RunMemory {
  #bytes: Uint8Array | undefined;
  #view: DataView | undefined;
  #used = 0;

  copy(frame: EventsFrame): EventsFrame {
    const size = frame.end - frame.start;
    if (size >= LONG_BYTES) return frame.copy();
    const length = this.#bytes?.byteLength ?? 0;
    if (this.#used + size > length) {
      this.#bytes = new Uint8Array(Math.max(Math.min(2 * length, MOST_BYTES), FIRST_BYTES, size));
      this.#view = new DataView(this.#bytes.buffer);
      this.#used = 0;
    }
    const copy = frame.copyTo(this.#bytes as Uint8Array, this.#view as DataView, this.#used);
    this.#used = (this.#used + size + 7) & ~7;
    return copy;
  }
}
