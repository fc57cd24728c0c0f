import { ARRAY_GETTERS, SCALAR_GETTERS, SCALAR_READERS } from "../generated/field-readers.ts";
import { type ByteSource, type FieldGetter, type Read, slotOf, unpack } from "./accessor.ts";
import type { Match } from "./matching.ts";
import { type ElementKind, elementBytes, type Field, type Kind, type ObjectType } from "./schema.ts";
import { ARRAYS, arrayReader } from "./typed-arrays.ts";
import { readUtf8 } from "./utf8.ts";

/* How one field is read. */

export interface MakeAccessor {
  readonly make: (source: ByteSource, position: number) => object;
}

/** The maker for a pair of tables or structs. It may be unfinished as yet: its `make` works later. */
export type MakerOf = (writer: ObjectType, reader: ObjectType) => MakeAccessor;

/** @param inStruct does the writer's field lie at a fixed place, not in a slot of a vtable? */
export function fieldGetter({ field, source }: Match, inStruct: boolean, makerOf: MakerOf): FieldGetter {
  if (source === undefined) {
    const absent = absentValue(field);
    return () => absent();
  }
  if (inStruct) {
    const read = kindReader(source.kind, field.kind, makerOf);
    const { place } = source;
    return function () {
      return read(this["@source"], this["@at"] + place);
    };
  }
  const entry = 4 + 2 * source.place;
  if (source.kind.is === "scalar" && field.kind.is === "scalar") {
    // What the writer left out has the writer's default, as the writer's own readers would see it.
    const { defaultValue } = source.optional ? field : source;
    const fallback = absentValue({ ...field, defaultValue, optional: source.optional && field.optional })();
    if (source.kind.scalar === field.kind.scalar) return SCALAR_GETTERS[source.kind.scalar](entry, fallback);
    const read = kindReader(source.kind, field.kind, makerOf);
    return function () {
      const at = slotOf(this, entry);
      return at === 0 ? fallback : read(this["@source"], at);
    };
  }
  if (source.kind.is === "union" && field.kind.is === "union")
    return unionGetter(entry, source.kind, field.kind, makerOf);
  const absent = absentValue(field);
  if (source.kind.is === "string") {
    return function () {
      const at = slotOf(this, entry);
      return at === 0 ? "" : readString(this["@source"], at);
    };
  }
  const [from, to] = [source.kind, field.kind].map(kind => (kind.is === "vector" ? kind.of : undefined));
  if (from?.is === "scalar" && to?.is === "scalar" && from.scalar === to.scalar)
    return ARRAY_GETTERS[from.scalar](entry);
  const read = kindReader(source.kind, field.kind, makerOf);
  return function () {
    const at = slotOf(this, entry);
    return at === 0 ? absent() : read(this["@source"], at);
  };
}

/**
 * A union reads as a plain object with the member's name as its kind: the same form that the encoder takes. A member that
 * the reader does not know reads as nothing.
 */
function unionGetter(
  entry: number,
  from: Extract<Kind, { is: "union" }>,
  to: Extract<Kind, { is: "union" }>,
  makerOf: MakerOf,
): FieldGetter {
  const makers = new Map<number, { name: string; maker: MakeAccessor }>();
  for (const { tag, name, object } of from.members) {
    const member = from === to ? object : to.members.find(candidate => candidate.name === name)?.object;
    if (member !== undefined) makers.set(tag, { name, maker: makerOf(object, member) });
  }
  return function () {
    const at = slotOf(this, entry);
    const tag = slotOf(this, entry - 2);
    if (at === 0 || tag === 0) return undefined;
    const source = this["@source"];
    const member = makers.get(source.view.getUint8(tag));
    if (member === undefined) return undefined;
    const table = member.maker.make(source, at + source.view.getUint32(at, true));
    return { kind: member.name, ...(unpack(table) as object) };
  };
}

/** Reads a value of kind `from` as kind `to`; that they match is known. */
function kindReader(from: Kind, to: Kind, makerOf: MakerOf): Read {
  if (from.is === "scalar" && to.is === "scalar") {
    const read = SCALAR_READERS[from.scalar];
    if (from.scalar === to.scalar || (to.scalar !== "int64" && to.scalar !== "uint64")) return read;
    return (source, at) => BigInt(read(source, at) as number);
  }
  if (from.is === "string") return readString;
  if (from.is === "object" && to.is === "object") {
    const maker = makerOf(from.object, to.object);
    if (from.object.isStruct) return (source, at) => maker.make(source, at);
    return (source, at) => maker.make(source, at + source.view.getUint32(at, true));
  }
  if (from.is === "vector" && to.is === "vector") return vectorReader(from.of, to.of, makerOf);
  throw new TypeError(`a ${from.is} is not read as a ${to.is}`);
}

function readString({ view, bytes }: ByteSource, at: number): string {
  const position = at + view.getUint32(at, true);
  return readUtf8(bytes, position + 4, view.getUint32(position, true));
}

function vectorReader(from: ElementKind, to: ElementKind, makerOf: MakerOf): Read {
  if (from.is === "scalar" && to.is === "scalar") {
    return arrayReader(from.scalar, to.scalar);
  }
  const size = elementBytes(from);
  if (from.is === "object" && !from.object.isStruct && to.is === "object") {
    const maker = makerOf(from.object, to.object);
    return (source, at) => {
      const { view } = source;
      const position = at + view.getUint32(at, true);
      const { make } = maker;
      const list: object[] = [];
      const end = position + 4 + 4 * view.getUint32(position, true);
      for (let slot = position + 4; slot < end; slot += 4)
        list.push(make(source, slot + view.getUint32(slot, true)));
      return list;
    };
  }
  const read = kindReader(from, to, makerOf);
  return (source, at) => {
    const { view } = source;
    const position = at + view.getUint32(at, true);
    const list: unknown[] = [];
    const length = view.getUint32(position, true);
    for (let i = 0; i < length; i++) list.push(read(source, position + 4 + i * size));
    return list;
  };
}

function absentValue({ kind, defaultValue, optional }: Field): () => unknown {
  if (kind.is === "scalar") {
    if (optional) return () => undefined;
    if (kind.scalar === "bool") return () => Number(defaultValue) !== 0;
    if (kind.scalar === "int64" || kind.scalar === "uint64") return () => BigInt(defaultValue);
    return () => Number(defaultValue);
  }
  if (kind.is === "string") return () => "";
  if (kind.is !== "vector") return () => undefined;
  if (kind.of.is !== "scalar") return () => [];
  const Constructor = ARRAYS[kind.of.scalar];
  return () => new Constructor(0);
}
