import { encode } from "./encode.ts";
import {
  BASE_TYPES,
  REFLECTED_SCHEMA,
  type ReflectedEnum,
  type ReflectedField,
  type ReflectedObject,
  type ReflectedSchema,
  type ReflectedType,
} from "./reflection.ts";
import {
  type EnumType,
  elementBytes,
  type Field,
  type Kind,
  type ObjectType,
  SCALAR_BYTES,
  walkObjects,
} from "./schema.ts";

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
