import type { GuardValue } from "./guards.ts";

/*
 * Code between the checker and the encoder: a tree of instructions of WebAssembly, in which variables and labels are objects. It has no
 * instruction that writes to memory but `answer`, whose place the encoder writes itself, and those for lists that the program makes.
 */

/** A `ref` is an object of the tier's, which a program hands around and cannot look into; or none. A `v128` is two f64. */
export type CodeType = "i32" | "f64" | "ref" | "v128";

/** A variable of the function. */
export interface CodeLocal {
  readonly type: CodeType;
}

/** A variable that outlives the call, a field of the modulator; or one that the tier sets in the window, a number out of its parameters. */
export interface CodeGlobal {
  readonly type: CodeType;
  readonly key: string;
}

/** Key of a global that is the version of a shared object: behind this, its name. */
export const VERSION_KEY = "version\n";

/** Key of the global that is the number of events which a modulator's queue holds. */
export const QUEUE_KEY = "queueEvents";

/** Key of a global that is a number of the parameters or of a shared object, or the length of a text there: behind this, the path of names to it. */
export const DATA_KEY = "data\n";

/** The end of a block, or the beginning of a loop. */
export interface CodeLabel {
  readonly name: string;
}

/** A vector of an event's, whose length the cost of a loop depends on. */
export interface LengthOf {
  readonly name: string;
  /** Bytes of an element: an event of so many bytes has no more elements than that goes into it. */
  readonly elementBytes: number;
  /** The variable that holds its length while the program runs; undefined where there is none. */
  readonly length?: CodeLocal | undefined;
}

/** Upper bound of how often a loop runs: `most` times, for each element of `of` where there is one. */
export interface Trips {
  readonly most: number;
  readonly of?: LengthOf | undefined;
  /** Elements beyond which the language itself may not run it. */
  readonly cap?: number | undefined;
}

/** Trips of a loop that counts its steps as it runs. */
export const COUNTED: Trips = { most: 0 };

/** Numeric instructions, by their code. */
export const OPS = {
  "i32.eqz": 0x45,
  "i32.eq": 0x46,
  "i32.ne": 0x47,
  "i32.lt_s": 0x48,
  "i32.lt_u": 0x49,
  "i32.gt_s": 0x4a,
  "i32.gt_u": 0x4b,
  "i32.le_s": 0x4c,
  "i32.ge_s": 0x4e,
  "i64.eq": 0x51,
  "i64.ne": 0x52,
  "f64.eq": 0x61,
  "f64.ne": 0x62,
  "f64.lt": 0x63,
  "f64.gt": 0x64,
  "f64.le": 0x65,
  "f64.ge": 0x66,
  "i32.add": 0x6a,
  "i32.sub": 0x6b,
  "i32.mul": 0x6c,
  "i32.rem_u": 0x70,
  "i32.and": 0x71,
  "i32.or": 0x72,
  "i32.xor": 0x73,
  "i32.shl": 0x74,
  "i32.shr_s": 0x75,
  "i32.shr_u": 0x76,
  "f64.abs": 0x99,
  "f64.neg": 0x9a,
  "f64.ceil": 0x9b,
  "f64.floor": 0x9c,
  "f64.trunc": 0x9d,
  "f64.sqrt": 0x9f,
  "f64.add": 0xa0,
  "f64.sub": 0xa1,
  "f64.mul": 0xa2,
  "f64.div": 0xa3,
  "f64.min": 0xa4,
  "f64.max": 0xa5,
  "f32.demote_f64": 0xb6,
  "f64.convert_i32_s": 0xb7,
  "f64.convert_i32_u": 0xb8,
  "f64.promote_f32": 0xbb,
  "ref.is_null": 0xd1,
  /** Behind a prefix. NaN becomes 0, what is out of range the nearest that is not. */
  "i32.trunc_sat_f64_u": 0xfc03,
  "f64x2.splat": 0xfd14,
  /** The first two of four f32, as f64. */
  "f64x2.promote_low_f32x4": 0xfd5f,
  "f64x2.add": 0xfdf0,
} as const;
export type OpName = keyof typeof OPS;

/** Instructions that read memory, by their code. None of them needs aligned addresses. */
export const LOADS = {
  "i32.load": 0x28,
  "i64.load": 0x29,
  "f32.load": 0x2a,
  "f64.load": 0x2b,
  "i32.load8_s": 0x2c,
  "i32.load8_u": 0x2d,
  "i32.load16_s": 0x2e,
  "i32.load16_u": 0x2f,
  "v128.load": 0xfd00,
  /** 8 bytes, and 8 zeros. */
  "v128.load64_zero": 0xfd5d,
} as const;
export type LoadName = keyof typeof LOADS;

/** Instructions that write memory, by their code. */
export const STORES = {
  "i32.store": 0x36,
  "f32.store": 0x38,
  "f64.store": 0x39,
  "i32.store8": 0x3a,
  "i32.store16": 0x3b,
} as const;
export type StoreName = keyof typeof STORES;

