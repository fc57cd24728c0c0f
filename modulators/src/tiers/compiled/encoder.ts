import {
  type Code,
  type CodeGlobal,
  type CodeLabel,
  type CodeLocal,
  type CodeModule,
  type CodeType,
  LOADS,
  OPS,
  STORES,
} from "./code.ts";

/*
 * The binary form of WebAssembly, as much of it as the compiled tier uses.
 */

/** Layout of the memory that a module is given: an answer for each event, a byte; then where each begins and ends; texts of the modulator's; numbers of its data, eight bytes for each; numbers for events that it makes; the steps that an event, and all events of a run, may take; lists that a program makes; events of up to so many bytes at once; then blocks for what modulators keep, and for larger events. */
export const WINDOW = {
  answers: 0,
  mostEvents: 4096,
  table: 4096,
  texts: 4096 + 8 * 4096,
  textBytes: 16_384,
  data: 4096 + 8 * 4096 + 16_384,
  mostData: 512,
  made: 4096 + 8 * 4096 + 16_384 + 8 * 512,
  madeBytes: 65_536,
  fuel: 4096 + 8 * 4096 + 16_384 + 8 * 512 + 65_536,
  runFuel: 8 + 4096 + 8 * 4096 + 16_384 + 8 * 512 + 65_536,
  room: 16 + 4096 + 8 * 4096 + 16_384 + 8 * 512 + 65_536,
  roomBytes: 262_144,
  events: 16 + 4096 + 8 * 4096 + 16_384 + 8 * 512 + 65_536 + 262_144,
  eventBytes: 262_144,
  heap: 16 + 4096 + 8 * 4096 + 16_384 + 8 * 512 + 65_536 + 262_144 + 262_144,
} as const;

/** Answers for one event. From `made` on: an event is made in its place, by the plan of the number that is so much less. */
export const ANSWER = { discard: 0, pass: 1, urgent: 2, broken: 3, made: 4 } as const;
/** Most plans of one program: an answer is a byte. */
export const MOST_PLANS = 250;

const TYPES: Readonly<Record<CodeType, number>> = { i32: 0x7f, f64: 0x7c };
const VOID = 0x40;
const SECTION = { types: 1, imports: 2, functions: 3, exports: 7, code: 10 } as const;

/** A module's bytes, and what is to be given to it. */
export interface EncodedModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Names of the engine's functions that it calls. */
  readonly functions: readonly string[];
}

/** Writes a module: exports `init()`, and `run(count)`, which answers the events of the table and returns how many of them leave, or -1 - i - 8192 x n for the event that it ends at: a broken one where n is 0, else one that it stopped at, for the nth of its reasons. */
export function encodeModule(module: CodeModule): EncodedModule {
  const functions = [
    ...new Map([...module.init, ...module.before, ...module.event].flatMap(callsOf)),
  ] as const;
  const names = functions.map(([name]) => name);
  const arities = [...new Set(functions.map(([, args]) => args))];
  const f64s = (count: number): number[] => new Array<number>(count).fill(TYPES.f64);
  const types = [
    [0x60, 0, 0],
    [0x60, 1, TYPES.i32, 1, TYPES.i32],
    ...arities.map(count => [0x60, count, ...f64s(count), 1, TYPES.f64]),
  ];
  const imports = [
    [...text("m"), ...text("memory"), 2, 0, 1],
    ...module.globals.map((global, i) => [...text("g"), ...text(`${i}`), 3, TYPES[global.type], 1]),
    ...functions.map(([name, args]) => [...text("f"), ...text(name), 0, 2 + arities.indexOf(args)]),
  ];
  const first = functions.length;
  const exports = [
    [...text("init"), 0, ...unsigned(first)],
    [...text("run"), 0, ...unsigned(first + 1)],
  ];
  const bodies = [new FunctionBody(module, names, 0).init(module.init)];
  bodies.push(new FunctionBody(module, names, 1).run(module));
  const bytes = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  append(bytes, section(SECTION.types, types));
  append(bytes, section(SECTION.imports, imports));
  append(bytes, section(SECTION.functions, [[0], [1]]));
  append(bytes, section(SECTION.exports, exports));
  append(
    bytes,
    section(
      SECTION.code,
      bodies.map(body => [...unsigned(body.length), ...body]),
    ),
  );
  return { bytes: Uint8Array.from(bytes), functions: names };
}

/** The engine's functions that code calls, each with how many arguments it takes. */
function callsOf(code: Code): (readonly [string, number])[] {
  const inner = partsOf(code).flatMap(callsOf);
  return code.is === "call" ? [[code.name, code.args.length], ...inner] : inner;
}

