import { JechoError } from "../errors.ts";
import { unpack } from "./accessor.ts";
import { encode } from "./encode.ts";
import { createReader } from "./reader.ts";
import {
  type ElementKind,
  type EnumType,
  elementAlign,
  elementBytes,
  type Field,
  isFieldName,
  isTypeName,
  type Kind,
  newObject,
  type ObjectType,
  SCALAR_BYTES,
  type Scalar,
  type UnionMember,
  walkObjects,
} from "./schema.ts";
import { verify } from "./verify.ts";

/*
 * A schema's binary form (.bfbs) is itself a FlatBuffer, of the schema reflection.fbs that the FlatBuffers project
 * publishes. Its part that we need stands here as plain objects, so that our own reader, verifier and encoder serve it.
 */

// In the order of reflection.fbs' BaseType.
const BASE_TYPES = [
  "none",
  "tag",
  "bool",
  "int8",
  "uint8",
  "int16",
  "uint16",
  "int32",
  "uint32",
  "int64",
  "uint64",
  "float32",
  "float64",
  "string",
  "vector",
  "object",
  "union",
] as const;

type BaseType = (typeof BASE_TYPES)[number];

interface ReflectedType {
  base_type: number;
  element: number;
  index: number;
  base_size: number;
  element_size: number;
}
interface ReflectedField {
  name: string;
  type: ReflectedType;
  id: number;
  offset: number;
  default_integer: bigint;
  default_real: number;
  deprecated: boolean;
  required: boolean;
  key: boolean;
  optional: boolean;
}
interface ReflectedObject {
  name: string;
  fields: readonly ReflectedField[];
  is_struct: boolean;
  minalign: number;
  bytesize: number;
}
interface ReflectedEnum {
  name: string;
  values: readonly { name: string; value: bigint; union_type: ReflectedType | undefined }[];
  is_union: boolean;
  underlying_type: ReflectedType;
}
interface ReflectedSchema {
  objects: readonly ReflectedObject[];
  enums: readonly ReflectedEnum[];
  root_table: ReflectedObject | undefined;
}

const scalar = (scalar: Scalar): Kind => ({ is: "scalar", scalar });
const object = (object: ObjectType): Kind => ({ is: "object", object });
const tables = (object: ObjectType): Kind => ({ is: "vector", of: { is: "object", object } });
const TEXT: Kind = { is: "string" };

function reflected(
  name: string,
  fields: Record<string, [place: number, kind: Kind, defaultValue?: number]>,
): ObjectType {
  const made = newObject(name, false);
  made.fields = Object.entries(fields).map(
    ([name, [place, kind, defaultValue = 0]]): Field => ({
      name,
      place,
      kind,
      defaultValue,
      required: false,
      optional: false,
    }),
  );
  return made;
}

const REFLECTED_TYPE = reflected("reflection.Type", {
  base_type: [0, scalar("int8")],
  element: [1, scalar("int8")],
  index: [2, scalar("int32"), -1],
  base_size: [4, scalar("uint32"), 4],
  element_size: [5, scalar("uint32")],
});
const REFLECTED_FIELD = reflected("reflection.Field", {
  name: [0, TEXT],
  type: [1, object(REFLECTED_TYPE)],
  id: [2, scalar("uint16")],
  offset: [3, scalar("uint16")],
  default_integer: [4, scalar("int64")],
  default_real: [5, scalar("float64")],
  deprecated: [6, scalar("bool")],
  required: [7, scalar("bool")],
  key: [8, scalar("bool")],
  optional: [11, scalar("bool")],
});
const REFLECTED_OBJECT = reflected("reflection.Object", {
  name: [0, TEXT],
  fields: [1, tables(REFLECTED_FIELD)],
  is_struct: [2, scalar("bool")],
  minalign: [3, scalar("int32")],
  bytesize: [4, scalar("int32")],
});
const REFLECTED_VALUE = reflected("reflection.EnumVal", {
  name: [0, TEXT],
  value: [1, scalar("int64")],
  union_type: [3, object(REFLECTED_TYPE)],
});
const REFLECTED_ENUM = reflected("reflection.Enum", {
  name: [0, TEXT],
  values: [1, tables(REFLECTED_VALUE)],
  is_union: [2, scalar("bool")],
  underlying_type: [3, object(REFLECTED_TYPE)],
});
const REFLECTED_SCHEMA = reflected("reflection.Schema", {
  objects: [0, tables(REFLECTED_OBJECT)],
  enums: [1, tables(REFLECTED_ENUM)],
  root_table: [4, object(REFLECTED_OBJECT)],
});

