import { type Code, type CodeLocal, call, f64, get, localsOf, type OpName, op, tee } from "./code.ts";
import {
  booleanOf,
  constantOf,
  intOf,
  type KnownNumber,
  type KnownValue,
  NUMBER_ARRAYS,
  numberOf,
  wide,
} from "./known.ts";
import { StoppedProgram } from "./stopped-program.ts";

/*
 * The language's own functions and constants for numbers. Those that WebAssembly lacks are the engine's own.
 */

const CONSTANTS: Readonly<Record<string, number>> = {
  Infinity: Number.POSITIVE_INFINITY,
  NaN: Number.NaN,
  "Math.E": Math.E,
  "Math.LN10": Math.LN10,
  "Math.LN2": Math.LN2,
  "Math.LOG10E": Math.LOG10E,
  "Math.LOG2E": Math.LOG2E,
  "Math.PI": Math.PI,
  "Math.SQRT1_2": Math.SQRT1_2,
  "Math.SQRT2": Math.SQRT2,
  "Number.EPSILON": Number.EPSILON,
  "Number.MAX_SAFE_INTEGER": Number.MAX_SAFE_INTEGER,
  "Number.MAX_VALUE": Number.MAX_VALUE,
  "Number.MIN_SAFE_INTEGER": Number.MIN_SAFE_INTEGER,
  "Number.MIN_VALUE": Number.MIN_VALUE,
  "Number.NEGATIVE_INFINITY": Number.NEGATIVE_INFINITY,
  "Number.NaN": Number.NaN,
  "Number.POSITIVE_INFINITY": Number.POSITIVE_INFINITY,
};

const OWN: Readonly<Record<string, OpName>> = {
  "Math.abs": "f64.abs",
  "Math.ceil": "f64.ceil",
  "Math.floor": "f64.floor",
  "Math.sqrt": "f64.sqrt",
  "Math.trunc": "f64.trunc",
};

/** Functions of the engine that programs may call, by name. */
export const ENGINE: Readonly<Record<string, (...all: number[]) => number>> = {
  rem: remainder,
  pow: (a = 0, b = 0) => a ** b,
  "Math.acos": Math.acos,
  "Math.acosh": Math.acosh,
  "Math.asin": Math.asin,
  "Math.asinh": Math.asinh,
  "Math.atan": Math.atan,
  "Math.atan2": Math.atan2,
  "Math.atanh": Math.atanh,
  "Math.cbrt": Math.cbrt,
  "Math.clz32": Math.clz32,
  "Math.cos": Math.cos,
  "Math.cosh": Math.cosh,
  "Math.exp": Math.exp,
  "Math.expm1": Math.expm1,
  "Math.hypot": Math.hypot,
  "Math.imul": Math.imul,
  "Math.log": Math.log,
  "Math.log10": Math.log10,
  "Math.log1p": Math.log1p,
  "Math.log2": Math.log2,
  "Math.random": random,
  "Math.round": Math.round,
  "Math.sign": Math.sign,
  "Math.sin": Math.sin,
  "Math.sinh": Math.sinh,
  "Math.tan": Math.tan,
  "Math.tanh": Math.tanh,
};
const BINARY = new Set(["Math.atan2", "Math.hypot", "Math.imul", "Math.pow", "Object.is"]);

/** Quotient from which on a remainder is a slow one: engines find it bit by bit, which takes up to 2 microseconds. */
const SLOW_QUOTIENT = 2 ** 64;
/** Slow remainders of one turn: together they take no longer than an event may. */
const MOST_SLOW = 50;
let slowLeft = MOST_SLOW;

/** A program's turn begins. */
export function beginRemainders(): void {
  slowLeft = MOST_SLOW;
}

function remainder(a = 0, b = 0): number {
  const isSlow = Math.abs(a) >= Math.abs(b) * SLOW_QUOTIENT && Number.isFinite(a) && b !== 0;
  if (isSlow && --slowLeft < 0)
    throw new StoppedProgram("it takes more remainders of very large numbers than are compiled");
  return a % b;
}

/** Random bits in stock, two words for a number. */
const randomWords = new Uint32Array(1024);
let wordsLeft = 0;

/** Not the engine's own: from some of its numbers a stranger could tell those that the producer's own code draws. */
function random(): number {
  if (wordsLeft === 0) wordsLeft = crypto.getRandomValues(randomWords).length;
  const high = randomWords[--wordsLeft] as number;
  const low = randomWords[--wordsLeft] as number;
  return (high * 2 ** 21 + (low >>> 11)) / 2 ** 53;
}

