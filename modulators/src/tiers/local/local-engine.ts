import { JechoError } from "@jecho/shared";
import type { Stretch } from "@jecho/shared/internal";
import { createWorld, GIVEN, STANDARD } from "../../generated/local.ts";
import type { Emit, Engine, RunChunk } from "../../sandbox/sandbox.ts";
import type { WorldMemory } from "../../sandbox/world/many.ts";
import {
  type Direct,
  type FunctionName,
  type Parameter,
  type Realm,
  WorldSandbox,
} from "../../sandbox/world-sandbox.ts";

/** A module as a function of the exports of "jecho:moe"; it returns the module's exports. */
export type ModuleFunction = (moe: object) => Namespace;
interface Namespace {
  readonly default?: unknown;
}

/** Makes a function of a module. */
export type MakeModule = () => ModuleFunction;

/** Makes a new function of a module's text at each call; undefined where that cannot be done. */
export type Compile = (source: string) => MakeModule | undefined;

/** The standard modulators, by their source. */
export const STANDARD_MODULES: ReadonlyMap<string, MakeModule> = new Map(
  Array.from(STANDARD, ([source, module]) => [source, () => module]),
);

type World = ReturnType<typeof createWorld>;
/** Adjacent events that were let through or made one after the other. */
interface MadeStretch extends Stretch {
  end: number;
  readonly type: number;
  readonly versions: readonly number[];
  readonly urgent: boolean;
}
/** The state of a modulator while its world serves another one. */
interface Resident {
  memory: WorldMemory;
}

/**
 * Runs modulators whose source the producer trusts, in its own process and without a wall: in the same world as in a
 * sandbox, and on the producer's own copy of the events. An endless call is not ended.
 *
 * @param modules by their source
 */
export function localEngine(modules: ReadonlyMap<string, MakeModule>, compile: Compile): Engine {
  let standard: LocalWorld | undefined;
  let makeCreator: MakeModule | undefined;
  /**
   * An owner's own modulator may have variables beside its class, and call the world outside its calls. So it has a world of its own, and both are
   * compiled again from their text: code that several modulators shared would be optimised for all their classes, and run at half the
   * speed with two of them, at a third with six. In return, each starts unoptimised.
   */
  const ownWorld = (make: MakeModule): LocalWorld => {
    makeCreator ??= compile(`export default ${createWorld}`);
    const creator = makeCreator?.()({}) as { default: typeof createWorld } | undefined;
    return new LocalWorld((creator?.default ?? createWorld)(GIVEN), () => make);
  };
  const worldOf = (source: string): LocalWorld => {
    const make = modules.get(source);
    if (make === undefined)
      throw new JechoError("MODULATOR_INVALID", "its text is not one of those that the producer trusts");
    if (make !== STANDARD_MODULES.get(source)) return ownWorld(make);
    standard ??= new LocalWorld(createWorld(GIVEN), known => STANDARD_MODULES.get(known) as MakeModule);
    return standard;
  };
  return {
    name: "local",
    isTrusted: true,
    prepare() {},
    create: limits => new WorldSandbox(new LocalRealm(worldOf, compile), limits),
  };
}

/** A world, the modulators that it serves one at a time, and their modules, each evaluated once. */
class LocalWorld {
  readonly #world: World;
  readonly #moduleOf: (source: string) => MakeModule;
  readonly #namespaces = new Map<string, Namespace>();
  #inside: Resident | undefined;

  constructor(world: World, moduleOf: (source: string) => MakeModule) {
    this.#world = world;
    this.#moduleOf = moduleOf;
  }

  blankMemory(): WorldMemory {
    return this.#world.blankMemory();
  }