const readSchema = createReader(REFLECTED_SCHEMA);
const MAX_SCHEMA_BYTES = 1 << 20;

/**
 * Reads the root table of a schema in binary form, as `flatc --binary --schema` writes it.
 *
 * @throws JechoError `TYPE_INVALID` where the bytes are no schema, name no root type, or use fixed arrays or vectors of unions
 */
export function readBfbs(bfbs: Uint8Array): ObjectType {
  if (bfbs.byteLength > MAX_SCHEMA_BYTES)
    throw new JechoError("TYPE_INVALID", `a schema has at most ${MAX_SCHEMA_BYTES} bytes`);
  const bytes = bfbs.slice();
  const view = new DataView(bytes.buffer);
  let schema: ReflectedSchema;
  try {
    verify(REFLECTED_SCHEMA, view, 0, bytes.byteLength);
    schema = unpack(readSchema(view, bytes, 0)) as ReflectedSchema;
  } catch (error) {
    throw new JechoError("TYPE_INVALID", `these bytes are no schema: ${(error as Error).message}`);
  }
  const { root_table: root } = schema;
  if (root === undefined) throw new JechoError("TYPE_INVALID", "the schema names no root_type");
  const read: ReadSchema = {
    schema,
    objects: schema.objects.map(({ name, is_struct }) => newObject(checkedTypeName(name), is_struct)),
    enums: schema.enums.map(enumType),
  };
  const { objects } = read;
  for (const [i, source] of schema.objects.entries()) fillObject(objects[i] as ObjectType, source, read);
  const found = objects.find(({ name }) => name === root.name);
  if (found === undefined)
    throw new JechoError("TYPE_INVALID", `the root type ${root.name} is not among the schema's objects`);
  return found;
}

/** A schema under reading: what its indices lead to. */
interface ReadSchema {
  readonly schema: ReflectedSchema;
  readonly objects: readonly ObjectType[];
  readonly enums: readonly EnumType[];
}

function checkedTypeName(name: string): string {
  if (isTypeName(name)) return name;
  throw new JechoError("TYPE_INVALID", `"${name.slice(0, 100)}" is not a type name`);
}

function enumType({ name, values, underlying_type }: ReflectedEnum): EnumType {
  const bad = values.find(value => !isFieldName(value.name));
  if (bad !== undefined)
    throw new JechoError("TYPE_INVALID", `"${bad.name.slice(0, 100)}" is not a name for a value of ${name}`);
  const scalar = base(underlying_type?.base_type ?? 0);
  return {
    name: checkedTypeName(name),
    scalar: scalar !== undefined && Object.hasOwn(SCALAR_BYTES, scalar) ? (scalar as Scalar) : "uint8",
    values: values.map(({ name, value }) => ({ name, value })).sort((a, b) => (a.value < b.value ? -1 : 1)),
  };
}

