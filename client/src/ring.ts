/*
 * A single-producer, single-consumer ring of records in one block of memory, which may be shared between threads.
 * The application encodes each event once, straight into the ring; the concentrator sends it from there.
 *
 *   control: Int32 [0] bytes written, [1] bytes read (both count up, modulo 2^32); data: records of
 *   [length u32][endpoint u32][length bytes, padded to 8]; length SKIP says that the next record is at the ring's start.
 *   The endpoint's highest bit marks an event whose producer waits for its consumers.
 */

const CONTROL_BYTES = 8;
const RECORD_HEADER = 8;
const SKIP = 0xffff_ffff;
const SYNC = 0x8000_0000;
const WRITTEN = 0;
const READ = 1;

/** Events in a ring, as they lie. */
export interface RingRecord {
  readonly endpoint: number;
  readonly sync: boolean;
  readonly start: number;
  readonly end: number;
}

export class Ring {
  /** The data part; records lie at multiples of 8. */
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly #control: Int32Array;
  readonly #capacity: number;
  #reserved = 0;

  /** @param memory 8 bytes of control and a power of two of data */
  constructor(memory: ArrayBufferLike) {
    this.#capacity = memory.byteLength - CONTROL_BYTES;
    if (this.#capacity < 64 || (this.#capacity & (this.#capacity - 1)) !== 0) {
      throw new RangeError("a ring's data is a power of two of bytes, at least 64");
    }
    this.#control = new Int32Array(memory, 0, 2);
    this.bytes = new Uint8Array(memory, CONTROL_BYTES);
    this.view = new DataView(memory, CONTROL_BYTES);
  }

  static ofBytes(capacity: number): Ring {
    return new Ring(new ArrayBuffer(CONTROL_BYTES + capacity));
  }

  /** The largest event that fits whatever the state of the ring. */
  get limitBytes(): number {
    return this.#capacity / 2 - RECORD_HEADER;
  }

  get isEmpty(): boolean {
    return Atomics.load(this.#control, WRITTEN) === Atomics.load(this.#control, READ);
  }

  /** Where up to `bytes` bytes may be written, or -1 where the ring has no room. `commit` makes it a record. */
  reserve(bytes: number): number {
    const written = Atomics.load(this.#control, WRITTEN) >>> 0;
    const used = (written - (Atomics.load(this.#control, READ) >>> 0)) >>> 0;
    const need = RECORD_HEADER + pad(bytes);
    const at = written & (this.#capacity - 1);
    const toEnd = this.#capacity - at;
    if (need <= toEnd) {
      if (used + need > this.#capacity) return -1;
      this.#reserved = at;
      return at + RECORD_HEADER;
    }
    if (used + toEnd + need > this.#capacity) return -1;
    this.view.setUint32(at, SKIP, true);
    Atomics.store(this.#control, WRITTEN, (written + toEnd) | 0);
    this.#reserved = 0;
    return RECORD_HEADER;
  }

  /** Makes the bytes from the reserved place up to `end` the next record. */
  commit(endpoint: number, end: number, sync = false): void {
    const at = this.#reserved;
    const length = end - at - RECORD_HEADER;
    this.view.setUint32(at, length, true);
    this.view.setUint32(at + 4, sync ? endpoint + SYNC : endpoint, true);
    Atomics.store(
      this.#control,
      WRITTEN,
      (Atomics.load(this.#control, WRITTEN) + RECORD_HEADER + pad(length)) | 0,
    );
  }

  /** Calls `visit` for every record that is there, then frees them all. The bytes are valid until it returns. */
  drain(visit: (records: readonly RingRecord[]) => void): void {
    const written = Atomics.load(this.#control, WRITTEN) >>> 0;
    let read = Atomics.load(this.#control, READ) >>> 0;
    if (read === written) return;
    const records: RingRecord[] = [];
    while (read !== written) {
      const at = read & (this.#capacity - 1);
      const length = this.view.getUint32(at, true);
      if (length === SKIP) {
        read = (read + this.#capacity - at) >>> 0;
        continue;
      }
      const start = at + RECORD_HEADER;
      const tag = this.view.getUint32(at + 4, true);
      records.push({ endpoint: tag % SYNC, sync: tag >= SYNC, start, end: start + length });
      read = (read + RECORD_HEADER + pad(length)) >>> 0;
    }
    visit(records);
    Atomics.store(this.#control, READ, read | 0);
  }
}

function pad(bytes: number): number {
  return (bytes + 7) & ~7;
}
