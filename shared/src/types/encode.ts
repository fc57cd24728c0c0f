import { JechoError } from "../errors.ts";
import { alignUp, OP, type Plan, type PlannedField, planOf } from "./encode-plan.ts";
import type { ObjectType, Scalar } from "./schema.ts";
import { TargetArrays } from "./target-arrays.ts";
import { utf8Bound, writeUtf8 } from "./utf8.ts";

/*
 * Encodes front to back into memory that the caller owns (a ring, a frame under construction): the event is written
 * once, where it will be sent from. A table is its vtable, unless the one before can share its own, and its inline part,
 * followed by what it points at. Everything is aligned relative to the start of the memory's buffer.
 */

const RANGES: Readonly<Record<number, readonly [number, number]>> = {
  [OP.int8]: [-128, 127],
  [OP.uint8]: [0, 255],
  [OP.int16]: [-32768, 32767],
  [OP.uint16]: [0, 65535],
  [OP.int32]: [-2147483648, 2147483647],
  [OP.uint32]: [0, 4294967295],
};

/** An upper bound of the bytes that `encodeInto` takes for this value. @throws JechoError `EVENT_INVALID` */
export function measure(type: ObjectType, value: unknown): number {
  return 8 + measureTable(planOf(type), value, type.name);
}

/**
 * Writes `value` as a FlatBuffer at `offset` (8-aligned) and returns the offset behind it.
 * The room of `measure(type, value)` must be there.
 *
 * @throws JechoError `EVENT_INVALID` naming the field
 */
export function encodeInto(
  type: ObjectType,
  value: unknown,
  bytes: Uint8Array,
  view: DataView,
  offset: number,
): number {
  const encoding = Encoding.on(bytes, view);
  const position = encoding.begin(planOf(type), value, offset + 4);
  view.setUint32(offset, position - offset, true);
  return encoding.at;
}

/**
 * Encodes into memory of its own.
 *
 * @param identifier FlatBuffers' four-letter file identifier, where the format asks for one
 * @throws JechoError `EVENT_INVALID`
 */
export function encode(type: ObjectType, value: unknown, identifier = ""): Uint8Array {
  const bytes = new Uint8Array(measure(type, value) + 8);
  const view = new DataView(bytes.buffer);
  const encoding = new Encoding(bytes, view);
  const position = encoding.begin(planOf(type), value, 4 + writeUtf8(bytes, 4, identifier));
  view.setUint32(0, position, true);
  return bytes.subarray(0, encoding.at);
}

function measureTable(plan: Plan, value: unknown, path: string): number {
  if (typeof value !== "object" || value === null) throw invalid(path, "an object", value);
  const { fields } = plan;
  let size = plan.vtableBytes + plan.bytes + 16;
  if (plan.isFlat) return size;
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] as PlannedField;
    if (field.op <= OP.bool) continue;
    const inner = (value as Record<string, unknown>)[field.name];
    if (inner !== undefined && inner !== null) size += measureField(field, inner);
  }
  return size;
}

function measureField(field: PlannedField, value: unknown): number {
  switch (field.op) {
    case OP.string:
      if (typeof value !== "string") throw invalid(field.path, "a string", value);
      return 16 + utf8Bound(value);
    case OP.table:
      return measureTable(field.plan as Plan, value, field.path);
    case OP.union:
      return measureTable(memberOf(field, value).plan, value, field.path);
    case OP.vector: {
      const list = listOf(value, field.path);
      const element = field.element as PlannedField;
      let size = 24 + list.length * element.size;
      if (element.op === OP.string || element.op === OP.table) {
        for (let i = 0; i < list.length; i++) size += measureField(element, list[i]);
      }
      return size;
    }
    default:
      return 0;
  }
}

/**
 * Vectors of scalars from this size on lie at a multiple of 8: into memory that threads share, engines copy words where both
 * sides are aligned to them, and else single bytes, which takes eight times as long.
 */
const LARGE_BYTES = 64;

/** Writing into one piece of memory. The two views start at the same byte, which is 8-aligned in its buffer. */
class Encoding {
  static #newest: Encoding | undefined;
  static #count = 0;

