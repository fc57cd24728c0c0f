import { JechoError } from "../errors.ts";
import { OP, type Plan, type PlannedField, planOf } from "./encode-plan.ts";
import type { ObjectType } from "./schema.ts";
import { utf8Bound } from "./utf8.ts";

/* What values a field takes, how many bytes they may need, and writing its numbers. */

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
    case OP.vector:
      return measureVector(field.element as PlannedField, listOf(value, field.path));
    default:
      return 0;
  }
}

function measureVector(element: PlannedField, list: ArrayLike<unknown>): number {
  const { op, plan, size } = element;
  const bytes = 24 + list.length * size;
  // Rows take the same room each; what is in them is looked at once, when they are written.
  if (op === OP.table && plan?.isFlat) return bytes + plan.vtableBytes + list.length * plan.stride;
  if (op !== OP.string && op !== OP.table) return bytes;
  let inner = 0;
  for (let i = 0; i < list.length; i++) inner += measureField(element, list[i]);
  return bytes + inner;
}

/** Writes one number. @throws JechoError `EVENT_INVALID` where the field cannot hold it */
export function writeScalar(view: DataView, at: number, field: PlannedField, value: unknown): void {
  // What an integer's bits do not say again it cannot hold.
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
    case OP.uint32:
      if (typeof value !== "number" || value >>> 0 !== value) throw notInRange(field, value);
      view.setUint32(at, value, true);
      return;
    case OP.int16:
      if (typeof value !== "number" || (value << 16) >> 16 !== value) throw notInRange(field, value);
      view.setInt16(at, value, true);
      return;
    case OP.uint16:
      if (typeof value !== "number" || (value & 0xffff) !== value) throw notInRange(field, value);
      view.setUint16(at, value, true);
      return;
    case OP.int8:
      if (typeof value !== "number" || (value << 24) >> 24 !== value) throw notInRange(field, value);
      view.setInt8(at, value);
      return;
    case OP.uint8:
      if (typeof value !== "number" || (value & 0xff) !== value) throw notInRange(field, value);
      view.setUint8(at, value);
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
}

/** The value as a list. @throws JechoError `EVENT_INVALID` */
export function listOf(value: unknown, path: string): ArrayLike<unknown> {
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) {
    return value as unknown as ArrayLike<unknown>;
  }
  throw invalid(path, "an array", value);
}

/** Finds the union's member that the value is. @throws JechoError `EVENT_INVALID` */
export function memberOf({ members, path }: PlannedField, value: unknown): PlannedField["members"][number] {
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

export function invalid(path: string, wanted: string, value: unknown): JechoError {
  const got =
    typeof value === "number" || typeof value === "boolean"
      ? String(value)
      : value === null
        ? "null"
        : typeof value;
  return new JechoError("EVENT_INVALID", `${path}: ${wanted} is wanted, not ${got}`);
}
