import { type ErrorCode, JechoError } from "@jecho/shared";
import type {
  QuickJSContext,
  QuickJSHandle,
  QuickJSRuntime,
  QuickJSWASMModule,
} from "quickjs-emscripten-core";
import { FBS_SOURCE, WORLD_SOURCE } from "../generated/world.mjs";
import { importRefused, isAboutMemory, located, moduleName, outOfMemory, timedOut } from "./failures.ts";
import { DEFAULT_LIMITS, type Engine, type Limits, type Watch } from "./sandbox.ts";
import {
  FACE,
  FUNCTIONS,
  type FunctionName,
  IN_BYTES,
  OUT_BYTES,
  type Parameter,
  type Realm,
  WorldSandbox,
} from "./world-sandbox.ts";

/** Number of instances prepared ahead: making one with its world takes some milliseconds. */
const SPARES = 2;
/** Stack size, in bytes, beyond which the interpreter throws "stack overflow"; its frames lie on the thread's stack, of 1 MB. */
const STACK_BYTES = 160 << 10;
/** Size of an instance's memory, and how much of it the interpreter and the world take. */
const INITIAL_MIB = 16;
const OWN_MIB = 8;
const PAGES_PER_MIB = 16;
const SERVICES = "services.js";
const REFUSED = "refused:";
/** The modules that a source may import. */
const MODULES: ReadonlyMap<string, string> = new Map([
  ["jecho:moe", FACE],
  ["jecho:fbs", FBS_SOURCE],
]);
/**
 * `Math.random` of an instance, from four random words. QuickJS seeds its own with the time in milliseconds, so that two instances made in the
 * same millisecond would draw equal numbers. The generator is sfc32 of PractRand; two of its words make 53 bits.
 */
const RANDOM = `(a, b, c, d) => {
  const next = () => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  Math.random = { random: () => (next() * 0x200000 + (next() >>> 11)) / 0x20000000000000 }.random;
}`;

/** Functions of the platform that the engine needs. */
export interface QuickJsPlace {
  /** Processor time of this thread, or wall-clock time where there is no such clock. */
  cpuMs(): number;
  nowMs(): number;
}

/**
 * The engine on QuickJS compiled to WebAssembly: one instance for each modulator, so that a broken one does not affect
 * others, and none can leave its memory or exceed it. It runs wherever WebAssembly does.
 *
 * Its deadline is checked between the interpreter's steps, and some builtins are one long step: the thread must be
 * expendable.
 *
 * @throws JechoError `MODULATORS_NOT_SERVED` where it does not load
 */
export async function quickJsEngine(place: QuickJsPlace, memoryMiB: number): Promise<Engine> {
  const spares: QuickJsRealm[] = [];
  let make: () => Promise<QuickJsRealm>;
  try {
    const { newQuickJSWASMModuleFromVariant, newVariant, variant } = await import("../generated/quickjs.mjs");
    // QuickJS does not count well what it allocates here: the instance's own memory is the limit.
    const initial = INITIAL_MIB * PAGES_PER_MIB;
    const maximum = Math.max(initial, (OWN_MIB + memoryMiB) * PAGES_PER_MIB);
    make = async () => {
      const wasmMemory = new LimitedMemory({ initial, maximum });
      const limited = newVariant(variant, { wasmMemory });
      return new QuickJsRealm(await newQuickJSWASMModuleFromVariant(limited), wasmMemory, place);
    };
    spares.push(await make());
  } catch (error) {
    throw new JechoError("MODULATORS_NOT_SERVED", `QuickJS does not load: ${(error as Error).message}`);
  }
  const fill = async (): Promise<void> => {
    while (spares.length < SPARES) spares.push(await make());
  };
  /** Concurrent callers share one load. */
  let filling: Promise<void> | undefined;
  return {
    name: "quickjs",
    isTrusted: false,
    prepare() {
      filling ??= fill().finally(() => {
        filling = undefined;
      });
      return filling;
    },
    create(limits, watch) {
      const spare = spares.pop();
      if (spare === undefined) throw new JechoError("MODULATOR_HOST_FAILED", "no instance is ready");
      return new WorldSandbox(spare.open(limits, watch), limits);
    },
  };
}

/**
 * An instance's memory, which records a failed growth. The interpreter's own report can be lost: without memory for an error it throws
 * null, and what is thrown in a promise's job is swallowed.
 */
class LimitedMemory extends WebAssembly.Memory {
  isExhausted = false;

  override grow(pages: number): number {
    this.isExhausted = true;
    const before = super.grow(pages);
    this.isExhausted = false;
    return before;
  }
}

/** An ArrayBuffer of the sandbox, and its offset in the instance's memory. */
interface GuestBlock {
  readonly handle: QuickJSHandle;
  readonly pointer: number;
  readonly bytes: number;
}