/** The language's value of this name; undefined where it cannot be compiled. */
export function builtinOf(name: string): KnownValue | undefined {
  const constant = Object.hasOwn(CONSTANTS, name) ? CONSTANTS[name] : undefined;
  if (constant !== undefined) return constantOf(constant);
  if (Object.hasOwn(NUMBER_ARRAYS, name) && name !== "Array") return { is: "builtin", name };
  if (name === "Math" || name === "Number" || name === "Object" || isFunction(name))
    return { is: "builtin", name };
  return name === "undefined" ? { is: "nothing", name, effects: [] } : undefined;
}

function isFunction(name: string): boolean {
  return (
    Object.hasOwn(OWN, name) ||
    (name.startsWith("Math.") && Object.hasOwn(ENGINE, name)) ||
    ["Math.fround", "Math.max", "Math.min", "Math.pow"].includes(name) ||
    /^(Float|Int|Uint)\d+Array\.of$/.test(name) ||
    ["isFinite", "isNaN", "Number.isFinite", "Number.isNaN", "Object.is"].includes(name)
  );
}

/** The greater or the smaller of two numbers; NaN where one of them is. */
export function extreme(name: "Math.max" | "Math.min", a: KnownNumber, b: KnownNumber): KnownNumber {
  return numberOf(op(name === "Math.max" ? "f64.max" : "f64.min", wide(a), wide(b)));
}

/**
 * Calls a function of the language. `Math.max` and `Math.min` take any number of arguments elsewhere.
 *
 * @returns text that says why it cannot be compiled
 */
export function callBuiltin(name: string, args: readonly KnownNumber[]): KnownValue | string {
  const [a, b] = args;
  if (name === "Math" || name === "Object" || Object.hasOwn(NUMBER_ARRAYS, name))
    return `${name} is not compiled as a function`;
  const wanted = BINARY.has(name) ? 2 : name === "Math.random" ? 0 : 1;
  if (args.length !== wanted) return `${name} is compiled with ${wanted} argument${wanted === 1 ? "" : "s"}`;
  if (a === undefined) return numberOf(call(name));
  if (name === "Number") return { ...a, maybe: false, found: undefined };
  if (name === "Object.is") return identical(a, b as KnownNumber);
  if (name === "Math.pow") return numberOf(call("pow", wide(a), wide(b as KnownNumber)));
  if (name === "Math.fround") return numberOf(op("f64.promote_f32", op("f32.demote_f64", wide(a))));
  const own = OWN[name];
  if (own !== undefined) return owned(name, own, a);
  if (name.startsWith("Math.")) return numberOf(call(name, ...args.map(wide)));
  return test(name, a);
}

/** Whether two numbers are the same: NaN is NaN, and -0 is not 0. */
function identical(a: KnownNumber, b: KnownNumber): KnownValue | string {
  if (a.maybe || b.maybe) return "Object.is tells NaN from undefined, and one of these may be either";
  const [x, y] = localsOf("f64", "f64");
  const isNone = (one: CodeLocal): Code => op("f64.ne", get(one), get(one));
  const inverse = (one: CodeLocal): Code => op("f64.div", f64(1), get(one));
  const equal = op("f64.eq", tee(x, wide(a)), tee(y, wide(b)));
  // Only zeros that are equal may have inverses that are not.
  const yes = op("f64.eq", inverse(x), inverse(y));
  return booleanOf({
    is: "if",
    test: equal,
    yes: [yes],
    no: [op("i32.and", isNone(x), isNone(y))],
    type: "i32",
  });
}

function owned(name: string, own: OpName, a: KnownNumber): KnownNumber {
  const { int } = a;
  const stays = int !== undefined && (int.lo >= 0 || (name !== "Math.abs" && name !== "Math.sqrt"));
  return stays && name !== "Math.sqrt" ? intOf(a.code, int) : numberOf(op(own, wide(a)));
}

function test(name: string, a: KnownNumber): KnownValue | string {
  if (name === "Number.isNaN" && a.maybe)
    return "Number.isNaN tells NaN from undefined, and this may be either";
  if (name.endsWith("isNaN")) {
    const local: CodeLocal = { type: "f64" };
    return booleanOf(op("f64.ne", tee(local, wide(a)), get(local)));
  }
  return booleanOf(op("f64.lt", op("f64.abs", wide(a)), f64(Number.POSITIVE_INFINITY)));
}
