import { JechoError } from "../errors.ts";
import {
  type ElementKind,
  elementAlign,
  elementBytes,
  type Field,
  type Kind,
  type ObjectType,
  SCALAR_BYTES,
  type Scalar,
} from "./schema.ts";
import { utf8Bound, writeUtf8 } from "./utf8.ts";

/*
 * Encodes front to back into memory that the caller owns (a ring, a frame under construction): the event is written
 * once, where it will be sent from. Each table is a copy of its type's template - vtable and inline part - patched in
 * place, followed by what it points at. Everything is aligned relative to the start of the memory's buffer.
 */

/** Memory being written to. Both views start at the same byte, which is 8-aligned in its buffer. */
interface Target {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  at: number;
}

interface Plan {
  readonly template: Uint8Array;
  readonly vtableBytes: number;
  readonly fields: readonly PlannedField[];
}

interface PlannedField {
  readonly field: Field;
  readonly path: string;
  /** From the table's position. */
  readonly inline: number;
  /** From the vtable's position; a union's tag has the entry before. */
  readonly entry: number;
  readonly tagInline: number;
}

const RANGES: Readonly<Record<string, readonly [number, number]>> = {
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-32768, 32767],
  uint16: [0, 65535],
  int32: [-2147483648, 2147483647],
  uint32: [0, 4294967295],
};

const plans = new WeakMap<ObjectType, Plan>();

/** An upper bound of the bytes that `encodeInto` takes for this value. @throws JechoError `EVENT_INVALID` */
export function measure(type: ObjectType, value: unknown): number {
  return 8 + measureTable(type, value, type.name);
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
  const target: Target = { bytes, view, at: offset + 4 };
  const position = writeTable(target, type, value);
  view.setUint32(offset, position - offset, true);
  return target.at;
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
  const target: Target = { bytes, view, at: 4 + writeUtf8(bytes, 4, identifier) };
  view.setUint32(0, writeTable(target, type, value), true);
  return bytes.subarray(0, target.at);
}

function planOf(type: ObjectType): Plan {
  const known = plans.get(type);
  if (known !== undefined) return known;
  let slots = 0;
  const parts: { field: Field; bytes: number; align: number; tag: boolean }[] = [];
  for (const field of type.fields) {
    slots = Math.max(slots, field.place + 1);
    if (field.kind.is === "union") parts.push({ field, bytes: 1, align: 1, tag: true });
    const kind =
      field.kind.is === "vector" || field.kind.is === "union" ? ({ is: "string" } as const) : field.kind;
    parts.push({ field, bytes: elementBytes(kind), align: elementAlign(kind), tag: false });
  }
  parts.sort((a, b) => b.align - a.align);
  // The table lies at 4 modulo 8, so that the first inline part, behind the 4 bytes of the vtable's offset, is 8-aligned.
  const places = new Map<Field, { inline: number; tagInline: number }>();
  let size = 4;
  for (const part of parts) {
    size = alignUp(size - 4, part.align) + 4;
    const place = places.get(part.field) ?? { inline: 0, tagInline: 0 };
    if (part.tag) place.tagInline = size;
    else place.inline = size;
    places.set(part.field, place);
    size += part.bytes;
  }
  const vtableBytes = 4 + 2 * slots;
  const template = new Uint8Array(vtableBytes + size);
  const view = new DataView(template.buffer);
  view.setUint16(0, vtableBytes, true);
  view.setUint16(2, size, true);
  const fields = type.fields.map((field): PlannedField => {
    const { inline, tagInline } = places.get(field) as { inline: number; tagInline: number };
    const entry = 4 + 2 * field.place;
    view.setUint16(entry, inline, true);
    if (field.kind.is === "union") view.setUint16(entry - 2, tagInline, true);
    return { field, path: `${type.name}.${field.name}`, inline, entry, tagInline };
  });
  const plan = { template, vtableBytes, fields };
  plans.set(type, plan);
  return plan;
}

