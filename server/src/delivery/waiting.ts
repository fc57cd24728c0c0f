/** Bytes that the engine needs for each run in a queue, whatever its size. */
const ITEM_BYTES = 256;
/** Bytes by which more than the bound may wait where nothing may be dropped: producers that are told to wait have some under way. */
const BEYOND_BYTES = 64 << 20;

/** By how much bounds are lowered at a time, and how much of the limit may still wait when they have been. */
const STEP = 0.875;

/** Memory of a run that may wait in the queues of many connections. */
export interface SharedMemory {
  readonly bytes: number;
  /** Number of items in queues that keep it. */
  holders: number;
}

/**
 * Memory that waits in the queues of all connections. A run that waits for many of them counts once. When there is too much, the bounds of those
 * connections are lowered for which most waits.
 */
export class WaitingTotal {
  readonly #limitBytes: number;
  readonly #connections = new Set<WaitingBytes>();
  #bytes = 0;
  /** Room is made when there is more than this: the limit, or more where the last time has not freed enough. */
  #dueBytes: number;
  #next: NodeJS.Immediate | undefined;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
    this.#dueBytes = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the sum has grown beyond all bounds, whoever was told to wait. */
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

  /** Something waits for a connection, or nothing does any more. */
  keep(connection: WaitingBytes, isWaiting: boolean): void {
    if (isWaiting) this.#connections.add(connection);
    else this.#connections.delete(connection);
  }

  readonly #makeRoom = (): void => {
    this.#next = undefined;
    const connections = [...this.#connections];
    const enough = STEP * this.#limitBytes;
    // Whoever has no more than half of an equal share is not to blame.
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

/** Bytes that wait for one connection in the queues of all its channels, with a bound of its own: channels may be many. */
export class WaitingBytes {
  readonly #limitBytes: number;
  readonly #total: WaitingTotal;
  readonly #onRoom: () => void;
  readonly #onLowered: () => void;
  /** The limit, or less from when too much waited for all connections until half of that has gone. */
  #boundBytes: number;
  #bytes = 0;
  #isTight = false;

  /**
   * @param total what waits for all connections
   * @param onRoom called when half of it has gone after it was full
   * @param onLowered called when it is full because its bound was lowered
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

  /** Whether it has grown beyond all bounds, whoever was told to wait. */
  get isTooMuch(): boolean {
    return this.#bytes > this.#limitBytes + BEYOND_BYTES || (this.isFull && this.#total.isTooMuch);
  }

  /** Whether the bound was reached, and more than half of it still waits. */
  get isTight(): boolean {
    return this.#isTight;
  }

  /** Whether the bound is lower than the limit, for too much waits for all connections. */
  get isLowered(): boolean {
    return this.#boundBytes < this.#limitBytes;
  }

  /** Lowers the bound where more waits than that. */
  lower(bytes: number): void {
    if (this.#bytes <= bytes) return;
    this.#boundBytes = Math.min(this.#limitBytes, bytes);
    this.#isTight = true;
    this.#onLowered();
  }

  /** @param memory where the bytes lie; they alone keep it where it is not given */
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
