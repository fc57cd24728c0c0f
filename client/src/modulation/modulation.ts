import type { Value } from "@jecho/modulators";
import type { Environment, TierEvents } from "@jecho/modulators/internal";
import type { EventsFrame, ModulatorUse, ObjectUpdate, Remove } from "@jecho/shared/internal";
import type { DerivedDemand } from "../producer/demand.ts";
import { environmentEvents } from "./environment-events.ts";
import { EnvironmentLoader } from "./environment-loader.ts";
import { type Installation, leaveConnection } from "./installation.ts";
import { Installations } from "./installations.ts";
import { Installer } from "./installer.ts";
import type { ModulationEvents } from "./modulation-events.ts";
import { Runs } from "./runs.ts";

/** Time that modulators in another process's stead are kept over a broken connection. */
const APART_MS = 30_000;

/** The modulators installed in this process, and their environment. */
export class Modulation {
  readonly #environment: EnvironmentLoader;
  readonly #events: ModulationEvents;
  /** The installed modulators. */
  readonly installed = new Installations();
  readonly #names = this.installed.names;
  /** Their input and output. */
  readonly runs: Runs;
  /** Puts them in. */
  readonly installer: Installer;
  /** Base channels, as `Concerned.callers` has them. */
  readonly #callers = new Map<number, string>();

  /** @param most most modulators for this process's own producers */
  constructor(
    createEnvironment: (events: TierEvents) => Environment | Promise<Environment>,
    most: number,
    events: ModulationEvents,
  ) {
    this.#events = events;
    this.runs = new Runs(this.installed, events);
    const { installed, runs } = this;
    const callers = this.#callers;
    const forget = (installation: Installation): void => this.#forget(installation);
    const environment = new EnvironmentLoader(
      () => createEnvironment(environmentEvents({ installed, runs, events, callers, forget })),
      loaded => runs.begin(loaded),
    );
    this.#environment = environment;
    this.installer = new Installer({
      ...{ environment, events, installed, callers, most },
      remove: installation => this.#remove(installation),
      update: update => this.update(update),
    });
  }

  /** Resources used by the modulators that run here for all consumers. */
  uses(): ModulatorUse[] {
    const uses: ModulatorUse[] = [];
    const counts = this.#environment.loaded?.modulators;
    for (const { number: derived, process, own, hosted } of this.installed) {
      const stats = derived === 0 || own ? undefined : counts?.get(hosted);
      if (stats === undefined) continue;
      const { cpuMs, eventsIn, dropped, restarts } = stats;
      uses.push({ derived, process, cpuMs, events: BigInt(eventsIn), dropped: BigInt(dropped), restarts });
    }
    return uses;
  }

  /** Removes a modulator that made one consumer's past. */
  removeFor(installation: Installation): void {
    this.#remove(installation);
    this.#names.forget(installation.feed);
  }

