import { type Code, type CodeLocal, call, f64, get, i32, many, type OpName, op, set, tee } from "./code.ts";
import {
  booleanOf,
  constantOf,
  type IntRange,
  intOf,
  type KnownBoolean,
  type KnownNumber,
  LEAST_INT,
  MOST_INT,
  numberOf,
  wide,
} from "./known.ts";

/*
 * Arithmetic as the language has it: numbers of 64 bits, or integers of 32 where both come out the same.
 */

const ARITHMETIC: Readonly<Record<string, OpName>> = {
  "+": "f64.add",
  "-": "f64.sub",
  "*": "f64.mul",
  "/": "f64.div",
};
const INT_ARITHMETIC: Readonly<Record<string, OpName>> = { "+": "i32.add", "-": "i32.sub", "*": "i32.mul" };
const BITS: Readonly<Record<string, OpName>> = {
  "&": "i32.and",
  "|": "i32.or",
  "^": "i32.xor",
  "<<": "i32.shl",
  ">>": "i32.shr_s",
};
const COMPARISONS: Readonly<Record<string, readonly [int: OpName, wide: OpName]>> = {
  "<": ["i32.lt_s", "f64.lt"],
  ">": ["i32.gt_s", "f64.gt"],
  "<=": ["i32.le_s", "f64.le"],
  ">=": ["i32.ge_s", "f64.ge"],
  "==": ["i32.eq", "f64.eq"],
  "===": ["i32.eq", "f64.eq"],
  "!=": ["i32.ne", "f64.ne"],
  "!==": ["i32.ne", "f64.ne"],
};

/** `a OPERATOR b`; undefined where there is no such operator for numbers. */
export function arithmetic(operator: string, a: KnownNumber, b: KnownNumber): KnownNumber | undefined {
  const wideOp = ARITHMETIC[operator];
  if (wideOp !== undefined) {
    const range = rangeOf(operator, a.int, b.int);
    const intOp = INT_ARITHMETIC[operator];
    if (range !== undefined && intOp !== undefined) return intOf(op(intOp, a.code, b.code), range);
    return numberOf(op(wideOp, wide(a), wide(b)));
  }
  if (operator === "%") {
    if (a.int !== undefined && b.int !== undefined && a.int.lo >= 0 && b.int.lo > 0)
      return intOf(op("i32.rem_u", a.code, b.code), { lo: 0, hi: Math.min(a.int.hi, b.int.hi - 1) });
    return numberOf(call("rem", wide(a), wide(b)));
  }
  if (operator === "**") return numberOf(call("pow", wide(a), wide(b)));
  if (operator === ">>>") return numberOf(op("f64.convert_i32_u", op("i32.shr_u", bits(a), bits(b))));
  const bitOp = BITS[operator];
  if (bitOp === undefined) return undefined;
  const least = [a.int, b.int].filter(int => int !== undefined && int.lo >= 0) as IntRange[];
  const range =
    operator === "&" && least.length > 0
      ? { lo: 0, hi: Math.min(...least.map(({ hi }) => hi)) }
      : { lo: LEAST_INT, hi: MOST_INT };
  return intOf(op(bitOp, bits(a), bits(b)), range);
}

/** The range of a result that is an integer of 32 bits for sure, and not -0. */
function rangeOf(operator: string, a: IntRange | undefined, b: IntRange | undefined): IntRange | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (operator === "+") return within({ lo: a.lo + b.lo, hi: a.hi + b.hi });
  if (operator === "-") {
    const isLess = b.lo >= 0;
    return within({
      lo: a.lo - b.hi,
      hi: a.hi - b.lo,
      under: isLess ? (a.under ?? (b.lo > 0 ? a.upTo : undefined)) : undefined,
      upTo: isLess ? (a.upTo ?? a.under) : undefined,
    });
  }
  if (operator === "*" && a.lo >= 0 && b.lo >= 0) return within({ lo: a.lo * b.lo, hi: a.hi * b.hi });
  return undefined;
}

function within(range: IntRange): IntRange | undefined {
  return range.lo >= LEAST_INT && range.hi <= MOST_INT ? range : undefined;
}

/** The number as the language's operators on bits take it. */
export function bits(value: KnownNumber): Code {
  if (value.int !== undefined) return value.code;
  if (value.found !== undefined) {
    const { test, value: there } = value.found;
    return { is: "if", test, yes: [bits(there)], no: [i32(0)], type: "i32" };
  }
  // What is left of the integer beyond multiples of 2 ** 32: all of these operations are exact, and NaN, which infinities become, is converted to 0.
  const whole: CodeLocal = { type: "f64" };
  const high = op("f64.floor", op("f64.mul", tee(whole, op("f64.trunc", value.code)), f64(2 ** -32)));
  const multiple: CodeLocal = { type: "f64" };
  const low = op("f64.sub", get(whole), get(multiple));
  return many(set(multiple, op("f64.mul", high, f64(2 ** 32))), op("i32.trunc_sat_f64_u", low));
}

export function compared(operator: string, a: KnownNumber, b: KnownNumber): KnownBoolean | undefined {
  const ops = COMPARISONS[operator];
  if (ops === undefined) return undefined;
  const [int, other] = ops;
  if (a.int !== undefined && b.int !== undefined) return booleanOf(op(int, a.code, b.code));
  return booleanOf(op(other, wide(a), wide(b)));
}

/** Whether the number counts as true: all but 0, -0 and NaN. undefined, for which NaN stands, does not either. */
export function truthOf({ code, int }: KnownNumber): Code {
  return int === undefined ? op("f64.gt", op("f64.abs", code), f64(0)) : op("i32.ne", code, i32(0));
}

export function negated(value: KnownNumber): KnownNumber {
  const { int } = value;
  if (value.code.is === "i32") return constantOf(-value.code.value);
  if (int !== undefined && int.lo > 0)
    return intOf(op("i32.sub", i32(0), value.code), { lo: -int.hi, hi: -int.lo });
  if (value.code.is === "f64") return numberOf(f64(-value.code.value));
  return numberOf(op("f64.neg", wide(value)));
}

/** Whether an index is that of one of `length` elements, and, once that has been looked at, the index as i32. */
export function indexed(index: KnownNumber, length: CodeLocal): { readonly test: Code; readonly at: Code } {
  const at: CodeLocal = { type: "i32" };
  if (index.int !== undefined) return { test: op("i32.lt_u", tee(at, index.code), get(length)), at: get(at) };
  // An index is an integer: what becomes another number by being made one is none.
  const whole: CodeLocal = { type: "f64" };
  const test = op(
    "i32.and",
    op("f64.eq", op("f64.convert_i32_u", tee(at, op("i32.trunc_sat_f64_u", get(whole)))), get(whole)),
    op("i32.lt_u", get(at), get(length)),
  );
  return { test: many(set(whole, index.code), test), at: get(at) };
}
