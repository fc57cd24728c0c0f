import type { CodeType } from "./code.ts";

/** Types of what a function takes, and of what it gives; undefined for nothing. */
export interface Signature {
  readonly takes: readonly CodeType[];
  readonly gives?: CodeType;
}

/** Functions that the tier gives a program besides the engine's own. */
export const TIER_FUNCTIONS = {
  /** Gives a field of the modulator room: takes the field's number and bytes, and gives an address. */
  reserve: { takes: ["f64", "f64"], gives: "f64" },
  /** Ends the turn: takes the number of the reason. */
  stop: { takes: ["f64"] },
  /** Keeps the event that came in, and gives it. */
  keep: { takes: [], gives: "ref" },
  /** Marks the event that came in to go first, where it is kept. */
  markKept: { takes: [] },
  /** Lets an event through that was kept. */
  pass: { takes: ["ref"] },
  /** Makes an empty list, map or set. */
  makeContainer: { takes: [], gives: "ref" },
  /** Entries of a list, map or set: their number; the first one's event, and key; that event, which is taken out. */
  count: { takes: ["ref"], gives: "i32" },
  first: { takes: ["ref"], gives: "ref" },
  firstKey: { takes: ["ref"], gives: "ref" },
  shift: { takes: ["ref"], gives: "ref" },
  /** Adds an event, in a list without a key; or a number. */
  add: { takes: ["ref", "ref", "ref"] },
  addNumber: { takes: ["ref", "ref", "f64"] },
  /** Whether there is such a key; the number there, or NaN; takes the entry out, or all. */
  has: { takes: ["ref", "ref"], gives: "i32" },
  numberAt: { takes: ["ref", "ref"], gives: "f64" },
  remove: { takes: ["ref", "ref"], gives: "i32" },
  clear: { takes: ["ref"] },
  /** Keys: a number, a boolean, a text at an address and of so many bytes. */
  numberKey: { takes: ["f64"], gives: "ref" },
  booleanKey: { takes: ["i32"], gives: "ref" },
  textKey: { takes: ["i32", "i32"], gives: "ref" },
} as const satisfies Readonly<Record<string, Signature>>;
export type TierFunction = keyof typeof TIER_FUNCTIONS;

export function isTierFunction(name: string): name is TierFunction {
  return Object.hasOwn(TIER_FUNCTIONS, name);
}

/** The signature of a function by its name: those of the engine take and give numbers. */
export function signatureOf(name: string, args: number): Signature {
  return isTierFunction(name)
    ? TIER_FUNCTIONS[name]
    : { takes: new Array<CodeType>(args).fill("f64"), gives: "f64" };
}
