import { ERRORS, type ErrorCode, JechoError } from "@jecho/shared";
import type { EventBytes } from "@jecho/shared/internal";
import type ivm from "isolated-vm";
import { servicesModule } from "../delegate.ts";
import { WORLD_SOURCE } from "../generated/world.ts";
import { decodeValues } from "../values.ts";
import {
  CHUNK_BYTES,
  CHUNK_EVENTS,
  type Chunk,
  type ContextValue,
  type Declared,
  type Emit,
  type Engine,
  isStarved,
  type Limits,
  type ObjectState,
  OUTBOX,
  OUTBOX_HEAD,
  PROCEED,
  type Program,
  type Sandbox,
  type Turn,
  type Watch,
} from "./sandbox.ts";

const USER_MODULE = "modulator.js";
const FACE =
  'export { bytesOf, FifoModulator, Modulator, type, typeToken, unpack, urgent } from "jecho:world";';
const FUNCTIONS = [
  "attach",
  "load",
  "open",
  "update",
  "start",
  "run",
  "proceed",
  "period",
  "remove",
  "serve",
  "needs",
  "calls",
  "context",
] as const;

const NO_ENTROPY = new Uint8Array(0);

type Functions = Record<(typeof FUNCTIONS)[number], ivm.Reference>;

/**
 * The engine on V8's isolates, one for each modulator.
 *
 * The process that loads it needs the flags `--no-node-snapshot` and `--no-concurrent-recompilation`, and must be one
 * that may die: neither its memory limit nor its timeout reaches everything.
 *
 * @throws JechoError `MODULATORS_NOT_SERVED` where the native part does not load
 */
export async function isolatedVmEngine(): Promise<Engine> {
  let library: typeof ivm;
  try {
    library = (await import("isolated-vm")).default;
  } catch (error) {
    throw new JechoError("MODULATORS_NOT_SERVED", `isolated-vm does not load: ${(error as Error).message}`);
  }
  return {
    name: "isolated-vm",
    create: (limits, watch) => new IsolatedVmSandbox(library, limits, watch),
  };
}

class IsolatedVmSandbox implements Sandbox {
  readonly #ivm: typeof ivm;
  readonly #limits: Limits;
  readonly #watch: Watch;
  #cpuMs = 0;
  readonly #isolate: ivm.Isolate;
  #functions: Functions | undefined;
  #inbox: Uint8Array = new Uint8Array(0);
  #outbox: Uint8Array = new Uint8Array(0);
  #outWords: Uint32Array = new Uint32Array(0);

  constructor(library: typeof ivm, limits: Limits, watch: Watch) {
    this.#ivm = library;
    this.#limits = limits;
    this.#watch = watch;
    this.#isolate = new library.Isolate({ memoryLimit: limits.memoryMiB });
  }

  get cpuMs(): number {
    return this.#cpuMs;
  }

  install({ source, parameters, objects, schema, offers, context: views, timeMs }: Program): Declared {
    const { installMs, queueEvents } = this.#limits;
    const context = this.#isolate.createContextSync();
    const world = this.#isolate.compileModuleSync(WORLD_SOURCE, { filename: "world.js" });
    const face = this.#isolate.compileModuleSync(FACE, { filename: "moe.js" });
    const link = (specifier: string): ivm.Module => {
      if (specifier === "jecho:world") return world;
      throw new Error(`unexpected import of ${specifier}`);
    };
    for (const module of [world, face]) {
      module.instantiateSync(context, link);
      module.evaluateSync();
    }
    const { namespace } = world;
    this.#functions = Object.fromEntries(
      FUNCTIONS.map(name => [name, namespace.getSync(name, { reference: true })]),
    ) as Functions;
    this.#attach(CHUNK_BYTES + 16 * CHUNK_EVENTS, OUTBOX_HEAD + CHUNK_BYTES);