/** The code inside code. */
export function partsOf(code: Code): readonly Code[] {
  switch (code.is) {
    case "set":
    case "leaveFuel":
    case "tee":
    case "setGlobal":
    case "drop":
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

class FunctionBody {
  readonly #bytes: number[] = [];
  readonly #globals: readonly CodeGlobal[];
  readonly #data: readonly CodeGlobal[];
  readonly #functions: readonly string[];
  readonly #parameters: number;
  readonly #locals = new Map<CodeLocal, number>();
  readonly #labels: CodeLabel[] = [];

  constructor({ globals, data }: CodeModule, functions: readonly string[], parameters: number) {
    this.#globals = globals;
    this.#data = data;
    this.#functions = functions;
    this.#parameters = parameters;
  }

  init(body: readonly Code[]): number[] {
    for (const code of body) this.#write(code);
    return this.#finished();
  }

  /** The loop over the table. What it writes are answers, at the index that it counts itself. */
  run({ before, event, after, start, end, answer, slots, stopped }: CodeModule): number[] {
    const at: CodeLocal = { type: "i32" };
    const leaving: CodeLocal = { type: "i32" };
    const done: CodeLabel = { name: "done" };
    const next: CodeLabel = { name: "next" };
    for (const code of before) this.#write(code);
    this.#open(0x02, done);
    this.#open(0x03, next);
    this.#local(0x20, at);
    this.#bytes.push(0x20, 0, 0x4e);
    this.#branch(0x0d, done);
    this.#entry(at, WINDOW.table, start);
    this.#entry(at, WINDOW.table + 4, end);
    this.#bytes.push(0x41, 0);
    this.#local(0x21, answer);
    for (const code of event) this.#write(code);
    this.#local(0x20, at);
    this.#local(0x20, answer);
    this.#bytes.push(0x3a, 0, ...unsigned(WINDOW.answers));
    if (slots.length > 0) this.#made(at, answer, slots);
    this.#local(0x20, answer);
    this.#bytes.push(0x41, ANSWER.broken, 0x46, 0x04, VOID, 0x41, ...signed(-1));
    this.#local(0x20, at);
    this.#bytes.push(0x6b);
    this.#local(0x20, stopped);
    this.#bytes.push(0x41, 13, 0x74, 0x6b, 0x0f, 0x0b);
    this.#local(0x20, leaving);
    this.#local(0x20, answer);
    this.#bytes.push(0x41, 0, 0x47, 0x6a);
    this.#local(0x21, leaving);
    this.#local(0x20, at);
    this.#bytes.push(0x41, 1, 0x6a);
    this.#local(0x21, at);
    this.#branch(0x0c, next);
    this.#close();
    this.#close();
    for (const code of after) this.#write(code);
    this.#local(0x20, leaving);
    return this.#finished();
  }

  /** Stores the numbers of an event that is made, at the event's own place. */
  #made(at: CodeLocal, answer: CodeLocal, slots: readonly CodeLocal[]): void {
    this.#local(0x20, answer);
    this.#bytes.push(0x41, ANSWER.made, 0x4e, 0x04, VOID);
    for (const [i, slot] of slots.entries()) {
      this.#local(0x20, at);
      this.#bytes.push(0x41, ...signed(8 * slots.length), 0x6c);
      this.#local(0x20, slot);
      this.#bytes.push(0x39, 3, ...unsigned(WINDOW.made + 8 * i));
    }
    this.#bytes.push(0x0b);
  }

  #entry(at: CodeLocal, offset: number, to: CodeLocal): void {
    this.#local(0x20, at);
    this.#bytes.push(0x41, 3, 0x74, 0x28, 2, ...unsigned(offset));
    this.#local(0x21, to);
  }

  #finished(): number[] {
    const types = [...this.#locals.keys()].map(({ type }) => TYPES[type]);
    const runs: [count: number, type: number][] = [];
    for (const type of types) {
      const last = runs.at(-1);
      if (last?.[1] === type) last[0]++;
      else runs.push([1, type]);
    }
    const body = [...unsigned(runs.length), ...runs.flatMap(([count, type]) => [...unsigned(count), type])];
    append(body, this.#bytes);
    body.push(0x0b);
    return body;
  }

  #write(code: Code): void {
    switch (code.is) {
      case "i32":
        this.#bytes.push(0x41, ...signed(code.value));
        return;
      case "i64":
        this.#bytes.push(0x42, ...signed64(code.value));
        return;
      case "f64":
        this.#bytes.push(0x44, ...float64(code.value));
        return;
      case "get":
        this.#local(0x20, code.local);
        return;
      case "set":
        this.#write(code.value);
        this.#local(0x21, code.local);
        return;
      case "tee":
        this.#write(code.value);
        this.#local(0x22, code.local);
        return;
      case "getGlobal": {
        const { global } = code;
        const place = WINDOW.data + 8 * this.#data.indexOf(global);
        if (place < WINDOW.data) this.#bytes.push(0x23, ...unsigned(this.#globals.indexOf(global)));
        else
          this.#bytes.push(
            0x41,
            0,
            LOADS[global.type === "f64" ? "f64.load" : "i32.load"],
            0,
            ...unsigned(place),
          );
        return;
      }
      case "setGlobal":
        this.#write(code.value);
        this.#bytes.push(0x24, ...unsigned(this.#globals.indexOf(code.global)));
        return;
      case "op": {
        for (const arg of code.args) this.#write(arg);
        const number = OPS[code.op];
        if (number > 0xff) this.#bytes.push(number >> 8);
        this.#bytes.push(number & 0xff);
        return;
      }
      case "load":
        this.#write(code.at);
        this.#bytes.push(LOADS[code.load], 0, 0);
        return;
      case "store":
        this.#write(code.at);
        this.#write(code.value);
        this.#bytes.push(STORES[code.store], 0, 0);
        return;
      case "zero":
        this.#write(code.at);
        this.#bytes.push(0x41, 0);
        this.#write(code.bytes);
        this.#bytes.push(0xfc, 11, 0);
        return;
      case "copy":
        for (const part of [code.to, code.from, code.bytes]) this.#write(part);
        this.#bytes.push(0xfc, 10, 0, 0);
        return;
      case "fuel":
        this.#bytes.push(0x41, 0, LOADS["f64.load"], 0, ...unsigned(WINDOW[code.of]));
        return;
      case "leaveFuel":
        this.#bytes.push(0x41, 0);
        this.#write(code.value);
        this.#bytes.push(STORES["f64.store"], 0, ...unsigned(WINDOW.runFuel));
        return;
      case "call":
        for (const arg of code.args) this.#write(arg);
        this.#bytes.push(0x10, ...unsigned(this.#functions.indexOf(code.name)));
        return;
      case "many":
        for (const part of code.body) this.#write(part);
        return;
      case "block":
      case "loop":
        this.#open(code.is === "block" ? 0x02 : 0x03, code.label);
        for (const part of code.body) this.#write(part);
        this.#close();
        return;
      case "if": {
        this.#write(code.test);
        this.#bytes.push(0x04, code.type === undefined ? VOID : TYPES[code.type]);
        this.#labels.push({ name: "if" });
        for (const part of code.yes) this.#write(part);
        if (code.no.length > 0) this.#bytes.push(0x05);
        for (const part of code.no) this.#write(part);
        this.#close();
        return;
      }
      case "br":
        this.#branch(0x0c, code.label);
        return;
      case "brIf":
        this.#write(code.test);
        this.#branch(0x0d, code.label);
        return;
      case "drop":
        this.#write(code.value);
        this.#bytes.push(0x1a);
        return;
      case "host":
    }
  }

  #local(instruction: number, local: CodeLocal): void {
    let index = this.#locals.get(local);
    if (index === undefined) {
      index = this.#parameters + this.#locals.size;
      this.#locals.set(local, index);
    }
    this.#bytes.push(instruction, ...unsigned(index));
  }

  #open(instruction: number, label: CodeLabel): void {
    this.#bytes.push(instruction, VOID);
    this.#labels.push(label);
  }

  #close(): void {
    this.#labels.pop();
    this.#bytes.push(0x0b);
  }

  #branch(instruction: number, label: CodeLabel): void {
    const depth = this.#labels.length - 1 - this.#labels.lastIndexOf(label);
    this.#bytes.push(instruction, ...unsigned(depth));
  }
}

