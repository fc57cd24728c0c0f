/*
 * Random modulators of the language that is compiled, and random events for them: values at the edges of their kinds, fields that are left out,
 * empty vectors.
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

const NUMBERS = ["wide", "small", "whole", "count", "byte", "short", "tiny"];
const VECTORS = ["wides", "smalls", "shorts", "bytes", "counts"];
const LITERALS = [
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
const ODD_TEXTS = ["\ufffd", "a\ufffd", "\ud800", "a\udc00b"];
const ARRAYS = "Float32 Float64 Int8 Int16 Int32 Uint8 Uint16 Uint32".split(" ").map(kind => `${kind}Array`);
const HOW = "{ twice: (a, b) => a * 2 + b, half(a, b) { return a / 2 - b; } }";
const MATH_1 = "abs ceil floor trunc sqrt round sign sin cos exp log cbrt log2 fround".split(" ");
const MATH_2 = "max min atan2 pow hypot".split(" ");

/** A random modulator's text, and the parameters for it. */
export interface RandomProgram {
  /** Of a function of one event, or of a module with a class. */
  readonly text: string;
  readonly isClass: boolean;
  /** Whether events are made, and not only let through. */
  readonly makes: boolean;
  readonly parameters: {
    readonly above: number;
    readonly deep: { readonly by: number };
    readonly on: boolean;
    readonly key: string;
    readonly keys: readonly string[];
    readonly levels: readonly number[];
    /** Names: of a field, and of a function. */
    readonly field: string;
    readonly how: string;
  };
}

export function randomProgram(random: () => number): RandomProgram {
  return new Writer(random).program();
}

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

class Writer {
  readonly #random: () => number;
  #names = 0;
  /** Names that may be read here, of constants and variables; those that may be assigned to; counters of loops over a vector. */
  #readable: string[] = [];
  #assignable: string[] = [];
  #counters: { readonly name: string; readonly vector: string }[] = [];
  #helpers: string[] = [];
  /** Arrays that the program has made, and objects that may go out. */
  #arrays: string[] = [];
  #objects: string[] = [];
  #isClass = false;
  /** The kind of the array that a field of the class holds. */
  #fieldArray = "";
  #hasMaps = false;
  #makes = false;
  #hasReturn = true;

  constructor(random: () => number) {
    this.#random = random;
  }

