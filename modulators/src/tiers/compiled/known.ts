import { type Code, type CodeLocal, f64, get, i32, type LengthOf, localsOf, op, set } from "./code.ts";
import type { DataShape } from "./data-shape.ts";
import type { CodeField, ContainerKind } from "./fields.ts";
import type { FunctionNode } from "./module-text.ts";
import { Refusal } from "./refusal.ts";

/** A vector of numbers in an event, or an array that the program has made. */
export interface EventVector extends LengthOf {
  readonly length: CodeLocal;
  /** The kind of typed array, of one that the program has made and may write to; undefined for an event's own. */
  readonly made?: TypedArray | undefined;
  /** The array whose elements these are, of one that is a part of it or its bytes as other numbers. */
  readonly of?: EventVector | undefined;
  /** Whether they are all of that one's bytes. */
  readonly isAll?: boolean;
  /** The kind of typed array that it is; undefined where that is not known. */
  readonly array?: NumberArray | undefined;
  readonly start: CodeLocal;
  /** One element, at this address. */
  readonly read: (at: Code) => KnownNumber;
}

/** A text as bytes of UTF-8. */
export type KnownText =
  /** Written in the source. */
  | { readonly from: "source"; readonly bytes: Uint8Array }
  /** A text of the parameters or a shared object, at an address of its own: at most `cap` bytes. */
  | {
      readonly from: "data";
      readonly at: Code;
      readonly length: Code;
      readonly cap: number;
      readonly path: string;
    }
  /** A text of the event, whose bytes may be broken. */
  | { readonly from: "event"; readonly at: Code; readonly length: Code; readonly vector: LengthOf };

/** A number that is proven to be an integer of 32 bits, and not -0. */
export interface IntRange {
  readonly lo: number;
  readonly hi: number;
  /** The vector whose length is greater than this number. */
  readonly under?: EventVector | undefined;
  /** The vector whose length is at least this number. */
  readonly upTo?: EventVector | undefined;
}

export interface KnownNumber {
  readonly is: "number";
  /** Code of type i32 where `int` is there, else f64. */
  readonly code: Code;
  readonly int?: IntRange | undefined;
  /** Whether the number may be undefined, for which NaN stands. Such a number is used only where the language takes both alike. */
  readonly maybe: boolean;
  /** For an element, or a number of a map, that may be undefined: whether it is there, and the number if so. */
  readonly found?: { readonly test: Code; readonly value: KnownNumber } | undefined;
}

export interface KnownBoolean {
  readonly is: "boolean";
  readonly code: Code;
}

/** A part of an object. Numbers and booleans are in variables: they are computed where the object is written. */
export type ObjectEntry =
  | { readonly from: "event" }
  | { readonly from: "field"; readonly name: string; readonly field: string }
  | { readonly from: "source"; readonly name: string; readonly bytes: Uint8Array }
  | { readonly from: "data"; readonly name: string; readonly path: string }
  | { readonly from: "value"; readonly name: string; readonly local: CodeLocal; readonly isBoolean: boolean }
  | {
      readonly from: "values";
      readonly name: string;
      readonly array: NumberArray;
      readonly locals: readonly CodeLocal[];
    }
  | { readonly from: "array"; readonly name: string; readonly vector: EventVector }
  /** Another object, encoded as the type of the events that come in. */
  | { readonly from: "encoded"; readonly name: string; readonly entries: readonly ObjectEntry[] }
  /** The token of the type that the event was written with. */
  | { readonly from: "token"; readonly name: string }
  /** undefined: as if the object had no such part. */
  | { readonly from: "none"; readonly name: string };

/** Lists of numbers that programs make, by the language's names. */
export const NUMBER_ARRAYS: Readonly<
  Record<NumberArray, { new (...all: never[]): unknown; from(all: ArrayLike<number>): unknown }>