function fillObject(target: ObjectType, source: ReflectedObject, read: ReadSchema): void {
  if (source.is_struct) {
    const { minalign, bytesize } = source;
    const sound =
      [1, 2, 4, 8, 16].includes(minalign) && bytesize > 0 && bytesize < 65536 && bytesize % minalign === 0;
    if (!sound)
      throw new JechoError(
        "TYPE_INVALID",
        `${source.name} is a struct of ${bytesize} bytes aligned to ${minalign}`,
      );
    target.bytes = bytesize;
    target.align = minalign;
  }
  target.fields = source.fields
    .filter(field => !field.deprecated && base(field.type.base_type) !== "tag")
    .map((field): Field => {
      const path = `${source.name}.${field.name}`;
      if (!isFieldName(field.name))
        throw new JechoError(
          "TYPE_INVALID",
          `${source.name}: "${field.name.slice(0, 100)}" is not a field name`,
        );
      const kind = kindOf(path, field.type, read);
      const place = source.is_struct ? field.offset : field.id;
      if (
        source.is_struct &&
        (kind.is === "vector" ||
          kind.is === "union" ||
          place + elementBytes(kind) > source.bytesize ||
          place % elementAlign(kind) !== 0)
      ) {
        throw new JechoError("TYPE_INVALID", `${path} does not fit into its struct`);
      }
      const real = kind.is === "scalar" && (kind.scalar === "float32" || kind.scalar === "float64");
      const wide = kind.is === "scalar" && (kind.scalar === "int64" || kind.scalar === "uint64");
      const defaultValue = real
        ? field.default_real
        : wide
          ? kind.is === "scalar" && kind.scalar === "uint64"
            ? BigInt.asUintN(64, field.default_integer)
            : field.default_integer
          : Number(field.default_integer);
      const { name, required, optional } = field;
      return { name, place, kind, defaultValue, required, optional: optional && kind.is === "scalar" };
    })
    .sort((a, b) => a.place - b.place);
}

function base(number: number): BaseType | undefined {
  return BASE_TYPES[number];
}

function kindOf(path: string, type: ReflectedType, read: ReadSchema): Kind {
  const name = base(type.base_type);
  if (name === "vector") return { is: "vector", of: elementOf(path, base(type.element), type, read) };
  if (name === "union") {
    const union = read.schema.enums[type.index];
    if (union === undefined)
      throw new JechoError("TYPE_INVALID", `${path} is of a union that the schema lacks`);
    return { is: "union", name: union.name, members: unionMembers(path, union, read.objects) };
  }
  return elementOf(path, name, type, read);
}

function elementOf(
  path: string,
  name: BaseType | undefined,
  type: ReflectedType,
  { schema, objects, enums }: ReadSchema,
): ElementKind {
  switch (name) {
    case "string":
      return { is: "string" };
    case "object": {
      const found = objects[type.index];
      if (found === undefined)
        throw new JechoError("TYPE_INVALID", `${path} is of a type that the schema lacks`);
      return { is: "object", object: found };
    }
    case undefined:
    case "none":
    case "vector":
    case "union":
      throw new JechoError(
        "TYPE_INVALID",
        `${path} is of a kind that is not supported (fixed arrays, vectors of unions)`,
      );
    case "tag":
      return { is: "scalar", scalar: "uint8" };
    default: {
      const names = enums[type.index];
      if (names === undefined || schema.enums[type.index]?.is_union === true)
        return { is: "scalar", scalar: name };
      return { is: "scalar", scalar: name, names };
    }
  }
}

function unionMembers(path: string, union: ReflectedEnum, objects: readonly ObjectType[]): UnionMember[] {
  return union.values
    .filter(value => value.value !== 0n)
    .map(({ name, value, union_type }): UnionMember => {
      const member = union_type === undefined ? undefined : objects[union_type.index];
      if (member === undefined || member.isStruct || member.fields.some(field => field.name === "kind")) {
        throw new JechoError(
          "TYPE_INVALID",
          `${path}: the member ${name} is no table, or has a field "kind"`,
        );
      }
      return { tag: Number(value), name, object: member };
    });
}

/**
 * Writes the canonical binary form of a type: only what can be reached from its root, everything in the order that
 * reflection.fbs demands, no documentation. Equal types give equal bytes, whichever tool wrote their schema.
 */
