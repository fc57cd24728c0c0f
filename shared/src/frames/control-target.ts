import { alignUp } from "../types/encode-plan.ts";
import { PLAIN_TEXT, utf8Bound, writeAscii, writeUtf8 } from "../types/utf8.ts";
import { invalid, listOf } from "../types/written-values.ts";
import { type ControlField, type ControlTable, KIND, KIND_BYTES } from "./control-tables.ts";

/*
 * Control messages are small: they are written without measuring them first, into memory that grows where it has to.
 */

/** Most are smaller by far. */
const SCRATCH_BYTES = 4096;

/** Positions of the parts that all frames have: size, offset of the root, the root's vtable, and the root. */
const AT = { size: 0, rootOffset: 4, vtable: 8, root: 24, control: 28, tag: 32, end: 33 } as const;
/** The vtable's words: its bytes, the root's, and where the slots of Frame lie in that up to `control`. */
const ROOT_VTABLE = [14, AT.end - AT.root, 0, 0, 0, AT.tag - AT.root, AT.control - AT.root] as const;

/** Largest number of an integer's kind. */
const MOST: Readonly<Record<number, number>> = {
  [KIND.uint8]: 0xff,
  [KIND.uint16]: 0xffff,
  [KIND.uint32]: 0xffffffff,
};

/** A frame that a control message is written to. What is left out of a message has its default. */
export class ControlTarget {
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  /** Position of the next byte. */
  #at = 0;

  /**
   * One control message as a frame of its own, a multiple of 8 bytes, in memory that the next call writes over.
   *
   * @throws JechoError `EVENT_INVALID` naming the field
   */
  message(table: ControlTable, control: object): Uint8Array<ArrayBuffer> {
    // Memory for an unusually large one is not kept.
    if (this.#bytes.byteLength !== SCRATCH_BYTES) this.#begin(SCRATCH_BYTES);
    this.#at = AT.end;
    const position = this.#table(table, control);
    const end = alignUp(this.#at, 8);
    this.#reach(end);
    this.#clear(end);
    const view = this.#view;
    view.setUint32(AT.size, end - 4, true);
    view.setUint32(AT.control, position - AT.control, true);
    view.setUint8(AT.tag, table.tag);
    return this.#bytes.subarray(0, end);
  }

  /** @returns where the table lies, at 4 modulo 8 */
  #table({ fields, words }: ControlTable, value: object): number {
    const at = this.#beginTable(words);
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i] as ControlField;
      const { name, kind, isList, inline } = field;
      const inner = (value as Readonly<Record<string, unknown>>)[name];
      const isOffset = isList || kind >= KIND.string;
      if (inner === undefined || inner === null) {
        // The vtable's entry says so; a scalar is zero.
        if (isOffset) this.#view.setUint16(at - (words[0] as number) + 4 + 2 * i, 0, true);
      } else if (isList) this.#point(at + inline, this.#list(field, inner));
      else this.#value(at + inline, kind, field, inner);
    }
    return at;
  }

  #beginTable(words: readonly number[]): number {
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

  #value(at: number, kind: number, { name, table }: ControlField, value: unknown): void {
    const view = this.#view;
    switch (kind) {
      case KIND.string:
        this.#point(at, this.#text(value, name));
        return;
      case KIND.table:
        if (typeof value !== "object" || value === null) throw invalid(name, "an object", value);
        this.#point(at, this.#table(table as ControlTable, value));
        return;
      case KIND.bool:
        if (typeof value !== "boolean") throw invalid(name, "a boolean", value);
        view.setUint8(at, value ? 1 : 0);
        return;
      case KIND.uint64:
        if (typeof value !== "bigint") throw invalid(name, "a bigint", value);
        view.setBigUint64(at, value, true);
        return;
    }
    if (typeof value !== "number") throw invalid(name, "a number", value);
    if (kind === KIND.float32) view.setFloat32(at, value, true);
    else if (kind === KIND.float64) view.setFloat64(at, value, true);
    else this.#integer(at, kind, name, value);
  }

  #integer(at: number, kind: number, name: string, value: number): void {
    const view = this.#view;
    const most = MOST[kind] as number;
    if (value >>> 0 !== value || value > most) throw invalid(name, `an integer from 0 to ${most}`, value);
    if (kind === KIND.uint32) view.setUint32(at, value, true);
    else if (kind === KIND.uint16) view.setUint16(at, value, true);
    else view.setUint8(at, value);
  }

  /** @returns where the vector lies */
  #list(field: ControlField, value: unknown): number {
    const { name, kind } = field;
    const list = listOf(value, name);
    const bytes = KIND_BYTES[kind] as number;
    const contents = list.length * bytes;
    const position = this.#place(Math.max(4, bytes), 4, 4 + contents);
    this.#view.setUint32(position, list.length, true);
    const start = position + 4;
    this.#at = start + contents;
    if (kind === KIND.uint8 && list instanceof Uint8Array) this.#bytes.set(list, start);
    else for (let i = 0; i < list.length; i++) this.#value(start + bytes * i, kind, field, list[i]);
    return position;
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
