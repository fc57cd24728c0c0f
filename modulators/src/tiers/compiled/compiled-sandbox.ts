import { JechoError, type Type } from "@jecho/shared";
import { typeOf } from "../../running/known-types.ts";
import type {
  Declared,
  Engine,
  Limits,
  ObjectState,
  Program,
  RunChunk,
  Sandbox,
  Turn,
} from "../../sandbox/sandbox.ts";
import { DATA_KEY, RESERVE, VERSION_KEY } from "./code.ts";
import { type CompiledProgram, compileText, readText } from "./compiler.ts";
import { MOST_PER_RUN } from "./cost.ts";
import { bytesOfText, dataAt, shapeOf, shapeText } from "./data-shape.ts";
import { ANSWER, WINDOW } from "./encoder.ts";
import { EventWindow, type WindowText } from "./event-window.ts";
import { KeptArrays } from "./kept-arrays.ts";
import { LeavingEvents } from "./leaving-events.ts";
import { EventMaker } from "./made-events.ts";
import { PassQueue } from "./pass-queue.ts";
import { Refusal } from "./refusal.ts";
import { StoppedProgram } from "./stopped-program.ts";

/** Runs compiled modulators in this thread. What they read of events are copies, and all that they write are answers. */
export function compiledEngine(mostPerEvent: number): Engine {
  const window = new EventWindow();
  const shared: SharedInstances = new WeakMap();
  return {
    name: "compiled",
    isTrusted: true,
    prepare() {},
    create: limits => new CompiledSandbox(window, shared, limits, mostPerEvent),
  };
}

/** The functions of a module. */
interface ProgramFunctions {
  /** Takes the events of the window. @returns how many of them leave; -1 - i where event i is broken */
  readonly run: (events: number) => number;
  readonly init: () => void;
}

/** Instances of programs without fields: all modulators of a program have one, each with its own data in the window. */
type SharedInstances = WeakMap<WebAssembly.Module, ProgramFunctions>;

/** A modulator's program for events of one type. */
interface CompiledInstance {
  readonly program: CompiledProgram;
  readonly functions: ProgramFunctions;
  /** Undefined where the program only lets events through. */
  readonly maker: EventMaker | undefined;
  /** The numbers and texts that it reads, as the parameters and shared objects have them now. */
  data: readonly number[];
  texts: readonly WindowText[];
}

/** Events of a chunk, `left` of which leave: those of these numbers, or else those from `first` on. */
interface AnsweredEvents {
  readonly chunk: RunChunk;
  readonly type: number;
  readonly first: number;
  readonly picks: readonly number[] | undefined;
  readonly left: number;
}

/** The failure that a program's answer stands for: see `encodeModule`. */
function failureOf(answer: number, stops: readonly Refusal[]): Error {
  const why = stops[((-1 - answer) >> 13) - 1];
  return why === undefined
    ? new JechoError("MODULATOR_FAILED", "an event that it was given is broken")
    : new StoppedProgram(why);
}

function eachOf(picks: readonly number[] | undefined, first: number, end: number): readonly number[][] {
  return picks?.map(i => [i]) ?? Array.from({ length: end - first }, (_, i) => [first + i]);
}

/** One compiled modulator. Its fields are variables that the instances for all types of its events share. */
class CompiledSandbox implements Sandbox {
  readonly cpuMs = 0;
  readonly periodMs = 0;
  readonly mostPerSecond = 0;
  readonly checksInput = false;
  readonly #window: EventWindow;
  readonly #shared: SharedInstances;
  /** Undefined while nothing waits. */
  #queue: PassQueue | undefined;
  readonly #queueEvents: number;
  readonly #mostPerEvent: number;
  readonly #types: Type[] = [];
  /** Instances by the number of their type. */
  #instances: CompiledInstance[] = [];
  /** Fields by their names. */
  #fields: Map<string, WebAssembly.Global> | undefined;
  readonly #arrays: KeptArrays;
  readonly #data = { parameters: null as unknown, objects: {} as Record<string, unknown> };
  #shape = "";
  #source = "";
  /** Types that the class says it was written for, and makes. */
  #input: Type | undefined;
  #output: Type | undefined;
  #behind: readonly number[] = [];
  readonly #own = new Map<string, number>();
  /** How often each shared object has changed. */
  readonly #changes = new Map<string, number>();
  /** Versions of the events that are let through now: replaced when they change. */
  #versions: readonly number[] = [];