function measureTable(type: ObjectType, value: unknown, path: string): number {
  if (typeof value !== "object" || value === null) throw invalid(path, "an object", value);
  const plan = planOf(type);
  let size = plan.template.length + 16;
  for (const { field, path: fieldPath } of plan.fields) {
    const inner = (value as Record<string, unknown>)[field.name];
    if (inner !== undefined && inner !== null && field.kind.is !== "scalar")
      size += measureKind(field.kind, inner, fieldPath);
  }
  return size;
}

function measureKind(kind: Kind, value: unknown, path: string): number {
  switch (kind.is) {
    case "scalar":
      return 0;
    case "string":
      if (typeof value !== "string") throw invalid(path, "a string", value);
      return 16 + utf8Bound(value);
    case "object":
      return kind.object.isStruct ? 0 : measureTable(kind.object, value, path);
    case "union":
      return measureTable(memberOf(kind.members, value, path).object, value, path);
    case "vector": {
      const list = listOf(value, path);
      let size = 24 + list.length * elementBytes(kind.of);
      if (kind.of.is === "string" || (kind.of.is === "object" && !kind.of.object.isStruct)) {
        for (let i = 0; i < list.length; i++) size += measureKind(kind.of, list[i], path);
      }
      return size;
    }
  }
}

function writeTable(target: Target, type: ObjectType, value: unknown): number {
  const plan = planOf(type);
  const { bytes, view } = target;
  const position = alignUp(target.at + plan.vtableBytes + 4, 8) - 4;
  const vtable = position - plan.vtableBytes;
  bytes.fill(0, target.at, vtable);
  bytes.set(plan.template, vtable);
  view.setInt32(position, plan.vtableBytes, true);
  target.at = vtable + plan.template.length;
  for (const { field, inline, entry, tagInline, path } of plan.fields) {
    const inner = (value as Record<string, unknown>)[field.name];
    const { kind } = field;
    if (kind.is === "scalar") {
      writeScalar(view, position + inline, kind.scalar, inner ?? field.defaultValue, path);
    } else if (inner === undefined || inner === null) {
      if (field.required) throw invalid(path, "a value, for it is required", inner);
      view.setUint16(vtable + entry, 0, true);
      if (kind.is === "union") view.setUint16(vtable + entry - 2, 0, true);
    } else if (kind.is === "object" && kind.object.isStruct) {
      writeStruct(target, position + inline, kind.object, inner, path);
    } else {
      if (kind.is === "union") bytes[position + tagInline] = memberOf(kind.members, inner, path).tag;
      view.setUint32(position + inline, writeOutside(target, kind, inner, path) - (position + inline), true);
    }
  }
  return position;
}

/** Writes what a table or vector points at, and returns where it lies. */
function writeOutside(target: Target, kind: Kind, value: unknown, path: string): number {
  switch (kind.is) {
    case "string":
      return writeString(target, value as string);
    case "vector":
      return writeVector(target, kind.of, listOf(value, path), path);
    case "union":
      return writeTable(target, memberOf(kind.members, value, path).object, value);
    case "object":
      return writeTable(target, kind.object, value);
    case "scalar":
      throw new JechoError("INTERNAL", `${path}: a scalar is written inline`);
  }
}

function writeString(target: Target, text: string): number {
  const position = pad(target, 4, 0);
  const length = writeUtf8(target.bytes, position + 4, text);
  target.view.setUint32(position, length, true);
  target.bytes[position + 4 + length] = 0;
  target.at = position + 5 + length;
  return position;
}

function writeVector(target: Target, of: ElementKind, list: ArrayLike<unknown>, path: string): number {
  const { bytes, view } = target;
  const position = pad(target, Math.max(4, elementAlign(of)), 4);
  const start = position + 4;
  const size = elementBytes(of);
  view.setUint32(position, list.length, true);
  target.at = start + list.length * size;
  if (of.is === "scalar") {
    if (ArrayBuffer.isView(list) && sameLayout(list, of.scalar)) {
      bytes.set(new Uint8Array(list.buffer, list.byteOffset, list.byteLength), start);
    } else {
      for (let i = 0; i < list.length; i++) writeScalar(view, start + i * size, of.scalar, list[i], path);
    }
  } else if (of.is === "object" && of.object.isStruct) {
    for (let i = 0; i < list.length; i++) writeStruct(target, start + i * size, of.object, list[i], path);
  } else {
    for (let i = 0; i < list.length; i++) {
      const slot = start + i * 4;
      view.setUint32(slot, writeOutside(target, of, list[i], path) - slot, true);
    }
  }
  return position;
}

