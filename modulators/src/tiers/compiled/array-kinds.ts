import {
  type Code,
  type CodeLocal,
  f64,
  get,
  type LoadName,
  load,
  localsOf,
  many,
  op,
  type StoreName,
  set,
} from "./code.ts";
import { type EventVector, intOf, type KnownNumber, numberOf, type TypedArray, wide } from "./known.ts";

/** The way elements of an array are read and written. */
export interface ArrayKind {
  readonly bytes: number;
  readonly load: LoadName;
  readonly store: StoreName;
  /** The range of its integers; undefined for floats, and for integers that take more than 32 bits with a sign. */
  readonly range: readonly [lo: number, hi: number] | undefined;
}

export const KINDS: Readonly<Record<TypedArray, ArrayKind>> = {
  Float32Array: { bytes: 4, load: "f32.load", store: "f32.store", range: undefined },
  Float64Array: { bytes: 8, load: "f64.load", store: "f64.store", range: undefined },
  Int8Array: { bytes: 1, load: "i32.load8_s", store: "i32.store8", range: [-0x80, 0x7f] },
  Int16Array: { bytes: 2, load: "i32.load16_s", store: "i32.store16", range: [-0x8000, 0x7fff] },
  Int32Array: { bytes: 4, load: "i32.load", store: "i32.store", range: [-0x8000_0000, 0x7fff_ffff] },
  Uint8Array: { bytes: 1, load: "i32.load8_u", store: "i32.store8", range: [0, 0xff] },
  Uint16Array: { bytes: 2, load: "i32.load16_u", store: "i32.store16", range: [0, 0xffff] },
  Uint32Array: { bytes: 4, load: "i32.load", store: "i32.store", range: undefined },
};

export function isTypedArray(name: string): name is TypedArray {
  return Object.hasOwn(KINDS, name);
}

/** An array whose elements lie from `start` on. */
export function arrayAt(
  array: TypedArray,
  start: CodeLocal,
  length: CodeLocal,
  made: TypedArray | undefined,
): EventVector {
  return {
    name: array,
    elementBytes: KINDS[array].bytes,
    length,
    start,
    made,
    array,
    read: at => elementOf(array, at),
  };
}

/** The place that an index of `subarray` means: those below 0 count from the end. */
export function relative(index: KnownNumber, length: CodeLocal): Code {
  const [whole, all] = localsOf("f64", "f64");
  const place: Code = {
    is: "if",
    test: op("f64.lt", get(whole), f64(0)),
    yes: [op("f64.max", op("f64.add", get(all), get(whole)), f64(0))],
    no: [op("f64.min", get(whole), get(all))],
    type: "f64",
  };
  const number = op("f64.trunc", wide(index));
  return many(
    set(whole, number),
    set(all, op("f64.convert_i32_u", get(length))),
    op("i32.trunc_sat_f64_u", place),
  );
}

/** The element of such an array that lies at this address. */
export function elementOf(name: TypedArray, at: Code): KnownNumber {
  const { load: from, range } = KINDS[name];
  const code = load(from, at);
  if (range !== undefined) return intOf(code, { lo: range[0], hi: range[1] });
  if (name === "Uint32Array") return numberOf(op("f64.convert_i32_u", code));
  return numberOf(name === "Float32Array" ? op("f64.promote_f32", code) : code);
}
