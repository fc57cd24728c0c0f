import { JechoError } from "../errors.ts";
import {
  type ElementKind,
  elementBytes,
  type Field,
  type Kind,
  type ObjectType,
  SCALAR_BYTES,
  type Scalar,
} from "./schema.ts";
import { readUtf8 } from "./utf8.ts";

/*
 * Accessors read fields in place. They are made once for a pair: the layout that the writer used and the names that
 * the reader knows. A field is matched by its name; one that the writer lacks reads as its default, integers and floats
 * may be wider at the reader. With the writer's own type as the reader's there is nothing to match.
 */

const VIEW = Symbol("view");
const BYTES = Symbol("bytes");
const POSITION = Symbol("position");

/** An event, or a table or struct in it, over the bytes that it came in. Its fields are getters by name. */
export interface Accessor {
  readonly [VIEW]: DataView;
  readonly [BYTES]: Uint8Array;
  readonly [POSITION]: number;
}

type Make = (view: DataView, bytes: Uint8Array, position: number) => object;
type Read = (view: DataView, bytes: Uint8Array, at: number) => unknown;

/** Reads the event whose bytes begin at `start`; what it points at has been verified. */
export type ReadEvent = (view: DataView, bytes: Uint8Array, start: number) => object;

/**
 * Makes the function that reads events of the writer's type through the reader's names.
 *
 * @throws JechoError `TYPE_MISMATCH` naming the field and both types where a field's kinds cannot be matched
 */
export function createReader(writer: ObjectType, reader: ObjectType = writer): ReadEvent {
  const make = accessorFor(writer, reader, new Map());
  return (view, bytes, start) => make()(view, bytes, start + view.getUint32(start, true));
}

/** The same values as a plain object; typed arrays are still views on the event's bytes. */
export function unpack(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unpack);
  if (typeof value !== "object" || value === null || !(VIEW in value)) return value;
  const plain: Record<string, unknown> = {};
  for (const name of Object.keys(Object.getPrototypeOf(value) as object)) {
    plain[name] = unpack((value as Record<string, unknown>)[name]);
  }
  return plain;
}

/** Is this an event as it came in, and where do its bytes lie? */
export function accessorBytes(value: object): { bytes: Uint8Array; position: number } | undefined {
  if (!(VIEW in value)) return undefined;
  const accessor = value as Accessor;
  return { bytes: accessor[BYTES], position: accessor[POSITION] };
}

// The made class is handed out lazily, for types that contain themselves.
function accessorFor(
  writer: ObjectType,
  reader: ObjectType,
  made: Map<ObjectType, Map<ObjectType, Make>>,
): () => Make {
  const known = made.get(writer) ?? new Map<ObjectType, Make>();
  made.set(writer, known);
  if (!known.has(reader)) {
    known.set(reader, () => ({}));
    known.set(reader, makeClass(writer, reader, made));
  }
  return () => known.get(reader) as Make;
}

function makeClass(
  writer: ObjectType,
  reader: ObjectType,
  made: Map<ObjectType, Map<ObjectType, Make>>,
): Make {
  class EventAccessor implements Accessor {
    readonly [VIEW]: DataView;
    readonly [BYTES]: Uint8Array;
    readonly [POSITION]: number;
    constructor(view: DataView, bytes: Uint8Array, position: number) {
      this[VIEW] = view;
      this[BYTES] = bytes;
      this[POSITION] = position;
    }
  }
  // An own name on the prototype would hide a field of that name from Object.keys.
  Object.defineProperty(EventAccessor.prototype, "constructor", { enumerable: false });
  for (const field of reader.fields) {
    const source = writer.fields.find(candidate => candidate.name === field.name);
    const get = fieldGetter(writer, source, reader, field, made);
    Object.defineProperty(EventAccessor.prototype, field.name, {
      get,
      enumerable: true,
      configurable: false,
    });
  }
  return (view, bytes, position) => new EventAccessor(view, bytes, position);
}

