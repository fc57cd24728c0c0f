import { type Code, type CodeGlobal, type CodeLocal, call, f64, get, i32, set } from "./code.ts";
import {
  booleanOf,
  type EventVector,
  type KnownObject,
  type KnownValue,
  numberOf,
  type ObjectEntry,
  type TypedArray,
  wide,
} from "./known.ts";

/** Kinds of the parts of an object that outlives the expression that made it, by their names. */
export type RecordParts = ReadonlyMap<string, "number" | "boolean">;

/** A list or map of events, a map of numbers, or a set. */
export type ContainerKind = "list" | "map" | "numbers" | "set";

/** Content of a field of the modulator: a number or a boolean; or undefined, or an object of these; or undefined, or a part of the data, or an event; or a typed array; or a list or map of events, a map of numbers or a set. */
export type FieldKind =
  | { readonly is: "number" | "boolean" | "event" | ContainerKind }
  | { readonly is: "record"; readonly parts: RecordParts }
  | { readonly is: "reference"; readonly path: string }
  | { readonly is: "array"; readonly array: TypedArray };

/** A field of the modulator, which outlives the call. Its variables are those of all programs of the modulator. */
export interface CodeField {
  readonly name: string;
  /** undefined for a field that is declared without a value, as long as nothing else is known to be assigned to it. */
  readonly kind: FieldKind | undefined;
  readonly globals: readonly CodeGlobal[];
  /** Whether it may be undefined at this place of the text, for nothing has been assigned to it as yet. */
  isUnset: boolean;
  /** The array that it holds at this place of the text. */
  vector: EventVector | undefined;
}

/** Steps of the copy that is kept of an event. */
export const KEEPING: readonly Code[] = [
  { is: "host", steps: 500, of: { name: "event", elementBytes: 8 }, each: 1 },
];

/** Something is assigned to a field that nothing was known of. The text is checked anew, now that it is. */
export class LearnedField extends Error {
  readonly field: string;
  readonly kind: FieldKind;

  constructor(field: string, kind: FieldKind) {
    super(`the field "${field}" holds a ${kind.is}`);
    this.field = field;
    this.kind = kind;
  }
}

/** The variables' keys tell the kind, for programs of one modulator to share a variable only where they mean the same by it. */
export function fieldOf(name: string, kind: FieldKind | undefined): CodeField {
  const of = textOf(name, kind);
  const global = (type: CodeGlobal["type"], part: string): CodeGlobal => ({ type, key: `${of}\n${part}` });
  const globals = (): CodeGlobal[] => {
    switch (kind?.is) {
      case "number":
      case "reference":
        return [global("f64", "value")];
      case "boolean":
        return [global("i32", "value")];
      case "event":
      case "list":
      case "map":
      case "numbers":
      case "set":
        return [global("ref", "value")];
      case "array":
        return [global("i32", "start"), global("i32", "length")];
      case "record": {
        const parts = [...kind.parts].map(([part, type]) => global(type === "number" ? "f64" : "i32", part));
        return [global("i32", ""), ...parts];
      }
      default:
        return [];
    }
  };
  return { name, kind, globals: globals(), isUnset: false, vector: undefined };
}

/** The field's name and kind as text. */
export function fieldText({ name, kind }: CodeField): string {
  return textOf(name, kind);
}

function textOf(name: string, kind: FieldKind | undefined): string {
  switch (kind?.is) {
    case "record":
      return `${name} ${JSON.stringify([...kind.parts])}`;
    case "reference":
      return `${name} ${JSON.stringify(kind.path)}`;
    case "array":
      return `${name} ${kind.array}`;
    default:
      return `${name} ${kind?.is}`;
  }
}

/** The field's value now. Objects are copied into variables of their own: what is assigned to the field later changes nothing. */
export function valueOfField(field: CodeField): KnownValue {
  const { kind, globals, vector } = field;
  const [first, ...others] = globals.map((global): Code => ({ is: "getGlobal", global })) as [
    Code,
    ...Code[],
  ];
  switch (kind?.is) {
    case "number":
      return numberOf(first);
    case "boolean":
      return booleanOf(first);
    case "array":
      return { is: "vector", vector: vector as EventVector, effects: [] };
    case "list":
    case "map":
    case "numbers":
    case "set":
      return { is: "container", kind: kind.is, field };
    case "event": {
      const ref: CodeLocal = { type: "ref" };
      return { is: "kept", ref, effects: [set(ref, first)] };
    }
    case "reference": {
      const version: CodeLocal = { type: "f64" };
      return { is: "reference", path: kind.path, version, effects: [set(version, first)] };
    }
    case "record": {
      const made = emptyRecord(kind.parts, true);
      const { present, entries } = made;
      const effects = entries.map((entry, i) => set(localOf(entry), others[i] as Code));
      return { ...made, effects: [set(present as CodeLocal, first), ...effects] };
    }
    default:
      return { is: "nothing", name: "undefined", effects: [], isUnlearned: true };
  }
}

