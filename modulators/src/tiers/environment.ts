import { JechoError } from "@jecho/shared";
import type { EventsFrame } from "@jecho/shared/internal";
import type { AllowedModulators } from "../authoring/allowed.ts";
import { isSigned } from "../authoring/signature.ts";
import type { Provenance } from "../running/provenance.ts";
import type { Declared, Limits } from "../sandbox/sandbox.ts";
import type { Value } from "../sandbox/values.ts";
import type { CarrierKind } from "./hosted/carrier.ts";
import { type HostStats, ModulatorHost } from "./hosted/modulator-host.ts";
import type { LentRun } from "./lent-run.ts";
import { type Compile, type MakeModule, STANDARD_MODULES } from "./local/local-engine.ts";
import { LocalTier } from "./local/local-tier.ts";
import type { HostClock } from "./periods.ts";
import { RunChecker } from "./run-checker.ts";
import {
  type Environment,
  type InstallRequest,
  type ModulatorStats,
  type SchemaOf,
  type StateUpdate,
  type TierEvents,
  tell,
} from "./tier.ts";

/** How a producer runs modulators. */
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
  /** Default: the machine's. */
  readonly clock?: HostClock | undefined;
}

/** The modulators' environment in one producing process: each modulator runs in the fastest tier that may have it. */
export class ModulatorEnvironment implements Environment {
  readonly #place: EnvironmentPlace;
  readonly #allow: AllowedModulators;
  readonly #trusted: readonly string[];
  readonly #known: Map<string, MakeModule>;
  readonly #checker = new RunChecker();
  readonly #local: LocalTier;
  readonly #hosted: ModulatorHost;
  /** How many tiers are still at a run, by its tag. */
  readonly #runs = new Map<string, number>();
  readonly #events: TierEvents;

  constructor(place: EnvironmentPlace, options: ModulatorOptions, events: TierEvents) {
    this.#events = events;
    const { allow = "any", trusted = [], local = true, limits, pendingBytes } = options;
    this.#place = place;
    this.#allow = allow;
    this.#trusted = trusted;
    this.#known = new Map(local ? STANDARD_MODULES : []);
    if (local) for (const source of trusted) this.trust(source);
    const inner = { ...events, onDone: (tag: string) => this.#done(tag) };
    const { carrier, compile, clock } = place;
    this.#local = new LocalTier(this.#known, compile, { limits, clock }, inner);
    this.#hosted = new ModulatorHost({ carrier, clock, limits, pendingBytes, ...inner });
  }

  /** Adds a source to those that run in this process from now on. @returns false where it has to be hosted all the same */
  trust(source: string): boolean {
    if (this.#known.has(source)) return true;
    const compiled = this.#place.compile(source);
    if (compiled !== undefined) this.#known.set(source, compiled);
    return compiled !== undefined;
  }

  install(request: InstallRequest, onInstalled?: (declared: Declared) => void): Promise<Declared> {
    const why = request.isInstead === true ? undefined : this.#whyNot(request.modulator.source);
    if (why !== undefined) return Promise.reject(new JechoError("MODULATORS_NOT_SERVED", why));
    const tier = this.#known.has(request.modulator.source) ? this.#local : this.#hosted;
    return tier.install(request, onInstalled);
  }

  /** Why its owner lets no modulator with this text run here; undefined where that is not so. */
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
    this.#local.addType(channel, schema);
    this.#hosted.addType(channel, schema);
  }

  remove(derived: number): void {
    this.#local.remove(derived);
    this.#hosted.remove(derived);
  }

  update(update: StateUpdate): void {
    this.#local.update(update);
    this.#hosted.update(update);
  }

  setContext(channel: number, name: string, value: Value): void {
    this.#local.setContext(channel, name, value);
    this.#hosted.setContext(channel, name, value);
  }

  enqueue(run: EventsFrame | LentRun, tag?: string, of?: Provenance): boolean {
    // The hosted ones begin while the local ones run.
    if (tag === undefined) {
      const hosted = this.#hosted.enqueue(run, undefined, of);
      return this.#local.enqueue(run, undefined, of) || hosted;
    }
    // Neither tier is the last one before both have been asked, and each that has nothing to do is done.
    this.#runs.set(tag, 3);
    const hosted = this.#hosted.enqueue(run, tag, of);
    const local = this.#local.enqueue(run, tag, of);
    if (!hosted && !local) {
      this.#runs.delete(tag);
      return false;
    }
    if (!hosted || !local) this.#done(tag);
    this.#done(tag);
    return true;
  }

  isSound(run: EventsFrame, schemaOf: SchemaOf): boolean {
    return this.#checker.isSound(run, schemaOf);
  }

  pass(channel: number, of: Provenance): void {
    this.#hosted.pass(channel, of);
    this.#local.pass(channel, of);
  }

  flow(derived: number, ready: boolean): void {
    this.#local.flow(derived, ready);
    this.#hosted.flow(derived, ready);
  }

  mostPerSecond(derived: number): number {
    return this.#local.mostPerSecond(derived) || this.#hosted.mostPerSecond(derived);
  }

  settled(): Promise<void> {
    return this.#hosted.settled();
  }

  get modulators(): ReadonlyMap<number, ModulatorStats> {
    return new Map([...this.#local.modulators, ...this.#hosted.modulators]);
  }

  get stats(): EnvironmentStats {
    return { ...this.#hosted.stats, modulators: this.modulators };
  }

  async close(): Promise<void> {
    await Promise.all([this.#local.close(), this.#hosted.close()]);
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
