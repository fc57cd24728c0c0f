import type { Delegate, GridData, HandlerPair, Modulator, Value } from "@jecho/modulators";
import { modulatorTable, offersOf, type Provenance } from "@jecho/modulators/internal";
import type { HostClock, Limits, TierEvents } from "@jecho/modulators/node";
import { type BenchOptions, ModulatorBench } from "@jecho/modulators/testing";
import { type JechoError, type Type, typeFromSchema } from "@jecho/shared";
import { type EventsFrame, FLAG_URGENT } from "@jecho/shared/internal";
import { inject } from "vitest";
// What a page runs them in, too.
import { ModulatorEnvironment } from "#environment";
import { BASE, encodeEvents, grid, layerOf, runOf } from "./grid.ts";

/** "compiled": what can be compiled is, and the rest is hosted. */
export type PlaceName = "local" | "compiled" | "isolated-vm" | "quickjs";

declare module "vitest" {
  interface ProvidedContext {
    /** The place where a suite that runs once for each place is to run now. */
    modulatorPlace?: PlaceName;
  }
}

/** Deadlines that no busy machine makes a modulator miss: it would start anew, without the state that it had (MOE-11). */
const PATIENT = { callMs: 5000, installMs: 5000 };
/** The deadlines of MOE-11, for suites that are about them. */
export const USUAL = { callMs: 50, installMs: 250 };

let quickJs: Promise<unknown> | undefined;

/** Has an instance of QuickJS stay: V8 compiles it once for all threads that have one at a time, which is most of each host's start. */
function quickJsStays(place: PlaceName | undefined): Promise<unknown> | undefined {
  if (place === "quickjs")
    quickJs ??= import("../src/generated/quickjs.mjs").then(({ newQuickJSWASMModuleFromVariant, variant }) =>
      newQuickJSWASMModuleFromVariant(variant),
    );
  return quickJs;
}

export interface RigOptions {
  readonly place?: PlaceName;
  /** Deadlines are patient unless they are among these. */
  readonly limits?: Partial<Limits>;
  readonly pendingBytes?: number;
  readonly clock?: HostClock;
}

/** An event of a derived channel as it came out. */
export interface Received<T> {
  readonly event: T;
  readonly parameters: number;
  readonly raised: number;
}

export interface InstallOptions {
  readonly schema?: Uint8Array;
  readonly delegate?: Delegate;
  /** Views of the producer's state, by the names that modulators need them under. */
  readonly context?: Readonly<Record<string, Value>>;
  readonly capabilities?: readonly string[];
  /** Shared objects of the modulators that it is behind. */
  readonly behind?: number;
  /** The subject that brings it. */
  readonly by?: string;
}

/** The source of what is published. */
export const SOURCE = { id: 1n, urgent: false };

/** A real environment with one place in use, and everything that came out of it. */
export class Rig implements AsyncDisposable {
  readonly place: PlaceName;
  readonly host: ModulatorEnvironment;
  readonly removed = new Map<number, JechoError>();
  /** Tags of the runs that all modulators have seen to their end. */
  readonly done: string[] = [];
  /** Whether each run that was handed out is its turn's last one. */
  readonly isLast: boolean[] = [];
  /** Stretches that modulators have been through, and how many runs each had made by then, in order. */
  readonly seen: { readonly derived: number; readonly of: Provenance; readonly runs: number }[] = [];
  /** Each rate that a modulator told of, in order. */
  readonly rates: (readonly [derived: number, perSecond: number])[] = [];
  restarts = 0;
  /** Called as soon as a modulator has made something. */
  onFrame: ((derived: number) => void) | undefined;
  /** Modulators that began anew, or cannot read what one writes, and why. */
  readonly impaired: { readonly derived: number; readonly why: JechoError }[] = [];
  readonly #frames = new Map<number, EventsFrame[]>();
  readonly #types = new Map<number, Type>();
  readonly #raised: (readonly [step: number, layer: number])[] = [];
  #derived = 100;
  #step = 0;

  /** Calls that modulators made, in order. */
  readonly calls: { readonly name: string; readonly values: readonly Value[] }[] = [];