  /** Where the next byte goes. */
  at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #arrays: TargetArrays;
  /** Which event this is: vtables are shared within one. */
  #number = 0;

  constructor(bytes: Uint8Array, view: DataView) {
    this.#bytes = bytes;
    this.#view = view;
    this.#arrays = new TargetArrays(bytes);
  }

  /** Producers write into one ring again and again. */
  static on(bytes: Uint8Array, view: DataView): Encoding {
    const newest = Encoding.#newest;
    if (newest !== undefined && newest.#bytes === bytes && newest.#view === view) return newest;
    Encoding.#newest = new Encoding(bytes, view);
    return Encoding.#newest;
  }

  begin(plan: Plan, value: unknown, at: number): number {
    this.#number = ++Encoding.#count;
    this.at = at;
    return this.#table(plan, value);
  }

  #table(plan: Plan, value: unknown): number {
    const view = this.#view;
    const { fields, vtableBytes, holes } = plan;
    const event = value as Record<string, unknown>;
    const whole = plan.isFlat || isWhole(fields, event);
    const shares = whole && plan.sharedBy === this.#number;
    const position = alignUp(this.at + (shares ? 4 : vtableBytes + 4), 8) - 4;
    let vtable = plan.sharedAt;
    if (!shares) {
      vtable = position - vtableBytes;
      const words = plan.vtable;
      for (let i = 0; i < words.length; i++) view.setUint16(vtable + 2 * i, words[i] as number, true);
      if (whole) {
        plan.sharedBy = this.#number;
        plan.sharedAt = vtable;
      }
    }
    this.#zero(this.at, shares ? position : vtable);
    view.setInt32(position, position - vtable, true);
    for (let i = 0; i < holes.length; i++) view.setUint8(position + (holes[i] as number), 0);
    this.at = position + plan.bytes;
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i] as PlannedField;
      const inner = event[field.name];
      const inline = position + field.inline;
      if (field.op <= OP.bool && !(field.optional && (inner === undefined || inner === null))) {
        this.#scalar(inline, field, inner ?? field.defaultValue);
      } else if (inner === undefined || inner === null) {
        this.#zero(inline, inline + field.size);
        view.setUint16(vtable + field.entry, 0, true);
        if (field.op === OP.union) {
          view.setUint8(position + field.tagInline, 0);
          view.setUint16(vtable + field.entry - 2, 0, true);
        }
      } else if (field.op === OP.struct) {
        this.#struct(inline, field.plan as Plan, inner, field.path);
      } else {
        if (field.op === OP.union) view.setUint8(position + field.tagInline, memberOf(field, inner).tag);
        view.setUint32(inline, this.#outside(field, inner) - inline, true);
      }
    }
    return position;
  }

  /** Writes what a table or vector points at, and returns where it lies. */
  #outside(field: PlannedField, value: unknown): number {
    switch (field.op) {
      case OP.string:
        return this.#string(value as string);
      case OP.vector:
        return this.#vector(field.element as PlannedField, listOf(value, field.path), field.path);
      case OP.union:
        return this.#table(memberOf(field, value).plan, value);
      default:
        return this.#table(field.plan as Plan, value);
    }
  }

  #string(text: string): number {
    const position = this.#pad(4, 0);
    const length = writeUtf8(this.#bytes, position + 4, text);
    this.#view.setUint32(position, length, true);
    this.#view.setUint8(position + 4 + length, 0);
    this.at = position + 5 + length;
    return position;
  }

  #vector(element: PlannedField, list: ArrayLike<unknown>, path: string): number {
    const view = this.#view;
    const { size, op } = element;
    const { length } = list;
    const isLarge = op <= OP.bool && length * size >= LARGE_BYTES;
    const position = this.#pad(isLarge ? 8 : Math.max(4, element.align), 4);
    const start = position + 4;
    view.setUint32(position, length, true);
    this.at = start + length * size;
    if (op <= OP.bool) {
      if (!this.#arrays.set(element.scalar as Scalar, list, start)) {
        for (let i = 0; i < length; i++) this.#scalar(start + i * size, element, list[i]);
      }
    } else if (op === OP.struct) {
      for (let i = 0; i < length; i++) this.#struct(start + i * size, element.plan as Plan, list[i], path);
    } else {
      for (let i = 0; i < length; i++) {
        const slot = start + i * 4;
        view.setUint32(slot, this.#outside(element, list[i]) - slot, true);
      }
    }
    return position;
  }

  #struct(position: number, plan: Plan, value: unknown, path: string): void {
    if (typeof value !== "object" || value === null) throw invalid(path, "an object", value);
    const { fields, holes } = plan;
    for (let i = 0; i < holes.length; i++) this.#view.setUint8(position + (holes[i] as number), 0);
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i] as PlannedField;
      const inner = (value as Record<string, unknown>)[field.name];
      if (field.op === OP.struct)
        this.#struct(position + field.inline, field.plan as Plan, inner, field.path);
      else this.#scalar(position + field.inline, field, inner ?? field.defaultValue);
    }
  }

  #scalar(at: number, field: PlannedField, value: unknown): void {
    const view = this.#view;
    switch (field.op) {
      case OP.float32:
        if (typeof value !== "number") throw invalid(field.path, "a number", value);
        view.setFloat32(at, value, true);
        return;
      case OP.float64:
        if (typeof value !== "number") throw invalid(field.path, "a number", value);
        view.setFloat64(at, value, true);
        return;
      case OP.int32:
        if (typeof value !== "number" || (value | 0) !== value) throw notInRange(field, value);
        view.setInt32(at, value, true);
        return;
      case OP.int64:
      case OP.uint64:
        if (typeof value !== "bigint") throw invalid(field.path, "a bigint", value);
        if (field.op === OP.int64) view.setBigInt64(at, value, true);
        else view.setBigUint64(at, value, true);
        return;
      case OP.bool:
        if (typeof value !== "boolean" && value !== 0 && value !== 1)
          throw invalid(field.path, "a boolean", value);
        view.setUint8(at, value ? 1 : 0);
        return;
    }
    const [least, most] = RANGES[field.op] as readonly [number, number];
    if (typeof value !== "number" || !(value >= least && value <= most) || !Number.isInteger(value))
      throw notInRange(field, value);
    if (field.size === 4) view.setUint32(at, value, true);
    else if (field.size === 2) view.setUint16(at, value, true);
    else view.setUint8(at, value);
  }

  /** Zero bytes up to where something with this alignment may lie, `ahead` bytes before the aligned place. */
  #pad(align: number, ahead: number): number {
    const position = alignUp(this.at + ahead, align) - ahead;
    this.#zero(this.at, position);
    return position;
  }

  #zero(start: number, end: number): void {
    const view = this.#view;
    for (let at = start; at < end; at++) view.setUint8(at, 0);
  }
}