export function writeBfbs(root: ObjectType): Uint8Array {
  const objects: ObjectType[] = [];
  const enums = new Map<string, EnumType | UnionKind>();
  walkObjects(root, object => {
    objects.push(object);
    for (const { kind } of object.fields) {
      const named = kind.is === "union" ? kind : namesOf(kind);
      if (named !== undefined) enums.set(named.name, named);
    }
  });
  const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
  objects.sort(byName);
  const sorted = [...enums.values()].sort(byName);
  const indexOf = (name: string): number => sorted.findIndex(one => one.name === name);
  const typeOf = (kind: Kind): ReflectedType => {
    const plain = { element: 0, index: -1, base_size: 4, element_size: 0 };
    switch (kind.is) {
      case "scalar": {
        const index = kind.names === undefined ? -1 : indexOf(kind.names.name);
        return { ...plain, base_type: BASE_TYPES.indexOf(kind.scalar), base_size: elementBytes(kind), index };
      }
      case "string":
        return { ...plain, base_type: BASE_TYPES.indexOf("string") };
      case "object":
        return { ...plain, base_type: BASE_TYPES.indexOf("object"), index: objects.indexOf(kind.object) };
      case "union":
        return { ...plain, base_type: BASE_TYPES.indexOf("union"), index: indexOf(kind.name) };
      case "vector": {
        const element = typeOf(kind.of);
        return {
          ...element,
          base_type: BASE_TYPES.indexOf("vector"),
          element: element.base_type,
          base_size: 4,
          element_size: elementBytes(kind.of),
        };
      }
    }
  };
  const reflectObject = (object: ObjectType): ReflectedObject => ({
    name: object.name,
    is_struct: object.isStruct,
    minalign: object.align,
    bytesize: object.bytes,
    fields: object.fields.flatMap(field => reflectField(object, field, typeOf)).sort(byName),
  });
  const schema: ReflectedSchema = {
    objects: objects.map(reflectObject),
    enums: sorted.map((named, index) =>
      "members" in named ? reflectUnion(named, index, typeOf) : reflectEnum(named, index),
    ),
    root_table: reflectObject(root),
  };
  return encode(REFLECTED_SCHEMA, schema, "BFBS");
}

type UnionKind = Extract<Kind, { is: "union" }>;

function namesOf(kind: Kind): EnumType | undefined {
  if (kind.is === "vector") return namesOf(kind.of);
  return kind.is === "scalar" ? kind.names : undefined;
}

function reflectEnum({ name, scalar, values }: EnumType, index: number): ReflectedEnum {
  const base_size = SCALAR_BYTES[scalar];
  const base_type = BASE_TYPES.indexOf(scalar);
  return {
    name,
    is_union: false,
    underlying_type: { base_type, element: 0, index, base_size, element_size: 0 },
    values: values.map(({ name, value }) => ({ name, value, union_type: undefined })),
  };
}

function reflectUnion(
  { name, members }: UnionKind,
  index: number,
  typeOf: (kind: Kind) => ReflectedType,
): ReflectedEnum {
  return {
    name,
    is_union: true,
    underlying_type: tagType(index),
    values: members.map(({ tag, name, object }) => ({
      name,
      value: BigInt(tag),
      union_type: typeOf({ is: "object", object }),
    })),
  };
}

function tagType(index: number): ReflectedType {
  return { base_type: BASE_TYPES.indexOf("tag"), element: 0, index, base_size: 1, element_size: 0 };
}

function reflectField(
  object: ObjectType,
  field: Field,
  typeOf: (kind: Kind) => ReflectedType,
): ReflectedField[] {
  const real = field.kind.is === "scalar" && field.kind.scalar.startsWith("float");
  const type = typeOf(field.kind);
  const reflect = (name: string, id: number, type: ReflectedType): ReflectedField => ({
    name,
    type,
    id: object.isStruct ? 0 : id,
    offset: object.isStruct ? field.place : 4 + 2 * id,
    default_integer: real ? 0n : BigInt.asIntN(64, BigInt(field.defaultValue)),
    default_real: real ? Number(field.defaultValue) : 0,
    deprecated: false,
    required: field.required,
    key: false,
    optional: field.optional,
  });
  const value = reflect(field.name, field.place, type);
  if (field.kind.is !== "union") return [value];
  return [value, reflect(`${field.name}_type`, field.place - 1, tagType(type.index))];
}
