/* Memory for messages, and the counts in it. */

/** Size in bytes above which an array gets memory of its own. */
const SMALL_BYTES = 1024;
const BLOCK_BYTES = 8 << 10;

/**
 * Memory for messages that are not written again. Small ones share blocks, for a block for each takes several times as long. Who keeps
 * one keeps the block.
 */
export class Blocks {
  #block: ArrayBuffer | undefined;
  #used = 0;

  /** @returns zeros that begin at a multiple of 8 */
  allocate(bytes: number): Uint8Array<ArrayBuffer> {
    if (bytes > SMALL_BYTES) return new Uint8Array(bytes);
    if (this.#block === undefined || this.#used + bytes > BLOCK_BYTES) {
      this.#block = new ArrayBuffer(BLOCK_BYTES);
      this.#used = 0;
    }
    const at = this.#used;
    this.#used = (at + bytes + 7) & ~7;
    return new Uint8Array(this.#block, at, bytes);
  }
}

/*
 * Counts are u64 on the wire and numbers in programs: exact up to 2^53, and many times as fast as BigInts.
 */

export function getUint53(view: DataView, at: number): number {
  return view.getUint32(at + 4, true) * 0x1_0000_0000 + view.getUint32(at, true);
}

export function setUint53(view: DataView, at: number, value: number): void {
  view.setUint32(at, value % 0x1_0000_0000, true);
  view.setUint32(at + 4, Math.floor(value / 0x1_0000_0000), true);
}

/** Whether the number there is beyond 2^53. */
export function isBeyondUint53(view: DataView, at: number): boolean {
  return view.getUint32(at + 4, true) > 0x1fffff;
}
