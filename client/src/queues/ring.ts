/*
 * A single-producer, single-consumer ring of records in one block of memory, which may be shared between threads.
 * The application encodes each event once, straight into the ring; the concentrator sends it from there.
 *
 *   control: Int32 [0] bytes written, [1] the writer waits for room, [16] bytes read, [17] the reader sleeps; the bytes count
 *   up modulo 2^32, and each side's words lie in a cache line of their own. Data: records of
 *   [length u32][endpoint u32][raised u64][after u32][0 u32][length bytes, padded to 8]; length SKIP says that the next record is
 *   at the ring's start. The endpoint's highest bit marks an event whose producer waits for its consumers, the next one a position: no event,
 *   but the count of the newest one, which was dropped. `after` says how many requests its session had posted before, so that neither
 *   overtakes the other.
 *
 * The writer alone moves `written`. The reader moves `read`; where the queue's policy is to drop the oldest, so does the
 * writer, and both do it by compare-and-exchange: a reader copies records first and has them only if `read` is then still
 * where it was.
 */

const CONTROL_BYTES = 128;
const RECORD_HEADER = 24;
const SKIP = 0xffff_ffff;
const SYNC = 0x8000_0000;
const POSITION = 0x4000_0000;
const WRITTEN = 0;
const WANTED = 1;
const READ = 16;
const ASLEEP = 17;
/** Bytes of a position's record. */
export const POSITION_BYTES = RECORD_HEADER;
/** Most records that are offered together: the object made of each lives until they are taken. */
const OFFERED_RECORDS = 2048;

/** An event as it lies in a ring, or in records that were taken out of one. */
export interface RingRecord {
  readonly bytes: Uint8Array;
  /** Number of the event's producer. */
  readonly endpoint: number;
  /** The producer's own count of the event. */
  readonly raised: number;
  readonly sync: boolean;
  /** Whether it is no event: the events up to `raised` that did not come were dropped. */
  readonly isPosition: boolean;
  /** Requests that were posted before the event was raised, modulo 2^32. */
  readonly after: number;
  readonly start: number;
  readonly end: number;
}

/** A record that is used again for another event when its own has been taken. */
type UsedRecord = { -readonly [name in keyof RingRecord]: RingRecord[name] };

/**
 * Is offered records in their order, and says how many of the first it took; the others are offered again. Records that lie in a
 * ring are valid until it returns: they are used for the next ones.
 */
export type Visit = (records: readonly RingRecord[]) => number;

export class Ring {
  /** The data part; records lie at multiples of 8. */
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly #control: Int32Array;
  readonly #capacity: number;
  #reserved = 0;
  /** The reader's own, for the records that it offers: there are as many as events, and to make each anew costs more than to read it. */
  readonly #records: UsedRecord[] = [];
  /** The writer's own: what it has written, and what it knows to be read. A look at the shared words takes longer than the rest of its work. */
  #written: number;
  #knownRead: number;

  /** @param memory `Ring.memoryBytes` of a power of two, at least 64 */
  constructor(memory: ArrayBufferLike) {
    this.#capacity = memory.byteLength - CONTROL_BYTES;
    if (this.#capacity < 64 || (this.#capacity & (this.#capacity - 1)) !== 0) {
      throw new RangeError("a ring's data is a power of two of bytes, at least 64");
    }
    this.#control = new Int32Array(memory, 0, CONTROL_BYTES / 4);
    this.bytes = new Uint8Array(memory, CONTROL_BYTES);
    this.view = new DataView(memory, CONTROL_BYTES);
    this.#written = this.#load(WRITTEN);
    this.#knownRead = this.#load(READ);
  }

  /** Bytes of memory for a ring with so many bytes of data. */
  static memoryBytes(capacity: number): number {
    return CONTROL_BYTES + capacity;
  }

  static ofBytes(capacity: number): Ring {
    return new Ring(new ArrayBuffer(CONTROL_BYTES + capacity));
  }

  /** The largest event that fits whatever the state of the ring. */
  get limitBytes(): number {
    return this.#capacity / 2 - RECORD_HEADER;
  }

