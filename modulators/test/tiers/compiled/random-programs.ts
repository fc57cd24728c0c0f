import { StatementWriter } from "./random-statements.ts";
import { ARRAYS, EDGES, HOW, LITERALS, MADE, NUMBERS, TEXTS } from "./random-values.ts";

/** A random modulator's text, and the parameters for it. */
export interface RandomProgram {
  /** The text of a function of one event, or of a module with a class. */
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
  return new ProgramWriter(random).program();
}

class ProgramWriter extends StatementWriter {
  protected makes = false;
  program(): RandomProgram {
    this.isClass = this.random() < 0.4;
    const parameters = {
      above: this.pick(EDGES.filter(Number.isFinite)),
      deep: { by: Math.floor(this.random() * 10) },
      on: this.random() < 0.5,
      key: this.text(),
      keys: [this.text(), this.text(), this.text()].slice(Math.floor(this.random() * 4)),
      field: this.pick(NUMBERS),
      how: this.pick(["twice", "half"]),
      levels: [this.pick(EDGES.filter(Number.isFinite)), 1, 7],
    };
    const isClass = this.isClass;
    const text = isClass ? this.classText() : this.functionText();
    return { text, isClass, makes: this.makes, parameters };
  }

  protected functionText(): string {
    const how = this.random() < 0.2 ? `const HOW = ${HOW};\n` : "";
    if (how !== "") this.helpers.push("HOW[parameters.how]");
    const body = how + this.body(3);
    const kind = this.random();
    const last =
      kind < 0.15
        ? `${this.bool(2)} || urgent(event)`
        : kind < 0.35
          ? `${this.bool(1)} ${this.pick(["&&", "||"])} ${this.changed()}`
          : kind < 0.45
            ? `${this.bool(1)} ? ${this.changed()} : ${this.pick(["event", "null", this.changed()])}`
            : this.probe();
    return `(event, { parameters, mean, sum, urgent, unpack }) => {\n${body}\nreturn ${last};\n}`;
  }

