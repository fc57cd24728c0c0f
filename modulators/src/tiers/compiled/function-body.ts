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
import { append, float64, signed, signed64, unsigned } from "./wasm-bytes.ts";
import { ANSWER, WINDOW } from "./window-layout.ts";

export const TYPES: Readonly<Record<CodeType, number>> = { i32: 0x7f, f64: 0x7c, ref: 0x6f, v128: 0x7b };
const VOID = 0x40;

/** The code of one function, as bytes. */
export class FunctionBody {
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

  plain(body: readonly Code[]): number[] {
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
      case "none":
        this.#bytes.push(0xd0, TYPES.ref);
        return;
      case "op": {
        for (const arg of code.args) this.#write(arg);
        this.#instruction(OPS[code.op]);
        return;
      }
      case "load":
        this.#write(code.at);
        this.#instruction(LOADS[code.load]);
        this.#bytes.push(0, ...unsigned(code.offset));
        return;
      case "lane":
        this.#write(code.value);
        this.#bytes.push(0xfd, 0x21, code.lane);
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
      case "ofTurn":
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

  /** Writes an instruction; one with a prefix has its number behind it. */
  #instruction(number: number): void {
    if (number > 0xff) this.#bytes.push(number >> 8, ...unsigned(number & 0xff));
    else this.#bytes.push(number);
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
