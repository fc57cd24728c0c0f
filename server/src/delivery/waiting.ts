/** Bytes that the engine needs for each run in a queue, whatever its size. */
const ITEM_BYTES = 256;
/** Bytes by which more than the bound may wait where nothing may be dropped: producers that are told to wait have some under way. */
const BEYOND_BYTES = 64 << 20;

/** Bytes that wait for one connection in the queues of all its channels, with a bound of its own: channels may be many. */
export class WaitingBytes {
  readonly #limitBytes: number;
  readonly #onRoom: () => void;
  #bytes = 0;
  #isTight = false;

  /** @param onRoom called when half of it has gone after it was full */
  constructor(limitBytes: number, onRoom: () => void) {
    this.#limitBytes = limitBytes;
    this.#onRoom = onRoom;
  }

  get isFull(): boolean {
    return this.#bytes > this.#limitBytes;
  }

  /** Whether the sum has grown beyond all bounds, whoever was told to wait. */
  get isTooMuch(): boolean {
    return this.#bytes > this.#limitBytes + BEYOND_BYTES;
  }

  /** Whether the bound was reached, and more than half of it still waits. */
  get isTight(): boolean {
    return this.#isTight;
  }

  add(bytes: number): void {
    this.#bytes += bytes + ITEM_BYTES;
    if (this.isFull) this.#isTight = true;
  }

  remove(bytes: number): void {
    this.#bytes -= bytes + ITEM_BYTES;
    if (!this.#isTight || this.#bytes * 2 > this.#limitBytes) return;
    this.#isTight = false;
    this.#onRoom();
  }
}
