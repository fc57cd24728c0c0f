import { JechoError } from "@jecho/shared";
import { type EventsFrame, sliceRun } from "@jecho/shared/internal";
import type { AllowedModulators } from "../authoring/allowed.ts";
import { isSigned } from "../authoring/signature.ts";
import type { Provenance } from "../running/provenance.ts";
import type { Declared, Limits } from "../sandbox/sandbox.ts";
import type { Value } from "../sandbox/values.ts";
import type { CompiledTier, Misfit } from "./compiled/compiled-tier.ts";
import type { CarrierKind } from "./hosted/carrier.ts";
import { type HostStats, ModulatorHost } from "./hosted/modulator-host.ts";
import { LentRun } from "./lent-run.ts";
import { type Compile, localEngine, type MakeModule, STANDARD_MODULES } from "./local/local-engine.ts";
import { LocalTier } from "./local/local-tier.ts";
import type { HostClock } from "./periods.ts";
import { areSound } from "./sound-events.ts";
import {
  type Environment,
  type InstallRequest,
  type ModulatorStats,
  type SchemaOf,
  type StateUpdate,
  type Tier,
  type TierEvents,
  type TierPlacement,
  tell,
} from "./tier.ts";

/** Options for the modulators that a producer runs. */
export interface ModulatorOptions {
  /** Modulators that run here for this process' producers: see `AllowedModulators`. Default: "any". */
  readonly allow?: AllowedModulators | undefined;
  /**
   * Texts of modulators (`modulator.source`) that it trusts like its own code: they run in its own process, as the standard modulators
   * do, without a wall and at native speed. Outside of Node they are hosted like any others. Default: none.
   */
  readonly trusted?: readonly string[] | undefined;
  /** Whether any modulator may run in the producer's own process. Default: true. */
  readonly local?: boolean | undefined;
  /**
   * Most steps, of a nanosecond at most, that anybody's modulator may take for one event in the producer's own thread: text that is
   * proven to need no more is compiled, and all other text is hosted. 0: nothing is compiled. Outside of Node nothing is. Default: 100,000.
   */
  readonly mostPerEvent?: number | undefined;
  /** Engine of the host. Default: isolated-vm where it loads, else QuickJS. */
  readonly engine?: "isolated-vm" | "quickjs" | undefined;
  /** Limits of one modulator; each has its own default. */
  readonly limits?: Partial<Limits> | undefined;
  /** Bytes of events that may wait for hosted modulators; beyond them the oldest runs are dropped. Default: 64 MiB. */
  readonly pendingBytes?: number | undefined;
}

export interface EnvironmentStats extends HostStats {
  /** Statistics of each modulator, by derived channel. */
  readonly modulators: ReadonlyMap<number, ModulatorStats>;
}

/** The differences between the places that producers run in. */
export interface EnvironmentPlace {
  readonly carrier: CarrierKind;
  /** A trusted source as a function, where text can be made code; undefined where it has to be hosted. */
  readonly compile: Compile;
  /** Makes the tier of compiled modulators; undefined where there is none. */
  readonly compiledTier?: (...all: ConstructorParameters<typeof CompiledTier>) => CompiledTier;
  /** Default: the machine's. */
  readonly clock?: HostClock | undefined;
}

/** The modulators' environment in one producing process: each modulator runs in the fastest tier that may have it. */
export class ModulatorEnvironment implements Environment {
  readonly #place: EnvironmentPlace;
  readonly #allow: AllowedModulators;
  readonly #trusted: readonly string[];
  readonly #known: Map<string, MakeModule>;
  readonly #local: LocalTier;
  readonly #compiled: CompiledTier | undefined;
  readonly #hosted: ModulatorHost;
  /**
   * All tiers, in the order in which they are given a run. A compiled modulator that stops in it goes on in the host, with the same run; the host's begin while
   * local ones run.
   */
  readonly #tiers: readonly Tier[];
  readonly #placed = new Map<number, TierPlacement>();
  /** Number of tiers that are still at a run, by the run's tag. */
  readonly #runs = new Map<string, number>();
  readonly #events: TierEvents;