> = {
  Array,
  Float32Array,
  Float64Array,
  Int8Array,
  Int16Array,
  Int32Array,
  Uint8Array,
  Uint16Array,
  Uint32Array,
};
export type NumberArray = "Array" | TypedArray;
export type TypedArray = `Float${32 | 64}Array` | `${"Int" | "Uint"}${8 | 16 | 32}Array`;

/** An object that is written in the source, after these effects. */
export interface KnownObject {
  readonly is: "object";
  /** This very list stands for the object under all its names: what is assigned to one of its parts is added here. */
  readonly entries: ObjectEntry[];
  /** Variable that says whether the object is there, or undefined in its place; undefined where it always is. */
  readonly present?: CodeLocal | undefined;
  /** Whether it is marked to go first. */
  readonly urgent: boolean;
  readonly effects: readonly Code[];
}

/** The checker's knowledge about the value of an expression. */
export type KnownValue =
  | KnownNumber
  | KnownBoolean
  /** undefined or null, after these effects. */
  | {
      readonly is: "nothing";
      readonly name: "undefined" | "null";
      readonly effects: readonly Code[];
      /** Whether it is that of a field that something may be assigned to, which the check has not come to yet. */
      readonly isUnlearned?: boolean;
    }
  /** The event that came in, after these effects. */
  | { readonly is: "event"; readonly effects: readonly Code[] }
  /** A plain copy of that, by `unpack`, after these effects. */
  | { readonly is: "plain"; readonly effects: readonly Code[] }
  /** A vector of the event's, or an array that the program makes, after these effects. */
  | { readonly is: "vector"; readonly vector: EventVector; readonly effects: readonly Code[] }
  | KnownObject
  /** The bytes of an object, encoded as an event, after these effects. */
  | { readonly is: "encoded"; readonly entries: readonly ObjectEntry[]; readonly effects: readonly Code[] }
  /** The token of the type that the event was written with. */
  | { readonly is: "token" }
  /** So many numbers, in variables, after these effects. */
  | {
      readonly is: "numbers";
      readonly array: NumberArray;
      readonly locals: readonly CodeLocal[];
      readonly effects: readonly Code[];
    }
  | { readonly is: "text"; readonly text: KnownText }
  /** An array that is written in the source. */
  | { readonly is: "list"; readonly items: readonly KnownValue[] }
  | { readonly is: "data"; readonly shape: DataShape; readonly path: string }
  /** A part of the data as it was in this version, of which it is only asked whether it is the same; undefined below 0. */
  | {
      readonly is: "reference";
      readonly path: string;
      readonly version: CodeLocal;
      readonly effects: readonly Code[];
    }
  /** The bytes that an array lies in, and its place there. */
  | { readonly is: "buffer" | "byteOffset"; readonly vector: EventVector }
  | {
      readonly is: "function";
      readonly node: FunctionNode;
      readonly scope: CodeScope;
      readonly hasThis: boolean;
    }
  /** An object of functions, by their names. */
  | {
      readonly is: "functions";
      readonly members: ReadonlyMap<string, Extract<KnownValue, { is: "function" }>>;
    }
  /** A function of the language or of "jecho:moe", by its name, or a group of such. */
  | { readonly is: "builtin"; readonly name: string }
  | { readonly is: "given" }
  | { readonly is: "this" }
  /** The services of the MOE. */
  | { readonly is: "moe" }
  /** An event that was kept, or undefined, after these effects. */
  | { readonly is: "kept"; readonly ref: CodeLocal; readonly effects: readonly Code[] }
  /** A list, map or set, which a field holds. */
  | { readonly is: "container"; readonly kind: ContainerKind; readonly field: CodeField }
  /** The same map or set, as `set` and `add` give it back: nothing is done with it where it is compiled. */
  | { readonly is: "changed"; readonly effects: readonly Code[] }
  /** The first entry that a map had then, or undefined, after these effects. */
  | {
      readonly is: "entry";
      readonly ref: CodeLocal;
      readonly key: CodeLocal;
      readonly effects: readonly Code[];
    }
  /** A key of a map, or undefined. */
  | { readonly is: "key"; readonly ref: CodeLocal; readonly effects: readonly Code[] };