  /** Removes a modulator: with its state only once the process in whose stead it runs has not come back (`returns`). */
  remove({ derived, process, returns, request }: Remove): void {
    this.installer.giveUp({ derived, process, request });
    const installation = this.installed.ofNumber(derived, process);
    if (installation?.request !== request) return;
    if (process === 0 || this.#environment.loaded === undefined) return this.#remove(installation);
    installation.leaves = true;
    clearTimeout(installation.leaving);
    installation.leaving = returns ? setTimeout(() => this.#remove(installation), APART_MS) : undefined;
    if (returns) return;
    // Events under way will not come again.
    const { loaded } = this.#environment;
    void this.runs
      .finished()
      .then(() => (loaded.endPeriod(installation.hosted) ? this.runs.finished() : undefined))
      .then(() => {
        // A modulator that was asked for anew, and removed again, finishes what came for the newer request, too.
        const { leaves, leaving, request: newest } = installation;
        if (leaves && leaving === undefined && newest === request) this.#remove(installation);
      });
  }

  /** Keeps no modulators for the return of the process whose events came by this feed. */
  keepNone(wire: string): void {
    for (const installation of [...this.installed])
      if (installation.wire === wire && installation.leaving !== undefined) this.#remove(installation);
  }

  /** The connection broke: modulators stay, for their consumers are expected back. */
  interrupted(): void {
    this.installer.interrupted();
    this.installed.interrupted();
    for (const installation of this.installed) {
      leaveConnection(installation);
      const { process, only, leaves } = installation;
      // Each has its time, or those of processes that are gone would stay as long as the connection breaks again and again.
      if (process !== 0 && only === undefined && !leaves)
        installation.leaving ??= setTimeout(() => this.#remove(installation), APART_MS);
    }
  }

  /** Removes modulators that nobody has asked for at the present connection. */
  removeUnwanted(): void {
    for (const installation of [...this.installed]) {
      const { number, process } = installation;
      // Modulators in another process's stead are asked for when their consumers are back, whenever others are.
      if (number === 0 && process === 0) this.#remove(installation);
    }
  }

  setContext(base: string, name: string, value: Value): void {
    for (const hosted of this.#names.numbersOf(base))
      this.#environment.loaded?.setContext(hosted, name, value);
  }

  /** Takes a newer version of a shared object, with its state unless only modulators that pull it get that. */
  update(update: ObjectUpdate): void {
    const { loading } = this.#environment;
    if (loading !== undefined) {
      const again = (): void => this.update(update);
      void loading.then(again, again);
      return;
    }
    const told = new Map<string, { id: number; name: string }[]>();
    for (const installation of this.installed) {
      const { hosted, number, objects, pulled } = installation;
      const isPulled = update.derived !== 0 && update.derived === number && pulled.delete(update.object);
      if (isPulled) this.#environment.loaded?.update({ ...update, derived: hosted });
      const object = objects.get(update.object);
      if (object === undefined || object.is(update.version, update.state)) continue;
      if (update.state === "" || object.lazy !== isPulled) continue;
      object.advance(update.version, update.state);
      const reader = { id: hosted, name: object.name };
      for (const base of this.installed.sourcesOf(installation)) {
        told.set(base, [...(told.get(base) ?? []), reader]);
      }
    }
    for (const [base, readers] of told) this.#events.onState(base, { readers, state: update.state });
    if (update.derived !== 0) return;
    this.installer.note(update);
    this.#environment.loaded?.update(update);
  }

  /**
   * Resolves when modulators have finished their input so far; undefined where none here makes this channel in others' stead, as one may that was
   * not asked for again since the connection broke.
   */
  finishedFor(derived: number): Promise<void> | undefined {
    for (const { process, number } of this.installed)
      if (process !== 0 && (number === derived || number === 0)) return this.runs.finished();
    return undefined;
  }

  /** Whether this run of another process is sound, so that modulators may be given it. */
  isSound(run: EventsFrame): boolean {
    return this.#environment.loaded?.isSound(run, this.#events.schemaOf) ?? true;
  }

  /** Whether any modulator may take this channel's events. */
  takes(base: string): boolean {
    return this.#names.has(base);
  }

  /** The demand for a channel through modulators. */
  derivedOf(base: string, here: (derived: number) => number): DerivedDemand[] {
    const list: DerivedDemand[] = [];
    for (const [installation, first] of this.installed.madeOf(base)) {
      const objects = Object.fromEntries(
        [...installation.objects.values()].map(({ name, state }) => [name, state]),
      );
      const { hosted: id, parameters, number, elsewhere, unheard, by } = installation;
      const consumers = elsewhere - unheard + (number === 0 ? 0 : here(number));
      const mostPerSecond = this.#environment.loaded?.mostPerSecond(first.hosted) || Number.POSITIVE_INFINITY;
      list.push({ id, parameters, objects, consumers, mostPerSecond, by: by || undefined });
    }
    return list;
  }

  async close(): Promise<void> {
    for (const { leaving } of this.installed) clearTimeout(leaving);
    await this.#environment.close();
  }

  #remove(installation: Installation): void {
    const { hosted, leaving } = installation;
    if (this.installed.get(hosted) !== installation) return;
    clearTimeout(leaving);
    // Nobody else knows the events that it has been through without letting them pass.
    this.#events.onStatement(installation);
    this.#forget(installation);
    leaveConnection(installation);
    this.#environment.loaded?.remove(hosted);
    void this.#environment.loaded?.settled().then(() => this.#callers.delete(hosted));
  }

  #forget(installation: Installation): void {
    const sources = this.installed.sourcesOf(installation);
    this.installed.delete(installation);
    this.installer.unfed(installation.wire);
    this.#names.forget(installation.makes);
    for (const name of sources) this.#events.onDemand(name);
    this.#events.onNeeds(installation.base);
  }
}
