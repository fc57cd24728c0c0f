import { alignUp } from "../types/encode-plan.ts";
import { PLAIN_TEXT, utf8Bound, writeAscii, writeUtf8 } from "../types/utf8.ts";
import { invalid, listOf } from "../types/written-values.ts";

/*
 * Control messages are small, and most are written when nothing has happened for a while and the processor's caches have forgotten all
 * about it. So each kind is written by straight code of its own (`generated/control-codec.ts`), whose steps are these, without
 * measuring it first, into memory that grows where it has to.
 */

/** Most are smaller by far. */
const SCRATCH_BYTES = 4096;

/** Positions of the parts that all frames have: size, offset of the root, the root's vtable, and the root. */
const AT = { size: 0, rootOffset: 4, vtable: 8, root: 24, control: 28, tag: 32, end: 33 } as const;
/** The vtable's words: its bytes, the root's, and where the slots of Frame lie in that up to `control`. */
const ROOT_VTABLE = [14, AT.end - AT.root, 0, 0, 0, AT.tag - AT.root, AT.control - AT.root] as const;

/** Writes a table of one kind; what is left out has its default. @returns where it lies */
type WriteTable<T> = (to: ControlTarget, from: T) => number;

/** A frame that a control message is written to. The steps throw JechoError `EVENT_INVALID`, naming the field. */
export class ControlTarget {
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  /** Position of the next byte. */
  #at = 0;

