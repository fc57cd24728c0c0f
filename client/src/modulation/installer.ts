import type { Declared } from "@jecho/modulators/internal";
import { JechoError } from "@jecho/shared";
import {
  type Install,
  type Instead,
  type Modulator,
  type ObjectUpdate,
  type Outgoing,
  type Remove,
  refusal,
  tokenOf,
} from "@jecho/shared/internal";
import type { ConsumerEndpoint, ProducerEndpoint } from "../concentrator/endpoints/endpoint.ts";
import type { EnvironmentLoader } from "./environment-loader.ts";
import { type Installation, isApart, newInstallation, newOpening, withStates } from "./installation.ts";
import type { Installations } from "./installations.ts";
import type { ModulationEvents } from "./modulation-events.ts";

const NONE = new Uint8Array(0);
const NO_UPDATES: ReadonlyMap<string, ObjectUpdate> = new Map();
/** For a modulator that makes one consumer's past: it runs in no process's stead. */
const NO_PROCESS = { process: -1, own: true, producers: [] };

/** Parts that the installer uses. */
export interface InstallerParts {
  readonly environment: EnvironmentLoader;
  readonly events: ModulationEvents;
  readonly installed: Installations;
  /** Base channels, as `Concerned.callers` has them. */
  readonly callers: Map<number, string>;
  /** Most modulators for this process's own producers. */
  readonly most: number;
  remove(installation: Installation): void;
  update(update: ObjectUpdate): void;
}

/** A request to install a modulator that can be installed. */
type AskedInstallation = Install & { readonly modulator: Modulator };

/** The input of a modulator: another one's output here, a feed over the wire, both, or the events of this process' producers. */
interface ModulatorInput {
  /** The modulator here that it is behind; undefined for none. */
  readonly parent: Installation | undefined;
  /** See `Installation`. */
  readonly source: string;
  readonly wire: string;
  readonly feed: string;
}

/** Installs modulators that the gateway asks for, and connects them with what feeds them. */
export class Installer {
  readonly #parts: InstallerParts;
  /** Requests of installations under way, by derived channel and process. */
  readonly #installing = new Map<string, Pick<Install, "request">>();
  /** The newest updates since the request of each installation that is being prepared, by shared object and whether they bring a state. */
  readonly #preparing = new Set<Map<string, ObjectUpdate>>();
  /** Counts connections that broke. */
  #connection = 0;
  #nextHosted = 1;

  constructor(parts: InstallerParts) {
    this.#parts = parts;
  }

  /** @param producer a producer of the channel, with its offers to modulators */
  install(install: Install, producer: ProducerEndpoint | undefined): void {
    const { request, derived } = install;
    const connection = this.#connection;
    const say = (answer: Outgoing): void => {
      // At another connection this number is another request's.
      if (connection === this.#connection) this.#parts.events.onAnswer(answer);
    };
    const answer = ({ schema = NONE, needs, reads = NONE }: Declared, hosted: number): void => {
      const { tier = "", why: tierWhy = "" } = this.#parts.environment.loaded?.placementOf(hosted) ?? {};
      say({ kind: "Installed", request, derived, schema, needs, reads, tier, tierWhy });
    };
    this.#install(install, producer, answer).catch((error: unknown) => say(refusal(request, error)));
  }

  /** @throws JechoError why it is not */
  async #install(
    install: Install,
    producer: ProducerEndpoint | undefined,
    answer: (declared: Declared, hosted: number) => void,
  ): Promise<void> {
    const { channel, modulator, instead } = install;
    if (modulator === undefined || (producer === undefined && instead === undefined))
      throw new JechoError("MODULATORS_NOT_SERVED", "there is no producer of this channel here");
    const asked = { ...install, modulator };
    const { known, ...input } = this.#inputOf(asked, producer);
    const { wire } = input;
    const opening = wire === "" ? undefined : newOpening();
    if (known !== undefined) this.#goOn(known, asked, input, opening);
    else if (instead === undefined && this.#runs() >= this.#parts.most) {
      const { most } = this.#parts;
      throw new JechoError("MODULATORS_NOT_SERVED", `the producer runs at most ${most} modulators`);
    }
    if (opening === undefined) {
      // The answer is sent before its output.
      if (known === undefined) await this.#installNew(input, asked, undefined, producer, answer);
      else answer(known, known.hosted);
      return;
    }
    const connection = this.#connection;
    let installation = known;
    try {
      installation ??= await this.#installNew(input, asked, opening, producer);
    } catch (error) {
      this.unfed(wire);
      throw error;
    }
    const fed = this.#parts.events.onFeed(wire, instead as Instead, channel, input.parent !== undefined);
    try {
      await Promise.race([opening.promise, fed]);
    } catch (error) {
      // Where the connection broke, one that was there before stays, as others do.
      const stays = known !== undefined && connection !== this.#connection;
      if (installation.opening === opening && !stays) this.#parts.remove(installation);
      throw error;
    } finally {
      if (installation.opening === opening) installation.opening = undefined;
    }
    answer(installation, installation.hosted);
  }

