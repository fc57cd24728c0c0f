import { JechoError } from "../errors.ts";
import { alignUp, OP, type Plan, type PlannedField, planOf } from "./encode-plan.ts";
import { writeRows } from "./rows.ts";
import type { ObjectType, Scalar } from "./schema.ts";
import { TargetArrays } from "./typed-arrays.ts";
import { utf8Bound, writeUtf8 } from "./utf8.ts";
import { invalid, listOf, measure, memberOf, writeScalar } from "./written-values.ts";

/*
 * Encodes front to back into memory that the caller owns (a ring, a frame under construction): the event is written
 * once, where it will be sent from. A table is its vtable, unless the one before can share its own, and its inline part,
 * followed by what it points at. Everything is aligned relative to the start of the memory's buffer.
 */

/**
 * Writes `value` as a FlatBuffer at `offset` (8-aligned) and returns the offset behind it.
 *
 * @param limit where the room of `measure(type, value)` ends; nothing is written beyond it
 * @throws JechoError `EVENT_INVALID` naming the field, also where the value is no longer what was measured
 */
export function encodeInto(
  type: ObjectType,
  value: unknown,
  bytes: Uint8Array,
  view: DataView,
  offset: number,
  limit = bytes.length,
): number {
  const encoding = Encoding.on(bytes, view);
  const position = encoding.begin(planOf(type), value, offset + 4, limit);
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
  const position = encoding.begin(planOf(type), value, 4 + writeUtf8(bytes, 4, identifier), bytes.length);
  view.setUint32(0, position, true);
  return bytes.subarray(0, encoding.at);
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

  /** Position of the next byte. */
  at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #arrays: TargetArrays;
  /** End of the event's room: a value whose getters give more than was measured must not reach what lies behind. */
  #limit = 0;
  /** Number of the present event: vtables are shared within one event. */
  #number = 0;
  /** Position of the newest table's vtable. */
  #vtable = 0;

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

  begin(plan: Plan, value: unknown, at: number, limit: number): number {
    this.#number = ++Encoding.#count;
    this.#limit = limit;
    this.at = at;
    return this.#table(plan, value);
  }

  #table(plan: Plan, value: unknown): number {
    const view = this.#view;
    const { fields, holes } = plan;
    const event = value as Record<string, unknown>;
    const position = this.#place(plan, plan.isFlat || isWhole(fields, event), plan.bytes);
    const vtable = this.#vtable;
    for (let i = 0; i < holes.length; i++) view.setUint8(position + (holes[i] as number), 0);
    this.at = position + plan.bytes;
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i] as PlannedField;
      const inner = event[field.name];
      const inline = position + field.inline;
      if (field.op <= OP.bool && !(field.optional && (inner === undefined || inner === null))) {
        writeScalar(view, inline, field, inner ?? field.defaultValue);
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

  /**
   * Position of the next table, behind its vtable unless it shares one.
   *
   * @param whole has it all fields?
   * @param bytes that are to lie there, of it and of those behind it
   */
  #place(plan: Plan, whole: boolean, bytes: number): number {
    const view = this.#view;
    const { vtableBytes } = plan;
    const shares = whole && plan.sharedBy === this.#number;
    const position = alignUp(this.at + (shares ? 4 : vtableBytes + 4), 8) - 4;
    this.#need(position + bytes, plan.name);
    this.#vtable = shares ? plan.sharedAt : position - vtableBytes;
    this.#zero(this.at, shares ? position : this.#vtable);
    if (!shares) {
      const words = plan.vtable;
      for (let i = 0; i < words.length; i++) view.setUint16(this.#vtable + 2 * i, words[i] as number, true);
    }
    if (whole) {
      plan.sharedBy = this.#number;
      plan.sharedAt = this.#vtable;
    }
    view.setInt32(position, position - this.#vtable, true);
    return position;
  }

  /** Writes what a table or vector points at, and returns where it lies. */
  #outside(field: PlannedField, value: unknown): number {
    switch (field.op) {
      case OP.string:
        return this.#string(value as string, field.path);
      case OP.vector:
        return this.#vector(field.element as PlannedField, listOf(value, field.path), field.path);
      case OP.union:
        return this.#table(memberOf(field, value).plan, value);
      default:
        return this.#table(field.plan as Plan, value);
    }
  }

  #string(text: string, path: string): number {
    const position = this.#pad(4, 0);
    this.#need(position + 5 + utf8Bound(text), path);
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
    this.#need(start + length * size, path);
    view.setUint32(position, length, true);
    this.at = start + length * size;
    if (op <= OP.bool) {
      if (!this.#arrays.set(element.scalar as Scalar, list, start)) {
        for (let i = 0; i < length; i++) writeScalar(view, start + i * size, element, list[i]);
      }
    } else if (element.plan?.isFlat) {
      this.#rows(element.plan, list, start, path);
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

  /** Elements of one layout each: structs from `start` on, or tables that the offsets there lead to. */
  #rows(plan: Plan, list: ArrayLike<unknown>, start: number, path: string): void {
    const { length } = list;
    if (length === 0) return;
    if (plan.vtableBytes === 0) return writeRows(this.#view, plan, list, start, plan.bytes, path);
    const view = this.#view;
    const { stride } = plan;
    const first = this.#place(plan, true, (length - 1) * stride + plan.bytes);
    for (let i = 0; i < length; i++) {
      const position = first + i * stride;
      const slot = start + 4 * i;
      view.setUint32(slot, position - slot, true);
      view.setInt32(position, position - this.#vtable, true);
    }
    const end = first + length * stride;
    for (let i = plan.bytes; i < stride; i++)
      for (let at = first + i; at < end; at += stride) view.setUint8(at, 0);
    writeRows(view, plan, list, first, stride, path);
    this.at = end - stride + plan.bytes;
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
      else writeScalar(this.#view, position + field.inline, field, inner ?? field.defaultValue);
    }
  }

  /** @throws JechoError `EVENT_INVALID` where that is beyond the room: then less was measured than there is now */
  #need(end: number, path: string): void {
    if (!(end <= this.#limit))
      throw new JechoError("EVENT_INVALID", `${path}: it was not the same when it was read again`);
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

/** Whether an event has every field that may be absent. @throws JechoError `EVENT_INVALID` where one of them is required */
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