  program(): RandomProgram {
    this.#isClass = this.#random() < 0.4;
    const parameters = {
      above: this.#pick(EDGES.filter(Number.isFinite)),
      deep: { by: Math.floor(this.#random() * 10) },
      on: this.#random() < 0.5,
      key: this.#text(),
      keys: [this.#text(), this.#text(), this.#text()].slice(Math.floor(this.#random() * 4)),
      field: this.#pick(NUMBERS),
      how: this.#pick(["twice", "half"]),
      levels: [this.#pick(EDGES.filter(Number.isFinite)), 1, 7],
    };
    const isClass = this.#isClass;
    const text = isClass ? this.#class() : this.#function();
    return { text, isClass, makes: this.#makes, parameters };
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }

  /** Mostly one that can be compared byte by byte. */
  #text(): string {
    return this.#random() < 0.995 ? this.#pick(TEXTS) : this.#pick(ODD_TEXTS);
  }

  #name(): string {
    return `x${this.#names++}`;
  }

  #function(): string {
    const how = this.#random() < 0.2 ? `const HOW = ${HOW};\n` : "";
    if (how !== "") this.#helpers.push("HOW[parameters.how]");
    const body = how + this.#body(3);
    const kind = this.#random();
    const last =
      kind < 0.15
        ? `${this.#bool(2)} || urgent(event)`
        : kind < 0.35
          ? `${this.#bool(1)} ${this.#pick(["&&", "||"])} ${this.#changed()}`
          : kind < 0.45
            ? `${this.#bool(1)} ? ${this.#changed()} : ${this.#pick(["event", "null", this.#changed()])}`
            : this.#probe();
    return `(event, { parameters, urgent, unpack }) => {\n${body}\nreturn ${last};\n}`;
  }

  #class(): string {
    this.#hasReturn = false;
    const beside =
      this.#random() < 0.5
        ? `const limit = ${this.#pick(LITERALS)};\nconst HOW = ${HOW};\nfunction twice(a, b) { return a * 2 + b; }`
        : "";
    if (beside !== "") {
      this.#readable.push("limit");
      this.#helpers.push("twice", "HOW[parameters.how]");
    }
    const array = this.#pick(ARRAYS);
    const fields = `  n = 0;\n  #last = -1;\n  seen = false;\n  from = this.parameters.deep.by * 2;\n  held;\n  kept = undefined;\n  all = new ${array}(${this.#pick(["0", "3"])});`;
    this.#assignable.push("this.n", "this.#last", "this.all[1]");
    this.#readable.push(
      "this.n",
      "this.#last",
      "this.from",
      "this.all.length",
      "(+this.all[0])",
      "(+this.all[event.byte % 5])",
      "(this.held === undefined ? 5 : this.held.a)",
      "(this.kept === parameters.levels ? 1 : 2)",
    );
    this.#fieldArray = array;
    const mapped = this.#random() < 0.4 ? this.#mapped() : "";
    const timed = this.#random() < 0.4 ? this.#timed() : undefined;
    const queued = timed === undefined && this.#random() < 0.3 ? this.#queued() : undefined;
    const pass =
      timed?.pass ??
      queued?.pass ??
      this.#pick([
        "super.enqueue(event)",
        "super.enqueue(urgent(event))",
        "this.let(event)",
        "super.enqueue(CHANGED)",
        "super.enqueue(MADE)",
      ]);
    const output = pass.includes("MADE")
      ? `static output = ${JSON.stringify({ name: "Made", description: MADE })};`
      : (timed?.statics ?? queued?.statics ?? "");
    const held =
      this.#random() < 0.5
        ? []
        : Array.from({ length: 1 + Math.floor(this.#random() * 4) }, () => this.#held());
    const body = `${held.join("\n")}\n${timed?.first ?? ""}\n${this.#body(3)}`;
    const last = `if (${this.#probe()}) ${pass};\n    this.seen = ${this.#bool(1)};\n    ${this.#assignment()}`;
    const out = last.replace("CHANGED", () => this.#changed()).replace("MADE", () => this.#madeEvent());
    const members = {
      fields: `${fields}\n  ${mapped}\n  ${output === "" && queued === undefined ? "let(event) { super.enqueue(event); }" : ""}`,
      enqueue: `enqueue(event) {\n    const { parameters } = this;\n${body}\n    ${out}\n  }`,
    };
    members.enqueue += `\n${timed?.members ?? queued?.members ?? ""}`;
    const text = `import { bytesOf, FifoModulator, typeToken, unpack, urgent } from "jecho:moe";\n${beside}\n${this.#written(output, members)}`;
    return queued === undefined ? text : text.replaceAll("FifoModulator", "Modulator");
  }

  /** Fields that hold maps of numbers and sets. */
  #mapped(): string {
    this.#readable.push("this.sums.size", "(this.met.size * 2)");
    for (let i = 0; i < 3; i++) {
      const key = this.#key();
      this.#readable.push(
        `(this.sums.get(${key}) ?? ${this.#pick(LITERALS)})`,
        `(+this.sums.get(${key}))`,
        `(this.sums.get(${key}) ${this.#pick(["===", "!=="])} ${this.#pick(["undefined", "null"])} ? 3 : 4)`,
        `(this.${this.#pick(["sums", "met"])}.has(${key}) ? 1 : 2)`,
      );
    }
    this.#hasMaps = true;
    return "sums = new Map();\n  met = new Set();";
  }

  #key(): string {
    return this.#pick(["event.name", "event.word", "event.flag", "event.byte", "event.wide", this.#leaf()]);
  }

  /** The parts of a class that has events wait its own way. */
  #queued(): { readonly statics: string; readonly pass: string; readonly members: string } {
    const key = this.#key();
    this.#readable.push("this.list.length", "this.map.size", `(this.map.has(${key}) ? 1 : 2)`);
    const test = (): string =>
      this.#pick(["this.seen", "this.n % 3 > 0", "this.map.size > 1", "this.list.length > 2"]);
    const pass = this.#pick([
      "this.list.push(event)",
      "{ if (this.list.length >= 5) this.list.shift(); this.list.push(urgent(event)); }",
      `this.map.set(${key}, event)`,
      `{ if (!this.map.has(${key}) && this.map.size > 2) this.map.delete(this.map.keys().next().value); this.map.set(${key}, urgent(event)); }`,
      `{ if (${test()}) this.map.set(${key}, event); else if (this.map.delete(${key})) this.put(this.list, event); }`,
      `{ if (${test()}) this.late = event; this.list.push(this.late ?? event); }`,
    ]);
    const next = this.#pick([
      "return this.list.shift();",
      "return this.list.shift() ?? this.more.shift();",
      `const [first] = this.list; if (first === undefined || ${test()}) return this.more.shift(); return this.list.shift();`,
      "return this.map.size > 1 ? this.list.shift() : this.late === undefined ? undefined : this.more.shift();",
    ]);
    return {
      statics: this.#pick(["", "static periodMs = 12;"]),
      pass,
      members: `  list = [];\n  more = [];\n  map = new Map();\n  late;
  dequeue() {
    ${this.#pick(["", `if (${test()}) return undefined;`, `if (!this.seen) { this.n++; return; }`])}
    const [entry] = this.map;
    if (entry === undefined) { ${this.#pick(["", "this.seen = !this.seen;"])} ${next} }
    this.map.delete(entry[0]);
    ${this.#pick(["return entry[1];", "this.put(this.more, entry[1]); return this.more.shift();"])}
  }
  period() { this.seen = ${this.#pick(["true", "!this.seen"])}; ${this.#pick(["", "this.late = undefined;", "const [one] = this.map; if (one) this.put(this.list, one[1]);"])} }
  put(queue, event) { if (queue.length > 3) queue.shift(); queue.push(event); }`,
    };
  }

  /** The parts of a class that keeps events, and lets them through at a later time. */
  #timed(): {
    readonly statics: string;
    readonly first: string;
    readonly pass: string;
    readonly members: string;
  } {
    this.#readable.push(
      "(this.moe.clock() % 7)",
      "(this.late === undefined ? 1 : 2)",
      "(this.early ? 1 : 2)",
      "this.moe.queueEvents",
      "(this.open ? 1 : 0)",
    );
    const test = (): string =>
      this.#pick(["this.seen", "this.n % 3 > 0", "this.moe.clock() % 2 < 1", "this.open"]);
    const keep = (value: string): string =>
      this.#pick([
        `this.late = ${value};`,
        `if (${test()}) this.late = ${value};`,
        `if (${test()}) this.early = ${value}; else this.late = this.early;`,
        `if (${test()}) this.late = undefined;`,
        `this.periodMs = ${this.#pick(["0", "1", "20", "this.n & 31", "this.late ? 15 : 0"])};`,
        `if (${test()}) return;`,
      ]);
    const pass = this.#pick([
      "{ if (this.late === undefined) super.enqueue(event); else super.enqueue(this.late); }",
      "{ if (this.early !== undefined) { super.enqueue(this.early); this.early = undefined; } }",
      "super.enqueue(event)",
      "this.give(urgent(event))",
      "this.give(this.late)",
      "{ this.late = urgent(event); super.enqueue(this.late); }",
    ]);
    return {
      statics: `static needs = ["clock"]; ${this.#pick(["static periodMs = 12;", "static periodMs = 20;", "static mostPerSecond = 5;"])}`,
      first: `${keep("event")} ${keep("event")}`,
      pass,
      members: `  late;\n  early = undefined;\n  open;
  constructor(parameters, moe) {
    super(parameters, moe);
    this.open = ${this.#pick(["parameters.on", "parameters.deep.by > 4", "moe.clock() > 3"])};
    ${this.#pick(["", "this.n = parameters.deep.by;", "this.mostPerSecond = 1000 / (1 + parameters.deep.by);", "this.periodMs = parameters.deep.by * 4;"])}
  }
  period() {
    ${this.#pick(["", "this.n++;", "this.seen = !this.seen;"])}
    ${keep("this.early")}
    if (this.late !== undefined${this.#pick(["", ` && ${test()}`])}) ${this.#pick(["this.give(this.late)", "super.enqueue(this.late)", "this.late = this.early"])};
    ${keep("undefined")}
  }
  give(event) { ${this.#pick(["", "this.late = undefined;", "this.n = this.moe.clock();"])} super.enqueue(event); }`,
    };
  }

  /** A class as people write it, as bundlers do, or with a parent; some look at their parameters first. */
  #written(
    output: string,
    { fields, enqueue }: { readonly fields: string; readonly enqueue: string },
  ): string {
    const form = this.#random();
    const check =
      this.#random() < 0.3
        ? `static check({ above, deep: { by } }) { for (const n of [above, by]) if (!isSound(n)) throw new RangeError("n"); }`
        : "";
    const sound =
      check === ""
        ? ""
        : `function isSound(n) { return typeof n === "number" && n < ${this.#pick(["1e9", "3"])}; }\n`;
    const members = `${output}${check}\n${fields}\n${enqueue}`;
    if (form < 0.5) return `${sound}export default class extends FifoModulator {\n${members}\n}`;
    if (form < 0.75)
      return `${sound}var Made = class extends FifoModulator {\n${members}\n};\nexport { Made as default };`;
    return `${sound}class Parent extends FifoModulator {\n${fields.replaceAll("#last", "last")}\n}\nexport default class extends Parent {\n${output}${check}\n${enqueue.replaceAll("#last", "last")}\n}`;
  }

  /** The event with other fields. */
  #changed(): string {
    this.#makes = true;
    if (this.#objects.length > 0 && this.#random() < 0.7) {
      const name = this.#pick(this.#objects);
      return this.#random() < 0.2 ? `urgent(${name})` : name;
    }
    const part = (): string =>
      this.#pick([
        () => `wide: ${this.#number(2)}`,
        () => `small: ${this.#number(2)}`,
        () => `whole: (${this.#number(2)}) | 0`,
        () => `flag: ${this.#bool(1)}`,
        () => `word: ${this.#pick(["event.word", "parameters.key", JSON.stringify(this.#pick(TEXTS))])}`,
        () => `wides: ${this.#pick(["event.wides", ...this.#arrays])}`,
        () => `wides: [${this.#number(1)}, ${this.#number(1)}]`,
        () =>
          `smalls: ${this.#pick(["Float32", "Int16", "Uint8", "Float64"])}Array.of(${this.#number(1)}, ${this.#number(1)})`,
        () => "bytes: []",
        () => `[parameters.field]: (${this.#number(1)}) & 100`,
        () => `smalls: new event.smalls.constructor(${Math.floor(this.#random() * 4)})`,
        () => "...unpack(event)",
      ])();
    const [before, after] = this.#random() < 0.2 ? ["urgent(", ")"] : ["(", ")"];
    return `${before}{ ${this.#random() < 0.7 ? "...unpack(event)," : ""} ${part()}, ${part()}, wide: ${this.#number(2)} }${after}`;
  }

  #madeEvent(): string {
    this.#makes = true;
    if (this.#objects.length > 0 && this.#random() < 0.5) return this.#pick(this.#objects);
    const parts = [
      `first: ${this.#number(3)}`,
      `second: ${this.#number(2)}`,
      `third: (${this.#number(2)}) | 0`,
      `isIt: ${this.#bool(2)}`,
      `text: ${this.#pick(["event.word", "parameters.key", JSON.stringify(this.#pick(TEXTS))])}`,
      this.#random() < 0.5
        ? `list: ${this.#pick(["event.wides", ...this.#arrays, ...this.#arrays])}`
        : `list: Float64Array.of(${this.#number(2)}, ${this.#leaf()})`,
      `rest: ${this.#number(1)}`,
      "token: typeToken()",
      `raw: ${this.#pick([
        "bytesOf(event).slice()",
        `bytesOf({ ...unpack(event), wide: ${this.#number(1)} })`,
        `bytesOf({ ...unpack(event), wides: ${this.#pick(["event.wides", ...this.#arrays])}, word: event.name })`,
      ])}`,
      "other: 3",
    ];
    return `{ ${parts.filter(() => this.#random() < 0.7).join(", ")}, first: ${this.#number(2)} }`;
  }

  #body(most: number): string {
    const lines: string[] = [];
    for (let i = Math.floor(this.#random() * most); i >= 0; i--) lines.push(this.#statement(2));
    return lines.join("\n");
  }

  /** Statements in braces: what they declare is not there behind them. */
  #block(depth: number): string {
    const [readable, assignable, counters, helpers, arrays, objects] = [
      [...this.#readable],
      [...this.#assignable],
      [...this.#counters],
      [...this.#helpers],
      [...this.#arrays],
      [...this.#objects],
    ];
    const lines = [this.#statement(depth)];
    if (this.#random() < 0.5) lines.push(this.#statement(depth));
    this.#readable = readable;
    this.#assignable = assignable;
    this.#counters = counters;
    this.#helpers = helpers;
    this.#arrays = arrays;
    this.#objects = objects;
    return `{ ${lines.join(" ")} }`;
  }

  #statement(depth: number): string {
    if (this.#hasMaps && this.#random() < 0.15) return this.#counted();
    if (this.#isClass && this.#random() < 0.1) return this.#held();
    const kind = Math.floor(this.#random() * 18);
    if (kind === 17) return this.#copy();
    if (kind === 16) return this.#random() < 0.5 ? this.#several() : this.#part();
    if (kind === 15) return this.#assembled();
    if (kind === 14) return this.#taken();
    if (kind === 13) return this.#record();
    if (kind < 2 || depth === 0) return this.#declaration();
    if (kind === 10) return this.#array();
    if (kind === 11) return this.#round(depth);
    if (kind === 12)
      return this.#isClass || this.#random() < 0.5
        ? this.#array()
        : `if (${this.#bool(1)} && ${this.#bool(1)}) throw new RangeError("thrown");`;
    if (kind < 4) return this.#assignment();
    if (kind === 4) return `if (${this.#bool(2)}) ${this.#block(depth - 1)}`;
    if (kind === 5) return `if (${this.#bool(2)}) ${this.#block(depth - 1)} else ${this.#block(depth - 1)}`;
    if (kind === 6) return this.#counting(depth);
    if (kind === 7) return this.#over(depth);
    if (kind === 8) return this.#helper();
    return this.#hasReturn ? `if (${this.#bool(2)}) return ${this.#bool(1)};` : this.#assignment();
  }

  #declaration(): string {
    const value = this.#number(3);
    const name = this.#name();
    this.#readable.push(name);
    if (this.#random() < 0.4) {
      this.#assignable.push(name);
      return `let ${name} = ${value};`;
    }
    return `const ${name} = ${value};`;
  }

  #assignment(): string {
    if (this.#assignable.length === 0) return this.#declaration();
    const target = this.#pick(this.#assignable);
    const form = this.#random();
    if (form < 0.2) return `${target}${this.#pick(["++", "--"])};`;
    if (form < 0.6)
      return `${target} ${this.#pick(["+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>>="])} ${this.#number(2)};`;
    return `${target} = ${this.#number(3)};`;
  }

  #counting(depth: number): string {
    const name = this.#name();
    const isVector = this.#random() < 0.6;
    const vector = this.#pick(VECTORS);
    const end = isVector
      ? `event.${vector}.length${this.#random() < 0.3 ? " - 1" : ""}`
      : `${Math.floor(this.#random() * 6)}`;
    const from = this.#pick(["0", "1"]);
    const step = this.#pick([`${name}++`, `++${name}`, `${name} += 2`]);
    const before = { counters: [...this.#counters], readable: [...this.#readable] };
    if (isVector) this.#counters.push({ name, vector });
    this.#readable.push(name);
    const leave = this.#random() < 0.3 ? `if (${this.#bool(1)}) ${this.#pick(["break", "continue"])}; ` : "";
    // Loops over vectors within others are not compiled.
    const body = isVector
      ? `{ ${leave}${this.#flat()} ${this.#flat()} }`
      : `{ ${leave}${this.#block(depth - 1)} }`;
    this.#counters = before.counters;
    this.#readable = before.readable;
    return `for (let ${name} = ${from}; ${name} ${this.#pick(["<", "<="])} ${end}; ${step}) ${body}`;
  }

  /** Of lengths that are sound, mostly: others throw. */
  #array(): string {
    const name = this.#name();
    const length = this.#pick([
      () => `${Math.floor(this.#random() * 6)}`,
      () => `event.${this.#pick(VECTORS)}.length`,
      () => `Math.abs(${this.#number(1)}) % 6`,
      () => `(${this.#leaf()}) & 7`,
      () => `${this.#leaf()} % 5`,
    ])();
    const kind = this.#pick(ARRAYS);
    this.#arrays.push(name);
    const index = this.#pick([
      "0",
      "1",
      "2",
      "event.byte % 4",
      "event.tiny",
      ...this.#counters.map(one => one.name),
    ]);
    this.#assignable.push(`${name}[${index}]`);
    this.#readable.push(`${name}.length`, `(+${name}[${index}])`, `(${name}[1] ?? ${this.#pick(LITERALS)})`);
    return `const ${name} = new ${kind}(${length}); ${name}[${index}] = ${this.#number(2)};`;
  }

  /** An object that one of several returns gives. */
  #several(): string {
    const [name, make] = [this.#name(), this.#name()];
    const text = `const ${make} = (a, b) => { if (a > b) return { c: a, d: true }; if (b < 0) return { c: ${this.#number(1)}, d: false }; return a === b ? { c: 1, d: a > 3 } : { c: b, d: true }; }; const ${name} = ${make}(${this.#number(1)}, ${this.#number(1)});`;
    this.#readable.push(`${name}.c`, `Number(${name}.d)`);
    const test = `${name}.d && ${name}.c > ${this.#leaf()}`;
    return this.#hasReturn
      ? `${text} if (${test}) return ${this.#bool(0)};`
      : `${text} if (${test}) this.n += ${name}.c;`;
  }

  /** Copies of arrays, of the event's vectors and of its bytes. */
  #copy(): string {
    const [name, other] = [this.#name(), this.#name()];
    const kind = this.#pick(ARRAYS);
    const [made, ready] = this.#pick([
      [
        `new ${kind}(6)`,
        `${name}.set(new ${kind}(${this.#pick(["0", "2", "event.byte % 4"])}), ${this.#pick(["0", "1", "2"])});`,
      ],
      [
        `new ${kind}(6)`,
        `${name}.set(${name}.subarray(${this.#pick(["2", "0, 3", "-1"])})${this.#pick(["", ", 1"])});`,
      ],
      ["new Float32Array(8)", `${name}.set(event.smalls);`],
      [`event.${this.#pick(VECTORS)}.slice()`, ""],
      ...(this.#isClass ? [["bytesOf(event).slice()", ""] as const] : []),
    ] as const);
    const first = `${name}[1] = ${this.#number(1)}; ${name}[event.byte % 4] = ${this.#leaf()};`;
    this.#readable.push(`${other}.length`, `(+${name}[${other}[1]])`, `(${other}[2] ?? 7)`, `(+${name}[4])`);
    this.#arrays.push(name);
    this.#assignable.push(`${name}[0]`);
    const last = this.#pick([
      `${name}.slice()`,
      `new Uint8Array(${name}.buffer)`,
      ...(this.#isClass ? ["bytesOf(event)"] : []),
    ]);
    return `const ${name} = ${made}; ${first} ${ready} const ${other} = ${last}; ${name}[2] = 3;`;
  }

  /** A part of an array, or its bytes as other numbers. */
  #part(): string {
    const [name, other] = [this.#name(), this.#name()];
    const kind = this.#pick(ARRAYS);
    const bytes = Number.parseInt(/\d+/.exec(kind)?.[0] ?? "8", 10) / 8;
    const narrow = this.#pick(
      ARRAYS.filter(one => Number.parseInt(/\d+/.exec(one)?.[0] ?? "8", 10) / 8 <= bytes),
    );
    const places = this.#pick([
      `${this.#leaf()}`,
      "1",
      "1, 3",
      "-2",
      "0, -1",
      `event.byte % 4, ${this.#leaf()}`,
      "2, 1",
    ]);
    const text = `const ${name} = new ${kind}(4); ${name}[1] = ${this.#number(1)}; ${name}[event.byte % 4] = ${this.#leaf()};`;
    this.#readable.push(`${other}.length`, `(+${other}[0])`, `(${other}[1] ?? 7)`);
    this.#arrays.push(other);
    this.#assignable.push(`${other}[0]`);
    return this.#random() < 0.5
      ? `${text} const ${other} = ${name}.subarray(${places});`
      : `${text} const ${other} = new ${narrow}(${name}.buffer, ${this.#pick(["0", `${name}.byteOffset`])}, ${this.#pick(["1", "3", `${name}.length`])}); ${name}[2] = ${this.#leaf()};`;
  }

  /** Fields of the class that hold objects, arrays and parts of the parameters. */
  #held(): string {
    const [name, make] = [this.#name(), this.#name()];
    const inner = this.#number(1);
    return this.#pick([
      () => {
        this.#readable.push(name);
        return `const ${name} = this.held ? ${inner} : this.kept === undefined ? 1 : 2;`;
      },
      () => `this.held = { a: ${this.#number(2)}, b: ${this.#bool(1)} };`,
      () => `if (${this.#bool(1)}) this.held = undefined;`,
      () => {
        this.#readable.push(name);
        return `let ${name} = ${inner}; if (this.held !== undefined && this.held.b) ${name} = this.held.a;`;
      },
      () => {
        this.#readable.push(name);
        return `let ${name} = 0; const ${make} = this.held; this.held = { b: ${this.#bool(0)}, a: ${this.#number(1)} }; if (${make}) ${name} = ${make}.a - this.held.a;`;
      },
      () => {
        this.#readable.push(name);
        return `const ${make} = a => { if (a > ${this.#leaf()}) return undefined; return { c: a }; }; const ${make}m = ${make}(${this.#number(1)}); let ${name} = 2; if (${make}m !== undefined) ${name} = ${make}m.c;`;
      },
      () =>
        `if (${this.#bool(1)}) this.all = new ${this.#fieldArray}(${this.#pick(["0", "2", "event.byte % 7", "event.wides.length"])});`,
      () => {
        const array = this.#name();
        return `const ${array} = new ${this.#fieldArray}(4); ${array}[1] = ${this.#number(1)}; ${array}[3] = 2; ${this.#random() < 0.7 ? "" : `if (${this.#bool(0)}) `}this.all = ${this.#pick([array, `${array}.subarray(1)`])};`;
      },
      () => {
        const array = this.#name();
        return `const ${array} = new Uint32Array(3); ${array}[1] = ${this.#number(1)}; ${this.#fieldArray === "Uint8Array" ? `this.all = new Uint8Array(${array}.buffer);` : ""}`;
      },
      () => {
        this.#readable.push(`(+${name}[2])`);
        return `const ${name} = this.all; ${name}[2] = ${this.#number(1)};`;
      },
      () => {
        this.#readable.push(name);
        return `let ${name} = 0; if (this.kept !== parameters.levels) { ${name} = 1; this.kept = parameters.levels; }`;
      },
      () => `if (${this.#bool(0)}) this.kept = undefined;`,
    ])();
  }

  /** What is done with maps of numbers and sets. */
  #counted(): string {
    const [name, key] = [this.#name(), this.#key()];
    return this.#pick([
      () => `this.sums.set(${key}, ${this.#number(2)});`,
      () => `this.sums.set(${key}, (this.sums.get(${key}) ?? ${this.#leaf()}) + ${this.#number(1)});`,
      () => {
        this.#readable.push(`(${name} ?? ${this.#leaf()})`, `(+${name})`, `(${name} === undefined ? 5 : 6)`);
        return `const ${name} = this.sums.get(${key}); if (${name} === undefined || ${name} < ${this.#leaf()}) this.sums.set(${key}, ${this.#number(1)});`;
      },
      () => {
        this.#readable.push(name);
        return `let ${name} = ${this.#leaf()}; if (this.${this.#pick(["sums", "met"])}.delete(${key})) ${name}++;`;
      },
      () => {
        const held = this.#pick(["sums", "met"]);
        return `if (this.${held}.size > 2) this.${held}.delete(this.${held}.keys().next().value);`;
      },
      () => `if (!this.met.has(${key})) { this.met.add(${key}); ${this.#assignment()} }`,
      () => `if (this.met.size > 3) this.${this.#pick(["sums", "met"])}.clear();`,
    ])();
  }

  /** An object that may go out, and whose parts are assigned to. */
  #assembled(): string {
    const name = this.#name();
    const part = (): string =>
      this.#pick([
        () => `wide = ${this.#number(2)}`,
        () => `${this.#pick(["small", "wide"])} = undefined`,
        () => `first = ${this.#number(1)}`,
        () => `flag = ${this.#bool(1)}`,
        () => `wides = ${this.#pick(["event.wides", ...this.#arrays])}`,
      ])();
    const named = this.#random() < 0.3 ? ` ${name}[parameters.field] = (${this.#number(1)}) & 100;` : "";
    const read = this.#name();
    const text = `const ${name} = { ...unpack(event), wide: ${this.#number(2)}, first: 1 }; const ${read} = ${name}.wide; ${name}.${part()}; ${name}.${part()};${named} ${name}.second = ${this.#number(1)};`;
    this.#objects.push(name);
    this.#readable.push(read, `${name}.second`);
    return text;
  }

  /** Names for the items of a list, with defaults for what is not there. */
  #taken(): string {
    const [a, b, c] = [this.#name(), this.#name(), this.#name()];
    const counted = this.#assignable.filter(one => !one.includes("["));
    const side = counted.length > 0 ? `${this.#pick(counted)}++` : this.#number(1);
    const text = this.#pick([
      () => `const [${a}, ${b}, ${c} = ${this.#number(1)}] = [${side}, ${this.#number(1)}];`,
      () => `let [${a}, ${b}, ${c}] = [${this.#number(2)}, ${this.#number(1)}, ${side}];`,
      () => `const [${a}, ${b}, ${c} = ${this.#leaf()}] = parameters.absent ?? parameters.levels;`,
      () => `const [${a} = 1, ${b}, ${c}] = parameters.levels ?? [${side}, 2, 3];`,
      () =>
        `const { absent: ${a} = ${this.#number(1)}, above: ${b} = ${side}, deep: { by: ${c} } } = parameters;`,
    ])();
    this.#readable.push(a, b, c);
    return text;
  }

  /** A part of the parameters that is of another kind, or not there, for other modulators of the text. */
  #asked(): string {
    const [a, b] = [this.#number(1), this.#number(1)];
    return this.#pick([
      `(typeof parameters.field === "string" ? event[parameters.field] : ${a})`,
      `(typeof parameters.${this.#pick(["absent", "levels", "on"])} === "${this.#pick(["undefined", "object", "boolean"])}" ? ${a} : ${b})`,
      `(parameters.absent === undefined ? ${a} : ${b})`,
      `(parameters.absent ?? ${a})`,
      `(parameters.deep && !parameters.absent ? ${a} : ${b})`,
    ]);
  }

  /** An object that a function makes, and that does not go out. */
  #record(): string {
    const [make, name] = [this.#name(), this.#name()];
    const value = this.#number(2);
    const text = `const ${make} = (a, b) => { const c = ${value} - a; return { first: c, isIt: c > b, ...{ second: a } }; }; const ${name} = ${make}(${this.#number(1)}, ${this.#number(1)});`;
    if (this.#random() < 0.5) {
      const [first, second] = [this.#name(), this.#name()];
      this.#readable.push(first, second);
      const counted = this.#assignable.filter(one => !one.includes("["));
      const side = counted.length > 0 ? `${this.#pick(counted)}++` : "2";
      return `${text} const { first: ${first}, second: ${second} } = ${make}(${side}, ${name}.first);`;
    }
    this.#readable.push(`${name}.first`, `${name}.second`, `Number(${name}.isIt)`);
    return text;
  }

  /** A loop of which it is not known from its text how often it runs. */
  #round(depth: number): string {
    const name = this.#name();
    const end = this.#pick([
      () => `event.${this.#pick(["byte", "whole", "wide"])} % 6`,
      () => `Math.abs(${this.#number(1)}) % 5`,
      () => this.#pick(["3", "2.5", "NaN", ...this.#arrays.map(array => `${array}.length`)]),
    ])();
    const body = (): string => {
      const readable = [...this.#readable];
      this.#readable.push(name);
      const text = `{ ${this.#random() < 0.2 ? `if (${this.#bool(1)}) ${this.#pick(["break", "continue"])};` : ""} ${this.#block(depth - 1)} }`;
      this.#readable = readable;
      return text;
    };
    return this.#pick([
      () => `let ${name} = 0; while (${name}++ < ${end}) ${body()}`,
      () => `let ${name} = 0; do ${body()} while (++${name} < ${end});`,
      () => `for (let ${name} = ${end}, y = 0; ${name} > 0; ${name}--, y += 2) ${body()}`,
      () =>
        `for (let ${name} = ${this.#pick(["0", "1"])}; ${name} ${this.#pick(["<", "<="])} ${end}; ${name} += ${this.#pick(["1", "2"])}) ${body()}`,
      () => `for (const ${name} of event.${this.#pick(VECTORS)}) ${body()}`,
    ])();
  }

  #over(_depth: number): string {
    const name = this.#name();
    const readable = [...this.#readable];
    this.#readable.push(name);
    const body = `{ ${this.#flat()} ${this.#flat()} }`;
    this.#readable = readable;
    return `for (const ${name} of event.${this.#pick(VECTORS)}) ${body}`;
  }

  /** A statement without a loop in it. */
  #flat(): string {
    this.#isFlat++;
    const text = this.#assignment();
    this.#isFlat--;
    // Declared in the braces of the loop, it is not there behind them.
    const [, declared] = /^(?:let|const) (\w+)/.exec(text) ?? [];
    this.#readable = this.#readable.filter(name => name !== declared);
    this.#assignable = this.#assignable.filter(name => name !== declared);
    return text;
  }

  #isFlat = 0;

  #helper(): string {
    const name = this.#name();
    const [readable, assignable] = [[...this.#readable], [...this.#assignable]];
    const [a, b] = [this.#name(), this.#name()];
    this.#readable.push(a, b);
    const isShort = this.#random() < 0.5;
    const value = this.#number(2);
    const text = isShort
      ? `const ${name} = (${a}, ${b}) => ${value};`
      : `const ${name} = (${a}, ${b}) => { if (${this.#bool(1)}) return ${this.#number(1)}; return ${value}; };`;
    this.#readable = readable;
    this.#assignable = assignable;
    this.#helpers.push(name);
    return text;
  }

  #number(depth: number): string {
    if (depth <= 0 || this.#random() < 0.15) return this.#leaf();
    const kind = Math.floor(this.#random() * 14);
    const next = (): string => this.#number(depth - 1);
    switch (kind) {
      case 0:
      case 1:
      case 2:
        return `(${next()} ${this.#pick(["+", "-", "*", "/", "%"])} ${next()})`;
      case 3:
        return `(${next()} ${this.#pick(["&", "|", "^", "<<", ">>", ">>>"])} ${next()})`;
      case 4:
        return this.#pick([
          `(${this.#pick(["-", "+", "~"])}${next()})`,
          `Number(${this.#pick([next(), "event.flag"])})`,
        ]);
      case 5:
      case 6:
        return `Math.${this.#pick(MATH_1)}(${next()})`;
      case 7:
        return `Math.${this.#pick(MATH_2)}(${next()}, ${next()})`;
      case 8:
        return `(${this.#bool(depth - 1)} ? ${next()} : ${next()})`;
      case 9:
        return this.#element();
      case 10:
        return this.#isFlat > 0
          ? this.#leaf()
          : `Math.${this.#pick(["max", "min"])}(...event.${this.#pick(VECTORS)})`;
      case 11:
        return this.#isFlat > 0
          ? this.#leaf()
          : `event.${this.#pick(VECTORS)}.reduce((s, v, i) => s ${this.#pick(["+", "*", "-"])} v, ${this.#pick(LITERALS)})`;
      case 12:
        return this.#helpers.length > 0
          ? `${this.#pick(this.#helpers)}(${next()}, ${next()})`
          : `(${next()} || ${next()})`;
      default:
        return this.#assignable.length > 0 && this.#random() < 0.5
          ? `(${this.#pick(this.#assignable)}${this.#pick(["++", "--", " += 1", " = 3"])})`
          : `(${next()} ** ${this.#pick(["2", "0.5", "(-1)", "3"])})`;
    }
  }

  #leaf(): string {
    const kind = this.#random();
    if (kind < 0.03) return "event[parameters.field]";
    if (kind < 0.05) return this.#asked();
    if (kind < 0.4) return `event.${this.#pick(NUMBERS)}`;
    if (kind < 0.6 && this.#readable.length > 0) return this.#pick(this.#readable);
    if (kind < 0.7) return this.#pick(["parameters.above", "parameters.deep.by"]);
    if (kind < 0.8) return `event.${this.#pick(VECTORS)}.length`;
    return this.#pick(LITERALS);
  }

  #element(): string {
    if (this.#counters.length > 0 && this.#random() < 0.7) {
      const { name, vector } = this.#pick(this.#counters);
      return `event.${this.#random() < 0.8 ? vector : this.#pick(VECTORS)}[${name}]`;
    }
    const vector = this.#pick(VECTORS);
    // Behind a plus, undefined is NaN.
    return `(+event.${vector}[${this.#random() < 0.6 ? Math.floor(this.#random() * 4) : this.#leaf()}])`;
  }

  #bool(depth: number): string {
    const kind = Math.floor(this.#random() * 13);
    const [a, b] = [() => this.#number(depth), () => this.#bool(depth - 1)];
    if (depth <= 0 || kind < 4)
      return `(${a()} ${this.#pick(["<", ">", "<=", ">=", "===", "!==", "==", "!="])} ${a()})`;
    switch (kind) {
      case 4:
        return `(${b()} && ${b()})`;
      case 5:
        return `(${b()} || ${b()})`;
      case 6:
        return `!${b()}`;
      case 7:
        return this.#pick([
          "event.flag",
          "parameters.on",
          ...(this.#isClass ? ["this.seen"] : []),
          `Number.isNaN(+${a()})`,
          `Object.is(+${a()}, +${a()})`,
          "(Math.random() < 1)",
          `isFinite(${a()})`,
        ]);
      case 9:
      case 10:
      case 11:
        return this.#aboutText();
      case 8:
        return this.#isFlat > 0
          ? "event.flag"
          : `event.${this.#pick(VECTORS)}.${this.#pick(["some", "every"])}((v, i) => ${this.#within()})`;
      default:
        return this.#isFlat > 0
          ? "event.flag"
          : `event.${this.#pick(VECTORS)}.includes(${this.#pick(LITERALS)})`;
    }
  }

  #aboutText(): string {
    const field = `event.${this.#pick(["name", "word"])}`;
    const other = (): string =>
      this.#random() < 0.5
        ? JSON.stringify(this.#text())
        : this.#pick(["parameters.key", "parameters.key", "`ab`"]);
    const equal = this.#pick(["===", "!==", "==", "!="]);
    switch (Math.floor(this.#random() * (this.#isFlat > 0 ? 5 : 7))) {
      case 0:
        return `(${field} ${equal} ${other()})`;
      case 1:
        return `(${other()} ${equal} ${this.#random() < 0.8 ? field : other()})`;
      case 2:
        return `${field}.${this.#pick(["startsWith", "endsWith"])}(${other()})`;
      case 3:
        return this.#pick([
          `[${other()}, ${this.#pick(LITERALS.filter(literal => !literal.includes("NaN")))}, ${other()}].includes(${field})`,
          `parameters.keys.includes(${field})`,
          `parameters.levels.includes(${this.#number(1)})`,
          `[1, 2, ${other()}, 0, 7].includes(${this.#number(1)})`,
        ]);
      case 4:
        return `(${field} ? ${this.#bool(0)} : ${this.#bool(0)})`;
      case 5:
        return `${this.#random() < 0.8 ? field : "parameters.key"}.includes(${other()})`;
      default:
        return `parameters.keys.includes(${field})`;
    }
  }

  #within(): string {
    this.#isFlat++;
    const text = `v ${this.#pick(["<", ">", "===", "!=="])} ${this.#number(1)} ${this.#pick(["&&", "||"])} i < 3`;
    this.#isFlat--;
    return text;
  }

  /** Something that depends on the bits of a number, so that a difference in any of them shows. */
  #probe(): string {
    const value = this.#number(3);
    const name = "probe";
    const test = this.#pick([
      `(${name} * 9007199254740992) % 7 > 3`,
      `1 / ${name} > 0`,
      `${name} !== ${name}`,
      `(${name} | 0) % 2 === 0`,
      `${name} > ${this.#leaf()}`,
      `${name} * 1e10 % 3 >= 1 || ${name} % 1 !== 0`,
    ]);
    return this.#random() < 0.15 ? this.#bool(3) : `(probe => ${test})(+(${value}))`;
  }
}
