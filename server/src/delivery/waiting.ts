/** Bytes that the engine needs for each queued run, besides its own. */
const ITEM_BYTES = 256;
/** Bytes beyond the bound that may wait where nothing is dropped: producers that are told to wait have events under way. */
const BEYOND_BYTES = 64 << 20;

/** Factor by which bounds are lowered at a time, and share of the limit that may still wait afterwards. */
const STEP = 0.875;

/** Memory of a run, which may wait in many connections' queues. */
export interface SharedMemory {
  readonly bytes: number;
  /** Number of queued items that use it. */
  holders: number;
}

/**
 * Memory of the queues of all connections. A run that waits for many of them counts once. When there is too much, the bounds of the connections with
 * most waiting bytes are lowered.
 */
export class WaitingTotal {
  readonly #limitBytes: number;
  readonly #connections = new Set<WaitingBytes>();
  #bytes = 0;
  /** Size at which room is made next: the limit, or more where the last time did not free enough. */
  #dueBytes: number;
  #next: NodeJS.Immediate | undefined;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
    this.#dueBytes = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the sum is far beyond its limit, although producers were told to wait. */
  get isTooMuch(): boolean {
    return this.#bytes > this.#limitBytes + BEYOND_BYTES;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#dueBytes) this.#next ??= setImmediate(this.#makeRoom);
  }

  remove(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#bytes <= this.#limitBytes) this.#dueBytes = this.#limitBytes;
  }

  /** Adds or removes a connection for which something waits. */
  keep(connection: WaitingBytes, isWaiting: boolean): void {
    if (isWaiting) this.#connections.add(connection);
    else this.#connections.delete(connection);
  }

  readonly #makeRoom = (): void => {
    this.#next = undefined;
    const connections = [...this.#connections];
    const enough = STEP * this.#limitBytes;
    // A connection with at most half of an equal share is not to blame.
    const least = this.#limitBytes / (2 * connections.length);
    let level = 0;
    for (const { bytes } of connections) level = Math.max(level, bytes);
    while (this.#bytes > enough && level > least) {
      level = Math.max(least, STEP * level);
      for (const connection of connections) connection.lower(level);
    }
    this.#dueBytes = Math.max(this.#limitBytes, this.#bytes + this.#limitBytes / 64);
  };
}

/** Waiting bytes of one connection in the queues of all its channels, with a bound of their own, for channels may be many. */
export class WaitingBytes {
  readonly #limitBytes: number;
  readonly #total: WaitingTotal;
  readonly #onRoom: () => void;
  readonly #onLowered: () => void;
  /** The limit, or less after too much had waited for all connections, until half of that is gone. */
  #boundBytes: number;
  #bytes = 0;
  #isTight = false;

  /**
   * @param total the memory that waits for all connections
   * @param onRoom called when half of it is gone after it was full
   * @param onLowered called when it is full because the bound was lowered
   */
  constructor(limitBytes: number, total: WaitingTotal, onRoom: () => void, onLowered: () => void) {
    this.#limitBytes = limitBytes;
    this.#boundBytes = limitBytes;
    this.#total = total;
    this.#onRoom = onRoom;
    this.#onLowered = onLowered;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#bytes > this.#boundBytes;
  }

  /** Whether it is far beyond its limit, although producers were told to wait. */
  get isTooMuch(): boolean {
    return this.#bytes > this.#limitBytes + BEYOND_BYTES || (this.isFull && this.#total.isTooMuch);
  }

  /** Whether the bound was reached, and more than half of it still waits. */
  get isTight(): boolean {
    return this.#isTight;
  }

  /** Whether the bound was lowered below the limit. */
  get isLowered(): boolean {
    return this.#boundBytes < this.#limitBytes;
  }

  /** Lowers the bound to this, where more waits. */
  lower(bytes: number): void {
    if (this.#bytes <= bytes) return;
    this.#boundBytes = Math.min(this.#limitBytes, bytes);
    this.#isTight = true;
    this.#onLowered();
  }

  /** @param memory the bytes' memory; default: they have it to themselves */
  add(bytes: number, memory?: SharedMemory): void {
    if (this.#bytes === 0) this.#total.keep(this, true);
    this.#bytes += bytes + ITEM_BYTES;
    if (this.isFull) this.#isTight = true;
    const more = memory === undefined ? bytes : memory.holders++ === 0 ? memory.bytes : 0;
    this.#total.add(more + ITEM_BYTES);
  }

  remove(bytes: number, memory?: SharedMemory): void {
    this.#bytes -= bytes + ITEM_BYTES;
    if (this.#bytes === 0) this.#total.keep(this, false);
    const less = memory === undefined ? bytes : --memory.holders === 0 ? memory.bytes : 0;
    this.#total.remove(less + ITEM_BYTES);
    if (!this.#isTight || this.#bytes * 2 > this.#boundBytes) return;
    this.#isTight = false;
    this.#boundBytes = this.#limitBytes;
    this.#onRoom();
  }
}