/** Has it every field that may be absent? @throws JechoError `EVENT_INVALID` where one of them is required */
function isWhole(fields: readonly PlannedField[], event: Record<string, unknown>): boolean {
  let whole = true;
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] as PlannedField;
    if (field.op <= OP.bool && !field.optional) continue;
    const inner = event[field.name];
    if (inner !== undefined && inner !== null) continue;
    if (field.required) throw invalid(field.path, "a value, for it is required", inner);
    whole = false;
  }
  return whole;
}

function listOf(value: unknown, path: string): ArrayLike<unknown> {
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) {
    return value as unknown as ArrayLike<unknown>;
  }
  throw invalid(path, "an array", value);
}

function memberOf({ members, path }: PlannedField, value: unknown): PlannedField["members"][number] {
  const kind = (value as { kind?: unknown } | null)?.kind;
  const member = members.find(candidate => candidate.name === kind);
  if (member === undefined)
    throw invalid(path, `an object whose kind is one of ${members.map(m => m.name).join(", ")}`, value);
  return member;
}

function notInRange({ op, path }: PlannedField, value: unknown): JechoError {
  const [least, most] = RANGES[op] as readonly [number, number];
  return invalid(path, `an integer from ${least} to ${most}`, value);
}

function invalid(path: string, wanted: string, value: unknown): JechoError {
  const got =
    typeof value === "number" || typeof value === "boolean"
      ? String(value)
      : value === null
        ? "null"
        : typeof value;
  return new JechoError("EVENT_INVALID", `${path}: ${wanted} is wanted, not ${got}`);
}
