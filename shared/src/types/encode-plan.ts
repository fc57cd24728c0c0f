import { elementAlign, elementBytes, type Field, type Kind, type ObjectType, type Scalar } from "./schema.ts";

/*
 * The plan of a table's encoding, before any value is known: its vtable, where each field lies, and what to do for it. Made
 * once for each type.
 */

/** Numbers come first: `op <= OP.bool` is a scalar. */
export const OP = {
  int8: 0,
  uint8: 1,
  int16: 2,
  uint16: 3,
  int32: 4,
  uint32: 5,
  float32: 6,
  float64: 7,
  int64: 8,
  uint64: 9,
  bool: 10,
  string: 11,
  table: 12,
  struct: 13,
  vector: 14,
  union: 15,
} as const;

/** Reads one property of any object. */
export type PropertyGetter = (row: Readonly<Record<string, unknown>>) => unknown;

/** A table or struct. */
export interface Plan {
  readonly name: string;
  fields: readonly PlannedField[];
  /** The vtable's words where all fields are there. */
  vtable: Uint16Array;
  vtableBytes: number;
  /** Size in bytes of the inline part; for a struct, of the struct. */
  bytes: number;
  /** Bytes of it that no field covers. */
  holes: readonly number[];
  /** Whether all fields are numbers that are always there: then every value takes the same room. */
  isFlat: boolean;
  /** Bytes from one flat table to the next where they lie behind each other. */
  stride: number;
  /** Getters of the fields, for tables in vectors; made at the first. */
  getters: readonly PropertyGetter[] | undefined;
  /** The newest table with all fields, and the encoding that wrote its vtable: the next one there can share it. */
  sharedBy: number;
  sharedAt: number;
}

/** A field, or the elements of a vector. */
export interface PlannedField {
  readonly name: string;
  readonly path: string;
  readonly op: number;
  readonly scalar: Scalar | undefined;
  /** Offset of the field from the table's position, or from the struct's start. */
  readonly inline: number;
  /** The field's entry in the vtable; a union's tag has the entry before. */
  readonly entry: number;
  readonly tagInline: number;
  readonly required: boolean;
  readonly optional: boolean;
  readonly defaultValue: number | bigint;
  /** The plan of a table or struct, or of a vector's elements. */
  readonly plan: Plan | undefined;
  readonly members: readonly { readonly tag: number; readonly name: string; readonly plan: Plan }[];
  readonly element: PlannedField | undefined;
  /** Size and alignment of an element in a vector. */
  readonly size: number;
  readonly align: number;
}

const plans = new WeakMap<ObjectType, Plan>();

export function planOf(type: ObjectType): Plan {
  const known = plans.get(type);
  if (known !== undefined) return known;
  const plan: Plan = {
    name: type.name,
    fields: [],
    vtable: new Uint16Array(0),
    vtableBytes: 0,
    bytes: type.bytes,
    holes: [],
    isFlat: false,
    stride: 0,
    getters: undefined,
    sharedBy: -1,
    sharedAt: 0,
  };
  // Known before it is filled: types may contain themselves.
  plans.set(type, plan);
  if (type.isStruct) planStruct(plan, type);
  else planTable(plan, type);
  plan.stride = alignUp(plan.bytes, 8);
  plan.isFlat = plan.fields.every(({ op, optional }) => op <= OP.bool && !optional);
  return plan;
}

function planStruct(plan: Plan, type: ObjectType): void {
  plan.fields = type.fields.map(field => planField(type, field, field.place, 0));
  plan.holes = holesOf(
    0,
    type.bytes,
    plan.fields.map(({ inline, size }) => [inline, size]),
  );
}

function planTable(plan: Plan, type: ObjectType): void {
  let slots = 0;
  const parts: { field: Field; bytes: number; align: number; tag: boolean }[] = [];
  for (const field of type.fields) {
    slots = Math.max(slots, field.place + 1);
    if (field.kind.is === "union") parts.push({ field, bytes: 1, align: 1, tag: true });
    const kind = inlineKind(field.kind);
    parts.push({ field, bytes: elementBytes(kind), align: elementAlign(kind), tag: false });
  }
  parts.sort((a, b) => b.align - a.align);
  // The table lies at 4 modulo 8, so that the first inline part, behind the 4 bytes of the vtable's offset, is 8-aligned.
  const places = new Map<Field, { inline: number; tagInline: number }>();
  const taken: [number, number][] = [[0, 4]];
  let size = 4;
  for (const part of parts) {
    const align = Math.min(8, part.align);
    size = alignUp(size - 4, align) + 4;
    const place = places.get(part.field) ?? { inline: 0, tagInline: 0 };
    if (part.tag) place.tagInline = size;
    else place.inline = size;
    places.set(part.field, place);
    taken.push([size, part.bytes]);
    size += part.bytes;
  }
  plan.bytes = size;
  plan.holes = holesOf(0, size, taken);
  plan.vtableBytes = 4 + 2 * slots;
  plan.vtable = new Uint16Array(2 + slots);
  plan.vtable[0] = plan.vtableBytes;
  plan.vtable[1] = size;
  plan.fields = type.fields.map(field => {
    const { inline, tagInline } = places.get(field) as { inline: number; tagInline: number };
    plan.vtable[2 + field.place] = inline;
    if (field.kind.is === "union") plan.vtable[1 + field.place] = tagInline;
    return planField(type, field, inline, tagInline);
  });
}

function planField(type: ObjectType, field: Field, inline: number, tagInline: number): PlannedField {
  const { name, kind, required, optional, defaultValue, place } = field;
  const path = `${type.name}.${name}`;
  const planned = planKind(kind, path);
  return { ...planned, name, inline, tagInline, entry: 4 + 2 * place, required, optional, defaultValue };
}

function planKind(kind: Kind, path: string): PlannedField {
  const isObject = kind.is === "object";
  const inline = inlineKind(kind);
  return {
    name: "",
    path,
    op:
      kind.is === "scalar"
        ? OP[kind.scalar]
        : isObject
          ? kind.object.isStruct
            ? OP.struct
            : OP.table
          : OP[kind.is],
    scalar: kind.is === "scalar" ? kind.scalar : undefined,
    inline: 0,
    entry: 0,
    tagInline: 0,
    required: false,
    optional: false,
    defaultValue: kind.is === "scalar" && kind.scalar.endsWith("int64") ? 0n : 0,
    plan: isObject ? planOf(kind.object) : undefined,
    members:
      kind.is === "union"
        ? kind.members.map(({ tag, name, object }) => ({ tag, name, plan: planOf(object) }))
        : [],
    element: kind.is === "vector" ? planKind(kind.of, path) : undefined,
    size: elementBytes(inline),
    align: Math.min(8, elementAlign(inline)),
  };
}

/** The kind as it lies in its table: vectors and unions as an offset, like strings. */
function inlineKind(kind: Kind): Exclude<Kind, { is: "vector" } | { is: "union" }> {
  return kind.is === "vector" || kind.is === "union" ? { is: "string" } : kind;
}

function holesOf(start: number, end: number, taken: readonly (readonly [number, number])[]): number[] {
  const holes: number[] = [];
  for (let at = start; at < end; at++) {
    if (!taken.some(([first, bytes]) => at >= first && at < first + bytes)) holes.push(at);
  }
  return holes;
}

export function alignUp(value: number, align: number): number {
  return (value + align - 1) & -align;
}