/** The array that others are a part of, or itself. */
export function wholeOf(vector: EventVector): EventVector {
  return vector.of === undefined ? vector : wholeOf(vector.of);
}

/** A name's meaning. */
export type Binding =
  | { readonly is: "constant"; readonly value: KnownValue }
  | {
      readonly is: "variable";
      readonly local: CodeLocal;
      readonly type: "number" | "boolean";
      readonly maybe: boolean;
    }
  /** A loop's own: the loop alone changes it. */
  | { readonly is: "counter"; readonly value: KnownNumber }
  /** Declared, and without a value as yet. */
  | { readonly is: "unready" }
  | { readonly is: "refused"; readonly why: string };

/** Blocks in one another: a name is looked for in each. */
const MOST_DEPTH = 200;

/** Names of a block, and what they mean. */
export class CodeScope<Meaning = Binding> {
  readonly #depth: number;
  readonly #outer: CodeScope<Meaning> | undefined;
  readonly #names = new Map<string, Meaning>();

  /** @throws Refusal */
  constructor(outer?: CodeScope<Meaning>) {
    this.#outer = outer;
    this.#depth = outer === undefined ? 1 : outer.#depth + 1;
    if (this.#depth > MOST_DEPTH) throw new Refusal(`it has more than ${MOST_DEPTH} blocks in one another`);
  }

  set(name: string, meaning: Meaning): void {
    this.#names.set(name, meaning);
  }

  find(name: string): Meaning | undefined {
    return this.#names.get(name) ?? this.#outer?.find(name);
  }
}

export const LEAST_INT = -0x8000_0000;
export const MOST_INT = 0x7fff_ffff;
/** No vector is longer: an event is at most as long as a message. */
export const MOST_LENGTH = 1 << 28;

export const numberOf = (code: Code): KnownNumber => ({ is: "number", code, maybe: false });
export const maybeOf = (code: Code): KnownNumber => ({ is: "number", code, maybe: true });
export const booleanOf = (code: Code): KnownBoolean => ({ is: "boolean", code });
export const nothing = (name: "undefined" | "null", effects: readonly Code[] = []): KnownValue => ({
  is: "nothing",
  name,
  effects,
});

/** An integer within its range, as code of type i32. */
export function intOf(code: Code, int: IntRange): KnownNumber {
  return { is: "number", code, int, maybe: false };
}

/** A number that is written down. */
export function constantOf(value: number): KnownNumber {
  return isInt(value) ? intOf(i32(value), { lo: value, hi: value }) : numberOf(f64(value));
}

export function isInt(value: number): boolean {
  return Number.isInteger(value) && value >= LEAST_INT && value <= MOST_INT && !Object.is(value, -0);
}

/** The number as f64. */
export function wide({ code, int }: KnownNumber): Code {
  if (int === undefined) return code;
  return code.is === "i32" ? f64(code.value) : op("f64.convert_i32_s", code);
}

/** The number, and whether it is there, in variables of their own. */
export function keptMaybe({ test, value }: NonNullable<KnownNumber["found"]>): {
  readonly code: Code[];
  readonly read: KnownNumber;
} {
  const [isThere, local] = localsOf("i32", "f64");
  const there: Code = {
    is: "if",
    test: get(isThere),
    yes: [wide(value)],
    no: [f64(Number.NaN)],
    type: "f64",
  };
  const found = { test: get(isThere), value: numberOf(get(local)) };
  return { code: [set(isThere, test), set(local, there)], read: { ...maybeOf(get(local)), found } };
}

/** The number in a variable of its own, to be read more than once: first the code that sets it. */
export function kept(value: KnownNumber): { readonly local: CodeLocal; readonly read: KnownNumber } {
  const local: CodeLocal = { type: value.int === undefined ? "f64" : "i32" };
  return { local, read: { ...value, code: get(local), found: undefined } };
}