  constructor(window: EventWindow, shared: SharedInstances, limits: Limits, mostPerEvent: number) {
    this.#mostPerEvent = mostPerEvent;
    this.#window = window;
    this.#arrays = new KeptArrays(window.heap);
    this.#shared = shared;
    this.#queueEvents = limits.queueEvents;
  }

  get heldBytes(): number {
    return this.#arrays.bytes;
  }

  load(): void {}

  install({ source, parameters, objects, behind, schemas }: Program): Declared {
    const text = readText(source);
    if (text instanceof Refusal) throw new JechoError("MODULATOR_INVALID", text.message);
    this.#source = source;
    this.#input = text.input;
    this.#output = text.output;
    this.#data.parameters = JSON.parse(parameters === "" ? "null" : parameters);
    for (const { name, version, state } of objects) {
      this.#data.objects[name] = JSON.parse(state);
      this.#own.set(name, version);
    }
    this.#shape = shapeText(shapeOf(this.#data.objects));
    for (const schema of schemas) this.addType(schema);
    this.behind(new Array<number>(behind).fill(0));
    const first = this.#instanceOf(1);
    this.#show(first);
    first.functions.init();
    return { schema: text.output?.schema, reads: text.input?.schema, needs: [] };
  }

  addType(schema: Uint8Array): void {
    this.#types.push(typeOf(schema));
  }

  mismatchOf(): undefined {
    return undefined;
  }

