/** What is larger has memory of its own. */
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