/**
 * Code that stores a value in a field which holds no array.
 *
 * @param version the version of a part of the data, by its path
 * @returns undefined where the field is of another kind
 * @throws LearnedField
 */
export function storedInField(
  { name, kind, globals }: CodeField,
  value: KnownValue,
  version: (path: string) => Code,
): Code[] | undefined {
  const put = (i: number, code: Code): Code => ({
    is: "setGlobal",
    global: globals[i] as CodeGlobal,
    value: code,
  });
  const isUndefined = value.is === "nothing" && value.name === "undefined";
  switch (kind?.is) {
    case undefined: {
      if (isUndefined) return [...value.effects];
      const parts = value.is === "object" ? partsOfRecord(value) : undefined;
      if (parts !== undefined) throw new LearnedField(name, { is: "record", parts });
      if (value.is === "data") throw new LearnedField(name, { is: "reference", path: value.path });
      if (value.is === "event" || value.is === "kept") throw new LearnedField(name, { is: "event" });
      return undefined;
    }
    case "number":
      return value.is === "number" && !value.maybe ? [put(0, wide(value))] : undefined;
    case "boolean":
      return value.is === "boolean" ? [put(0, value.code)] : undefined;
    case "event":
      if (isUndefined) return [...value.effects, put(0, { is: "none" })];
      if (value.is === "event") return [...value.effects, ...KEEPING, put(0, call("keep"))];
      return value.is === "kept" ? [...value.effects, put(0, get(value.ref))] : undefined;
    case "reference":
      if (isUndefined) return [...value.effects, put(0, f64(-1))];
      return value.is === "data" && value.path === kind.path ? [put(0, version(value.path))] : undefined;
    case "record": {
      if (isUndefined) return [...value.effects, put(0, i32(0))];
      const stored =
        value.is === "object" ? storedRecord(value, kind.parts, i => code => put(i + 1, code)) : undefined;
      if (stored === undefined || value.is !== "object") return undefined;
      return [...stored, put(0, value.present === undefined ? i32(1) : get(value.present))];
    }
    default:
      return undefined;
  }
}

// ---- objects of numbers and booleans

/** An object of these parts, in variables of its own that nothing has been stored in yet. */
export function emptyRecord(parts: RecordParts, isMaybe: boolean): KnownObject {
  const entries = Array.from(parts, ([name, type]): ObjectEntry => {
    const isBoolean = type === "boolean";
    return { from: "value", name, local: { type: isBoolean ? "i32" : "f64" }, isBoolean };
  });
  const present: CodeLocal | undefined = isMaybe ? { type: "i32" } : undefined;
  return { is: "object", entries, present, urgent: false, effects: [] };
}

/** The parts of an object; undefined where one of them is neither a number nor a boolean. */
export function partsOfRecord({ entries, urgent }: KnownObject): RecordParts | undefined {
  const parts = new Map<string, "number" | "boolean">();
  for (const entry of entries) {
    if (entry.from !== "value" || urgent) return undefined;
    parts.set(entry.name, entry.isBoolean ? "boolean" : "number");
  }
  return parts;
}

/** Code that puts an object's parts into their places; undefined where it has other parts. */
export function storedRecord(
  value: KnownObject,
  parts: RecordParts,
  placeOf: (index: number) => (code: Code) => Code,
): Code[] | undefined {
  const own = partsOfRecord(value);
  if (own?.size !== parts.size) return undefined;
  const stored = Array.from(parts, ([name, type], i) => {
    const entry = value.entries.findLast(one => one.from !== "event" && one.name === name);
    return own.get(name) === type && entry !== undefined ? placeOf(i)(get(localOf(entry))) : undefined;
  });
  return stored.every(code => code !== undefined) ? [...value.effects, ...stored] : undefined;
}

export function localOf(entry: ObjectEntry): CodeLocal {
  return (entry as Extract<ObjectEntry, { from: "value" }>).local;
}