function fieldGetter(
  writer: ObjectType,
  source: Field | undefined,
  reader: ObjectType,
  field: Field,
  made: Map<ObjectType, Map<ObjectType, Make>>,
): (this: Accessor) => unknown {
  const absent = absentValue(field);
  if (source === undefined) {
    if (field.required)
      throw mismatch(writer, reader, field.name, "the writer does not have it and the reader requires it");
    return () => absent();
  }
  if (source.kind.is === "union" && field.kind.is === "union")
    return unionGetter(source.place, source.kind.members, made);
  const read = kindReader(source.kind, field.kind, made, why => mismatch(writer, reader, field.name, why));
  const { place } = source;
  if (writer.isStruct) {
    return function () {
      return read(this[VIEW], this[BYTES], this[POSITION] + place);
    };
  }
  // What the writer left out has the writer's default, as the writer's own readers would see it.
  const fallback =
    source.kind.is === "scalar" ? absentValue({ ...field, defaultValue: source.defaultValue }) : absent;
  const entry = 4 + 2 * place;
  return function () {
    const view = this[VIEW];
    const position = this[POSITION];
    const vtable = position - view.getInt32(position, true);
    if (entry >= view.getUint16(vtable, true)) return fallback();
    const inline = view.getUint16(vtable + entry, true);
    return inline === 0 ? fallback() : read(view, this[BYTES], position + inline);
  };
}

// A union reads as a plain object with the member's name as its kind: the same form that the encoder takes.
function unionGetter(
  place: number,
  members: readonly { tag: number; name: string; object: ObjectType }[],
  made: Map<ObjectType, Map<ObjectType, Make>>,
): (this: Accessor) => unknown {
  const makes = new Map(
    members.map(({ tag, name, object }) => [tag, { name, make: accessorFor(object, object, made) }]),
  );
  return function () {
    const view = this[VIEW];
    const position = this[POSITION];
    const vtable = position - view.getInt32(position, true);
    const entry = 4 + 2 * place;
    if (entry >= view.getUint16(vtable, true)) return undefined;
    const inline = view.getUint16(vtable + entry, true);
    const tagInline = view.getUint16(vtable + entry - 2, true);
    const member =
      inline === 0 || tagInline === 0 ? undefined : makes.get(view.getUint8(position + tagInline));
    if (member === undefined) return undefined;
    const at = position + inline;
    const table = member.make()(view, this[BYTES], at + view.getUint32(at, true));
    return { kind: member.name, ...(unpack(table) as object) };
  };
}

/** Reads a value of kind `from`, whose inline part lies at the given place, as kind `to`. */
function kindReader(
  from: Kind,
  to: Kind,
  made: Map<ObjectType, Map<ObjectType, Make>>,
  mismatched: (why: string) => JechoError,
): Read {
  if (from.is === "scalar" && to.is === "scalar") {
    const convert = widening(from.scalar, to.scalar);
    if (convert === undefined)
      throw mismatched(`the writer's ${from.scalar} does not fit the reader's ${to.scalar}`);
    return convert(scalarReader(from.scalar));
  }
  if (from.is === "string" && to.is === "string") {
    return (view, bytes, at) => {
      const position = at + view.getUint32(at, true);
      return readUtf8(bytes, position + 4, view.getUint32(position, true));
    };
  }
  if (from.is === "object" && to.is === "object" && from.object.isStruct === to.object.isStruct) {
    const make = accessorFor(from.object, to.object, made);
    if (from.object.isStruct) return (view, bytes, at) => make()(view, bytes, at);
    return (view, bytes, at) => make()(view, bytes, at + view.getUint32(at, true));
  }
  if (from.is === "vector" && to.is === "vector") return vectorReader(from.of, to.of, made, mismatched);
  throw mismatched(`the writer has a ${kindName(from)} and the reader a ${kindName(to)}`);
}

