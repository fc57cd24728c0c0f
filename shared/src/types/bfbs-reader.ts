import { JechoError } from "../errors.ts";
import { unpack } from "./accessor.ts";
import { createReader } from "./reader.ts";
import {
  BASE_TYPES,
  type BaseType,
  REFLECTED_SCHEMA,
  type ReflectedEnum,
  type ReflectedObject,
  type ReflectedSchema,
  type ReflectedType,
} from "./reflection.ts";
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
} from "./schema.ts";
import { verify } from "./verify.ts";

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
  // A Node Buffer's slice would share its memory.
  const bytes = new Uint8Array(bfbs);
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
