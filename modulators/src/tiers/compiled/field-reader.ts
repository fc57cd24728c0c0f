import type { Type } from "@jecho/shared";
import { SCALAR_BYTES } from "@jecho/shared/internal";
import { MOST_TEXT_BYTES } from "./data-shape.ts";
import type { ScalarName, TableField } from "./event-code.ts";

const GETTERS: Readonly<Partial<Record<ScalarName, (view: DataView, at: number) => number>>> = {
  int8: (view, at) => view.getInt8(at),
  uint8: (view, at) => view.getUint8(at),
  int16: (view, at) => view.getInt16(at, true),
  uint16: (view, at) => view.getUint16(at, true),
  int32: (view, at) => view.getInt32(at, true),
  uint32: (view, at) => view.getUint32(at, true),
  float32: (view, at) => view.getFloat32(at, true),
  float64: (view, at) => view.getFloat64(at, true),
};

/** Reads one field of events as programs do: a number, or that which stands for a text (`keyOfText`), NaN for one that is longer than any that programs compare. */
export class FieldReader {
  readonly #source: TableField | undefined;
  /** The value of a field that an event leaves out: NaN for undefined. */
  readonly #fallback: number;
  /** Undefined for a text. */
  readonly #get: ((view: DataView, at: number) => number) | undefined;
  readonly #bytes: number;

  /**
   * @param writer the type that the events were written with
   * @param reader the type that the programs were written for
   * @param name of a field that programs compare
   */
  constructor(writer: Type, reader: Type, name: string) {
    const field = reader.root.fields.find(one => one.name === name) as TableField;
    this.#source = writer.root.fields.find(one => one.name === name);
    const { kind } = this.#source ?? field;
    const isMissing = this.#source === undefined || this.#source.optional;
    const [scalar, by] = [kind.is === "scalar" ? kind.scalar : undefined, isMissing ? field : this.#source];
    this.#fallback =
      scalar === undefined ? NO_TEXT : field.optional && isMissing ? Number.NaN : Number(by?.defaultValue);
    this.#get = scalar === undefined ? undefined : GETTERS[scalar];
    this.#bytes = scalar === undefined ? 4 : SCALAR_BYTES[scalar];
  }

  /** The field's value in an event that lies from `start` to `end`; undefined where that is broken. */
  read(view: DataView, start: number, end: number): number | undefined {
    const source = this.#source;
    const size = end - start;
    if (size < 8) return undefined;
    const table = view.getUint32(start, true);
    if (table > size - 4) return undefined;
    const vtable = table - view.getInt32(start + table, true);
    if (vtable < 0 || vtable > size - 4) return undefined;
    const entry = 4 + 2 * (source?.place ?? 0);
    if (source === undefined || entry >= view.getUint16(start + vtable, true)) return this.#fallback;
    if (vtable + entry > size - 2) return undefined;
    const offset = view.getUint16(start + vtable + entry, true);
    if (offset === 0) return this.#fallback;
    const at = table + offset;
    if (at > size - this.#bytes) return undefined;
    return this.#get === undefined ? this.#text(view, start, size, at) : this.#get(view, start + at);
  }

  #text(view: DataView, start: number, size: number, at: number): number | undefined {
    const found = at + view.getUint32(start + at, true);
    if (found > size - 4) return undefined;
    const length = view.getUint32(start + found, true);
    if (length > size - 4 - found) return undefined;
    if (length > MOST_TEXT_BYTES) return Number.NaN;
    return keyOfText(new Uint8Array(view.buffer, view.byteOffset + start + found + 4, length));
  }
}

/** A number for a text, in UTF-8. Few others have the same. */
export function keyOfText(bytes: Uint8Array): number {
  let key = 0x811c9dc5;
  for (let i = 0; i < bytes.length; i++) key = Math.imul(key ^ (bytes[i] as number), 0x01000193);
  return key;
}

/** The key of the empty text, which is also that of one that is left out. */
const NO_TEXT = keyOfText(new Uint8Array(0));