export type Code =
  | { readonly is: "i32" | "f64"; readonly value: number }
  | { readonly is: "i64"; readonly value: bigint }
  | { readonly is: "get"; readonly local: CodeLocal }
  | { readonly is: "set" | "tee"; readonly local: CodeLocal; readonly value: Code }
  | { readonly is: "getGlobal"; readonly global: CodeGlobal }
  | { readonly is: "setGlobal"; readonly global: CodeGlobal; readonly value: Code }
  | { readonly is: "op"; readonly op: OpName; readonly args: readonly Code[] }
  /** Reads at an address, and so many bytes behind it. */
  | { readonly is: "load"; readonly load: LoadName; readonly at: Code; readonly offset: number }
  /** One of the two numbers. */
  | { readonly is: "lane"; readonly lane: 0 | 1; readonly value: Code }
  /** Writes to a list that the program has made: its place and index are known to lie within the room for these. */
  | { readonly is: "store"; readonly store: StoreName; readonly at: Code; readonly value: Code }
  /** Makes so many bytes of that room zeros. */
  | { readonly is: "zero"; readonly at: Code; readonly bytes: Code }
  /** Copies so many bytes of such a list into another one. */
  | { readonly is: "copy"; readonly to: Code; readonly from: Code; readonly bytes: Code }
  /** A number of the turn: steps that an event, or all events of a run, may take while the program runs; the time. */
  | { readonly is: "ofTurn"; readonly of: "fuel" | "runFuel" | "clock" }
  /** The reference to nothing. */
  | { readonly is: "none" }
  /** Writes how many of the run's are left. */
  | { readonly is: "leaveFuel"; readonly value: Code }
  /** Calls one of the tier's functions, or one of the engine's own, which takes and returns numbers (f64). */
  | { readonly is: "call"; readonly name: string; readonly args: readonly Code[] }
  /** One after the other; the last one's value is the value. */
  | { readonly is: "many"; readonly body: readonly Code[] }
  | { readonly is: "block"; readonly label: CodeLabel; readonly body: readonly Code[] }
  | {
      readonly is: "loop";
      readonly label: CodeLabel;
      readonly body: readonly Code[];
      readonly trips: Trips;
      /** Line in the source. */
      readonly line: number;
      readonly column: number;
    }
  | {
      readonly is: "if";
      readonly test: Code;
      readonly yes: readonly Code[];
      readonly no: readonly Code[];
      readonly type?: CodeType;
      /** The comparison that the whole is: the text of this field is that one. */
      readonly says?: { readonly field: string; readonly value: GuardValue } | undefined;
    }
  | { readonly is: "br"; readonly label: CodeLabel }
  | { readonly is: "brIf"; readonly label: CodeLabel; readonly test: Code }
  | { readonly is: "drop"; readonly value: Code }
  /** Nothing here, but so many steps of the host's on behalf of the program, and `each` for each element of `of`. */
  | { readonly is: "host"; readonly steps: number; readonly of: LengthOf | undefined; readonly each: number };

/** Names of a module's functions besides the one that takes events: one makes a modulator's fields, others are intercepts. */
export type CodeFunctionName = "init" | "period" | "dequeue";

export interface CodeFunction {
  readonly name: CodeFunctionName;
  readonly gives: CodeType | undefined;
  readonly body: readonly Code[];
}

/** The functions of a module, and their variables. */
export interface CodeModule {
  readonly globals: readonly CodeGlobal[];
  /** Variables that lie in the window, in the order of their places there. */
  readonly data: readonly CodeGlobal[];
  readonly functions: readonly CodeFunction[];
  /** Run once for each run of events. */
  readonly before: readonly Code[];
  /** Run for each event, which lies from `start` to `end`; what it leaves in `answer` is what becomes of the event. */
  readonly event: readonly Code[];
  /** Run once, behind a run of events which has not ended early. */
  readonly after: readonly Code[];
  readonly start: CodeLocal;
  readonly end: CodeLocal;
  readonly answer: CodeLocal;
  /** The number of the reason why the program stopped; 0 where it did not. */
  readonly stopped: CodeLocal;
  /** Variables that are stored for an event whose answer is `ANSWER.made` or beyond. */
  readonly slots: readonly CodeLocal[];
}

/** The code inside code. */
export function partsOf(code: Code): readonly Code[] {
  switch (code.is) {
    case "set":
    case "leaveFuel":
    case "tee":
    case "setGlobal":
    case "drop":
    case "lane":
      return [code.value];
    case "op":
    case "call":
      return code.args;
    case "load":
      return [code.at];
    case "store":
      return [code.at, code.value];
    case "zero":
      return [code.at, code.bytes];
    case "copy":
      return [code.to, code.from, code.bytes];
    case "many":
    case "block":
    case "loop":
      return code.body;
    case "if":
      return [code.test, ...code.yes, ...code.no];
    case "brIf":
      return [code.test];
    default:
      return [];
  }
}

export const i32 = (value: number): Code => ({ is: "i32", value });
export const i64 = (value: bigint): Code => ({ is: "i64", value });
export const f64 = (value: number): Code => ({ is: "f64", value });
export const get = (local: CodeLocal): Code => ({ is: "get", local });
export const set = (local: CodeLocal, value: Code): Code => ({ is: "set", local, value });
export const tee = (local: CodeLocal, value: Code): Code => ({ is: "tee", local, value });
export const op = (name: OpName, ...args: Code[]): Code => ({ is: "op", op: name, args });
export const many = (...body: Code[]): Code => ({ is: "many", body });
export const load = (name: LoadName, at: Code, offset = 0): Code => ({ is: "load", load: name, at, offset });
export const call = (name: string, ...args: Code[]): Code => ({ is: "call", name, args });

/** New variables of these types. */
export function localsOf<const T extends readonly CodeType[]>(...types: T): { [K in keyof T]: CodeLocal } {
  return types.map(type => ({ type })) as { [K in keyof T]: CodeLocal };
}

/** A loop that goes round and round until its body jumps to `done`, at its end. */
export function loopOf(
  done: CodeLabel,
  { trips, line, column }: Omit<Extract<Code, { is: "loop" }>, "is" | "label" | "body">,
  round: readonly Code[],
): Code {
  const label: CodeLabel = { name: "round" };
  const body: Code[] = [...round, { is: "br", label }];
  return { is: "block", label: done, body: [{ is: "loop", label, trips, line, column, body }] };
}