    const services = servicesModule(offers);
    if (services !== undefined) {
      const module = this.#guarded(installMs, "DELEGATE_FAILED", () => {
        const compiled = this.#isolate.compileModuleSync(services, { filename: "services.js" });
        compiled.instantiateSync(context, link);
        compiled.evaluateSync({ timeout: installMs });
        return compiled;
      });
      this.#call("serve", [module.namespace.derefInto()], installMs);
    }
    const user = this.#guarded(installMs, "MODULATOR_INVALID", () => {
      const module = this.#isolate.compileModuleSync(source, { filename: USER_MODULE });
      module.instantiateSync(context, specifier => {
        if (specifier === "jecho:moe") return face;
        throw new JechoError(
          "MODULATOR_INVALID",
          `it imports "${specifier.slice(0, 100)}"; only "jecho:moe" is there to import`,
        );
      });
      return module;
    });
    this.#guarded(installMs, "MODULATOR_FAILED", () => user.evaluateSync({ timeout: installMs }));
    const schemaBytes = schema?.byteLength ?? 0;
    if (schemaBytes > this.#inbox.byteLength) this.#attach(schemaBytes, this.#outbox.byteLength);
    if (schema !== undefined) this.#inbox.set(schema);
    const offered = offers.map(({ name, granted }) => `${granted ? "+" : "-"}${name}`).join();
    const declaredBytes = this.#call("load", [user.namespace.derefInto(), schemaBytes, offered], installMs);
    const declared = declaredBytes === 0 ? undefined : this.#outbox.slice(0, declaredBytes);
    const needBytes = this.#call("needs", [], installMs);
    const needs =
      needBytes === 0 ? [] : decodeValues(this.#outbox.slice(0, needBytes)).map(({ name }) => name);
    for (const view of views) if (needs.includes(view.name)) this.setContext(view);
    const entropy = needs.includes("entropy") ? crypto.getRandomValues(new Uint8Array(32)) : NO_ENTROPY;
    this.#inbox.set(entropy);
    this.#call("open", [parameters, queueEvents, timeMs, entropy.byteLength], installMs);
    for (const { name, version, state } of objects)
      this.#call("update", [name, version, state, false], installMs);
    this.#call("start", [], installMs);
    return { schema: declared, needs };
  }

  setContext({ name, value }: ContextValue): void {
    if (value.byteLength > this.#inbox.byteLength) this.#attach(value.byteLength, this.#outbox.byteLength);
    this.#inbox.set(value);
    this.#call("context", [name, value.byteLength], this.#limits.callMs);
  }

  takeCalls(): Uint8Array | undefined {
    if (this.#outWords[OUTBOX.calls] === 0) return undefined;
    const bytes = this.#call("calls", [], this.#limits.callMs);
    return bytes > this.#outbox.byteLength ? unsoundly() : this.#outbox.slice(0, bytes);
  }

  update({ name, version, state }: ObjectState): void {
    this.#call("update", [name, version, state, true], this.#limits.callMs);
  }

  get periodMs(): number {
    return this.#outWords[OUTBOX.periodMs] as number;
  }

  run(chunk: Chunk, turn: Turn): number {
    const bytes = this.#fill(chunk);
    const { ready, timeMs } = turn;
    const status = this.#call("run", [bytes, chunk.bounds.length / 2, ready, timeMs], this.#limits.callMs);
    return this.#finish(status, turn);
  }

  period(turn: Turn): number {
    return this.#finish(this.#call("period", [turn.ready, turn.timeMs], this.#limits.callMs), turn);
  }

  remove(): void {
    this.#call("remove", [], this.#limits.callMs);
  }

  #finish(first: number, { ready, emit }: Turn): number {
    let status = first;
    let dropped = 0;
    for (;;) {
      dropped += this.#outWords[OUTBOX.dropped] as number;
      const count = this.#collect(emit);
      if (status === PROCEED.done) return dropped;
      if (count === 0) this.#widen(this.#outWords[OUTBOX.wanted] as number);
      status = this.#call("proceed", [ready], this.#limits.callMs);
    }
  }

  dispose(): void {
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
  }

  /** Writes the events into the inbox, behind a table of where each begins and ends. */
  #fill({ bytes, bounds }: Chunk): number {
    const count = bounds.length / 2;
    if (count === 0) return 0;
    const first = bounds[0] as number;
    const last = bounds[bounds.length - 1] as number;
    const shift = 8 * count - first;
    const end = last + shift;
    if (end > this.#inbox.byteLength) this.#attach(end, this.#outbox.byteLength);
    const table = new Uint32Array(this.#inbox.buffer, 0, bounds.length);
    for (let i = 0; i < bounds.length; i++) table[i] = (bounds[i] as number) + shift;
    this.#inbox.set(bytes.subarray(first, last), 8 * count);
    return end;
  }

  /** Hands on what lies in the outbox. Every number in it is read once, and then checked. */
  #collect(emit: Emit): number {
    const count = this.#outWords[OUTBOX.count] as number;
    if (count > OUTBOX.maxRecords) throw unsound();
    let events: EventBytes[] = [];
    let version = 0;
    let last = OUTBOX_HEAD;
    for (let i = 0; i < count; i++) {
      const record = OUTBOX.records + OUTBOX.recordWords * i;
      const made = this.#outWords[record] as number;
      const start = this.#outWords[record + 1] as number;
      const end = this.#outWords[record + 2] as number;
      if (start % 8 !== 0 || start < last || end < start || end > this.#outbox.byteLength) throw unsound();
      last = end;
      const urgent = this.#outWords[record + 3] === 1;
      if ((urgent || made !== version) && events.length > 0) {
        emit(events, version, false);
        events = [];
      }
      version = made;
      const event = { bytes: this.#outbox, start, end };
      if (urgent) emit([event], version, true);
      else events.push(event);
    }
    if (events.length > 0) emit(events, version, false);
    return count;
  }

  /** An event is larger than the outbox. */
  #widen(wanted: number): void {
    if (wanted > this.#limits.outputBytes) {
      throw new JechoError(
        "MODULATOR_OUTPUT_EXCEEDED",
        `an event of ${wanted} bytes; a batch may make ${this.#limits.outputBytes}`,
      );
    }
    const bytes = OUTBOX_HEAD + alignUp8(wanted);
    if (bytes <= this.#outbox.byteLength) throw unsound();
    this.#attach(this.#inbox.byteLength, bytes);
  }

  #attach(inBytes: number, outBytes: number): void {
    const blocks = [inBytes, outBytes].map(bytes => new SharedArrayBuffer(alignUp8(bytes))) as [
      SharedArrayBuffer,
      SharedArrayBuffer,
    ];
    this.#inbox = new Uint8Array(blocks[0]);
    this.#outbox = new Uint8Array(blocks[1]);
    this.#outWords = new Uint32Array(blocks[1], 0, OUTBOX_HEAD / 4);
    const copies = blocks.map(block => new this.#ivm.ExternalCopy(block).copyInto({ release: true }));
    this.#call("attach", copies, this.#limits.installMs);
  }

  #call(name: (typeof FUNCTIONS)[number], parameters: unknown[], limitMs: number): number {
    const { [name]: inside } = this.#functions as Functions;
    const result: unknown = this.#guarded(limitMs, "MODULATOR_FAILED", () =>
      inside.applySync(undefined, parameters, { timeout: limitMs }),
    );
    if (typeof result === "string") throw fromInside(result);
    if (typeof result !== "number") throw unsound();
    return result;
  }

  #guarded<T>(limitMs: number, code: ErrorCode, act: () => T): T {
    // Isolates run on the caller's thread. Their own cpuTime is measured on the wall, and grows while others have the processor.
    const cpuBefore = threadCpuMs();
    this.#watch.enter(limitMs);
    try {
      return act();
    } catch (thrown) {
      throw this.#translate(thrown, code, limitMs, threadCpuMs() - cpuBefore);
    } finally {
      this.#cpuMs += threadCpuMs() - cpuBefore;
      this.#watch.leave();
    }
  }

  #translate(thrown: unknown, code: ErrorCode, limitMs: number, cpuMs: number): JechoError {
    if (thrown instanceof JechoError) return thrown;
    const message = textOf(thrown, "message");
    if (this.#isolate.isDisposed || MEMORY.test(message)) {
      return new JechoError("MODULATOR_OUT_OF_MEMORY", `it used more than ${this.#limits.memoryMiB} MiB`);
    }
    if (message.includes("Script execution timed out")) {
      const late = timedOut(limitMs, cpuMs);
      if (isStarved(late)) return late;
      // Near its limit an isolate collects garbage more than it runs: the time went where the memory did.
      const { used_heap_size: heap, externally_allocated_size: outside } =
        this.#isolate.getHeapStatisticsSync();
      const usedMiB = (heap + outside) / (1 << 20);
      if (usedMiB < CROWDED * this.#limits.memoryMiB) return late;
      const used = `it used ${usedMiB.toFixed(0)} of ${this.#limits.memoryMiB} MiB`;
      return new JechoError("MODULATOR_OUT_OF_MEMORY", `${used} when a call had taken ${limitMs} ms`);
    }
    return new JechoError(code, located(message, textOf(thrown, "stack")));
  }
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** From this share of its memory on, the memory is the cause of what a modulator fails at. */
const CROWDED = 0.9;

const MEMORY = /memory limit|array buffer allocation failed|out of memory/i;

/**
 * A timeout counts the time on the wall. What had the processor for much less was not given the chance: the cause says
 * so, and the caller may try again.
 */
function timedOut(limitMs: number, cpuMs: number): JechoError {
  const message = `a call took longer than ${limitMs} ms (${cpuMs.toFixed(0)} ms of a processor)`;
  return new JechoError("MODULATOR_TIMED_OUT", message, { cause: { starved: cpuMs < 0.8 * limitMs } });
}

/** An error as the world's functions tell of it. */
function fromInside(text: string): JechoError {
  const [code = "", message = "", stack = ""] = text.slice(0, 10_000).split("\0");
  if (MEMORY.test(message)) return new JechoError("MODULATOR_OUT_OF_MEMORY", message);
  const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : "MODULATOR_FAILED";
  return new JechoError(known, located(message, stack));
}

/** The message with the place in the modulator's source that the stack, or the message itself, names first. */
function located(message: string, stack: string): string {
  const place = /modulator\.js:(\d{1,9}):(\d{1,9})/.exec(`${stack}\n${message}`);
  const text = message.replace(/ ?\[modulator\.js:\d+:\d+\]/, "").slice(0, 1900);
  return place === null ? text : `${text} (line ${place[1]}, column ${place[2]} of its source)`;
}

function textOf(thrown: unknown, name: "message" | "stack"): string {
  if (typeof thrown === "string") return name === "message" ? thrown.slice(0, 2000) : "";
  if (!(thrown instanceof Error))
    return name === "message" ? `a value of type ${typeof thrown} was thrown` : "";
  return String(thrown[name]).slice(0, 4000);
}

function unsoundly(): never {
  throw unsound();
}

function unsound(): JechoError {
  return new JechoError("MODULATOR_FAILED", "what it left in its outbox is not sound");
}

function alignUp8(value: number): number {
  return 8 * Math.ceil(value / 8);
}
