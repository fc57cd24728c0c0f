import type { Value } from "@jecho/modulators";
import type { Declared, Environment, TierEvents } from "@jecho/modulators/internal";
import { JechoError } from "@jecho/shared";
import {
  type EventsFrame,
  type Install,
  type Instead,
  type Modulator,
  type ModulatorUse,
  type ObjectUpdate,
  type Outgoing,
  type Remove,
  refusal,
  tokenOf,
} from "@jecho/shared/internal";
import type { ConsumerEndpoint, ProducerEndpoint } from "../concentrator/endpoints/endpoint.ts";
import type { DerivedDemand } from "../producer/demand.ts";
import { environmentEvents } from "./environment-events.ts";
import { EnvironmentLoader } from "./environment-loader.ts";
import {
  type Installation,
  isApart,
  leaveConnection,
  newInstallation,
  newOpening,
  withStates,
} from "./installation.ts";
import { Installations } from "./installations.ts";
import type { ModulationEvents } from "./modulation-events.ts";
import { Runs } from "./runs.ts";

const NONE = new Uint8Array(0);
const NO_UPDATES: ReadonlyMap<string, ObjectUpdate> = new Map();
/** For a modulator that makes one consumer's past: it runs in no process's stead. */
const NO_PROCESS = { process: -1, own: true, producers: [] };
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
  readonly #most: number;
  /** Base channels, as `Concerned.callers` has them. */
  readonly #callers = new Map<number, string>();
  /** Requests of installations under way, by derived channel and process. */
  readonly #installing = new Map<string, Pick<Install, "request">>();
  /** The newest updates since the request of each installation that is being prepared, by shared object and whether they bring a state. */
  readonly #preparing = new Set<Map<string, ObjectUpdate>>();
  /** Counts connections that broke. */
  #connection = 0;
  #nextHosted = 1;

  /** @param most most modulators for this process's own producers */
  constructor(
    createEnvironment: (events: TierEvents) => Environment | Promise<Environment>,
    most: number,
    events: ModulationEvents,
  ) {
    this.#most = most;
    this.#events = events;
    this.runs = new Runs(this.installed, events);
    const { installed, runs } = this;
    const forget = (installation: Installation): void => this.#forget(installation);
    this.#environment = new EnvironmentLoader(
      () => createEnvironment(environmentEvents({ installed, runs, events, callers: this.#callers, forget })),
      environment => runs.begin(environment),
    );
  }

  /** @param producer a producer of the channel, with its offers to modulators */
  install(install: Install, producer: ProducerEndpoint | undefined): void {
    const { request, derived } = install;
    const connection = this.#connection;
    const say = (answer: Outgoing): void => {
      // At another connection this number is another request's.
      if (connection === this.#connection) this.#events.onAnswer(answer);
    };
    const answer = ({ schema = NONE, needs, reads = NONE }: Declared, hosted: number): void => {
      const { tier = "", why: tierWhy = "" } = this.#environment.loaded?.placementOf(hosted) ?? {};
      say({ kind: "Installed", request, derived, schema, needs, reads, tier, tierWhy });
    };
    this.#install(install, producer, answer).catch((error: unknown) => say(refusal(request, error)));
  }

  /** @throws JechoError why it is not */
  async #install(
    { request, channel, derived, modulator, instead, behind, by }: Install,
    producer: ProducerEndpoint | undefined,
    answer: (declared: Declared, hosted: number) => void,
  ): Promise<void> {
    const process = instead?.process ?? 0;
    if (modulator === undefined || (producer === undefined && instead === undefined))
      throw new JechoError("MODULATORS_NOT_SERVED", "there is no producer of this channel here");
    const parent = this.installed.ofNumber(channel, process);
    const source =
      instead === undefined ? (producer as ProducerEndpoint).channel : `${process}@${instead.input}`;
    const own = parent?.makes ?? source;
    // A modulator that was fed over the wire alone may be fed through the parent, too; where it is to be fed through that alone, it begins anew.
    const known = this.installed.apart(instead?.direct ? [own, source] : [own], modulator, derived);
    const isWired = instead !== undefined && (parent === undefined || instead.direct);
    // One feed is for all that is behind the parent, also where it was named at an earlier number of the parent's channel.
    const wire = isWired
      ? known?.wire ||
        (parent && this.installed.wireBehind(own)) ||
        this.#events.feedFor(source, instead.sources)
      : "";
    const feed = parent?.makes ?? (wire || source);
    // The feed over the wire and the parent's output are for the same modulators.
    if (wire !== "") {
      this.#removeOrphans(wire, [own, source]);
      this.#names.alias(wire, feed, channel);
    }
    const opening = wire === "" ? undefined : newOpening();
    if (known !== undefined) {
      // The installation is this request's from now on, and stays whatever becomes of an older one.
      known.request = request;
      known.opening = opening;
      known.number = derived;
      known.producers = instead?.producers ?? [];
      known.leaves = false;
      clearTimeout(known.leaving);
      known.leaving = undefined;
      const { wire: former } = known;
      known.wire = wire;
      known.source = own;
      this.#unfed(former);
      this.installed.meet(known);
      this.#events.onAgain(known);
      for (const { object, version, state } of modulator.objects)
        this.update({ kind: "ObjectUpdate", object, version, state, derived: 0 });
    } else if (instead === undefined && this.#runs() >= this.#most) {
      throw new JechoError("MODULATORS_NOT_SERVED", `the producer runs at most ${this.#most} modulators`);
    }
    const asked = { request, channel, derived, modulator, instead, behind, by, source: own };
    if (opening === undefined) {
      // The answer is sent before its output.
      if (known === undefined) await this.#installNew(feed, parent, asked, producer, answer);
      else answer(known, known.hosted);
      return;
    }
    const connection = this.#connection;
    let installation = known;
    try {
      installation ??= await this.#installNew(feed, parent, { ...asked, wire, opening }, producer);
    } catch (error) {
      this.#unfed(wire);
      throw error;
    }
    const fed = this.#events.onFeed(wire, instead as Instead, channel, parent !== undefined);
    try {
      await Promise.race([opening.promise, fed]);
    } catch (error) {
      // Where the connection broke, one that was there before stays, as others do.
      const stays = known !== undefined && connection !== this.#connection;
      if (installation.opening === opening && !stays) this.#remove(installation);
      throw error;
    } finally {
      if (installation.opening === opening) installation.opening = undefined;
    }
    answer(installation, installation.hosted);
  }

  /** Removes modulators that this feed would give the output of another parent than they had: what they made of the former one's comes again. The feed stays. */
  #removeOrphans(wire: string, sources: readonly string[]): void {
    for (const installation of [...this.installed.fedBy(wire)]) {
      if (!isApart(installation) || sources.includes(installation.source)) continue;
      installation.wire = "";
      this.#remove(installation);
    }
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

  /** Closes a feed over the wire, if no modulator needs it any more. */
  #unfed(wire: string): void {
    if (wire === "" || this.installed.isFed(wire)) return;
    this.#events.onUnfed(wire);
    // Installations under way have looked its number up.
    if (this.#installing.size === 0) this.#names.forget(wire);
  }

  /** Number of modulators that run here, or will, for this process's own producers. */
  #runs(): number {
    let runs = this.installed.own;
    if (this.#installing.size === 0) return runs;
    for (const name of this.#installing.keys()) if (name.endsWith("/0")) runs++;
    return runs;
  }

  async #installNew(
    feed: string,
    parent: Installation | undefined,
    {
      request,
      channel,
      derived,
      modulator,
      instead,
      behind,
      by,
      source,
      wire = "",
      opening,
    }: Pick<Install, "request" | "channel" | "derived" | "instead" | "behind" | "by"> & {
      modulator: Modulator;
      source: string;
      wire?: string;
      opening?: Installation["opening"];
    },
    producer: ProducerEndpoint | undefined,
    answer?: (declared: Declared, hosted: number) => void,
  ): Promise<Installation> {
    const process = instead?.process ?? 0;
    const base = parent?.base ?? feed;
    const hosted = this.#nextHosted++;
    let input = this.#names.enter(feed, channel);
    const name = `${derived}/${process}`;
    const asked = { request };
    this.#installing.set(name, asked);
    const schema = parent?.made ?? instead?.schema ?? producer?.schema ?? NONE;
    const isWanted = (): boolean => this.#installing.get(name) === asked;
    this.#callers.set(hosted, base);
    let ready = modulator;
    let installation: Installation | undefined;
    // It is entered before any event of it is reported, and answered before its output is sent.
    const enter = (said: Declared): void => {
      const number = isWanted() ? derived : 0;
      // From here on it counts among the installed ones.
      if (number !== 0) this.#installing.delete(name);
      const placed = { request, by, hosted, base, source, feed, input, wire, opening, number };
      installation = newInstallation(ready, instead, placed, said, schema);
      this.installed.add(installation);
      this.#events.onInstalled(installation);
      if (number === 0) return;
      answer?.(said, hosted);
      this.#events.onNeeds(base);
    };
    try {
      const loaded = this.#environment.load();
      const environment = loaded instanceof Promise ? await loaded : loaded;
      const content = {
        derived: hosted,
        channel: input,
        schema: schema.byteLength === 0 ? undefined : schema,
        further: [...this.#names.typesOf(input).values()],
        modulator,
        behind,
        by,
        isInstead: instead !== undefined,
      };
      const preparing = environment.prepare(content);
      const updates = preparing === undefined ? NO_UPDATES : await this.#updatesUntil(preparing);
      if (!isWanted()) throw new JechoError("CLOSED", "it is not wanted any more");
      ready = withStates(modulator, updates);
      input = this.#names.enter(feed, channel);
      const { offers, context = new Map() } = (instead === undefined ? producer : undefined) ?? {};
      const told = this.#names.typesOf(input);
      const further = [...told.values()];
      if (schema.byteLength > 0 && !told.has(tokenOf(schema))) {
        told.set(tokenOf(schema), schema);
        // Modulators that are there are told of it by no run any more.
        environment.addType(input, schema);
      }
      const order = {
        ...content,
        channel: input,
        further,
        modulator: ready,
        ...(offers !== undefined && { offers }),
        context,
      };
      this.#events.onOrdered(hosted, feed, parent, wire);
      const installed = environment.install(order, enter);
      // Lazy copies are told what has come since the request.
      for (const update of updates.values()) environment.update(update);
      await installed;
      const entered = installation as Installation | undefined;
      if (entered === undefined || entered.lastNumber === 0) {
        if (entered !== undefined) this.#remove(entered);
        throw new JechoError("CLOSED", "it is not wanted any more");
      }
      return entered;
    } catch (error) {
      this.#callers.delete(hosted);
      this.#events.onRefused(hosted);
      throw error;
    } finally {
      if (isWanted()) this.#installing.delete(name);
    }
  }

  /** The newest updates of shared objects that come until an installation is prepared. */
  async #updatesUntil(prepared: Promise<void>): Promise<ReadonlyMap<string, ObjectUpdate>> {
    const updates = new Map<string, ObjectUpdate>();
    this.#preparing.add(updates);
    try {
      await prepared;
    } finally {
      this.#preparing.delete(updates);
    }
    return updates;
  }

  /**
   * Installs a modulator that makes one consumer's past from the input of this name. `removeFor` removes it.
   *
   * @param channel number of the input
   * @throws JechoError why it is not
   */
  async installFor(
    only: ConsumerEndpoint,
    name: string,
    channel: number,
    modulator: Modulator,
  ): Promise<Installation> {
    const hosted = this.#nextHosted++;
    const input = this.#names.enter(name, channel);
    let installation: Installation | undefined;
    const enter = (said: Declared): void => {
      const names = { by: "", base: name, source: name, feed: name, wire: "" };
      const placed = { ...names, hosted, input, opening: undefined, number: 0, request: 0 };
      installation = newInstallation(modulator, NO_PROCESS, placed, said, NONE, only);
      this.installed.add(installation);
    };
    const asked = { derived: hosted, channel: input, schema: undefined, modulator, isInstead: true };
    try {
      await (await this.#environment.load()).install(asked, enter);
    } catch (error) {
      this.#names.forget(name);
      throw error;
    }
    return installation as unknown as Installation;
  }

  /** Removes a modulator that made one consumer's past. */
  removeFor(installation: Installation): void {
    this.#remove(installation);
    this.#names.forget(installation.feed);
  }

  /** Removes a modulator: with its state only once the process in whose stead it runs has not come back (`returns`). One that was asked for anew meanwhile stays. */
  remove({ derived, process, returns, request }: Remove): void {
    const name = `${derived}/${process}`;
    if (this.#installing.get(name)?.request === request) this.#installing.delete(name);
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
    this.#connection++;
    this.#installing.clear();
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
    const hosted = this.#names.numberOf(base);
    if (hosted !== undefined) this.#environment.loaded?.setContext(hosted, name, value);
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
    for (const updates of this.#preparing) updates.set(`${update.object} ${update.state === ""}`, update);
    this.#environment.loaded?.update(update);
  }

  /**
   * Resolves when modulators have finished their input so far; undefined where none here makes this channel in others' stead. One that has outlived its connection, and
   * was not asked for again as yet, may be any channel's.
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
    this.#unfed(installation.wire);
    this.#names.forget(installation.makes);
    for (const name of sources) this.#events.onDemand(name);
    this.#events.onNeeds(installation.base);
  }
}
