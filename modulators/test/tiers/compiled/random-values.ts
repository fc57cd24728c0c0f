/*
 * Random events: values at the edges of their kinds, fields that are left out, empty vectors. And what random programs are written with.
 */

/** Numbers from 0 to below 1, the same for the same seed: mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

export const FUZZED = {
  wide: "float64",
  small: "float32",
  whole: "int32",
  count: "uint32",
  byte: "uint8",
  short: "int16",
  tiny: "int8",
  flag: "bool",
  wides: "float64[]",
  smalls: "float32[]",
  shorts: "int16[]",
  bytes: "uint8[]",
  counts: "uint32[]",
  name: "string",
  word: "string",
} as const;

/** Type of what some programs make. */
export const MADE = {
  first: "float64",
  second: "float32",
  third: "int32",
  isIt: "bool",
  text: "string",
  list: "float64[]",
  rest: "float64",
  token: "uint64",
  raw: "uint8[]",
} as const;

export const NUMBERS = ["wide", "small", "whole", "count", "byte", "short", "tiny"];
export const VECTORS = ["wides", "smalls", "shorts", "bytes", "counts"];
export const LITERALS = [
  ..."0 1 2 3 7 10 0.5 0.1 1e300 5e-324 2147483647 2147483648 4294967295 4294967296 9007199254740992 1e-7 NaN Infinity".split(
    " ",
  ),
  "(-0)",
  "(-1)",
  "(-Infinity)",
  "(-2147483648)",
];
export const EDGES = [
  0,
  -0,
  1,
  -1,
  0.5,
  1e300,
  -1e300,
  5e-324,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  2 ** 31,
  2 ** 32,
  0.1,
];
/** Texts of all lengths about those that are compared at once, which share beginnings and ends. */
export const TEXTS = [
  ..." a b ab abc abcd äb 𝒳 abcdefg abcdefgh abcdefghi station-12 station-13 ztation-12".split(" "),
  "a text of sixteen",
  "a text of more than sixteen bytes, ä",
  "a text of more than sixteen bytes, b",
  "b text of more than sixteen bytes, ä",
  `${"long ".repeat(30)}1`,
  `${"long ".repeat(30)}2`,
  "\u0000",
  "\ufeffa",
];
/** Texts that others read the same as: with U+FFFD, with half of a surrogate pair. */
export const ODD_TEXTS = ["\ufffd", "a\ufffd", "\ud800", "a\udc00b"];
export const ARRAYS = "Float32 Float64 Int8 Int16 Int32 Uint8 Uint16 Uint32"
  .split(" ")
  .map(kind => `${kind}Array`);
export const HOW = "{ twice: (a, b) => a * 2 + b, half(a, b) { return a / 2 - b; } }";
export const MATH_1 = "abs ceil floor trunc sqrt round sign sin cos exp log cbrt log2 fround".split(" ");
export const MATH_2 = "max min atan2 pow hypot".split(" ");

/** A random event of the type `FUZZED`. */
export function randomEvent(random: () => number): Record<string, unknown> {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const wide = (): number =>
    random() < 0.4 ? pick(EDGES) : (random() - 0.5) * 10 ** Math.floor(random() * 12);
  const int = (lo: number, hi: number): number =>
    random() < 0.4 ? pick([0, lo, hi, Math.min(hi, 1)]) : Math.floor(lo + random() * (hi - lo + 1));
  const list = (make: () => number): number[] =>
    Array.from({ length: random() < 0.3 ? 0 : Math.floor(random() * 9) }, make);
  const event: Record<string, unknown> = {
    wide: wide(),
    small: wide(),
    whole: int(-(2 ** 31), 2 ** 31 - 1),
    count: int(0, 2 ** 32 - 1),
    byte: int(0, 255),
    short: int(-(2 ** 15), 2 ** 15 - 1),
    tiny: int(-128, 127),
    flag: random() < 0.5,
    wides: Float64Array.from(list(wide)),
    smalls: Float32Array.from(list(wide)),
    shorts: Int16Array.from(list(() => int(-(2 ** 15), 2 ** 15 - 1))),
    bytes: Uint8Array.from(list(() => int(0, 255))),
    counts: Uint32Array.from(list(() => int(0, 2 ** 32 - 1))),
    name: random() < 0.9 ? pick(TEXTS) : pick(ODD_TEXTS),
    word: random() < 0.8 ? pick(TEXTS) : pick(TEXTS) + pick(TEXTS),
  };
  // What is left out reads as its default.
  for (const name of Object.keys(event)) if (random() < 0.1) delete event[name];
  return event;
}
