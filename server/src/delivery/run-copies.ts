import type { EventsFrame } from "@jecho/shared/internal";

/** Runs up to a size share blocks of memory: what waits with one in a block may keep that much, and no more. */
const SHORT_BYTES = 256;
const BLOCK_BYTES = 4096;

/**
 * Makes copies of runs that are to outlive the message they came in. With many channels these are many and short, and a block of memory
 * for each takes longer to make and to collect than all else that is done for it.
 */
export class RunCopies {
  #bytes = new Uint8Array(BLOCK_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #used = 0;

  copy(run: EventsFrame): EventsFrame {
    const size = run.end - run.start;
    if (size > SHORT_BYTES) return run.copy();
    if (this.#used + size > BLOCK_BYTES) {
      this.#bytes = new Uint8Array(BLOCK_BYTES);
      this.#view = new DataView(this.#bytes.buffer);
      this.#used = 0;
    }
    const at = this.#used;
    // Payloads lie at multiples of 8.
    this.#used = (at + size + 7) & ~7;
    return run.copyTo(this.#bytes, this.#view, at);
  }
}