  update({ name, version, state }: ObjectState): void {
    // That there is a newer version counts for who asks for it, and no compiled modulator does.
    if (state === "") return;
    this.#data.objects[name] = JSON.parse(state);
    this.#changes.set(name, (this.#changes.get(name) ?? 0) + 1);
    this.#own.set(name, version);
    this.#compose();
    const shape = shapeText(shapeOf(this.#data.objects));
    if (shape !== this.#shape) this.#instances = [];
    this.#shape = shape;
    for (const instance of this.#instances)
      if (instance !== undefined) Object.assign(instance, this.#dataOf(instance.program));
  }

  behind(versions: readonly number[]): void {
    this.#behind = versions;
    this.#compose();
  }

  setContext(): void {}

  takeCalls(): undefined {
    return undefined;
  }

  get waiting(): number {
    return this.#queue?.since ?? 0;
  }

  run(chunk: RunChunk, type: number, { ready, emit, picks }: Turn): number {
    let dropped = 0;
    const instance = this.#instanceOf(type);
    const leaving = new LeavingEvents();
    this.#show(instance);
    const { slots, isAlone, isCounted, cost, stops } = instance.program;
    if (isCounted) {
      // What is bounded by the text is taken as used.
      const ofRun = MOST_PER_RUN - cost.steps * (picks?.length ?? chunk.end);
      this.#window.showFuel(Math.max(this.#mostPerEvent - cost.steps, 0), Math.max(ofRun, 0));
    }
    const most = slots === 0 ? WINDOW.mostEvents : Math.floor(WINDOW.madeBytes / (8 * slots));
    for (let at = 0, next = 0; at < chunk.end; ) {
      if (picks !== undefined && next === picks.length) break;
      const end = Math.min(this.#window.show(chunk, at).end, at + most);
      let here: readonly number[] | undefined;
      if (picks !== undefined) {
        const from = next;
        while ((picks[next] ?? end) < end) next++;
        here = picks.slice(from, next);
        this.#window.pick(chunk, here);
      }
      for (const part of isAlone ? eachOf(here, at, end) : [here]) {
        if (isAlone) this.#window.pick(chunk, part as readonly number[]);
        const left = instance.functions.run(part?.length ?? end - at);
        if (left < 0) throw failureOf(left, stops);
        const answered = { chunk, type, first: at, picks: part, left };
        dropped += this.#leave(answered, instance, ready ? leaving : undefined);
      }
      at = end;
    }
    if (ready) {
      this.#queue?.flush(emit);
      this.#queue = undefined;
    }
    leaving.send(emit, this.#versions);
    this.#queue?.give(chunk.end);
    return dropped;
  }

  /**
   * Lets events go that the program has answered for.
   *
   * @param leaving undefined while the transport is not ready: they wait
   * @returns how many fell out of the queue
   */
  #leave(
    { chunk, type, first, picks, left }: AnsweredEvents,
    { maker, program }: CompiledInstance,
    leaving: LeavingEvents | undefined,
  ): number {
    const { answers, numbers } = this.#window;
    let dropped = 0;
    for (let at = 0, rest = left; rest > 0; at++) {
      const answer = answers[at] as number;
      if (answer === ANSWER.discard) continue;
      rest--;
      const i = picks === undefined ? first + at : (picks[at] as number);
      const isMade = maker !== undefined && answer >= ANSWER.made;
      const event = isMade
        ? maker.make(answer - ANSWER.made, chunk, i, numbers, program.slots * at)
        : { ...chunk, first: i, end: i + 1 };
      // What is made has the type that the class says, where it says one.
      const of = isMade && this.#input !== undefined ? 0 : type;
      const urgent = isMade ? maker.isUrgent(answer - ANSWER.made) : answer === ANSWER.urgent;
      if (leaving !== undefined) leaving.add(event, of, urgent);
      else {
        const kept = { versions: this.#versions, urgent, type: of };
        this.#queue ??= new PassQueue(this.#queueEvents);
        dropped += this.#queue.keep(event, event.first, kept, i + 1);
      }
    }
    return dropped;
  }

  period(): number {
    return 0;
  }

  remove(): void {}

  dispose(): void {
    this.#instances = [];
    this.#arrays.clear();
  }

  #compose(): void {
    this.#versions = [...this.#behind, ...this.#own.values()];
  }

  #instanceOf(type: number): CompiledInstance {
    this.#instances[type] ??= this.#instantiate(type);
    return this.#instances[type];
  }

  #instantiate(type: number): CompiledInstance {
    const writer = this.#types[type - 1];
    const verdict =
      writer === undefined
        ? new Refusal("events without a type are not compiled")
        : compileText(this.#source, writer, this.#data);
    if (verdict instanceof Refusal) throw new JechoError("MODULATOR_FAILED", verdict.message);
    const functions = this.#functionsOf(verdict);
    return {
      program: verdict,
      functions,
      maker: this.#makerOf(verdict, writer as Type),
      ...this.#dataOf(verdict),
    };
  }

  #functionsOf(program: CompiledProgram): ProgramFunctions {
    const { module, functions, state } = program;
    const known = state === "" ? this.#shared.get(module) : undefined;
    if (known !== undefined) return known;
    const { exports } = new WebAssembly.Instance(module, {
      m: { memory: this.#window.memory },
      g: this.#globalsOf(program),
      f: { ...functions, [RESERVE]: (field: number, bytes: number) => this.#arrays.reserve(field, bytes) },
    });
    const { init, run } = exports as unknown as ProgramFunctions;
    // Engines compile a function when it is called first: not with the first events.
    run(0);
    const made = { init, run };
    if (state === "") this.#shared.set(module, made);
    return made;
  }

  #makerOf({ outputs: plans }: CompiledProgram, writer: Type): EventMaker | undefined {
    if (plans.length === 0) return undefined;
    const reader = this.#input ?? writer;
    const [output, read] = [this.#output ?? reader, reader.readerOf(writer)];
    return new EventMaker({ plans, writer, output, read, dataAt: path => this.#dataAt(path) });
  }

  #globalsOf({ globals }: CompiledProgram): Record<string, WebAssembly.Global> {
    this.#fields ??= new Map();
    const fields = this.#fields;
    return Object.fromEntries(
      globals.map(({ key, type }, i) => {
        const field = fields.get(key) ?? new WebAssembly.Global({ value: type, mutable: true }, 0);
        fields.set(key, field);
        return [`${i}`, field];
      }),
    );
  }

  #show({ program, data, texts }: CompiledInstance): void {
    this.#window.showData(program.data, data);
    this.#window.showTexts(texts);
  }

  #dataOf({ data, texts }: CompiledProgram): Pick<CompiledInstance, "data" | "texts"> {
    return {
      data: data.map(({ key }) => {
        if (key.startsWith(VERSION_KEY)) return this.#changes.get(key.slice(VERSION_KEY.length)) ?? 0;
        const value = this.#dataAt(key.slice(DATA_KEY.length));
        return typeof value === "string" ? (bytesOfText(value)?.byteLength ?? 0) : Number(value);
      }),
      texts: texts.map(({ at, path }) => ({
        at,
        bytes: bytesOfText(`${this.#dataAt(path)}`) as Uint8Array,
      })),
    };
  }

  #dataAt(path: string): unknown {
    return dataAt(this.#data, path.split("\n"));
  }
}
