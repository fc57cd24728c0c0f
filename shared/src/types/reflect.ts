import type { ElementKind, EnumType, Field, Kind, ObjectType, Scalar } from "./schema.ts";

/**
 * A field of a type, for programs that know nothing of it. What an event has under `name` is by `kind`: a number (a bigint for
 * 64-bit integers, a boolean), text, an accessor of the `fields`, or a plain object whose `kind` names one of the `members`. A
 * vector is an array of these; of numbers a typed array.
 */
export interface FieldInfo {
  /** The field's name, as in the schema. */
  readonly name: string;
  /** The scalar, or what else the field holds; of an enum the kind of its numbers, of a vector that of its elements. */
  readonly kind: Scalar | "string" | "table" | "struct" | "union";
  /** Whether the field is an array of that kind. */
  readonly isVector: boolean;
  /** The kind as in the schema's text: `[float32]`, `weather.Station`. */
  readonly written: string;
  /** Whether an event without it is refused. */
  readonly required: boolean;
  /** Names of numbers, where it is an enum. */
  readonly names: ReadonlyMap<bigint, string> | undefined;
  /** The fields of a table or struct; made when asked for, as types may contain themselves. */
  readonly fields: readonly FieldInfo[];
  /** The fields of each member of a union, by the members' names. */
  readonly members: ReadonlyMap<string, readonly FieldInfo[]>;
}

const known = new WeakMap<ObjectType, readonly FieldInfo[]>();

/** The fields of an event's table, or of one in it. */
export function reflect(object: ObjectType): readonly FieldInfo[] {
  let fields = known.get(object);
  if (fields === undefined) {
    fields = object.fields.map(infoOf);
    known.set(object, fields);
  }
  return fields;
}

function infoOf({ name, kind, required }: Field): FieldInfo {
  const inner = kind.is === "vector" ? kind.of : kind;
  return {
    name,
    kind: inner.is === "union" ? "union" : elementName(inner),
    isVector: kind.is === "vector",
    written: kindText(kind),
    required,
    names: inner.is === "scalar" ? namesOf(inner.names) : undefined,
    get fields() {
      return inner.is === "object" ? reflect(inner.object) : [];
    },
    get members() {
      return new Map(
        inner.is === "union" ? inner.members.map(({ name, object }) => [name, reflect(object)]) : [],
      );
    },
  };
}

function elementName(kind: ElementKind): Scalar | "string" | "table" | "struct" {
  if (kind.is === "scalar") return kind.scalar;
  if (kind.is === "string") return "string";
  return kind.object.isStruct ? "struct" : "table";
}

function namesOf(type: EnumType | undefined): ReadonlyMap<bigint, string> | undefined {
  return type && new Map(type.values.map(({ name, value }) => [value, name]));
}

/** Text of a field's kind. */
export function kindText(kind: Kind): string {
  switch (kind.is) {
    case "scalar":
      return kind.names?.name ?? kind.scalar;
    case "string":
      return "string";
    case "object":
      return kind.object.name;
    case "union":
      return kind.name;
    case "vector":
      return `[${kindText(kind.of)}]`;
  }
}
