import type { EventsFrame } from "@jecho/shared/internal";

/** Bytes of the smallest and of the largest block. */
const LEAST_BYTES = 4 << 10;
const MOST_BYTES = 1 << 20;
/** Runs above this size have memory of their own: they would leave much of a block empty. */
const LONG_BYTES = MOST_BYTES / 2;
/** Size of a new block in relation to all that is kept. */
const SHARE = 1 / 4;
/** How much larger than a new one a block may be that is there already. */
const TOO_LARGE = 4;
/** Number of blocks that wait to be used again. */
const MOST_SPARE = 2;

/** Memory of runs that lie one behind the other. */
export class RunBlock {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  used = 0;
  /** Number of runs in it that are kept. */
  runs = 0;
  readonly #memory: RunMemory;

  constructor(bytes: number, memory: RunMemory) {
    this.bytes = new Uint8Array(bytes);
    this.view = new DataView(this.bytes.buffer);
    this.#memory = memory;
  }

  /** A run of so many bytes is kept no longer: it may be written over from now on. */
  letGo(bytes: number): void {
    this.runs--;
    this.#memory.letGo(this, bytes);
  }
}

/**
 * Copies runs one behind the other into blocks of memory, which are used again when all of their runs have gone: new memory for each run
 * costs several times what its copy does. Where the oldest go first, no more than one block has runs that are gone.
 */
export class RunMemory {
  /** The block that runs are added to. */
  #block: RunBlock | undefined;
  #spare: RunBlock[] = [];
  /** Bytes of runs that are kept. */
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

  /** A run in this block is kept no longer. */
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
