import { setFlagsFromString } from "node:v8";
import { type ErrorCode, JechoError } from "@jecho/shared";
import type ivm from "isolated-vm";
import { FBS_SOURCE, WORLD_SOURCE } from "../generated/world.mjs";
import {
  importRefused,
  isAboutMemory,
  isStarved,
  located,
  moduleName,
  outOfMemory,
  textOf,
  timedOut,
} from "./failures.ts";
import {
  DEFAULT_LIMITS,
  type Engine,
  type Limits,
  type Prepared,
  type Program,
  type Watch,
} from "./sandbox.ts";
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

type Functions = Record<FunctionName, ivm.Reference>;

/**
 * The engine on V8's isolates, one for each modulator.
 *
 * The process that loads it needs the flags `--no-node-snapshot` and `--no-concurrent-recompilation`, and must be
 * expendable: the engine's memory limit and timeout do not cover everything.
 *
 * @throws JechoError `MODULATORS_NOT_SERVED` where the native part does not load
 */
export async function isolatedVmEngine(memoryMiB: number): Promise<Engine> {
  let library: typeof ivm;
  try {
    library = (await import("isolated-vm")).default;
  } catch (error) {
    throw new JechoError("MODULATORS_NOT_SERVED", `isolated-vm does not load: ${(error as Error).message}`);
  }
  // Every isolate starts from a snapshot: the world is initialised, and its functions are compiled.
  const world = library.Isolate.createSnapshot(
    [{ code: WORLD_SOURCE, filename: "world.js" }],
    "jechoWorld.rehearse();",
  );
  const make = (): IsolateRealm => new IsolateRealm(library, world, memoryMiB);
  /** A realm for any modulator. */
  let spare: IsolateRealm | undefined;
  /** A realm prepared for the same source. One that has run somebody's code cannot serve another source. */
  let loaded: Loaded | undefined;
  const open = (limits: Limits, watch: Watch): WorldSandbox => {
    const realm = spare ?? make();
    spare = undefined;
    return new WorldSandbox(realm.open(limits, watch), limits);
  };
  return {
    name: "isolated-vm",
    isTrusted: false,
    prepare(next) {
      if (next !== undefined && !loaded?.suits(next.program, next.limits)) {
        loaded?.sandbox.dispose();
        loaded = undefined;
        const sandbox = open(next.limits, next.watch);
        try {
          ahead(() => sandbox.load(next.program));
          loaded = new Loaded(sandbox, next);
        } catch {
          // The installation reports it.
          sandbox.dispose();
        }
      }
      spare ??= make();
    },
    create(limits, watch, program) {
      if (!loaded?.suits(program, limits)) return open(limits, watch);
      const { sandbox } = loaded;
      loaded = undefined;
      return sandbox;
    },
  };
}

/** Compiles all functions at once, and not at their first call, when somebody waits. */
function ahead(act: () => void): void {
  setFlagsFromString("--no-lazy");
  try {
    act();
  } finally {
    setFlagsFromString("--lazy");
  }
}

/** A sandbox with an evaluated module that has not been installed yet. */
class Loaded {
  readonly sandbox: WorldSandbox;
  readonly #program: Program;
  readonly #limits: Limits;

  constructor(sandbox: WorldSandbox, { program, limits }: Prepared) {
    this.sandbox = sandbox;
    this.#program = program;
    this.#limits = limits;
  }

  /** Whether it was prepared for this program's module. */
  suits({ source, offers, schemas: [schema] }: Program, { callMs, installMs }: Limits): boolean {
    const { source: known, offers: given, schemas } = this.#program;
    if (source !== known || callMs !== this.#limits.callMs || installMs !== this.#limits.installMs)
      return false;
    if (offers !== given && JSON.stringify(offers) !== JSON.stringify(given)) return false;
    const [loadedFor] = schemas;
    if (schema === undefined || loadedFor === undefined) return schema === loadedFor;
    return Buffer.compare(schema, loadedFor) === 0;
  }
}

class IsolateRealm implements Realm {
  inbox: Uint8Array = new Uint8Array(0);
  outbox: Uint8Array = new Uint8Array(0);
  words: Uint32Array = new Uint32Array(0);
  readonly #ivm: typeof ivm;
  #limits = DEFAULT_LIMITS;
  #watch: Watch = { enter() {}, leave() {} };
  #cpuMs = 0;
  readonly #isolate: ivm.Isolate;
  readonly #context: ivm.Context;
  readonly #face: ivm.Module;
  readonly #functions: Functions;
  #collector: ivm.Reference | undefined;
  #namespace: ivm.Dereference<unknown> | undefined;

