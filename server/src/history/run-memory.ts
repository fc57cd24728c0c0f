import type { EventsFrame } from "@jecho/shared/internal";

/** Bytes of the smallest and of the largest block. */
const LEAST_BYTES = 4 << 10;
const MOST_BYTES = 1 << 20;
/** Runs above this size have their own memory, for they would leave much of a block empty. */
const LONG_BYTES = MOST_BYTES / 2;
/** Size of a new block, relative to all kept bytes. */
const SHARE = 1 / 4;
/** Largest size of a reused block, relative to a new one. */
const TOO_LARGE = 4;
/** Most free blocks. */
const MOST_SPARE = 2;

/** A block of memory with adjacent runs. */
export class RunBlock {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  used = 0;
  /** Number of its kept runs. */
  runs = 0;
  readonly #memory: RunMemory;

  constructor(bytes: number, memory: RunMemory) {
    this.bytes = new Uint8Array(bytes);
    this.view = new DataView(this.bytes.buffer);
    this.#memory = memory;
  }

  /** A run of this size is no longer kept: it may be overwritten. */
  letGo(bytes: number): void {
    this.runs--;
    this.#memory.letGo(this, bytes);
  }
}

/**
 * Copies runs into blocks of memory, which are reused when all their runs are gone: new memory for each run costs several times its copy. When the
 * oldest runs are dropped first, at most one block has both kept and dropped ones.
 */
export class RunMemory {
  /** The block to which runs are added. */
  #block: RunBlock | undefined;
  #spare: RunBlock[] = [];
  /** Bytes of kept runs. */
  #bytes = 0;

  /** @returns the copy, and the block that is to be told when it is kept no longer; undefined for memory of its own */
  copy(frame: EventsFrame): { readonly frame: EventsFrame; readonly block: RunBlock | undefined } {
    const size = frame.end - frame.start;
    if (size > LONG_BYTES) return { frame: frame.copy(), block: undefined };
    this.#bytes += size;
    const block = this.#blockFor(size);
    const copy = frame.copyTo(block.bytes, block.view, block.used);
    block.used = (block.used + size + 7) & ~7;
    block.runs++;
    return { frame: copy, block };
  }

  /** A run of this block is no longer kept. */
  letGo(block: RunBlock, bytes: number): void {
    this.#bytes -= bytes;
    if (block.runs > 0) return;
    block.used = 0;
    if (this.#bytes === 0) {
      // An idle channel keeps no memory.
      this.#block = undefined;
      this.#spare = [];
    } else if (block !== this.#block && this.#spare.length < MOST_SPARE) this.#spare.push(block);
  }

  #blockFor(size: number): RunBlock {
    const wanted = Math.min(Math.max(this.#bytes * SHARE, LEAST_BYTES), MOST_BYTES);
    const fits = ({ bytes, used }: RunBlock): boolean =>
      used + size <= bytes.byteLength && bytes.byteLength <= TOO_LARGE * Math.max(wanted, size);
    if (this.#block === undefined || !fits(this.#block)) {
      const index = this.#spare.findIndex(fits);
      this.#block = this.#spare[index] ?? new RunBlock(Math.max(wanted, size), this);
      if (index >= 0) this.#spare.splice(index, 1);
      else this.#spare = [];
    }
    return this.#block;
  }
}