function section(id: number, items: readonly (readonly number[])[]): number[] {
  const body = unsigned(items.length);
  for (const item of items) append(body, item);
  return [id, ...unsigned(body.length), ...body];
}

/** A call with a long list as its arguments would run out of stack. */
function append(bytes: number[], more: readonly number[]): void {
  for (const byte of more) bytes.push(byte);
}

function text(value: string): number[] {
  const bytes = Array.from(value, character => character.charCodeAt(0));
  return [...unsigned(bytes.length), ...bytes];
}

function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return bytes;
}

function signed(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (;;) {
    const byte = rest & 0x7f;
    rest >>= 7;
    if ((rest === 0 && (byte & 0x40) === 0) || (rest === -1 && (byte & 0x40) !== 0)) return [...bytes, byte];
    bytes.push(byte | 0x80);
  }
}

function signed64(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (;;) {
    const byte = Number(rest & 0x7fn);
    rest >>= 7n;
    if ((rest === 0n && (byte & 0x40) === 0) || (rest === -1n && (byte & 0x40) !== 0))
      return [...bytes, byte];
    bytes.push(byte | 0x80);
  }
}

const number = new Float64Array(1);
const numberBytes = new Uint8Array(number.buffer);

function float64(value: number): Uint8Array {
  number[0] = value;
  return numberBytes;
}
