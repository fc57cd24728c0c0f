import type { ElementKind, Field, Kind, ObjectType, Scalar } from "../types/schema.ts";
import { elementAlign, elementBytes } from "../types/schema.ts";
import { ARRAYS } from "../types/typed-arrays.ts";
import { readUtf8 } from "../types/utf8.ts";
import { malformed } from "./events.ts";

/*
 * Control messages are read whole and at once, and most of them when nothing has happened for a while and the processor's caches
 * have forgotten all about it. So they are checked and made plain objects in one walk along one small plan: a verifier
 * followed by accessors touches ten times the memory.
 */

const OP = { scalar: 0, string: 1, numbers: 2, strings: 3, tables: 4, table: 5 } as const;

/** A field of a table. */
interface Step {
  readonly name: string;
  readonly op: number;
  /** Of the vtable. */
  readonly entry: number;
  /** Bytes of the field in its table. */
  readonly bytes: number;
  /** What its place is a multiple of, or that of a vector's elements, less one. */
  readonly alignMask: number;
  readonly scalar: Scalar;
  /** Bytes of a vector's element. */
  readonly elementBytes: number;
  /** What an absent number or text reads as. */
  readonly absent: unknown;
  /** Of the table or tables. */
  readonly steps: readonly Step[];
}

/** A member of the union of control messages. */
interface Member {
  readonly kind: string;
  readonly steps: readonly Step[];
}

/** Text and elements that one frame may have read, for each of its bytes: honest frames share few of their parts. */
const BUDGET_PER_BYTE = 16;
/** What a table or an element takes of it besides its text. */
const ELEMENT_COST = 8;

/** Reads the members of one union: checks all that it reads, bounds, alignment and how much it is. */
export class ControlReader {
  readonly #members: readonly (Member | undefined)[];
  #view: DataView = new DataView(new ArrayBuffer(0));
  #bytes: Uint8Array = new Uint8Array(0);
  #start = 0;
  #end = 0;
  #budget = 0;

  /** @param frame the table with the union `control` */
  constructor(frame: ObjectType) {
    const members: Member[] = [];
    for (const { kind } of frame.fields) {
      if (kind.is !== "union") continue;
      for (const { tag, name, object } of kind.members) members[tag] = { kind: name, steps: stepsOf(object) };
    }
    this.#members = members;
  }

  /**
   * Reads a member as a plain object with its name as `kind`. Typed arrays are views on the bytes where they lie aligned there.
   *
   * @param tag of the member
   * @param at where the offset lies that leads to it
   * @param start of the frame, from which alignment is counted
   * @param end of the frame
   * @throws JechoError `FRAME_MALFORMED`
   */
  read(view: DataView, bytes: Uint8Array, tag: number, at: number, start: number, end: number): object {
    const member = this.#members[tag];
    if (member === undefined) throw malformed(`a control message of the unknown kind ${tag}`);
    this.#view = view;
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#budget = BUDGET_PER_BYTE * (end - start);
    return this.#table({ kind: member.kind }, member.steps, this.#target(at));
  }

  #table(plain: Record<string, unknown>, steps: readonly Step[], position: number): object {
    const view = this.#view;
    const end = this.#end;
    this.#spend(0);
    const vtable = position - view.getInt32(position, true);
    if (vtable < this.#start || vtable + 4 > end || (vtable & 1) !== 0)
      throw malformed("a vtable lies outside the frame");
    const vtableBytes = view.getUint16(vtable, true);
    const tableBytes = view.getUint16(vtable + 2, true);
    if (vtableBytes < 4 || (vtableBytes & 1) !== 0 || vtable + vtableBytes > end)
      throw malformed("a vtable is broken");
    if (tableBytes < 4 || position + tableBytes > end) throw malformed("a table lies outside the frame");
    for (let i = 0; i < steps.length; i++) {
      const step = steps[i] as Step;
      const { entry } = step;
      const inline = entry + 2 > vtableBytes ? 0 : view.getUint16(vtable + entry, true);
      if (inline === 0) {
        plain[step.name] = absent(step);
        continue;
      }
      if (inline < 4 || inline + step.bytes > tableBytes) throw broken(step, "lies outside its table");
      plain[step.name] = this.#field(step, position + inline);
    }
    return plain;
  }