  constructor(library: typeof ivm, snapshot: ivm.ExternalCopy<ArrayBuffer>, memoryMiB: number) {
    this.#ivm = library;
    this.#isolate = new library.Isolate({ memoryLimit: memoryMiB, snapshot });
    this.#context = this.#isolate.createContextSync();
    this.#face = this.#isolate.compileModuleSync(FACE, { filename: "moe.js" });
    this.#face.instantiateSync(this.#context, refuseImport);
    this.#face.evaluateSync();
    const world = this.#context.global.getSync("jechoWorld", { reference: true });
    this.#functions = Object.fromEntries(
      FUNCTIONS.map(name => [name, world.getSync(name, { reference: true })]),
    ) as Functions;
    this.attach(IN_BYTES, OUT_BYTES);
    world.getSync("seal", { reference: true }).applySync();
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

  get heldBytes(): number {
    if (this.#isolate.isDisposed) return 0;
    const { used_heap_size: heap, externally_allocated_size: outside } =
      this.#isolate.getHeapStatisticsSync();
    return heap + outside;
  }

  /** V8 collects copies of events only once they are tens of MiB: it sees their small objects. */
  collect(): void {
    if (this.#isolate.isDisposed) return;
    this.#collector ??= collectorOf(this.#isolate);
    this.#collector.applySync();
    // The first one leaves the freeing to another thread, for which the second one waits.
    this.#collector.applySync();
  }

  attach(inBytes: number, outBytes: number): void {
    const blocks = [new SharedArrayBuffer(inBytes), new SharedArrayBuffer(outBytes)] as const;
    this.inbox = new Uint8Array(blocks[0]);
    this.outbox = new Uint8Array(blocks[1]);
    this.words = new Uint32Array(blocks[1]);
    const { attach } = this.#functions;
    const copies = blocks.map(block => new this.#ivm.ExternalCopy(block).copyInto({ release: true }));
    this.#guarded(this.#limits.installMs, "MODULATOR_FAILED", () => attach.applySync(undefined, copies));
  }

  serve(source: string): void {
    const { installMs } = this.#limits;
    const { serve } = this.#functions;
    this.#guarded(installMs, "DELEGATE_FAILED", () => {
      const module = this.#isolate.compileModuleSync(source, { filename: "services.js" });
      module.instantiateSync(this.#context, refuseImport);
      module.evaluateSync({ timeout: installMs });
      serve.applySync(undefined, [module.namespace.derefInto()], { timeout: installMs });
    });
  }

  evaluate(source: string): void {
    const { installMs } = this.#limits;
    const module = this.#guarded(installMs, "MODULATOR_INVALID", () => this.#compile(source));
    this.#guarded(installMs, "MODULATOR_FAILED", () => module.evaluateSync({ timeout: installMs }));
    this.#namespace = module.namespace.derefInto();
  }

  call(name: FunctionName, parameters: readonly Parameter[], limitMs: number): unknown {
    const { [name]: inside } = this.#functions;
    const all = name === "load" ? [this.#namespace, ...parameters] : [...parameters];
    return this.#guarded(limitMs, "MODULATOR_FAILED", () =>
      inside.applySync(undefined, all, { timeout: limitMs }),
    );
  }

  #compile(source: string): ivm.Module {
    const module = this.#isolate.compileModuleSync(source, { filename: moduleName(source) });
    module.instantiateSync(this.#context, specifier => {
      if (specifier === "jecho:moe") return this.#face;
      if (specifier === "jecho:fbs")
        return this.#isolate.compileModuleSync(FBS_SOURCE, { filename: "fbs.js" });
      throw importRefused(specifier);
    });
    return module;
  }

  dispose(): void {
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
  }

  #guarded<T>(limitMs: number, code: ErrorCode, act: () => T): T {
    // Isolates run on the caller's thread. Their own cpuTime is wall-clock time, and grows while other threads run.
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
    if (this.#isolate.isDisposed || isAboutMemory(message)) return outOfMemory(this.#limits.memoryMiB);
    if (message.includes("Script execution timed out")) {
      const late = timedOut(limitMs, cpuMs);
      if (isStarved(late)) return late;
      // Near its memory limit an isolate mostly collects garbage: memory is the cause of the timeout.
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

/** V8's own function to collect an isolate's garbage, in a context that no modulator sees. */
function collectorOf(isolate: ivm.Isolate): ivm.Reference {
  setFlagsFromString("--expose-gc");
  try {
    return isolate.createContextSync().global.getSync("gc", { reference: true });
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}

function refuseImport(specifier: string): never {
  throw new Error(`unexpected import of ${specifier}`);
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Share of its memory limit from which on memory counts as the cause of a failure. */
const CROWDED = 0.9;
