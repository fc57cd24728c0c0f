import type { Type } from "@jecho/shared";
import { SCALAR_BYTES } from "@jecho/shared/internal";
import { arrayAt, elementOf, KINDS } from "./array-kinds.ts";
import {
  type Code,
  type CodeLabel,
  type CodeLocal,
  f64,
  get,
  i32,
  type LengthOf,
  load,
  op,
  set,
} from "./code.ts";
import {
  booleanOf,
  constantOf,
  type EventVector,
  intOf,
  isInt,
  type KnownNumber,
  type KnownValue,
  maybeOf,
  numberOf,
  type TypedArray,
  wide,
} from "./known.ts";
import { ANSWER } from "./window-layout.ts";

type Root = Type["root"];
export type TableField = Root["fields"][number];
export type ScalarName = Extract<TableField["kind"], { is: "scalar" }>["scalar"];

/** Arrays that vectors of a field are read as. */
export const ELEMENT_ARRAYS: Readonly<Partial<Record<ScalarName, TypedArray>>> = {
  float32: "Float32Array",
  float64: "Float64Array",
  int8: "Int8Array",
  int16: "Int16Array",
  int32: "Int32Array",
  uint8: "Uint8Array",
  uint16: "Uint16Array",
  uint32: "Uint32Array",
};

/** The code of a label's end is jumped to with `answer` set where the event is broken. */
export interface EventCodePlace {
  readonly start: CodeLocal;
  readonly end: CodeLocal;
  readonly answer: CodeLocal;
  readonly done: CodeLabel;
}

/**
 * Code that reads an event's fields: each used field once, before everything else, with every offset checked
 * to lie within the event. The modulator's own code then reads variables, and vectors that are known to lie
 * within the event.
 */
export class EventCode {
  /** Names of the fields that are read. */
  readonly reads: string[] = [];
  /** Variables that hold a number of the event, and the names of its fields. */
  readonly numbers = new Map<CodeLocal, string>();
  readonly #place: EventCodePlace;
  readonly #writer: Root;
  readonly #reader: Root;
  readonly #fields = new Map<string, KnownValue | string>();
  readonly #code: Code[] = [];
  #bytes: EventVector | undefined;
  readonly #size: CodeLocal = { type: "i32" };
  readonly #table: CodeLocal = { type: "i32" };
  readonly #vtable: CodeLocal = { type: "i32" };
  readonly #vtableBytes: CodeLocal = { type: "i32" };

  constructor(writer: Root, reader: Root, place: EventCodePlace) {
    this.#writer = writer;
    this.#reader = reader;
    this.#place = place;
  }

  /** Reads all fields that were asked for. */
  get code(): readonly Code[] {
    if (this.#code.length === 0) return [];
    const { start, end } = this.#place;
    const [size, table, vtable] = [this.#size, this.#table, this.#vtable].map(get) as [Code, Code, Code];
    return [
      set(this.#size, op("i32.sub", get(end), get(start))),
      this.#brokenIf(op("i32.lt_u", size, i32(8))),
      // Offsets from here on are counted from the event's first byte.
      set(this.#table, load("i32.load", get(start))),
      this.#brokenIf(op("i32.gt_u", table, op("i32.sub", size, i32(4)))),
      set(this.#vtable, op("i32.sub", table, load("i32.load", this.#at(table)))),
      this.#brokenIf(op("i32.gt_u", vtable, op("i32.sub", size, i32(4)))),
      set(this.#vtableBytes, load("i32.load16_u", this.#at(vtable))),
      ...this.#code,
    ];
  }

  /** The known facts about this field's value, or text that says why the field cannot be compiled. */
  field(name: string): KnownValue | string {
    let known = this.#fields.get(name);
    if (known === undefined) {
      known = this.#read(name);
      this.#fields.set(name, known);
      if (typeof known !== "string") this.reads.push(name);
    }
    return known;
  }

  /** The event's own bytes, as they came. */
  bytes(): EventVector {
    if (this.#bytes === undefined) {
      const { start, end } = this.#place;
      const all = arrayAt("Uint8Array", start, { type: "i32" }, undefined);
      this.#bytes = { ...all, name: "event", of: all };
      this.#code.push(set(this.#bytes.length, op("i32.sub", get(end), get(start))));
    }
    return this.#bytes;
  }

  #read(name: string): KnownValue | string {
    const field = this.#reader.fields.find(one => one.name === name);
    if (field === undefined) return `events of ${this.#reader.name} have no field "${name}"`;
    const isOwn = this.#writer === this.#reader;
    const source = isOwn ? field : this.#writer.fields.find(one => one.name === name);
    const { kind } = source ?? field;
    if (kind.is === "vector" && kind.of.is === "scalar") return this.#vector(name, source, kind.of.scalar);
    if (kind.is === "string") return this.#text(name, source);
    if (kind.is !== "scalar") return `the field "${name}" is a ${kind.is === "object" ? "table" : kind.is}`;
    return this.#scalar(field, source, kind.scalar);
  }

  #scalar(field: TableField, source: TableField | undefined, scalar: ScalarName): KnownValue | string {
    const { name } = field;
    const isWide = [scalar, (field.kind as { scalar: ScalarName }).scalar].some(
      one => SCALAR_BYTES[one] === 8 && one !== "float64",
    );
    if (isWide) return `the field "${name}" is an integer of 64 bits`;
    const isMaybe = field.optional && (source === undefined || source.optional);
    const fallback = Number((source === undefined || source.optional ? field : source).defaultValue);
    if (scalar === "bool") {
      if (isMaybe) return `the field "${name}" may be undefined`;
      if (source === undefined) return booleanOf(i32(fallback !== 0 ? 1 : 0));
      const local: CodeLocal = { type: "i32" };
      this.#code.push(set(local, i32(fallback !== 0 ? 1 : 0)));
      this.#code.push(
        ...this.#slot(source, 1, at => [set(local, op("i32.ne", load("i32.load8_u", at), i32(0)))]),
      );
      return booleanOf(get(local));
    }
    if (source === undefined) return isMaybe ? maybeOf(f64(Number.NaN)) : constantOf(fallback);
    const { load: from, range } = KINDS[arrayOf(scalar)];
    if (range !== undefined && !isMaybe && isInt(fallback)) {
      const [lo, hi] = range;
      const local: CodeLocal = { type: "i32" };
      this.numbers.set(local, name);
      this.#code.push(set(local, i32(fallback)));
      this.#code.push(...this.#slot(source, SCALAR_BYTES[scalar], at => [set(local, load(from, at))]));
      return intOf(get(local), { lo: Math.min(lo, fallback), hi: Math.max(hi, fallback) });
    }
    const local: CodeLocal = { type: "f64" };
    this.numbers.set(local, name);
    this.#code.push(set(local, f64(isMaybe ? Number.NaN : fallback)));
    this.#code.push(
      ...this.#slot(source, SCALAR_BYTES[scalar], at => [set(local, wide(element(scalar, at)))]),
    );
    return isMaybe ? maybeOf(get(local)) : numberOf(get(local));
  }

  #vector(name: string, source: TableField | undefined, scalar: ScalarName): KnownValue | string {
    const field = this.#reader.fields.find(one => one.name === name) as TableField;
    const read = field.kind.is === "vector" && field.kind.of.is === "scalar" ? field.kind.of.scalar : scalar;
    const isWide = [scalar, read].some(one => SCALAR_BYTES[one] === 8 && one !== "float64");
    if (isWide) return `the vector "${name}" has integers of 64 bits`;
    const elementBytes = SCALAR_BYTES[scalar];
    const { length, start } = this.#elements(source, elementBytes);
    // Where the two differ, the event's own reader makes the array.
    const array = read === scalar ? ELEMENT_ARRAYS[scalar] : undefined;
    const vector: EventVector = { name, elementBytes, length, start, array, read: at => element(scalar, at) };
    return { is: "vector", vector, effects: [] };
  }

  /** A text lies there as a vector of bytes does. */
  #text(name: string, source: TableField | undefined): KnownValue {
    const { length, start } = this.#elements(source, 1);
    const vector: LengthOf = { name, elementBytes: 1, length };
    return { is: "text", text: { from: "event", at: get(start), length: get(length), vector } };
  }