function vectorReader(
  from: ElementKind,
  to: ElementKind,
  made: Map<ObjectType, Map<ObjectType, Make>>,
  mismatched: (why: string) => JechoError,
): Read {
  if (from.is === "scalar" && to.is === "scalar" && from.scalar === to.scalar)
    return typedArrayReader(from.scalar);
  const read = kindReader(from, to, made, mismatched);
  const size = elementBytes(from);
  return (view, bytes, at) => {
    const position = at + view.getUint32(at, true);
    const list = new Array<unknown>(view.getUint32(position, true));
    for (let i = 0; i < list.length; i++) list[i] = read(view, bytes, position + 4 + i * size);
    return list;
  };
}

const ARRAYS = {
  bool: Uint8Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

/** A view on the received bytes; a copy only where they do not lie aligned in their buffer. */
function typedArrayReader(scalar: Scalar): Read {
  const Constructor = ARRAYS[scalar] as unknown as {
    new (buffer: ArrayBufferLike, start?: number, length?: number): ArrayBufferView;
  };
  const size = SCALAR_BYTES[scalar];
  return (view, bytes, at) => {
    const position = at + view.getUint32(at, true);
    const length = view.getUint32(position, true);
    const start = bytes.byteOffset + position + 4;
    if (start % size === 0) return new Constructor(bytes.buffer, start, length);
    return new Constructor(bytes.slice(position + 4, position + 4 + length * size).buffer);
  };
}

function scalarReader(scalar: Scalar): Read {
  switch (scalar) {
    case "bool":
      return (view, _, at) => view.getUint8(at) !== 0;
    case "int8":
      return (view, _, at) => view.getInt8(at);
    case "uint8":
      return (view, _, at) => view.getUint8(at);
    case "int16":
      return (view, _, at) => view.getInt16(at, true);
    case "uint16":
      return (view, _, at) => view.getUint16(at, true);
    case "int32":
      return (view, _, at) => view.getInt32(at, true);
    case "uint32":
      return (view, _, at) => view.getUint32(at, true);
    case "int64":
      return (view, _, at) => view.getBigInt64(at, true);
    case "uint64":
      return (view, _, at) => view.getBigUint64(at, true);
    case "float32":
      return (view, _, at) => view.getFloat32(at, true);
    case "float64":
      return (view, _, at) => view.getFloat64(at, true);
  }
}

const WIDER: Readonly<Partial<Record<Scalar, readonly Scalar[]>>> = {
  int8: ["int16", "int32", "int64", "float32", "float64"],
  uint8: ["int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"],
  int16: ["int32", "int64", "float32", "float64"],
  uint16: ["int32", "uint32", "int64", "uint64", "float32", "float64"],
  int32: ["int64", "float64"],
  uint32: ["int64", "uint64", "float64"],
  float32: ["float64"],
};

function widening(from: Scalar, to: Scalar): ((read: Read) => Read) | undefined {
  if (from === to) return read => read;
  if (WIDER[from]?.includes(to) !== true) return undefined;
  if (to !== "int64" && to !== "uint64") return read => read;
  return read => (view, bytes, at) => BigInt(read(view, bytes, at) as number);
}

function absentValue(field: Field): () => unknown {
  const { kind, defaultValue } = field;
  if (kind.is === "scalar") {
    if (kind.scalar === "bool") return () => defaultValue !== 0;
    if (kind.scalar === "int64" || kind.scalar === "uint64") return () => BigInt(defaultValue);
    return () => Number(defaultValue);
  }
  if (kind.is === "string") return () => "";
  if (kind.is !== "vector") return () => undefined;
  if (kind.of.is !== "scalar") return () => [];
  const Constructor = ARRAYS[kind.of.scalar];
  return () => new Constructor(0);
}

function kindName(kind: Kind): string {
  if (kind.is === "scalar") return kind.scalar;
  if (kind.is === "vector") return `vector of ${kindName(kind.of)}`;
  return kind.is === "object" ? (kind.object.isStruct ? "struct" : "table") : kind.is;
}

function mismatch(writer: ObjectType, reader: ObjectType, field: string, why: string): JechoError {
  return new JechoError(
    "TYPE_MISMATCH",
    `field "${field}" of the writer's ${writer.name} and the reader's ${reader.name}: ${why}`,
  );
}
