import { JechoError } from "@jecho/shared";
import { createReader, describeObject, encode, type ObjectType, verify } from "@jecho/shared/internal";

/** A value that passes between a modulator and a delegate: a number, boolean, string or typed array, always as a copy. */
export type Value =
  | number
  | boolean
  | string
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** The arguments of a call, the value of a view, or the names alone. */
export interface NamedValues {
  readonly name: string;
  readonly values: readonly Value[];
}

const ARRAYS = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  BigInt64Array,
  BigUint64Array,
  Float32Array,
  Float64Array,
} as const;
type ArrayName = keyof typeof ARRAYS;

const { getPrototypeOf } = Object;
const { apply } = Reflect;
const tagOf = Object.getOwnPropertyDescriptor(
  getPrototypeOf(Uint8Array.prototype) as object,
  Symbol.toStringTag,
)?.get as () => string | undefined;

let list: ObjectType | undefined;

/** The type of a list. It is made on first use: most modulators never need it. */
function listType(): ObjectType {
  list ??= describeObject("List", {
    named: [
      {
        name: "string",
        values: [{ kind: "string", number: "float64", text: "string", bytes: "uint8[]" }],
      },
    ],
  });
  return list;
}

/**
 * A copy of the value that nobody else can change.
 *
 * @throws JechoError `ARGUMENT_INVALID` for anything else than a `Value`; nothing of it is run
 */
export function copyValue(value: unknown): Value {
  switch (typeof value) {
    case "number":
    case "boolean":
    case "string":
      return value;
    case "object": {
      const name = (value === null ? undefined : apply(tagOf, value, [])) as ArrayName | undefined;
      if (name !== undefined && Object.hasOwn(ARRAYS, name)) {
        // The constructor copies a typed array's memory, and runs no code of a subclass.
        return new ARRAYS[name](value as never) as Value;
      }
      return refuse(value === null ? "null" : "an object");
    }
    default:
      return refuse(typeof value);
  }
}

function refuse(found: string): never {
  throw new JechoError(
    "ARGUMENT_INVALID",
    `a number, boolean, string or typed array is wanted, not ${found}`,
  );
}

/** Whether two values are the same, bit by bit. */
export function sameValue(a: Value | undefined, b: Value): boolean {
  if (typeof a !== "object" || typeof b !== "object") return Object.is(a, b);
  if (apply(tagOf, a, []) !== apply(tagOf, b, []) || a.byteLength !== b.byteLength) return false;
  const [left, right] = [bytesOf(a), bytesOf(b)];
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false;
  return true;
}

/** Bytes that a value counts against a limit. */
export function sizeOf(value: Value): number {
  if (typeof value === "string") return 2 * value.length;
  return typeof value === "object" ? value.byteLength : 8;
}

export function encodeValues(named: readonly NamedValues[]): Uint8Array {
  return encode(listType(), {
    named: named.map(({ name, values }) => ({ name, values: values.map(fieldsOf) })),
  });
}

function fieldsOf(value: Value) {
  const empty = { number: 0, text: "", bytes: new Uint8Array(0) };
  if (typeof value === "number") return { ...empty, kind: "number", number: value };
  if (typeof value === "boolean") return { ...empty, kind: "boolean", number: value ? 1 : 0 };
  if (typeof value === "string") return { ...empty, kind: "string", text: value };
  return { ...empty, kind: apply(tagOf, value, []) as string, bytes: bytesOf(value) };
}

function bytesOf(array: Exclude<Value, number | boolean | string>): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** @throws JechoError `EVENT_INVALID`, `ARGUMENT_INVALID` where the bytes are not such a list */
export function decodeValues(bytes: Uint8Array): NamedValues[] {
  // Alignment is counted from the start of the view.
  const own = bytes.slice();
  const view = new DataView(own.buffer);
  verify(listType(), view, 0, own.byteLength);
  const { named } = createReader(listType())(view, own, 0) as {
    named: readonly { name: string; values: readonly Fields[] }[];
  };
  return Array.from(named, ({ name, values }) => ({ name, values: Array.from(values, readValue) }));
}

interface Fields {
  readonly kind: string;
  readonly number: number;
  readonly text: string;
  readonly bytes: Uint8Array;
}

function readValue({ kind, number, text, bytes }: Fields): Value {
  if (kind === "number") return number;
  if (kind === "boolean") return number === 1;
  if (kind === "string") return text;
  if (!Object.hasOwn(ARRAYS, kind)) return refuse("a value of another kind");
  const Kind = ARRAYS[kind as ArrayName];
  if (bytes.byteLength % Kind.BYTES_PER_ELEMENT !== 0) return refuse("a piece of a number");
  return new Kind(bytes.slice().buffer) as Value;
}
