import { PLAIN_TEXT, readUtf8 } from "../types/utf8.ts";
import { malformed } from "./events.ts";

/*
 * Control messages are read whole and at once, and most of them when nothing has happened for a while and the processor's caches
 * have forgotten all about it: what it costs then is how much memory it touches. So each kind is checked and made a plain object
 * by straight code of its own (`generated/control-codec.ts`), whose steps are these.
 */

/** Text and elements that one frame may have read, for each of its bytes: honest frames share few of their parts. */
const BUDGET_PER_BYTE = 16;
/** Share of the budget that a table or an element takes besides its text. */
const ELEMENT_COST = 8;

// Nobody can change what is empty.
const NO_UINT8S = new Uint8Array(0);
const NO_NUMBERS: readonly number[] = Object.freeze([]);
const NO_BIGINTS: readonly bigint[] = Object.freeze([]);
/** Numbers that a list takes no longer for than a view. */
const FEW = 8;

/** Reads a table of one kind. */
type ReadTable<T> = (from: ControlSource, at: number) => T;

/** A frame that a control message is read from. Each step checks all that it reads: bounds, alignment and how much it is. */
export class ControlSource {
  #view: DataView = new DataView(new ArrayBuffer(0));
  #bytes: Uint8Array = NO_UINT8S;
  #start = 0;
  #end = 0;
  #budget = 0;