  constructor(place: EnvironmentPlace, options: ModulatorOptions, events: TierEvents) {
    this.#events = events;
    const { allow = "any", trusted = [], local = true, mostPerEvent, limits, pendingBytes } = options;
    this.#place = place;
    this.#allow = allow;
    this.#trusted = trusted;
    this.#known = new Map(local ? STANDARD_MODULES : []);
    if (local) for (const source of trusted) this.trust(source);
    const inner: TierEvents = {
      ...events,
      onDone: tag => this.#done(tag),
      onRemoved: (derived, error) => {
        this.#placed.delete(derived);
        events.onRemoved(derived, error);
      },
    };
    const { carrier, compile, clock } = place;
    this.#local = new LocalTier(localEngine(this.#known, compile), { limits, clock }, inner);
    this.#compiled = local
      ? place.compiledTier?.({ limits, clock, mostPerEvent }, inner, misfit => this.#host(misfit))
      : undefined;
    this.#hosted = new ModulatorHost({ carrier, clock, limits, pendingBytes, ...inner });
    this.#tiers = [...(this.#compiled === undefined ? [] : [this.#compiled]), this.#hosted, this.#local];
  }

  /** Adds a source to those that run in this process from now on. @returns false where it has to be hosted all the same */
  trust(source: string): boolean {
    if (this.#known.has(source)) return true;
    const compiled = this.#place.compile(source);
    if (compiled !== undefined) this.#known.set(source, compiled);
    return compiled !== undefined;
  }

  prepare(request: InstallRequest): Promise<void> | undefined {
    const { source } = request.modulator;
    const isCompiled =
      !this.#known.has(source) && (request.isInstead === true || this.#whyNot(source) === undefined);
    return isCompiled ? this.#compiled?.prepare(request) : undefined;
  }

  install(request: InstallRequest, onInstalled?: (declared: Declared) => void): Promise<Declared> {
    const why = request.isInstead === true ? undefined : this.#whyNot(request.modulator.source);
    if (why !== undefined) return Promise.reject(new JechoError("MODULATORS_NOT_SERVED", why));
    return this.#tierFor(request)
      .install(request, onInstalled)
      .catch((error: unknown) => {
        const stopped = this.#compiled?.whyStopped(error);
        if (stopped === undefined || !this.#placed.has(request.derived)) throw error;
        this.#placed.set(request.derived, { tier: "hosted", why: stopped.message });
        return this.#hosted.install(request, onInstalled);
      });
  }

  #tierFor(request: InstallRequest): Tier {
    const { derived, modulator } = request;
    const isKnown = this.#known.has(modulator.source);
    const refusal = isKnown ? undefined : this.#compiled?.refusalOf(request);
    const tier = isKnown
      ? "local"
      : this.#compiled === undefined || refusal !== undefined
        ? "hosted"
        : "compiled";
    this.#placed.set(derived, { tier, why: refusal?.message ?? "" });
    return tier === "local"
      ? this.#local
      : tier === "hosted"
        ? this.#hosted
        : (this.#compiled as CompiledTier);
  }

  placementOf(derived: number): TierPlacement | undefined {
    return this.#placed.get(derived);
  }

  /** A modulator cannot go on in the compiled tier: it does in the host, from this run on. */
  #host({ derived, why }: Misfit): void {
    const leaving = this.#compiled?.leave(derived);
    if (leaving === undefined) return;
    const placement = { tier: "hosted", why: why.message } as const;
    this.#placed.set(derived, placement);
    tell(() => this.#events.onTier?.(derived, placement));
    const { request, ready, loses } = leaving;
    const { onRemoved, onImpaired } = this.#events;
    this.#hosted.install(request).catch(error => tell(() => onRemoved(derived, JechoError.from(error))));
    if (!ready) this.#hosted.flow(derived, false);
    if (loses)
      tell(() =>
        onImpaired?.(
          derived,
          new JechoError("MODULATOR_RESTARTED", `it is hosted from now on: ${why.message}`),
        ),
      );
  }

  /** The reason why the process' owner lets no modulator with this text run here; undefined where it may. */
  #whyNot(source: string): string | undefined {
    if (this.#allow === "any") return undefined;
    if (this.#allow === "none") return "the producer runs no modulators";
    if (STANDARD_MODULES.has(source) || this.#trusted.includes(source)) return undefined;
    if (this.#allow === "standard") return "the producer runs standard modulators alone";
    return isSigned(source, this.#allow.signedBy)
      ? undefined
      : "the producer runs standard modulators, and those that are signed by somebody it knows";
  }

  addType(channel: number, schema: Uint8Array): void {
    for (const misfit of this.#compiled?.misfitsOfType(channel, schema) ?? []) this.#host(misfit);
    for (const tier of this.#tiers) tier.addType(channel, schema);
  }

  remove(derived: number): void {
    this.#placed.delete(derived);
    for (const tier of this.#tiers) tier.remove(derived);
  }

  update(update: StateUpdate): void {
    for (const misfit of this.#compiled?.misfitsOfState(update) ?? []) this.#host(misfit);
    for (const tier of this.#tiers) tier.update(update);
  }

  setContext(channel: number, name: string, value: Value): void {
    for (const tier of this.#tiers) tier.setContext(channel, name, value);
  }

  enqueue(run: EventsFrame | LentRun, tag?: string, of?: Provenance): boolean {
    // Output of urgent events goes out one by one. Each event is accounted for by itself, too, or a part of them would be made again after a break.
    if (of?.source.urgent === true && run.count > 1 && of.through - of.after === run.count)
      return this.#enqueueEach(run instanceof LentRun ? run.frame() : run, tag, of);
    for (const misfit of this.#compiled?.misfitsOfRun(run) ?? []) this.#host(misfit);
    if (tag === undefined) {
      let isFed = false;
      for (const tier of this.#tiers) if (tier.enqueue(run, undefined, of)) isFed = true;
      return isFed;
    }
    // No tier is the last one before all have been asked, and each that has nothing to do is done.
    this.#runs.set(tag, this.#tiers.length + 1);
    const idle = this.#tiers.filter(tier => !tier.enqueue(run, tag, of));
    if (idle.length === this.#tiers.length) {
      this.#runs.delete(tag);
      return false;
    }
    for (const _ of idle) this.#done(tag);
    this.#done(tag);
    return true;
  }

  #enqueueEach(run: EventsFrame, tag: string | undefined, { source, after }: Provenance): boolean {
    let isFed = false;
    for (let i = 0; i < run.count - 1; i++) {
      const of = { source, after: after + i, through: after + i + 1 };
      if (this.enqueue(sliceRun(run, i, i + 1), undefined, of)) isFed = true;
    }
    const last = run.count - 1;
    const of = { source, after: after + last, through: after + run.count };
    const isLastFed = this.enqueue(sliceRun(run, last), tag, of);
    return tag === undefined ? isFed || isLastFed : isLastFed;
  }

  isSound(run: EventsFrame, schemaOf: SchemaOf): boolean {
    return areSound(run, schemaOf);
  }

  pass(channel: number, of: Provenance): void {
    for (const tier of this.#tiers) tier.pass(channel, of);
  }

  tellSeen(derived?: number): void {
    for (const tier of this.#tiers) tier.tellSeen(derived);
  }

  flow(derived: number, ready: boolean): void {
    for (const tier of this.#tiers) tier.flow(derived, ready);
  }

  endPeriod(derived: number): boolean {
    return this.#tiers.some(tier => tier.endPeriod(derived));
  }

  mostPerSecond(derived: number): number {
    return this.#tiers.reduce((most, tier) => most || tier.mostPerSecond(derived), 0);
  }

  settled(): Promise<void> {
    return this.#hosted.settled();
  }

  get modulators(): ReadonlyMap<number, ModulatorStats> {
    return new Map(this.#tiers.flatMap(({ modulators }) => [...modulators]));
  }

  get stats(): EnvironmentStats {
    return { ...this.#hosted.stats, modulators: this.modulators };
  }

  async close(): Promise<void> {
    await Promise.all(this.#tiers.map(tier => tier.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #done(tag: string): void {
    const left = (this.#runs.get(tag) ?? 0) - 1;
    if (left > 0) this.#runs.set(tag, left);
    else if (this.#runs.delete(tag)) tell(() => this.#events.onDone?.(tag));
  }
}