  /** Code that finds elements of a field. @returns the number of them, and the address of the first */
  #elements(source: TableField | undefined, elementBytes: number): { length: CodeLocal; start: CodeLocal } {
    const length: CodeLocal = { type: "i32" };
    const start: CodeLocal = { type: "i32" };
    this.#code.push(set(length, i32(0)), set(start, i32(0)));
    if (source === undefined) return { length, start };
    const [size, found] = [get(this.#size), get(start)];
    const shift = Math.log2(elementBytes);
    this.#code.push(
      ...this.#slot(source, 4, (at, offset) => [
        set(start, load("i32.load", at)),
        this.#brokenIf(op("i32.gt_u", found, size)),
        set(start, op("i32.add", found, offset)),
        this.#brokenIf(op("i32.gt_u", found, op("i32.sub", size, i32(4)))),
        set(length, load("i32.load", this.#at(found))),
        this.#brokenIf(
          op(
            "i32.gt_u",
            get(length),
            op("i32.shr_u", op("i32.sub", op("i32.sub", size, i32(4)), found), i32(shift)),
          ),
        ),
        set(start, op("i32.add", this.#at(found), i32(4))),
      ]),
    );
    return { length, start };
  }

  /** Code that is run where the table has this field, whose bytes lie at `at`, and so far from the event's first. */
  #slot(source: TableField, bytes: number, then: (at: Code, offset: Code) => Code[]): Code[] {
    const entry = 4 + 2 * source.place;
    const [size, vtable] = [get(this.#size), get(this.#vtable)];
    const inline: CodeLocal = { type: "i32" };
    const found = get(inline);
    return [
      {
        is: "if",
        test: op("i32.lt_u", i32(entry), get(this.#vtableBytes)),
        yes: [
          this.#brokenIf(op("i32.gt_u", op("i32.add", vtable, i32(entry)), op("i32.sub", size, i32(2)))),
          set(inline, load("i32.load16_u", this.#at(op("i32.add", vtable, i32(entry))))),
          {
            is: "if",
            test: found,
            yes: [
              set(inline, op("i32.add", get(this.#table), found)),
              this.#brokenIf(op("i32.gt_u", found, op("i32.sub", size, i32(bytes)))),
              ...then(this.#at(found), found),
            ],
            no: [],
          },
        ],
        no: [],
      },
    ];
  }

  #at(offset: Code): Code {
    return op("i32.add", get(this.#place.start), offset);
  }

  #brokenIf(test: Code): Code {
    const { answer, done } = this.#place;
    return { is: "if", test, yes: [set(answer, i32(ANSWER.broken)), { is: "br", label: done }], no: [] };
  }
}

/** The number at an address, as an element of its array is read. */
function element(scalar: ScalarName, at: Code): KnownNumber {
  return elementOf(arrayOf(scalar), at);
}

/** The array whose elements lie there as these numbers do, none of which is an integer of 64 bits. */
function arrayOf(scalar: ScalarName): TypedArray {
  return ELEMENT_ARRAYS[scalar] ?? "Uint8Array";
}