  /** The world of this modulator. */
  of(resident: Resident): World {
    if (this.#inside === resident) return this.#world;
    const left = this.#world.exchangeMemory(resident.memory);
    if (this.#inside !== undefined) this.#inside.memory = left;
    this.#inside = resident;
    return this.#world;
  }

  /** The modulator is gone: all of it is freed. */
  leave(resident: Resident): void {
    if (this.#inside !== resident) return;
    this.#world.exchangeMemory(this.#world.blankMemory());
    this.#inside = undefined;
  }

  namespaceOf(source: string): Namespace {
    let namespace = this.#namespaces.get(source);
    if (namespace === undefined) {
      namespace = this.#moduleOf(source)()(this.#world);
      this.#namespaces.set(source, namespace);
    }
    return namespace;
  }
}

class LocalRealm implements Realm {
  /** Always 0: trusted modulators are not limited. */
  readonly cpuMs = 0;
  readonly heldBytes = 0;
  inbox = new Uint8Array(0);
  outbox = new Uint8Array(0);
  words = new Uint32Array(0);
  readonly direct: Direct = { run: (...all) => this.#run(...all), flush: emit => this.#flush(emit) };
  readonly #worldOf: (source: string) => LocalWorld;
  readonly #compile: Compile;
  #world: LocalWorld | undefined;
  #resident: Resident = { memory: [] };
  #services: string | undefined;
  #namespace: Namespace = {};
  /** Whether the modulator may keep events beyond the call that they come with. */
  #keepsEvents = true;
  #made: MadeStretch[] = [];
  /** The newest group, to which more events may be added. */
  #open: MadeStretch | undefined;

  constructor(worldOf: (source: string) => LocalWorld, compile: Compile) {
    this.#worldOf = worldOf;
    this.#compile = compile;
  }

  attach(inBytes: number, outBytes: number): void {
    this.inbox = new Uint8Array(inBytes);
    this.outbox = new Uint8Array(outBytes);
    this.words = new Uint32Array(this.outbox.buffer);
    this.#inside().attach(this.inbox.buffer, this.outbox.buffer);
  }

  serve(source: string): void {
    this.#services = source;
  }

  evaluate(source: string): void {
    const world = this.#worldOf(source);
    this.#world = world;
    this.#resident = { memory: world.blankMemory() };
    const inside = this.#inside();
    inside.handOver(({ bytes, bounds, index, type }, end, versions, urgent) => {
      const open = this.#open;
      if (open?.bounds === bounds && open.end === index && open.versions === versions && !urgent) {
        open.end = end;
        return true;
      }
      const made = { bytes, bounds, first: index, end, type, versions, urgent };
      this.#made.push(made);
      this.#open = urgent ? undefined : made;
      return true;
    });
    // Where text cannot be compiled only standard modulators run, none of which needs a producer's service.
    const services = this.#services === undefined ? undefined : this.#compile(this.#services)?.();
    if (services !== undefined) inside.serve(services(inside) as { default: Record<string, unknown> });
    try {
      this.#namespace = world.namespaceOf(source);
      this.#keepsEvents = (this.#namespace.default as { keepsEvents?: unknown })?.keepsEvents !== false;
    } catch (error) {
      throw JechoError.from(error, "MODULATOR_FAILED");
    }
  }

  call(name: FunctionName, parameters: readonly Parameter[]): unknown {
    const inside = this.#inside()[name] as (...all: unknown[]) => unknown;
    return name === "load" ? inside(this.#namespace, ...parameters) : inside(...parameters);
  }

  #inside(): World {
    return (this.#world as LocalWorld).of(this.#resident);
  }

  dispose(): void {
    this.#world?.leave(this.#resident);
  }

  #run(chunk: RunChunk, type: number, ready: boolean, timeMs: number): unknown {
    // While the transport is not ready, events are kept.
    const { bytes, bounds, end } = chunk.isLent && (this.#keepsEvents || !ready) ? copyOf(chunk) : chunk;
    // Each run has its own view, by which the world finds an event's run.
    return this.#inside().runInPlace(bytes.subarray(), bounds, end, ready, timeMs, type);
  }

  #flush(emit: Emit): void {
    if (this.#made.length === 0) return;
    const made = this.#made;
    this.#made = [];
    this.#open = undefined;
    let events: Stretch[] = [];
    let [last] = made as [MadeStretch, ...MadeStretch[]];
    for (const stretch of made) {
      const isAlike = stretch.versions === last.versions && stretch.type === last.type;
      if (stretch.urgent || last.urgent || !isAlike) {
        if (events.length > 0) emit(events, last.versions, last.urgent, last.type);
        events = [];
      }
      last = stretch;
      events.push(stretch);
    }
    emit(events, last.versions, last.urgent, last.type);
  }
}

/** A copy of the events. */
function copyOf({ bytes, bounds, first, end }: RunChunk): RunChunk {
  const start = bounds[2 * first] as number;
  const stop = bounds[2 * end - 1] as number;
  const moved: number[] = [];
  for (let i = 2 * first; i < 2 * end; i++) moved.push((bounds[i] as number) - start);
  const own = new Uint8Array(stop - start);
  own.set(bytes.subarray(start, stop));
  return { bytes: own, bounds: moved, first: 0, end: end - first, isLent: false };
}