const NO_BLOCK = { pointer: 0, bytes: 0 };

class QuickJsRealm implements Realm {
  #limits = DEFAULT_LIMITS;
  #watch: Watch = { enter() {}, leave() {} };
  readonly #place: QuickJsPlace;
  readonly #memory: LimitedMemory;
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;
  readonly #newArrayBuffer: (bytes: number) => GuestBlock;
  readonly #functions: Readonly<Record<FunctionName, QuickJSHandle>>;
  #namespace: QuickJSHandle | undefined;
  #cpuMs = 0;
  #deadlineMs = Number.POSITIVE_INFINITY;
  #isLate = false;
  #isBroken = false;
  #inbox: Omit<GuestBlock, "handle"> = NO_BLOCK;
  #outbox: Omit<GuestBlock, "handle"> = NO_BLOCK;

  constructor(module: QuickJSWASMModule, memory: LimitedMemory, place: QuickJsPlace) {
    this.#place = place;
    this.#memory = memory;
    this.#runtime = module.newRuntime();
    this.#runtime.setMaxStackSize(STACK_BYTES);
    this.#runtime.setInterruptHandler(() => {
      if (place.nowMs() <= this.#deadlineMs) return false;
      this.#isLate = true;
      return true;
    });
    this.#runtime.setModuleLoader(
      name => {
        return MODULES.get(name) ?? { error: importRefused(name.slice(REFUSED.length)) };
      },
      // An error that is returned here would lose the name.
      (_from, name) => (MODULES.has(name) ? name : REFUSED + name),
    );
    this.#context = this.#runtime.newContext();
    this.#newArrayBuffer = arrayBuffers(module, this.#context);
    const words = crypto.getRandomValues(new Int32Array(4)).join();
    this.#context.evalCode(`(${RANDOM})(${words});`, "random.js").unwrap().dispose();
    this.#context.evalCode(WORLD_SOURCE, "world.js").unwrap().dispose();
    this.#context.evalCode('import "jecho:moe";', "boot.js", { type: "module" }).unwrap().dispose();
    const world = this.#context.getProp(this.#context.global, "jechoWorld");
    this.#functions = Object.fromEntries(
      FUNCTIONS.map(name => [name, this.#context.getProp(world, name)]),
    ) as Record<FunctionName, QuickJSHandle>;
    const seal = this.#context.getProp(world, "seal");
    this.#context.callFunction(seal, this.#context.undefined).unwrap().dispose();
    seal.dispose();
    world.dispose();
    this.attach(IN_BYTES, OUT_BYTES);
  }

  /** Opens the realm for a modulator. */
  open(limits: Limits, watch: Watch): this {
    this.#limits = limits;
    this.#watch = watch;
    return this;
  }

  get cpuMs(): number {
    return this.#cpuMs;
  }

  /** Initial memory, used or not, and growth since. */
  get heldBytes(): number {
    return this.#memory.buffer.byteLength - ((INITIAL_MIB - OWN_MIB) << 20);
  }

  get inbox(): Uint8Array {
    return new Uint8Array(this.#memory.buffer, this.#inbox.pointer, this.#inbox.bytes);
  }

  get outbox(): Uint8Array {
    return new Uint8Array(this.#memory.buffer, this.#outbox.pointer, this.#outbox.bytes);
  }

  get words(): Uint32Array {
    return new Uint32Array(this.#memory.buffer, this.#outbox.pointer, this.#outbox.bytes / 4);
  }

  attach(inBytes: number, outBytes: number): void {
    const inbox = this.#newArrayBuffer(inBytes);
    const outbox = this.#newArrayBuffer(outBytes);
    this.#guarded(this.#limits.installMs, () =>
      this.#finish("MODULATOR_FAILED", "attach", [inbox.handle, outbox.handle]),
    );
    this.#inbox = inbox;
    this.#outbox = outbox;
  }

  serve(source: string): void {
    this.#guarded(this.#limits.installMs, () => {
      const namespace = this.#namespaceOf(source, SERVICES, "DELEGATE_FAILED");
      this.#finish("DELEGATE_FAILED", "serve", [namespace]);
    });
  }

  evaluate(source: string): void {
    this.#guarded(
      this.#limits.installMs,
      () => {
        this.#namespace = this.#namespaceOf(source, moduleName(source), "MODULATOR_INVALID");
      },
      "MODULATOR_INVALID",
    );
  }

  call(name: FunctionName, parameters: readonly Parameter[], limitMs: number): unknown {
    return this.#guarded(limitMs, () => {
      const context = this.#context;
      const handles = parameters.map(value => {
        if (typeof value === "number") return context.newNumber(value);
        if (typeof value === "string") return context.newString(value);
        return value ? context.true : context.false;
      });
      if (name === "load") handles.unshift(this.#namespace as QuickJSHandle);
      return this.#finish("MODULATOR_FAILED", name, handles);
    });
  }

  /** Drops the instance as a whole: freeing the objects of an interrupted one would fail. */
  dispose(): void {
    this.#isBroken = true;
  }

  #namespaceOf(source: string, name: string, code: ErrorCode): QuickJSHandle {
    const result = this.#context.evalCode(source, name, { type: "module", strict: true });
    if (result.error !== undefined) throw this.#errorOf(result.error, code);
    // A module with a top-level await gives a promise, which nothing fulfils in here.
    this.#runJobs();
    const state = this.#context.getPromiseState(result.value);
    if (state.type === "rejected") throw this.#errorOf(state.error, "MODULATOR_FAILED");
    if (state.type === "pending")
      throw new JechoError("MODULATOR_INVALID", "its module awaits a promise that nothing fulfils");
    return state.value;
  }

  #finish(code: ErrorCode, name: FunctionName, handles: readonly QuickJSHandle[]): unknown {
    const context = this.#context;
    const result = context.callFunction(this.#functions[name], context.undefined, ...handles);
    for (const handle of handles) if (handle !== this.#namespace) handle.dispose();
    if (result.error !== undefined) throw this.#errorOf(result.error, code);
    const kind = context.typeof(result.value);
    const value =
      kind === "number"
        ? context.getNumber(result.value)
        : kind === "string"
          ? context.getString(result.value)
          : undefined;
    result.value.dispose();
    this.#runJobs();
    return value;
  }

  #runJobs(): void {
    const result = this.#runtime.executePendingJobs();
    if (result.error !== undefined) throw this.#errorOf(result.error, "MODULATOR_FAILED");
    result.dispose();
  }

  /** @param code for errors of the machine below QuickJS: of WebAssembly, or of the thread's stack */
  #guarded<T>(limitMs: number, act: () => T, code: ErrorCode = "MODULATOR_FAILED"): T {
    if (this.#isBroken) throw new JechoError("MODULATOR_FAILED", "its instance is broken");
    const { nowMs, cpuMs } = this.#place;
    const cpuBefore = cpuMs();
    this.#deadlineMs = nowMs() + limitMs;
    this.#isLate = false;
    this.#watch.enter(limitMs);
    try {
      const result = act();
      // An interruption in a promise's job is reported nowhere else.
      if (this.#isLate) throw timedOut(limitMs, cpuMs() - cpuBefore);
      if (this.#memory.isExhausted) throw outOfMemory(this.#limits.memoryMiB);
      return result;
    } catch (thrown) {
      this.#isBroken = true;
      if (this.#isLate) throw timedOut(limitMs, cpuMs() - cpuBefore);
      if (this.#memory.isExhausted) throw outOfMemory(this.#limits.memoryMiB);
      if (thrown instanceof JechoError) throw thrown;
      throw new JechoError(code, (thrown as Error).message);
    } finally {
      this.#deadlineMs = Number.POSITIVE_INFINITY;
      this.#cpuMs += cpuMs() - cpuBefore;
      this.#watch.leave();
    }
  }

  /** Reading a thrown value may run the modulator's code, within the call's deadline. */
  #errorOf(handle: QuickJSHandle, code: ErrorCode): JechoError {
    const context = this.#context;
    if (context.typeof(handle) !== "object")
      return new JechoError(code, `a value of type ${context.typeof(handle)} was thrown`);
    const [message, stack, name] = ["message", "stack", "name"].map(key => {
      try {
        const text = context.getProp(handle, key);
        return context.typeof(text) === "string" ? context.getString(text).slice(0, 4000) : "";
      } catch {
        return "";
      }
    }) as [string, string, string];
    if (isAboutMemory(message)) return outOfMemory(this.#limits.memoryMiB);
    if (message.startsWith("it imports ")) return new JechoError("MODULATOR_INVALID", message);
    const text = name === "SyntaxError" ? `${name}: ${message}` : message;
    return new JechoError(code, located(text, stack));
  }
}

/**
 * Makes ArrayBuffers whose bytes can be written from outside. The library does not tell an ArrayBuffer's address, and copies the
 * bytes both ways; but it allocates them on the heap by a function that can be intercepted.
 */
function arrayBuffers(module: QuickJSWASMModule, context: QuickJSContext): (bytes: number) => GuestBlock {
  const ffi = module.getFFI();
  const make = ffi.QTS_NewArrayBuffer;
  let pointer = 0;
  ffi.QTS_NewArrayBuffer = (owner, at, bytes) => {
    pointer = at;
    return make(owner, at, bytes);
  };
  return bytes => ({ handle: context.newArrayBuffer(new ArrayBuffer(bytes)), pointer, bytes });
}