  /** Bytes that records take up now. */
  get usedBytes(): number {
    return (this.#load(WRITTEN) - this.#load(READ)) | 0;
  }

  get capacity(): number {
    return this.#capacity;
  }

  // ---- the writer's

  /** Where up to `bytes` bytes may be written, or -1 where the ring has no room. `commit` makes it a record. */
  reserve(bytes: number): number {
    const need = RECORD_HEADER + pad(bytes);
    const at = this.#written & (this.#capacity - 1);
    const toEnd = this.#capacity - at;
    if (need <= toEnd) {
      if (!this.#isFree(need)) return -1;
      this.#reserved = at;
      return at + RECORD_HEADER;
    }
    if (!this.#isFree(toEnd + need)) return -1;
    this.view.setUint32(at, SKIP, true);
    this.#write(toEnd);
    this.#reserved = 0;
    return RECORD_HEADER;
  }

  /** For the writer: whether records take up more than half of the ring. */
  get isHalfFull(): boolean {
    return !this.#isFree(this.#capacity / 2);
  }

  #isFree(bytes: number): boolean {
    const most = this.#capacity - bytes;
    if (((this.#written - this.#knownRead) | 0) <= most) return true;
    this.#knownRead = Atomics.load(this.#control, READ);
    return ((this.#written - this.#knownRead) | 0) <= most;
  }

  #write(bytes: number): void {
    this.#written = (this.#written + bytes) | 0;
    Atomics.store(this.#control, WRITTEN, this.#written);
  }

  /**
   * Makes the bytes from the reserved place up to `end` the next record.
   *
   * @returns true where the reader sleeps and is to be woken
   */
  commit(endpoint: number, raised: number, end: number, sync = false, after = 0): boolean {
    const at = this.#reserved;
    return this.#commit(sync ? endpoint + SYNC : endpoint, raised, end - at - RECORD_HEADER, after);
  }

  /**
   * Makes a producer's position the next record, where there is room.
   *
   * @returns as `commit`
   */
  commitPosition(endpoint: number, raised: number, after = 0): boolean {
    return this.reserve(0) >= 0 && this.#commit(endpoint + POSITION, raised, 0, after);
  }

  #commit(tag: number, raised: number, length: number, after: number): boolean {
    const at = this.#reserved;
    this.view.setUint32(at, length, true);
    this.view.setUint32(at + 4, tag, true);
    this.view.setUint32(at + 8, raised % 0x1_0000_0000, true);
    this.view.setUint32(at + 12, Math.floor(raised / 0x1_0000_0000), true);
    this.view.setUint32(at + 16, after, true);
    this.#write(RECORD_HEADER + pad(length));
    return this.#load(ASLEEP) !== 0 && Atomics.exchange(this.#control, ASLEEP, 0) !== 0;
  }

  /**
   * Drops the oldest records, an eighth of the ring at once: a reader that copies meanwhile then has that much time before
   * the writer gets in its way again. What the reader gets first is not dropped.
   */
  dropOldest(dropped: (record: RingRecord) => void): void {
    for (let bytes = 0; bytes < this.#capacity / 8; ) {
      const read = this.#load(READ);
      if (read === this.#load(WRITTEN)) return;
      const at = read & (this.#capacity - 1);
      const length = this.view.getUint32(at, true);
      const size = length === SKIP ? this.#capacity - at : RECORD_HEADER + pad(length);
      const record = length === SKIP ? undefined : recordAt(this.bytes, this.view, at, length);
      bytes += size;
      if (this.#advance(read, size) && record !== undefined) dropped(record);
    }
  }

  /** Asks the reader to say when there is room again; `reserve` is to be tried once more after that. */
  wantRoom(): void {
    Atomics.store(this.#control, WANTED, 1);
  }

  /** The records that are there now; for the writer, who alone can be sure that they stay as they are. */
  *waiting(): Generator<RingRecord> {
    const written = this.#load(WRITTEN);
    for (let read = this.#load(READ); read !== written; ) {
      const at = read & (this.#capacity - 1);
      const length = this.view.getUint32(at, true);
      if (length !== SKIP) yield recordAt(this.bytes, this.view, at, length);
      read = (read + (length === SKIP ? this.#capacity - at : RECORD_HEADER + pad(length))) | 0;
    }
  }

  // ---- the reader's

  /**
   * Offers every record that is there, where it lies, some at a time, and frees what is taken. The bytes are valid until
   * `visit` returns. Not for a ring whose writer drops.
   *
   * @returns false where `visit` left some
   */
  drain(visit: Visit): boolean {
    const written = this.#load(WRITTEN);
    for (let read = this.#load(READ); read !== written; ) {
      const at = read & (this.#capacity - 1);
      const to = at + Math.min((written - read) | 0, this.#capacity - at);
      const records = this.#recordsIn(at, to);
      const taken = records.length === 0 ? 0 : visit(records);
      const left = records[taken];
      const end = left?.start ?? at;
      let size = left === undefined ? sizeOf(records) : end - RECORD_HEADER - at;
      if (left === undefined && ((read + size) | 0) !== written && this.#skipsAt(at + size))
        size = this.#capacity - at;
      read = (read + size) | 0;
      Atomics.store(this.#control, READ, read);
      if (left !== undefined) return false;
    }
    return true;
  }

  /**
   * Takes the oldest records out, copied into memory of their own: as many as lie in a row within `limitBytes`, or one.
   * Undefined where there are none.
   */
  take(limitBytes: number): Uint8Array<ArrayBuffer> | undefined {
    for (;;) {
      const read = this.#load(READ);
      const there = (this.#load(WRITTEN) - read) | 0;
      if (there === 0) return undefined;
      const at = read & (this.#capacity - 1);
      const first = this.view.getUint32(at, true);
      if (first === SKIP) {
        this.#advance(read, this.#capacity - at);
        continue;
      }
      const most = Math.min(there, this.#capacity - at, Math.max(limitBytes, RECORD_HEADER + pad(first)));
      const copy = new Uint8Array(most);
      copy.set(this.bytes.subarray(at, at + most));
      const size = wholeRecords(copy);
      // Where the writer has dropped meanwhile, the copy may be anything; it counts only if `read` is still the same.
      if (size > 0 && this.#advance(read, size)) return copy.subarray(0, size);
      if (size === 0 && this.#load(READ) === read)
        throw new RangeError("a ring's record is longer than the ring");
    }
  }

  /** The reader has nothing to do, and wants to be woken. @returns false where there is something by now */
  sleep(): boolean {
    Atomics.store(this.#control, ASLEEP, 1);
    return this.usedBytes === 0 || Atomics.exchange(this.#control, ASLEEP, 0) === 0;
  }

  /** The first records in a stretch of the ring, some at a time. */
  #recordsIn(from: number, to: number): RingRecord[] {
    const { bytes, view } = this;
    const records = this.#records;
    let count = 0;
    for (let at = from; at < to && count < OFFERED_RECORDS; count++) {
      const length = view.getUint32(at, true);
      if (length === SKIP) break;
      const record = records[count];
      if (record === undefined) records.push(recordAt(bytes, view, at, length));
      else readRecord(record, view, at, length);
      at += RECORD_HEADER + pad(length);
    }
    return records.slice(0, count);
  }

  #skipsAt(at: number): boolean {
    return at < this.#capacity && this.view.getUint32(at, true) === SKIP;
  }

  /** Whether the writer is to be told that there is room again. True at most once for each time that it asked. */
  owesRoom(): boolean {
    if (this.#load(WANTED) === 0 || this.usedBytes > this.#capacity / 2) return false;
    return Atomics.exchange(this.#control, WANTED, 0) !== 0;
  }

  /** Signed, as every count here: beyond 2^31 engines keep numbers in boxes, and compile what meets the first one anew. */
  #load(word: number): number {
    return Atomics.load(this.#control, word);
  }

  #advance(read: number, bytes: number): boolean {
    return Atomics.compareExchange(this.#control, READ, read, (read + bytes) | 0) === read;
  }
}

/** The first records in a stretch of memory, up to its end or a word that says to go on elsewhere. */
export function recordsIn(bytes: Uint8Array, view: DataView, from: number, to: number): RingRecord[] {
  const records: RingRecord[] = [];
  for (let at = from; at < to; ) {
    const length = view.getUint32(at, true);
    if (length === SKIP) break;
    records.push(recordAt(bytes, view, at, length));
    at += RECORD_HEADER + pad(length);
  }
  return records;
}

function recordAt(bytes: Uint8Array, view: DataView, at: number, length: number): UsedRecord {
  const record = {
    bytes,
    endpoint: 0,
    raised: 0,
    sync: false,
    isPosition: false,
    after: 0,
    start: 0,
    end: 0,
  };
  readRecord(record, view, at, length);
  return record;
}

function readRecord(record: UsedRecord, view: DataView, at: number, length: number): void {
  const tag = view.getUint32(at + 4, true);
  record.endpoint = tag % POSITION;
  record.raised = view.getUint32(at + 12, true) * 0x1_0000_0000 + view.getUint32(at + 8, true);
  record.sync = tag >= SYNC;
  record.isPosition = (tag & POSITION) !== 0;
  record.after = view.getUint32(at + 16, true);
  record.start = at + RECORD_HEADER;
  record.end = at + RECORD_HEADER + length;
}

/** Bytes of these records, which lie in a row. */
function sizeOf(records: readonly RingRecord[]): number {
  const [first, last] = [records[0], records.at(-1)];
  return first === undefined || last === undefined ? 0 : pad(last.end) - first.start + RECORD_HEADER;
}

/** Bytes of the whole records at the start of a copy. */
function wholeRecords(copy: Uint8Array): number {
  const view = new DataView(copy.buffer, copy.byteOffset, copy.byteLength);
  let end = 0;
  while (end + RECORD_HEADER <= copy.byteLength) {
    const length = view.getUint32(end, true);
    const next = end + RECORD_HEADER + pad(length);
    if (length === SKIP || length > copy.byteLength || next > copy.byteLength) break;
    end = next;
  }
  return end;
}

function pad(bytes: number): number {
  return (bytes + 7) & ~7;
}
