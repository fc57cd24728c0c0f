import { type Field, type Kind, newObject, type ObjectType, type Scalar } from "./schema.ts";

/*
 * A schema's binary form (.bfbs) is itself a FlatBuffer, of the schema reflection.fbs that the FlatBuffers project
 * publishes. Its part that we need stands here as plain objects, so that our own reader, verifier and encoder serve it.
 */

/** Names of the base types, in the order of reflection.fbs' BaseType. */
export const BASE_TYPES = [
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

export type BaseType = (typeof BASE_TYPES)[number];

export interface ReflectedType {
  base_type: number;
  element: number;
  index: number;
  base_size: number;
  element_size: number;
}
export interface ReflectedField {
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
export interface ReflectedObject {
  name: string;
  fields: readonly ReflectedField[];
  is_struct: boolean;
  minalign: number;
  bytesize: number;
}
export interface ReflectedEnum {
  name: string;
  values: readonly { name: string; value: bigint; union_type: ReflectedType | undefined }[];
  is_union: boolean;
  underlying_type: ReflectedType;
}
export interface ReflectedSchema {
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
export const REFLECTED_SCHEMA = reflected("reflection.Schema", {
  objects: [0, tables(REFLECTED_OBJECT)],
  enums: [1, tables(REFLECTED_ENUM)],
  root_table: [4, object(REFLECTED_OBJECT)],
});
