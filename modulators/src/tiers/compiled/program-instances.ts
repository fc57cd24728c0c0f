import { JechoError, type Type } from "@jecho/shared";
import { typeOf } from "../../running/known-types.ts";
import { ENGINE } from "./builtins.ts";
import { type CodeGlobal, DATA_KEY, QUEUE_KEY, VERSION_KEY } from "./code.ts";
import { type CompiledProgram, compileText } from "./compiler.ts";
import { bytesOfText } from "./data-shape.ts";
import type { EventWindow, WindowText } from "./event-window.ts";
import type { Stop } from "./fuel.ts";
import type { GivenData } from "./given-data.ts";
import type { KeptEvent } from "./kept-events.ts";
import { EventMaker } from "./made-events.ts";
import { Refusal } from "./refusal.ts";
import { StoppedProgram } from "./stopped-program.ts";
import type { TierFunction } from "./tier-functions.ts";

/** The functions of a module. */
export interface ProgramFunctions {
  /** Takes the events of the window. @returns how many of them leave; -1 - i where event i is broken */
  readonly run: (events: number) => number;
  readonly init: () => void;
  readonly period?: () => void;
  /** Gives the next event that leaves, or null. */
  readonly dequeue?: () => KeptEvent | null;
}

/** Instances of programs without fields: all modulators of a program have one, each with its own data in the window. */
export type SharedInstances = WeakMap<WebAssembly.Module, ProgramFunctions>;

/** A modulator's program for events of one type. */
export interface ProgramInstance {
  readonly program: CompiledProgram;
  readonly functions: ProgramFunctions;
  /** Undefined where the program only lets events through. */
  readonly maker: EventMaker | undefined;
  /** The numbers and texts that it reads, as the parameters and shared objects have them now. */
  data: readonly number[];
  texts: readonly WindowText[];
}

export interface InstancesOptions {
  readonly window: EventWindow;
  readonly shared: SharedInstances;
  /** The functions of the tier that programs with fields may call. */
  readonly functions: () => Readonly<Record<Exclude<TierFunction, "stop">, (...all: never[]) => unknown>>;
  readonly source: string;
  /** Types that the class says it was written for, and makes. */
  readonly input: Type | undefined;
  readonly output: Type | undefined;
  readonly data: GivenData;
  readonly queueEvents: number;
}

/** One modulator's programs for all types of its events. They share its fields and its data. */
export class ProgramInstances {
  readonly #options: InstancesOptions;
  readonly #types: Type[] = [];
  /** By the number of their type. */
  #instances: ProgramInstance[] = [];
  /** Fields by their names. */
  readonly #fields = new Map<string, WebAssembly.Global>();
  #data: GivenData;
  /** How often each shared object has changed. */
  readonly #changes = new Map<string, number>();

  constructor(options: InstancesOptions) {
    this.#options = options;
    this.#data = options.data;
  }

  addType(schema: Uint8Array): void {
    this.#types.push(typeOf(schema));
  }

  update(name: string, state: string): void {
    const { shapeText } = this.#data;
    this.#data = this.#data.with(name, state);
    this.#changes.set(name, (this.#changes.get(name) ?? 0) + 1);
    if (this.#data.shapeText !== shapeText) this.#instances = [];
    for (const instance of this.#instances)
      if (instance !== undefined) Object.assign(instance, this.#dataOf(instance.program));
  }

  /** The instance for events of the type with this number, whose data lie in the window then. */
  shown(type: number): ProgramInstance {
    const instance = this.#instances[type] ?? this.#instantiate(type);
    this.#instances[type] = instance;
    const { window } = this.#options;
    window.showData(instance.program.data, instance.data);
    window.showTexts(instance.texts);
    return instance;
  }

  /** The value of a variable that outlives calls; undefined where no program has it. */
  valueOf({ key }: CodeGlobal): unknown {
    return this.#fields.get(key)?.value;
  }

  clear(): void {
    this.#instances = [];
  }

  #instantiate(type: number): ProgramInstance {
    const writer = this.#types[type - 1];
    const verdict =
      writer === undefined
        ? new Refusal("events without a type are not compiled")
        : compileText(this.#options.source, writer, this.#data);
    if (verdict instanceof Refusal) throw new JechoError("MODULATOR_FAILED", verdict.message);
    return {
      program: verdict,
      functions: this.#functionsOf(verdict),
      maker: this.#makerOf(verdict, writer as Type),
      ...this.#dataOf(verdict),
    };
  }

  #functionsOf(program: CompiledProgram): ProgramFunctions {
    const { module, functions, state, stops } = program;
    const { shared, window } = this.#options;
    const known = state === "" ? shared.get(module) : undefined;
    if (known !== undefined) return known;
    const { exports } = new WebAssembly.Instance(module, {
      m: { memory: window.memory },
      g: this.#globalsOf(program),
      f: {
        ...Object.fromEntries(functions.map(name => [name, ENGINE[name]])),
        ...(state === "" ? {} : this.#options.functions()),
        stop: (number: number) => {
          throw failureOf(number, stops);
        },
      },
    });
    const made = exports as unknown as ProgramFunctions;
    // Engines compile a function when it is called first: not with the first events.
    made.run(0);
    if (state === "") shared.set(module, made);
    return made;
  }

  #makerOf({ outputs: plans }: CompiledProgram, writer: Type): EventMaker | undefined {
    if (plans.length === 0) return undefined;
    const { input, output } = this.#options;
    const reader = input ?? writer;
    const read = reader.readerOf(writer);
    return new EventMaker({
      plans,
      writer,
      reader,
      output: output ?? reader,
      read,
      dataAt: path => this.#data.at(path),
    });
  }

  #globalsOf({ globals }: CompiledProgram): Record<string, WebAssembly.Global> {
    return Object.fromEntries(
      globals.map(({ key, type }, i) => {
        const field = this.#fields.get(key) ?? variableOf(type);
        this.#fields.set(key, field);
        return [`${i}`, field];
      }),
    );
  }

  #dataOf({ data, texts }: CompiledProgram): Pick<ProgramInstance, "data" | "texts"> {
    return {
      data: data.map(({ key }) => {
        if (key === QUEUE_KEY) return this.#options.queueEvents;
        if (key.startsWith(VERSION_KEY)) return this.#changes.get(key.slice(VERSION_KEY.length)) ?? 0;
        const value = this.#data.at(key.slice(DATA_KEY.length));
        return typeof value === "string" ? (bytesOfText(value)?.byteLength ?? 0) : Number(value);
      }),
      texts: texts.map(({ at, path }) => ({
        at,
        bytes: bytesOfText(`${this.#data.at(path)}`) as Uint8Array,
      })),
    };
  }
}

/** The failure that the number of a reason stands for, which a program has left: 0 for a broken event. */
export function failureOf(number: number, stops: readonly Stop[]): Error {
  const stop = stops[number - 1];
  return stop === undefined
    ? new JechoError("MODULATOR_FAILED", "an event that it was given is broken")
    : new StoppedProgram(stop.why, stop.line, stop.column);
}

function variableOf(type: CodeGlobal["type"]): WebAssembly.Global {
  return type === "ref"
    ? new WebAssembly.Global({ value: "externref", mutable: true }, null)
    : new WebAssembly.Global({ value: type, mutable: true }, 0);
}