  constructor({
    place = inject("modulatorPlace") ?? "isolated-vm",
    limits,
    pendingBytes,
    clock,
  }: RigOptions = {}) {
    this.place = place;
    const isHere = place === "local" || place === "compiled";
    const engine = isHere ? undefined : place;
    const options = { local: isHere, engine, limits: { ...PATIENT, ...limits }, pendingBytes };
    const events: TierEvents = {
      onEvents: (frame, derived, _tag, isLast) => {
        this.isLast.push(isLast);
        const list = this.#frames.get(derived) ?? [];
        this.#frames.set(derived, list);
        list.push(frame);
        this.onFrame?.(derived);
      },
      onCall: (_, name, values) => this.calls.push({ name, values }),
      onRemoved: (derived, error) => this.removed.set(derived, error),
      onRate: derived => this.rates.push([derived, this.host.mostPerSecond(derived)]),
      onRestart: () => this.restarts++,
      onImpaired: (derived, why) => this.impaired.push({ derived, why }),
      onSeen: (derived, of) => this.seen.push({ derived, of, runs: this.frames(derived).length }),
      onDone: tag => this.done.push(tag),
    };
    this.host = new ModulatorEnvironment(options, events, clock);
  }

  async install(
    modulator: Modulator,
    { schema = grid.schema, delegate, context, capabilities, behind = 0, by = "" }: InstallOptions = {},
  ): Promise<number> {
    const stays = quickJsStays(this.place);
    if (stays !== undefined) await stays;
    const derived = this.#derived++;
    if (this.place === "local" && !this.host.trust(modulator.source)) {
      throw new Error("it would run elsewhere than in the local tier");
    }
    const answer = await this.host.install({
      derived,
      channel: BASE,
      schema,
      modulator: modulatorTable(modulator, capabilities),
      behind,
      by,
      ...(delegate !== undefined && { offers: offersOf(delegate) }),
      ...(context !== undefined && { context: new Map(Object.entries(context)) }),
    });
    this.#types.set(derived, answer.schema === undefined ? grid : typeFromSchema(answer.schema));
    return derived;
  }

  publish(events: readonly GridData[], tag?: string, source = SOURCE): void {
    const after = this.#raised.length;
    for (const { step, layer } of events) this.#raised.push([step, layer]);
    const of = { source, after, through: this.#raised.length };
    this.host.enqueue(runOf(encodeEvents(events, 0, source.urgent ? FLAG_URGENT : 0)), tag, of);
  }

  /** Publishes the next step, of some layers, and returns its number. */
  step(layers = 3): number {
    const step = ++this.#step;
    this.publish(Array.from({ length: layers }, (_, layer) => layerOf(step, layer)));
    return step;
  }

  get steps(): number {
    return this.#step;
  }

  /** Step and layer of each event that was published, in order. */
  get raised(): readonly (readonly [step: number, layer: number])[] {
    return this.#raised;
  }

  received<T = GridData>(derived: number): Received<T>[] {
    const kind = this.#types.get(derived) as Type<T>;
    return (this.#frames.get(derived) ?? []).flatMap(frame =>
      Array.from({ length: frame.count }, (_, i) => ({
        event: kind.decode(frame.bytes.slice(frame.eventStart(i), frame.eventEnd(i))),
        parameters: frame.parameters,
        raised: frame.raised + i,
      })),
    );
  }

  frames(derived: number): readonly EventsFrame[] {
    return this.#frames.get(derived) ?? [];
  }

  /** All that was published has been through all modulators. */
  async settled(): Promise<void> {
    await this.host.settled();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.host.close();
  }
}

/** A modulator whose class has this body. */
export function modulator(body: string, before = "", after = ""): Modulator {
  return {
    source: `import { FifoModulator } from "jecho:moe";\n${before}\nexport default class extends FifoModulator {\n${body}\n}\n${after}`,
  };
}

/** A bench where the suite is to run. */
export async function openBench<In, Out = In>(
  handler: HandlerPair | Modulator,
  options: BenchOptions<In> = {},
): Promise<ModulatorBench<In, Out>> {
  const place = inject("modulatorPlace");
  await quickJsStays(place);
  return ModulatorBench.open<In, Out>(handler, { ...options, place });
}
