/** The numeric kinds of FlatBuffers, by the names used in type descriptions. */
export type Scalar =
  | "bool"
  | "int8"
  | "uint8"
  | "int16"
  | "uint16"
  | "int32"
  | "uint32"
  | "int64"
  | "uint64"
  | "float32"
  | "float64";

export const SCALAR_BYTES: Readonly<Record<Scalar, number>> = {
  bool: 1,
  int8: 1,
  uint8: 1,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint64: 8,
  float32: 4,
  float64: 8,
};

/** The kinds of values that a field may hold. */
export type Kind =
  | { readonly is: "scalar"; readonly scalar: Scalar; readonly names?: EnumType }
  | { readonly is: "string" }
  | { readonly is: "object"; readonly object: ObjectType }
  | { readonly is: "vector"; readonly of: ElementKind }
  | { readonly is: "union"; readonly name: string; readonly members: readonly UnionMember[] };

export type ElementKind = Exclude<Kind, { is: "vector" } | { is: "union" }>;

/** Names for numbers, by ascending value. */
export interface EnumType {
  readonly name: string;
  readonly scalar: Scalar;
  readonly values: readonly { readonly name: string; readonly value: bigint }[];
}

/** One alternative of a union: its tag on the wire and its table. Tag 0 means that nothing is there. */
export interface UnionMember {
  readonly tag: number;
  readonly name: string;
  readonly object: ObjectType;
}

export interface Field {
  readonly name: string;
  /**
   * Place of the field: in a table the slot of the vtable (for a union, the value's; its tag has the slot before), in a
   * struct the offset in bytes.
   */
  readonly place: number;
  readonly kind: Kind;
  /** The value that an absent scalar reads as. */
  readonly defaultValue: number | bigint;
  readonly required: boolean;
  /** A scalar that reads as undefined where it is absent, not as its default. */
  readonly optional: boolean;
}

/** A table or a struct. Objects may refer to each other in cycles, so `fields` is filled after creation. */
export interface ObjectType {
  readonly name: string;
  readonly isStruct: boolean;
  /** Structs only: size in bytes. */
  bytes: number;
  /** Structs only: alignment in bytes. */
  align: number;
  fields: readonly Field[];
}

export function newObject(name: string, isStruct: boolean): ObjectType {
  return { name, isStruct, bytes: 0, align: 1, fields: [] };
}

const WORD = "[A-Za-z_][A-Za-z0-9_]{0,63}";
const FIELD_NAME = new RegExp(`^${WORD}$`);
const TYPE_NAME = new RegExp(`^${WORD}(?:\\.${WORD}){0,15}$`);

/** Schemas come over the wire, and names become properties and are printed: they are plain words. */
export function isFieldName(name: string): boolean {
  return FIELD_NAME.test(name) && name !== "__proto__";
}

/** A word, or several with dots between where there are namespaces. */
export function isTypeName(name: string): boolean {
  return TYPE_NAME.test(name);
}

/** The default of a field that says none. */
export function zeroOf(kind: Kind): number | bigint {
  return kind.is === "scalar" && (kind.scalar === "int64" || kind.scalar === "uint64") ? 0n : 0;
}

/** Bytes that an element of this kind takes inside a vector: itself for scalars and structs, an offset for the rest. */
export function elementBytes(kind: ElementKind): number {
  if (kind.is === "scalar") return SCALAR_BYTES[kind.scalar];
  if (kind.is === "object" && kind.object.isStruct) return kind.object.bytes;
  return 4;
}

/** The alignment of an element of this kind. */
export function elementAlign(kind: ElementKind): number {
  if (kind.is === "scalar") return SCALAR_BYTES[kind.scalar];
  if (kind.is === "object" && kind.object.isStruct) return kind.object.align;
  return 4;
}

/** Calls `visit` once for each object that can be reached from `root`, `root` first. */
export function walkObjects(root: ObjectType, visit: (object: ObjectType) => void): void {
  const seen = new Set<ObjectType>();
  const enter = (object: ObjectType): void => {
    if (seen.has(object)) return;
    seen.add(object);
    visit(object);
    for (const { kind } of object.fields) {
      if (kind.is === "object") enter(kind.object);
      else if (kind.is === "vector" && kind.of.is === "object") enter(kind.of.object);
      else if (kind.is === "union") for (const member of kind.members) enter(member.object);
    }
  };
  enter(root);
}
