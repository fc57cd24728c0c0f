import { JechoError } from "../errors.ts";
import type { EnumType, Field, Kind, ObjectType, Scalar } from "./schema.ts";

/*
 * Type extension: which of the writer's fields a reader's field is. They are matched by name, whatever their slots, their
 * order and whether they lie in a table or a struct.
 */

/** A reader's field, and the writer's field of that name where there is one. */
export interface Match {
  readonly field: Field;
  readonly source: Field | undefined;
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

/** Lists by the names in them: a stranger's type may have thousands of fields, or an enum's values, which all are looked for. */
const indexes = new WeakMap<readonly object[], ReadonlyMap<string, unknown>>();

function find<T extends { readonly name: string }>(list: readonly T[], name: string): T | undefined {
  let index = indexes.get(list) as ReadonlyMap<string, T> | undefined;
  if (index === undefined) {
    index = new Map(list.map(one => [one.name, one]));
    indexes.set(list, index);
  }
  return index.get(name);
}

/** The difference of two enums, "" for none. It is kept because many fields may be of them. */
const compared = new WeakMap<EnumType, WeakMap<EnumType, string>>();

/** Whether every number of the one kind has its like in the other. */
export function isWider(from: Scalar, to: Scalar): boolean {
  return from === to || WIDER[from]?.includes(to) === true;
}

/**
 * Pairs the fields of a reader's table or struct with the writer's.
 *
 * @throws JechoError `TYPE_MISMATCH` naming the field and both sides
 */
export function matchFields(writer: ObjectType, reader: ObjectType): Match[] {
  return reader.fields.map(field => {
    const source = writer === reader ? field : find(writer.fields, field.name);
    const why =
      source === undefined
        ? field.required && "the writer does not have it and the reader requires it"
        : mismatchOf(source.kind, field.kind);
    if (why) throw mismatch(writer, reader, field.name, why);
    return { field, source };
  });
}

/** The reason why a value of the one kind cannot be read as the other. Nested tables are matched on their own. */
function mismatchOf(from: Kind, to: Kind): string | undefined {
  if (from.is === "scalar" && to.is === "scalar") {
    if (!isWider(from.scalar, to.scalar))
      return `the writer's ${from.scalar} does not fit the reader's ${to.scalar}`;
    return from.names && to.names && renumbered(from.names, to.names);
  }
  if (from.is === "vector" && to.is === "vector") return mismatchOf(from.of, to.of);
  if (from.is === to.is) return undefined;
  return `the writer has a ${kindName(from)} and the reader a ${kindName(to)}`;
}

/** Numbers that have another name at the reader would be read as what they are not. */
function renumbered(from: EnumType, to: EnumType): string | undefined {
  if (from === to) return undefined;
  const known = compared.get(from) ?? new WeakMap<EnumType, string>();
  compared.set(from, known);
  let why = known.get(to);
  if (why === undefined) {
    const moved = from.values.find(({ name, value }) => (find(to.values, name)?.value ?? value) !== value);
    why =
      moved === undefined
        ? ""
        : `${moved.name} is ${moved.value} in the writer's ${from.name} and ${find(to.values, moved.name)?.value} in the reader's ${to.name}`;
    known.set(to, why);
  }
  return why || undefined;
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