  /**
   * Reads a message of the frame that lies in [start, end).
   *
   * @param at where the offset lies that leads to its table
   * @throws JechoError `FRAME_MALFORMED`, as all that `read` calls here
   */
  message<T>(
    view: DataView,
    bytes: Uint8Array,
    start: number,
    end: number,
    at: number,
    read: ReadTable<T>,
  ): T {
    this.#view = view;
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#budget = BUDGET_PER_BYTE * (end - start);
    return read(this, this.#target(at));
  }

  /** Begins a table. @returns where its vtable lies, by which its fields are found */
  table(at: number): number {
    const view = this.#view;
    const end = this.#end;
    this.#spend(0);
    const vtable = at - view.getInt32(at, true);
    if (vtable < this.#start || vtable + 4 > end || (vtable & 1) !== 0)
      throw malformed("a vtable lies outside the frame");
    const vtableBytes = view.getUint16(vtable, true);
    const tableBytes = view.getUint16(vtable + 2, true);
    if (vtableBytes < 4 || (vtableBytes & 1) !== 0 || vtable + vtableBytes > end)
      throw malformed("a vtable is broken");
    if (tableBytes < 4 || at + tableBytes > end) throw malformed("a table lies outside the frame");
    return vtable;
  }

  bool(table: number, vtable: number, entry: number): boolean {
    const at = this.#field(table, vtable, entry, 1);
    return at !== 0 && this.#view.getUint8(at) !== 0;
  }

  uint8(table: number, vtable: number, entry: number): number {
    const at = this.#field(table, vtable, entry, 1);
    return at === 0 ? 0 : this.#view.getUint8(at);
  }

  uint16(table: number, vtable: number, entry: number): number {
    const at = this.#field(table, vtable, entry, 2);
    return at === 0 ? 0 : this.#view.getUint16(at, true);
  }

  uint32(table: number, vtable: number, entry: number): number {
    const at = this.#field(table, vtable, entry, 4);
    return at === 0 ? 0 : this.#view.getUint32(at, true);
  }

  uint64(table: number, vtable: number, entry: number): bigint {
    const at = this.#field(table, vtable, entry, 8);
    return at === 0 ? 0n : this.#view.getBigUint64(at, true);
  }

  float32(table: number, vtable: number, entry: number): number {
    const at = this.#field(table, vtable, entry, 4);
    return at === 0 ? 0 : this.#view.getFloat32(at, true);
  }

  float64(table: number, vtable: number, entry: number): number {
    const at = this.#field(table, vtable, entry, 8);
    return at === 0 ? 0 : this.#view.getFloat64(at, true);
  }

  string(table: number, vtable: number, entry: number): string {
    const at = this.#field(table, vtable, entry, 4);
    return at === 0 ? "" : this.#text(at);
  }

  object<T>(table: number, vtable: number, entry: number, read: ReadTable<T>): T | undefined {
    const at = this.#field(table, vtable, entry, 4);
    return at === 0 ? undefined : read(this, this.#target(at));
  }

  /** A view on the bytes. */
  uint8s(table: number, vtable: number, entry: number): Uint8Array {
    const at = this.#field(table, vtable, entry, 4);
    if (at === 0) return NO_UINT8S;
    const start = this.#vector(at, 1, 1);
    const length = this.#lengthAt(start);
    if (length === 0) return NO_UINT8S;
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + start, length);
  }

  /** A view on the bytes, where they lie aligned; of a few, which a view takes longer for, a list. */
  uint32s(table: number, vtable: number, entry: number): readonly number[] {
    const at = this.#field(table, vtable, entry, 4);
    if (at === 0) return NO_NUMBERS;
    const start = this.#vector(at, 4, 4);
    const length = this.#lengthAt(start);
    if (length > FEW) return this.#viewOn(Uint32Array, start, length) as unknown as readonly number[];
    const list: number[] = [];
    for (let i = 0; i < length; i++) list.push(this.#view.getUint32(start + 4 * i, true));
    return list;
  }

  /** Reads a vector of 64-bit numbers, as `uint32s` does. */
  uint64s(table: number, vtable: number, entry: number): readonly bigint[] {
    const at = this.#field(table, vtable, entry, 4);
    if (at === 0) return NO_BIGINTS;
    const start = this.#vector(at, 8, 8);
    const length = this.#lengthAt(start);
    if (length > FEW) return this.#viewOn(BigUint64Array, start, length) as unknown as readonly bigint[];
    const list: bigint[] = [];
    for (let i = 0; i < length; i++) list.push(this.#view.getBigUint64(start + 8 * i, true));
    return list;
  }

  strings(table: number, vtable: number, entry: number): string[] {
    const texts: string[] = [];
    const at = this.#field(table, vtable, entry, 4);
    if (at === 0) return texts;
    const start = this.#vector(at, 4, 4);
    for (let i = 0, length = this.#lengthAt(start); i < length; i++) texts.push(this.#text(start + 4 * i));
    return texts;
  }

  objects<T>(table: number, vtable: number, entry: number, read: ReadTable<T>): T[] {
    const all: T[] = [];
    const at = this.#field(table, vtable, entry, 4);
    if (at === 0) return all;
    const start = this.#vector(at, 4, 4);
    for (let i = 0, length = this.#lengthAt(start); i < length; i++)
      all.push(read(this, this.#target(start + 4 * i)));
    return all;
  }

  /** Position of a field of this many bytes, a multiple of that number; 0 where the field is absent. */
  #field(table: number, vtable: number, entry: number, bytes: number): number {
    const view = this.#view;
    const inline = entry + 2 > view.getUint16(vtable, true) ? 0 : view.getUint16(vtable + entry, true);
    if (inline === 0) return 0;
    if (inline < 4 || inline + bytes > view.getUint16(vtable + 2, true))
      throw malformed("a field lies outside its table");
    const at = table + inline;
    if (((at - this.#start) & (bytes - 1)) !== 0) throw malformed("a field is not aligned");
    return at;
  }

  #text(at: number): string {
    const position = this.#target(at);
    const length = this.#view.getUint32(position, true);
    // FlatBuffers' strings have a zero behind them.
    if (position + 5 + length > this.#end) throw malformed("a text lies outside the frame");
    this.#spend(length);
    return readUtf8(this.#bytes, position + 4, length, PLAIN_TEXT);
  }

  /** @returns where a vector's elements begin, behind their number */
  #vector(at: number, elementBytes: number, align: number): number {
    const start = this.#target(at) + 4;
    const length = this.#lengthAt(start);
    if (start + length * elementBytes > this.#end) throw malformed("a vector lies outside the frame");
    if (length > 0 && ((start - this.#start) & (align - 1)) !== 0) throw malformed("a vector is not aligned");
    return start;
  }

  #viewOn<T>(
    Numbers: {
      new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): T;
      readonly BYTES_PER_ELEMENT: number;
    },
    start: number,
    length: number,
  ): T {
    const bytes = Numbers.BYTES_PER_ELEMENT;
    const { buffer, byteOffset } = this.#bytes;
    if ((byteOffset + start) % bytes === 0) return new Numbers(buffer, byteOffset + start, length);
    return new Numbers(this.#bytes.slice(start, start + length * bytes).buffer);
  }

  #lengthAt(start: number): number {
    return this.#view.getUint32(start - 4, true);
  }

  /** Target of the offset at `at`: always forwards, aligned, never out of bounds. */
  #target(at: number): number {
    const position = at + this.#view.getUint32(at, true);
    if (position <= at || position + 4 > this.#end || ((position - this.#start) & 3) !== 0)
      throw malformed("an offset leads out of bounds");
    return position;
  }

  #spend(textBytes: number): void {
    this.#budget -= ELEMENT_COST + textBytes;
    if (this.#budget < 0) throw malformed("a frame has more parts than its size allows");
  }
}