  protected classText(): string {
    this.hasReturn = false;
    const beside =
      this.random() < 0.5
        ? `const limit = ${this.pick(LITERALS)};\nconst HOW = ${HOW};\nfunction twice(a, b) { return a * 2 + b; }`
        : "";
    if (beside !== "") {
      this.readable.push("limit");
      this.helpers.push("twice", "HOW[parameters.how]");
    }
    const [odd, oddField] = this.odd();
    const array = this.pick(ARRAYS);
    const fields = `  ${oddField}\n  n = 0;\n  #last = -1;\n  seen = false;\n  from = this.parameters.deep.by * 2;\n  held;\n  kept = undefined;\n  all = new ${array}(${this.pick(["0", "3"])});\n  swap(n) { const other = new ${array}(2); other[0] = n; this.all = other; return n; }`;
    this.assignable.push("this.n", "this.#last", "this.all[1]");
    this.readable.push(
      "this.n",
      "this.#last",
      "this.from",
      "this.all.length",
      "(+this.all[0])",
      "(+this.all[event.byte % 5])",
      "(this.held === undefined ? 5 : this.held.a)",
      "(this.kept === parameters.levels ? 1 : 2)",
    );
    this.fieldArray = array;
    const mapped = this.random() < 0.4 ? this.mapped() : "";
    const timed = this.random() < 0.4 ? this.timed() : undefined;
    const queued = timed === undefined && this.random() < 0.3 ? this.queued() : undefined;
    const pass =
      timed?.pass ??
      queued?.pass ??
      this.pick([
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
      this.random() < 0.5 ? [] : Array.from({ length: 1 + Math.floor(this.random() * 4) }, () => this.held());
    const body = `${held.join("\n")}\n${timed?.first ?? ""}\n${this.body(3)}`;
    const last = `if (${this.probe()}) ${pass};\n    this.seen = ${this.bool(1)};\n    ${this.assignment()}`;
    const out = last.replace("CHANGED", () => this.changed()).replace("MADE", () => this.madeEvent());
    const members = {
      fields: `${fields}\n  ${mapped}\n  ${output === "" && queued === undefined ? "let(event) { super.enqueue(event); }" : ""}`,
      enqueue: `enqueue(event) {\n    const { parameters } = this;\n${body}\n    ${out}\n  }`,
    };
    members.enqueue += `\n${timed?.members ?? queued?.members ?? ""}`;
    const text = `import { bytesOf, FifoModulator, mean, sum, typeToken, unpack, urgent } from "jecho:moe";\n${beside}${odd}\n${this.written(output, members)}`;
    return queued === undefined ? text : text.replaceAll("FifoModulator", "Modulator");
  }

  /** Fields that hold maps of numbers and sets. */
  protected mapped(): string {
    this.readable.push("this.sums.size", "(this.met.size * 2)");
    for (let i = 0; i < 3; i++) {
      const key = this.key();
      this.readable.push(
        `(this.sums.get(${key}) ?? ${this.pick(LITERALS)})`,
        `(+this.sums.get(${key}))`,
        `(this.sums.get(${key}) ${this.pick(["===", "!=="])} ${this.pick(["undefined", "null"])} ? 3 : 4)`,
        `(this.${this.pick(["sums", "met"])}.has(${key}) ? 1 : 2)`,
      );
    }
    this.hasMaps = true;
    return "sums = new Map();\n  met = new Set();";
  }

  /** The parts of a class that has events wait its own way. */
  protected queued(): { readonly statics: string; readonly pass: string; readonly members: string } {
    const key = this.key();
    this.readable.push("this.list.length", "this.map.size", `(this.map.has(${key}) ? 1 : 2)`);
    const test = (): string =>
      this.pick(["this.seen", "this.n % 3 > 0", "this.map.size > 1", "this.list.length > 2"]);
    const pass = this.pick([
      "this.list.push(event)",
      "{ if (this.list.length >= 5) this.list.shift(); this.list.push(urgent(event)); }",
      `this.map.set(${key}, event)`,
      `{ if (!this.map.has(${key}) && this.map.size > 2) this.map.delete(this.map.keys().next().value); this.map.set(${key}, urgent(event)); }`,
      `{ if (${test()}) this.map.set(${key}, event); else if (this.map.delete(${key})) this.put(this.list, event); }`,
      `{ if (${test()}) this.late = event; this.list.push(this.late ?? event); }`,
    ]);
    const next = this.pick([
      "return this.list.shift();",
      "return this.list.shift() ?? this.more.shift();",
      `const [first] = this.list; if (first === undefined || ${test()}) return this.more.shift(); return this.list.shift();`,
      "return this.map.size > 1 ? this.list.shift() : this.late === undefined ? undefined : this.more.shift();",
    ]);
    return {
      statics: this.pick(["", "static periodMs = 12;"]),
      pass,
      members: `  list = [];\n  more = [];\n  map = new Map();\n  late;
  dequeue() {
    ${this.pick(["", `if (${test()}) return undefined;`, `if (!this.seen) { this.n++; return; }`])}
    const [entry] = this.map;
    if (entry === undefined) { ${this.pick(["", "this.seen = !this.seen;"])} ${next} }
    this.map.delete(entry[0]);
    ${this.pick(["return entry[1];", "this.put(this.more, entry[1]); return this.more.shift();"])}
  }
  period() { this.seen = ${this.pick(["true", "!this.seen"])}; ${this.pick(["", "this.late = undefined;", "const [one] = this.map; if (one) this.put(this.list, one[1]);"])} }
  put(queue, event) { if (queue.length > 3) queue.shift(); queue.push(event); }`,
    };
  }

  /** The parts of a class that keeps events, and lets them through at a later time. */
  protected timed(): {
    readonly statics: string;
    readonly first: string;
    readonly pass: string;
    readonly members: string;
  } {
    this.readable.push(
      "(this.moe.clock() % 7)",
      "(this.late === undefined ? 1 : 2)",
      "(this.early ? 1 : 2)",
      "this.moe.queueEvents",
      "(this.open ? 1 : 0)",
    );
    const test = (): string =>
      this.pick(["this.seen", "this.n % 3 > 0", "this.moe.clock() % 2 < 1", "this.open"]);
    const keep = (value: string): string =>
      this.pick([
        `this.late = ${value};`,
        `if (${test()}) this.late = ${value};`,
        `if (${test()}) this.early = ${value}; else this.late = this.early;`,
        `if (${test()}) this.late = undefined;`,
        `this.periodMs = ${this.pick(["0", "1", "20", "this.n & 31", "this.late ? 15 : 0"])};`,
        `if (${test()}) return;`,
      ]);
    const pass = this.pick([
      "{ if (this.late === undefined) super.enqueue(event); else super.enqueue(this.late); }",
      "{ if (this.early !== undefined) { super.enqueue(this.early); this.early = undefined; } }",
      "super.enqueue(event)",
      "this.give(urgent(event))",
      "this.give(this.late)",
      "{ this.late = urgent(event); super.enqueue(this.late); }",
    ]);
    return {
      statics: `static needs = ["clock"]; ${this.pick(["static periodMs = 12;", "static periodMs = 20;", "static mostPerSecond = 5;"])}`,
      first: `${keep("event")} ${keep("event")}`,
      pass,
      members: `  late;\n  early = undefined;\n  open;
  constructor(parameters, moe) {
    super(parameters, moe);
    this.open = ${this.pick(["parameters.on", "parameters.deep.by > 4", "moe.clock() > 3"])};
    ${this.pick(["", "this.n = parameters.deep.by;", "this.mostPerSecond = 1000 / (1 + parameters.deep.by);", "this.periodMs = parameters.deep.by * 4;"])}
  }
  period() {
    ${this.pick(["", "this.n++;", "this.seen = !this.seen;"])}
    ${keep("this.early")}
    if (this.late !== undefined${this.pick(["", ` && ${test()}`])}) ${this.pick(["this.give(this.late)", "super.enqueue(this.late)", "this.late = this.early"])};
    ${keep("undefined")}
  }
  give(event) { ${this.pick(["", "this.late = undefined;", "this.n = this.moe.clock();"])} super.enqueue(event); }`,
    };
  }

  /** A class as people write it, as bundlers do, or with a parent; some look at their parameters first. */
  protected written(
    output: string,
    { fields, enqueue }: { readonly fields: string; readonly enqueue: string },
  ): string {
    const form = this.random();
    const check =
      this.random() < 0.3
        ? `static check({ above, deep: { by } }) { for (const n of [above, by]) if (!isSound(n)) throw new RangeError("n"); }`
        : "";
    const sound =
      check === ""
        ? ""
        : `function isSound(n) { return typeof n === "number" && n < ${this.pick(["1e9", "3"])}; }\n`;
    const members = `${output}${check}\n${fields}\n${enqueue}`;
    if (form < 0.5) return `${sound}export default class extends FifoModulator {\n${members}\n}`;
    if (form < 0.75)
      return `${sound}var Made = class extends FifoModulator {\n${members}\n};\nexport { Made as default };`;
    return `${sound}class Parent extends FifoModulator {\n${fields.replaceAll("#last", "last")}\n}\nexport default class extends Parent {\n${output}${check}\n${enqueue.replaceAll("#last", "last")}\n}`;
  }

  /** The event with other fields. */
  protected changed(): string {
    this.makes = true;
    if (this.objects.length > 0 && this.random() < 0.7) {
      const name = this.pick(this.objects);
      return this.random() < 0.2 ? `urgent(${name})` : name;
    }
    const part = (): string =>
      this.pick([
        () => `wide: ${this.number(2)}`,
        () => `small: ${this.number(2)}`,
        () => `whole: (${this.number(2)}) | 0`,
        () => `flag: ${this.bool(1)}`,
        () => `word: ${this.pick(["event.word", "parameters.key", JSON.stringify(this.pick(TEXTS))])}`,
        () => `wides: ${this.pick(["event.wides", ...this.arrays])}`,
        () => `wides: [${this.number(1)}, ${this.number(1)}]`,
        () =>
          `smalls: ${this.pick(["Float32", "Int16", "Uint8", "Float64"])}Array.of(${this.number(1)}, ${this.number(1)})`,
        () => "bytes: []",
        () => `[parameters.field]: (${this.number(1)}) & 100`,
        () => `smalls: new event.smalls.constructor(${Math.floor(this.random() * 4)})`,
        () => "...unpack(event)",
      ])();
    const [before, after] = this.random() < 0.2 ? ["urgent(", ")"] : ["(", ")"];
    return `${before}{ ${this.random() < 0.7 ? "...unpack(event)," : ""} ${part()}, ${part()}, wide: ${this.number(2)} }${after}`;
  }

  protected madeEvent(): string {
    this.makes = true;
    if (this.objects.length > 0 && this.random() < 0.5) return this.pick(this.objects);
    const parts = [
      `first: ${this.number(3)}`,
      `second: ${this.number(2)}`,
      `third: (${this.number(2)}) | 0`,
      `isIt: ${this.bool(2)}`,
      `text: ${this.pick(["event.word", "parameters.key", JSON.stringify(this.pick(TEXTS))])}`,
      this.random() < 0.5
        ? `list: ${this.pick(["event.wides", ...this.arrays, ...this.arrays])}`
        : `list: Float64Array.of(${this.number(2)}, ${this.leaf()})`,
      `rest: ${this.number(1)}`,
      "token: typeToken()",
      `raw: ${this.pick([
        "bytesOf(event).slice()",
        `bytesOf({ ...unpack(event), wide: ${this.number(1)} })`,
        `bytesOf({ ...unpack(event), wides: ${this.pick(["event.wides", ...this.arrays])}, word: event.name })`,
      ])}`,
      "other: 3",
    ];
    return `{ ${parts.filter(() => this.random() < 0.7).join(", ")}, first: ${this.number(2)} }`;
  }
}