  /**
   * One control message as a frame of its own, a multiple of 8 bytes, in memory that the next call writes over.
   *
   * @param tag of the message's kind
   */
  message<T>(tag: number, write: WriteTable<T>, control: T): Uint8Array<ArrayBuffer> {
    // Memory for an unusually large one is not kept.
    if (this.#bytes.byteLength !== SCRATCH_BYTES) this.#begin(SCRATCH_BYTES);
    this.#at = AT.end;
    const position = write(this, control);
    const end = alignUp(this.#at, 8);
    this.#reach(end);
    this.#clear(end);
    const view = this.#view;
    view.setUint32(AT.size, end - 4, true);
    view.setUint32(AT.control, position - AT.control, true);
    view.setUint8(AT.tag, tag);
    return this.#bytes.subarray(0, end);
  }

  /** Begins a table that has all its fields. @param words of its vtable @returns where it lies, at 4 modulo 8 */
  table(words: readonly number[]): number {
    const vtableBytes = words[0] as number;
    const position = alignUp(this.#at + vtableBytes + 4, 8) - 4;
    const vtable = position - vtableBytes;
    const end = position + (words[1] as number);
    this.#reach(end);
    this.#clear(end);
    this.#at = end;
    const view = this.#view;
    for (let i = 0; i < words.length; i++) view.setUint16(vtable + 2 * i, words[i] as number, true);
    view.setInt32(position, vtableBytes, true);
    return position;
  }

  bool(at: number, value: boolean | undefined, path: string): void {
    if (value !== undefined && typeof value !== "boolean") throw invalid(path, "a boolean", value);
    this.#view.setUint8(at, value === true ? 1 : 0);
  }

  uint8(at: number, value: number | undefined, path: string): void {
    if (value !== undefined && (value & 0xff) !== value) throw notUpTo(0xff, path, value);
    this.#view.setUint8(at, value ?? 0);
  }

  uint16(at: number, value: number | undefined, path: string): void {
    if (value !== undefined && (value & 0xffff) !== value) throw notUpTo(0xffff, path, value);
    this.#view.setUint16(at, value ?? 0, true);
  }

  uint32(at: number, value: number | undefined, path: string): void {
    if (value !== undefined && value >>> 0 !== value) throw notUpTo(0xffffffff, path, value);
    this.#view.setUint32(at, value ?? 0, true);
  }

  uint64(at: number, value: bigint | undefined, path: string): void {
    if (value !== undefined && typeof value !== "bigint") throw invalid(path, "a bigint", value);
    this.#view.setBigUint64(at, value ?? 0n, true);
  }

  float32(at: number, value: number | undefined, path: string): void {
    if (value !== undefined && typeof value !== "number") throw invalid(path, "a number", value);
    this.#view.setFloat32(at, value ?? 0, true);
  }

  float64(at: number, value: number | undefined, path: string): void {
    if (value !== undefined && typeof value !== "number") throw invalid(path, "a number", value);
    this.#view.setFloat64(at, value ?? 0, true);
  }

  /** @param slot the field's entry of the vtable, which is cleared where the field is absent */
  string(at: number, slot: number, value: string | undefined, path: string): void {
    if (this.#isThere(slot, value)) this.#point(at, this.#text(value, path));
  }

  object<T>(at: number, slot: number, value: T | undefined, write: WriteTable<T>, path: string): void {
    if (!this.#isThere(slot, value)) return;
    if (typeof value !== "object") throw invalid(path, "an object", value);
    this.#point(at, write(this, value));
  }

  uint8s(at: number, slot: number, value: ArrayLike<number> | undefined, path: string): void {
    if (!this.#isThere(slot, value)) return;
    const list = listOf(value, path) as ArrayLike<number>;
    const start = this.#vector(at, list.length, 1);
    if (list instanceof Uint8Array) this.#bytes.set(list, start);
    else for (let i = 0; i < list.length; i++) this.uint8(start + i, list[i], path);
  }

  uint32s(at: number, slot: number, value: ArrayLike<number> | undefined, path: string): void {
    if (!this.#isThere(slot, value)) return;
    const list = listOf(value, path) as ArrayLike<number>;
    const start = this.#vector(at, list.length, 4);
    for (let i = 0; i < list.length; i++) this.uint32(start + 4 * i, list[i], path);
  }

  uint64s(at: number, slot: number, value: ArrayLike<bigint> | undefined, path: string): void {
    if (!this.#isThere(slot, value)) return;
    const list = listOf(value, path) as ArrayLike<bigint>;
    const start = this.#vector(at, list.length, 8);
    for (let i = 0; i < list.length; i++) this.uint64(start + 8 * i, list[i], path);
  }

  strings(at: number, slot: number, value: readonly string[] | undefined, path: string): void {
    if (!this.#isThere(slot, value)) return;
    const list = listOf(value, path);
    const start = this.#vector(at, list.length, 4);
    for (let i = 0; i < list.length; i++) this.#point(start + 4 * i, this.#text(list[i], path));
  }

  objects<T>(
    at: number,
    slot: number,
    value: readonly T[] | undefined,
    write: WriteTable<T>,
    path: string,
  ): void {
    if (!this.#isThere(slot, value)) return;
    const list = listOf(value, path);
    const start = this.#vector(at, list.length, 4);
    for (let i = 0; i < list.length; i++) {
      const element = list[i];
      if (typeof element !== "object" || element === null) throw invalid(path, "an object", element);
      this.#point(start + 4 * i, write(this, element as T));
    }
  }

  #isThere<T>(slot: number, value: T | undefined): value is T & {} {
    if (value !== undefined && value !== null) return true;
    this.#view.setUint16(slot, 0, true);
    return false;
  }

  #point(at: number, target: number): void {
    this.#view.setUint32(at, target - at, true);
  }

  #text(text: unknown, path: string): number {
    if (typeof text !== "string") throw invalid(path, "a string", text);
    const position = this.#place(4, 0, 5 + utf8Bound(text));
    const isWritten = text.length <= PLAIN_TEXT && writeAscii(this.#bytes, position + 4, text);
    const length = isWritten ? text.length : writeUtf8(this.#bytes, position + 4, text);
    this.#view.setUint32(position, length, true);
    this.#at = position + 5 + length;
    this.#bytes[this.#at - 1] = 0;
    return position;
  }

  /** A vector that the field at `at` points to. @returns where its elements begin */
  #vector(at: number, length: number, elementBytes: number): number {
    const position = this.#place(Math.max(4, elementBytes), 4, 4 + length * elementBytes);
    this.#view.setUint32(position, length, true);
    this.#at = position + 4 + length * elementBytes;
    this.#point(at, position);
    return position + 4;
  }

  /** Room for so many bytes, of which those behind the first `ahead` are aligned. @returns where they begin */
  #place(align: number, ahead: number, bytes: number): number {
    const position = alignUp(this.#at + ahead, align) - ahead;
    this.#reach(position + bytes);
    this.#clear(position);
    return position;
  }

  /** Few bytes each time, up to this place. */
  #clear(end: number): void {
    const bytes = this.#bytes;
    for (let i = this.#at; i < end; i++) bytes[i] = 0;
  }

  #begin(bytes: number): void {
    this.#bytes = new Uint8Array(bytes);
    const view = new DataView(this.#bytes.buffer);
    this.#view = view;
    view.setUint32(AT.rootOffset, AT.root - AT.rootOffset, true);
    for (let i = 0; i < ROOT_VTABLE.length; i++)
      view.setUint16(AT.vtable + 2 * i, ROOT_VTABLE[i] as number, true);
    view.setInt32(AT.root, AT.root - AT.vtable, true);
  }

  /** Makes sure that there is room up to this place. */
  #reach(end: number): void {
    const former = this.#bytes;
    if (end <= former.byteLength) return;
    this.#begin(2 * end);
    this.#bytes.set(former);
  }
}

function notUpTo(most: number, path: string, value: unknown): Error {
  return invalid(path, `an integer from 0 to ${most}`, value);
}