  /** Finds what is to feed a modulator, and the installation that outlived its connection with that input. */
  #inputOf(
    { channel, derived, modulator, instead }: AskedInstallation,
    producer: ProducerEndpoint | undefined,
  ): ModulatorInput & { readonly known: Installation | undefined } {
    const { installed, events } = this.#parts;
    const parent = installed.ofNumber(channel, instead?.process ?? 0);
    const raw = instead ? `${instead.process}@${instead.input}` : (producer as ProducerEndpoint).channel;
    const source = parent?.makes ?? raw;
    // A modulator that was fed over the wire alone may be fed through the parent, too, but not through that alone.
    const known = installed.apart(instead?.direct ? [source, raw] : [source], modulator, derived);
    const isWired = instead !== undefined && (parent === undefined || instead.direct);
    // One feed is for all that is behind the parent, whatever the number of its channel was.
    const wire = isWired
      ? known?.wire || (parent && installed.wireBehind(source)) || events.feedFor(raw, instead.sources)
      : "";
    const feed = parent?.makes ?? (wire || raw);
    // The feed over the wire and the parent's output are for the same modulators.
    if (wire !== "") {
      this.#removeOrphans(wire, [source, raw]);
      installed.names.alias(wire, feed, channel);
    }
    return { parent, source, wire, feed, known };
  }

  /** A modulator that outlived its connection is this request's from now on. */
  #goOn(
    known: Installation,
    { request, derived, modulator, instead }: AskedInstallation,
    { source, wire }: ModulatorInput,
    opening: Installation["opening"],
  ): void {
    known.request = request;
    known.opening = opening;
    known.number = derived;
    known.producers = instead?.producers ?? [];
    known.leaves = false;
    clearTimeout(known.leaving);
    known.leaving = undefined;
    const { wire: former } = known;
    known.wire = wire;
    known.source = source;
    this.unfed(former);
    this.#parts.installed.meet(known);
    this.#parts.events.onAgain(known);
    for (const { object, version, state } of modulator.objects)
      this.#parts.update({ kind: "ObjectUpdate", object, version, state, derived: 0 });
  }

  /** Removes modulators that this feed would give another parent's output: what they made of the former one's comes again. */
  #removeOrphans(wire: string, sources: readonly string[]): void {
    for (const installation of [...this.#parts.installed.fedBy(wire)]) {
      if (!isApart(installation) || sources.includes(installation.source)) continue;
      installation.wire = "";
      this.#parts.remove(installation);
    }
  }

  /** Closes a feed over the wire, if no modulator needs it any more. */
  unfed(wire: string): void {
    if (wire === "" || this.#parts.installed.isFed(wire)) return;
    this.#parts.events.onUnfed(wire);
    // Installations under way have looked its number up.
    if (this.#installing.size === 0) this.#parts.installed.names.forget(wire);
  }

  /** Number of modulators that run here, or will, for this process's own producers. */
  #runs(): number {
    let runs = this.#parts.installed.own;
    if (this.#installing.size === 0) return runs;
    for (const name of this.#installing.keys()) if (name.endsWith("/0")) runs++;
    return runs;
  }

  async #installNew(
    { parent, source, wire, feed }: ModulatorInput,
    { request, channel, derived, modulator, instead, behind, by }: AskedInstallation,
    opening: Installation["opening"],
    producer: ProducerEndpoint | undefined,
    answer?: (declared: Declared, hosted: number) => void,
  ): Promise<Installation> {
    const process = instead?.process ?? 0;
    const base = parent?.base ?? feed;
    const hosted = this.#nextHosted++;
    let input = this.#parts.installed.names.enter(feed, channel);
    const name = `${derived}/${process}`;
    const asked = { request };
    this.#installing.set(name, asked);
    const schema = parent?.made ?? instead?.schema ?? producer?.schema ?? NONE;
    const isWanted = (): boolean => this.#installing.get(name) === asked;
    this.#parts.callers.set(hosted, base);
    let ready = modulator;
    let installation: Installation | undefined;
    // It is entered before any event of it is reported, and answered before its output is sent.
    const enter = (said: Declared): void => {
      const number = isWanted() ? derived : 0;
      // From here on it counts among the installed ones.
      if (number !== 0) this.#installing.delete(name);
      const placed = { request, by, hosted, base, source, feed, input, wire, opening, number };
      installation = newInstallation(ready, instead, placed, said, schema);
      this.#parts.installed.add(installation);
      this.#parts.events.onInstalled(installation);
      if (number === 0) return;
      answer?.(said, hosted);
      this.#parts.events.onNeeds(base);
    };
    try {
      const loaded = this.#parts.environment.load();
      const environment = loaded instanceof Promise ? await loaded : loaded;
      const content = {
        derived: hosted,
        channel: input,
        schema: schema.byteLength === 0 ? undefined : schema,
        further: [...this.#parts.installed.names.typesOf(input).values()],
        modulator,
        behind,
        by,
        isInstead: instead !== undefined,
      };
      const preparing = environment.prepare(content);
      const updates = preparing === undefined ? NO_UPDATES : await this.#updatesUntil(preparing);
      if (!isWanted()) throw new JechoError("CLOSED", "it is not wanted any more");
      ready = withStates(modulator, updates);
      input = this.#parts.installed.names.enter(feed, channel);
      this.#parts.installed.ordered.set(hosted, input);
      const { offers, context = new Map() } = (instead === undefined ? producer : undefined) ?? {};
      const told = this.#parts.installed.names.typesOf(input);
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
      this.#parts.events.onOrdered(hosted, feed, parent, wire);
      const installed = environment.install(order, enter);
      // Lazy copies are told what has come since the request.
      for (const update of updates.values()) environment.update(update);
      await installed;
      const entered = installation as Installation | undefined;
      if (entered === undefined || entered.lastNumber === 0) {
        if (entered !== undefined) this.#parts.remove(entered);
        throw new JechoError("CLOSED", "it is not wanted any more");
      }
      return entered;
    } catch (error) {
      this.#parts.callers.delete(hosted);
      this.#parts.events.onRefused(hosted);
      throw error;
    } finally {
      this.#parts.installed.ordered.delete(hosted);
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
    const input = this.#parts.installed.names.enter(name, channel);
    let installation: Installation | undefined;
    const enter = (said: Declared): void => {
      const names = { by: "", base: name, source: name, feed: name, wire: "" };
      const placed = { ...names, hosted, input, opening: undefined, number: 0, request: 0 };
      installation = newInstallation(modulator, NO_PROCESS, placed, said, NONE, only);
      this.#parts.installed.add(installation);
    };
    const asked = { derived: hosted, channel: input, schema: undefined, modulator, isInstead: true };
    try {
      await (await this.#parts.environment.load()).install(asked, enter);
    } catch (error) {
      this.#parts.installed.names.forget(name);
      throw error;
    }
    return installation as unknown as Installation;
  }

  /** Gives up an installation that is under way, unless it was asked for anew. */
  giveUp({ derived, process, request }: Pick<Remove, "derived" | "process" | "request">): void {
    const name = `${derived}/${process}`;
    if (this.#installing.get(name)?.request === request) this.#installing.delete(name);
  }

  /** Notes an update of a shared object for modulators that are being prepared. */
  note(update: ObjectUpdate): void {
    for (const updates of this.#preparing) updates.set(`${update.object} ${update.state === ""}`, update);
  }

  /** The connection broke: nothing is to be installed any more that was asked for at it. */
  interrupted(): void {
    this.#connection++;
    this.#installing.clear();
  }
}