function writeStruct(target: Target, position: number, type: ObjectType, value: unknown, path: string): void {
  if (typeof value !== "object" || value === null) throw invalid(path, "an object", value);
  target.bytes.fill(0, position, position + type.bytes);
  for (const { name, place, kind, defaultValue } of type.fields) {
    const inner = (value as Record<string, unknown>)[name] ?? defaultValue;
    if (kind.is === "scalar")
      writeScalar(target.view, position + place, kind.scalar, inner, `${path}.${name}`);
    else if (kind.is === "object")
      writeStruct(target, position + place, kind.object, inner, `${path}.${name}`);
  }
}

function writeScalar(view: DataView, at: number, scalar: Scalar, value: unknown, path: string): void {
  if (scalar === "float32" || scalar === "float64") {
    if (typeof value !== "number") throw invalid(path, "a number", value);
    if (scalar === "float32") view.setFloat32(at, value, true);
    else view.setFloat64(at, value, true);
    return;
  }
  if (scalar === "int64" || scalar === "uint64") {
    if (typeof value !== "bigint") throw invalid(path, "a bigint", value);
    if (scalar === "int64") view.setBigInt64(at, value, true);
    else view.setBigUint64(at, value, true);
    return;
  }
  if (scalar === "bool") {
    if (typeof value !== "boolean" && value !== 0 && value !== 1) throw invalid(path, "a boolean", value);
    view.setUint8(at, value ? 1 : 0);
    return;
  }
  const [least, most] = RANGES[scalar] as readonly [number, number];
  if (typeof value !== "number" || !(value >= least && value <= most) || !Number.isInteger(value)) {
    throw invalid(path, `an integer from ${least} to ${most}`, value);
  }
  if (SCALAR_BYTES[scalar] === 4) view.setUint32(at, value, true);
  else if (SCALAR_BYTES[scalar] === 2) view.setUint16(at, value, true);
  else view.setUint8(at, value);
}

/** Zero bytes up to where something with this alignment may lie, `ahead` bytes before the aligned place. */
function pad(target: Target, align: number, ahead: number): number {
  const position = alignUp(target.at + ahead, align) - ahead;
  target.bytes.fill(0, target.at, position);
  return position;
}

export function alignUp(value: number, align: number): number {
  return (value + align - 1) & -align;
}

const TAGS: Readonly<Record<Scalar, string>> = {
  bool: "Uint8Array",
  int8: "Int8Array",
  uint8: "Uint8Array",
  int16: "Int16Array",
  uint16: "Uint16Array",
  int32: "Int32Array",
  uint32: "Uint32Array",
  int64: "BigInt64Array",
  uint64: "BigUint64Array",
  float32: "Float32Array",
  float64: "Float64Array",
};

function sameLayout(list: ArrayBufferView, scalar: Scalar): boolean {
  const tag = (list as unknown as { [Symbol.toStringTag]: string })[Symbol.toStringTag];
  return tag === TAGS[scalar] || (scalar === "uint8" && tag === "Uint8ClampedArray");
}

function listOf(value: unknown, path: string): ArrayLike<unknown> {
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) {
    return value as unknown as ArrayLike<unknown>;
  }
  throw invalid(path, "an array", value);
}

function memberOf<M extends { name: string }>(members: readonly M[], value: unknown, path: string): M {
  const kind = (value as { kind?: unknown } | null)?.kind;
  const member = members.find(candidate => candidate.name === kind);
  if (member === undefined)
    throw invalid(path, `an object whose kind is one of ${members.map(m => m.name).join(", ")}`, value);
  return member;
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