  #field(step: Step, at: number): unknown {
    switch (step.op) {
      case OP.scalar:
        if (((at - this.#start) & step.alignMask) !== 0) throw broken(step, "is not aligned");
        return scalarAt(this.#view, step.scalar, at);
      case OP.string:
        return this.#string(at);
      case OP.table:
        return this.#table({}, step.steps, this.#target(at));
      default:
        return this.#vector(step, this.#target(at));
    }
  }

  #vector(step: Step, position: number): unknown {
    const view = this.#view;
    const length = view.getUint32(position, true);
    const start = position + 4;
    const end = start + length * step.elementBytes;
    if (end > this.#end) throw broken(step, "reaches out of bounds");
    if (step.op === OP.numbers) {
      if (length > 0 && ((start - this.#start) & step.alignMask) !== 0) throw broken(step, "is not aligned");
      return this.#numbers(step, start, length);
    }
    const list: unknown[] = [];
    for (let slot = start; slot < end; slot += 4)
      list.push(
        step.op === OP.strings ? this.#string(slot) : this.#table({}, step.steps, this.#target(slot)),
      );
    return list;
  }

  #numbers({ scalar, elementBytes }: Step, start: number, length: number): unknown {
    const { byteOffset } = this.#bytes;
    const buffer = this.#bytes.buffer as ArrayBuffer;
    if (scalar === "uint8") return new Uint8Array(buffer, byteOffset + start, length);
    const Numbers = ARRAYS[scalar];
    if ((byteOffset + start) % elementBytes === 0) return new Numbers(buffer, byteOffset + start, length);
    return new Numbers(this.#bytes.slice(start, start + length * elementBytes).buffer as ArrayBuffer);
  }

  #string(at: number): string {
    const position = this.#target(at);
    const length = this.#view.getUint32(position, true);
    // FlatBuffers' strings have a zero behind them.
    if (position + 5 + length > this.#end) throw malformed("a text lies outside the frame");
    this.#spend(length);
    return readUtf8(this.#bytes, position + 4, length);
  }

  /** Where the offset at `at` leads: always forwards, aligned, never out of bounds. */
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

/** A control message contains no others of its own kind, so that this ends. */
function stepsOf({ fields }: ObjectType): Step[] {
  return fields.map(field => {
    const { name, kind, place, required, optional } = field;
    const element = kind.is === "vector" ? kind.of : undefined;
    const inner = element ?? kind;
    if (inner.is === "union" || inner.is === "vector" || required || optional)
      throw new TypeError(`a control message has no field like ${name}`);
    if (inner.is === "object" && inner.object.isStruct)
      throw new TypeError(`a control message has no structs, as ${name}`);
    const isInline = kind.is === "scalar";
    return {
      name,
      op: opOf(kind, element),
      entry: 4 + 2 * place,
      bytes: isInline ? elementBytes(kind) : 4,
      alignMask: (isInline || element !== undefined ? elementAlign(inner) : 4) - 1,
      scalar: inner.is === "scalar" ? inner.scalar : "uint8",
      elementBytes: elementBytes(inner),
      absent: isInline ? absentNumber(kind.scalar, field) : kind.is === "string" ? "" : undefined,
      steps: inner.is === "object" ? stepsOf(inner.object) : [],
    };
  });
}

function opOf(kind: Kind, element: ElementKind | undefined): number {
  if (element === undefined)
    return kind.is === "scalar" ? OP.scalar : kind.is === "string" ? OP.string : OP.table;
  return element.is === "scalar" ? OP.numbers : element.is === "string" ? OP.strings : OP.tables;
}

function absentNumber(scalar: Scalar, { defaultValue }: Field): unknown {
  if (scalar === "bool") return Number(defaultValue) !== 0;
  return scalar === "int64" || scalar === "uint64" ? BigInt(defaultValue) : Number(defaultValue);
}

function absent({ op, absent, scalar }: Step): unknown {
  if (op === OP.numbers) return new ARRAYS[scalar](0);
  return op === OP.strings || op === OP.tables ? [] : absent;
}

function scalarAt(view: DataView, scalar: Scalar, at: number): unknown {
  switch (scalar) {
    case "bool":
      return view.getUint8(at) !== 0;
    case "uint8":
      return view.getUint8(at);
    case "uint16":
      return view.getUint16(at, true);
    case "uint32":
      return view.getUint32(at, true);
    case "uint64":
      return view.getBigUint64(at, true);
    case "float32":
      return view.getFloat32(at, true);
    case "float64":
      return view.getFloat64(at, true);
    case "int8":
      return view.getInt8(at);
    case "int16":
      return view.getInt16(at, true);
    case "int32":
      return view.getInt32(at, true);
    case "int64":
      return view.getBigInt64(at, true);
  }
}

function broken({ name }: Step, what: string): Error {
  return malformed(`"${name}" ${what}`);
}
