import { JechoError } from "../errors.ts";
import {
  type ElementKind,
  type Field,
  isFieldName,
  isTypeName,
  type Kind,
  newObject,
  type ObjectType,
  SCALAR_BYTES,
  type Scalar,
  zeroOf,
} from "./schema.ts";

type ElementName = Scalar | "string";
type FieldName = ElementName | `${ElementName}[]`;

/**
 * A type for people who never saw FlatBuffers: field names with `"float32"`, `"string"`, `"float32[]"`, a nested
 * description, or a nested description in an array (a vector of tables). Order gives the slots: append, never insert.
 */
export interface Description {
  readonly [field: string]: FieldName | Description | readonly [Description];
}

interface Arrays {
  bool: Uint8Array;
  int8: Int8Array;
  uint8: Uint8Array;
  int16: Int16Array;
  uint16: Uint16Array;
  int32: Int32Array;
  uint32: Uint32Array;
  int64: BigInt64Array;
  uint64: BigUint64Array;
  float32: Float32Array;
  float64: Float64Array;
}

type ScalarValue<S extends Scalar> = S extends "bool"
  ? boolean
  : S extends "int64" | "uint64"
    ? bigint
    : number;

type FieldValue<F> = F extends Scalar
  ? ScalarValue<F>
  : F extends "string"
    ? string
    : F extends "string[]"
      ? readonly string[]
      : F extends `${infer S extends Scalar}[]`
        ? Arrays[S]
        : F extends readonly [infer D]
          ? readonly ValueOf<D>[]
          : ValueOf<F>;

/** The TypeScript type of the events that a description describes. */
export type ValueOf<D> = { readonly [K in keyof D]: FieldValue<D[K]> };

/** The table that a description stands for. @throws JechoError `TYPE_INVALID` naming the field */
export function describeObject(name: string, description: Description): ObjectType {
  if (!isTypeName(name)) throw new JechoError("TYPE_INVALID", `"${name.slice(0, 100)}" is not a type name`);
  const object = newObject(name, false);
  const fields: Field[] = [];
  for (const [field, value] of Object.entries(description)) {
    if (!isFieldName(field)) throw new JechoError("TYPE_INVALID", `${name}: "${field}" is not a field name`);
    const kind = describeKind(`${name}.${field}`, value);
    const defaultValue = zeroOf(kind);
    fields.push({ name: field, place: fields.length, kind, defaultValue, required: false, optional: false });
  }
  if (fields.length === 0) throw new JechoError("TYPE_INVALID", `${name} has no fields`);
  object.fields = fields;
  return object;
}

function describeKind(path: string, value: Description[string]): Kind {
  if (typeof value === "string") {
    if (value.endsWith("[]")) return { is: "vector", of: describeElement(path, value.slice(0, -2)) };
    return describeElement(path, value);
  }
  if (Array.isArray(value)) {
    if (value.length !== 1 || typeof value[0] !== "object")
      throw new JechoError(
        "TYPE_INVALID",
        `${path}: write a vector of tables as [{ ... }], others as "float32[]"`,
      );
    return { is: "vector", of: { is: "object", object: describeObject(path, value[0] as Description) } };
  }
  if (typeof value !== "object" || value === null) {
    throw new JechoError("TYPE_INVALID", `${path}: neither the name of a kind nor a nested description`);
  }
  return { is: "object", object: describeObject(path, value as Description) };
}

function describeElement(path: string, name: string): ElementKind {
  if (name === "string") return { is: "string" };
  if (Object.hasOwn(SCALAR_BYTES, name)) return { is: "scalar", scalar: name as Scalar };
  const known = [...Object.keys(SCALAR_BYTES), "string"].join(", ");
  throw new JechoError(
    "TYPE_INVALID",
    `${path}: "${name.slice(0, 40)}" is none of ${known}; a vector of these is written as "float32[]"`,
  );
}
