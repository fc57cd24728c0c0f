import { PLAIN_TEXT, readUtf8 } from "../types/utf8.ts";
import { type ControlField, type ControlTable, KIND, KIND_BYTES } from "./control-tables.ts";
import { malformed } from "./events.ts";

/*
 * Control messages are read whole and at once: each is checked while it is made a plain object.
 */

/** Text and elements that one frame may have read, for each of its bytes: honest frames share few of their parts. */
const BUDGET_PER_BYTE = 16;
/** Share of the budget that a table or an element takes besides its text. */
const ELEMENT_COST = 8;

/** Numbers that a list takes no longer for than a view. */
const FEW = 8;

/** A frame that a control message is read from. Each step checks all that it reads: bounds, alignment and how much it is. */
export class ControlSource {
  #view: DataView = new DataView(new ArrayBuffer(0));
  #bytes: Uint8Array = new Uint8Array(0);
  #start = 0;
  #end = 0;
  #budget = 0;

  /**
   * Reads a message of the frame that lies in [start, end).
   *
   * @param at where the offset lies that leads to its table
   * @throws JechoError `FRAME_MALFORMED`
   */
  message(
    view: DataView,
    bytes: Uint8Array,
    start: number,
    end: number,
    at: number,
    table: ControlTable,
  ): object {
    this.#view = view;
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#budget = BUDGET_PER_BYTE * (end - start);
    return this.#table(this.#target(at), table);
  }

  #table(at: number, { fields, absent }: ControlTable): object {
    const vtable = this.#vtableOf(at);
    const value: Record<string, unknown> = { ...absent };
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i] as ControlField;
      const { name, kind, isList } = field;
      const place = this.#field(at, vtable, 4 + 2 * i, isList ? 4 : (KIND_BYTES[kind] as number));
      if (place !== 0) value[name] = isList ? this.#list(place, field) : this.#value(place, kind, field);
    }
    return value;
  }

  /** @returns where the vtable of the table at `at` lies, by which its fields are found */
  #vtableOf(at: number): number {
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

  #value(at: number, kind: number, { table }: ControlField): unknown {
    const view = this.#view;
    switch (kind) {
      case KIND.bool:
        return view.getUint8(at) !== 0;
      case KIND.uint8:
        return view.getUint8(at);
      case KIND.uint16:
        return view.getUint16(at, true);
      case KIND.uint32:
        return view.getUint32(at, true);
      case KIND.uint64:
        return view.getBigUint64(at, true);
      case KIND.float32:
        return view.getFloat32(at, true);
      case KIND.float64:
        return view.getFloat64(at, true);
      case KIND.string:
        return this.#text(at);
      default:
        return this.#table(this.#target(at), table as ControlTable);
    }
  }

  /** Bytes, and many numbers, are a view on the frame where they lie aligned; a view on a few takes longer than a list. */
  #list(at: number, field: ControlField): unknown {
    const { kind } = field;
    const bytes = KIND_BYTES[kind] as number;
    const start = this.#vector(at, bytes);
    const length = this.#lengthAt(start);
    if (kind === KIND.uint8) return this.#viewOn(Uint8Array, start, length);
    if (kind === KIND.uint32 && length > FEW) return this.#viewOn(Uint32Array, start, length);
    if (kind === KIND.uint64 && length > FEW) return this.#viewOn(BigUint64Array, start, length);
    const list: unknown[] = [];
    for (let i = 0; i < length; i++) list.push(this.#value(start + bytes * i, kind, field));
    return list;
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
  #vector(at: number, elementBytes: number): number {
    const start = this.#target(at) + 4;
    const length = this.#lengthAt(start);
    if (start + length * elementBytes > this.#end) throw malformed("a vector lies outside the frame");
    if (length > 0 && ((start - this.#start) & (elementBytes - 1)) !== 0)
      throw malformed("a vector is not aligned");
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
