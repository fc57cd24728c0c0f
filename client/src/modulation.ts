import type { Json, Value } from "@jecho/modulators";
import { LentRun, type Tier, type TierEvents } from "@jecho/modulators/internal";
import { JechoError, splitName } from "@jecho/shared";
import {
  type EventsFrame,
  type Install,
  type Instead,
  type Modulator,
  type ObjectUpdate,
  type Outgoing,
  parseFrame,
  refusal,
  tokenOf,
} from "@jecho/shared/internal";
import type { DerivedDemand } from "./demand.ts";
import type { ProducerEntry } from "./entry.ts";
import type { Lanes } from "./lane.ts";

/** Gateways number their channels from 1; what is beyond is free for other names. */
const OTHER_NUMBERS = 1 << 20;
/** How long modulators that run in another process' stead are kept over a broken connection. */
const APART_MS = 30_000;

/** A modulator that runs here. It outlives a connection: its consumers come back and want what it goes on with. */
export interface Installation {
  /** Its number at the modulator host. */
  readonly hosted: number;
  /** The base channel's name. */
  readonly base: string;
  /** What it is fed with: the base channel, or what another modulator makes, and what producers publish there. */
  readonly feed: string;
  /** The number that the host knows that by. */
  readonly input: number;
  /** What of it comes over the wire; "" for nothing. */
  readonly wire: string;
  readonly modulator: Modulator;
  readonly parameters: Json;
  readonly needs: readonly string[];
  /** That it declared; empty where its events are of the type of what it is fed with. */
  readonly schema: Uint8Array;
  /** Of its events. */
  readonly made: Uint8Array;
  readonly objects: Map<
    string,
    { readonly name: string; version: number; state: Json; readonly lazy: boolean }
  >;
  /** Shared objects that it has pulled, and whose newest state is on its way. */
  readonly pulled: Set<string>;
  /** The counts of what it makes of each producer's events, by the producer's endpoint. */
  readonly lanes: Map<number, Lanes>;
  /** Not 0: the producing process that it runs here in the stead of. Nothing here is of that, but by its feed. */
  readonly process: number;
  /** What it makes is for the consumers of this process alone. */
  readonly own: boolean;
  /** Of that process, when it was installed. */
  readonly producers: readonly number[];
  /** The derived channel's number at the present connection; 0 while there is none. */
  number: number;
  /** And at the last one. */
  lastNumber: number;
  /** It is to be removed when it has seen what is under way. */
  leaves: boolean;
  /** Consumers in other processes. */
  elsewhere: number;
}

export interface ModulationEvents {
  /** A run that a modulator made, as a frame and as the message that it is; of which synchronous event, if of one. */
  onEvents(
    installation: Installation,
    frame: EventsFrame,
    message: Uint8Array,
    raising: string | undefined,
  ): void;
  /** Every modulator has seen this synchronous event to its end. */
  onDone(raising: string): void;
  /** What a modulator made of this synchronous event goes on to further ones: `onDone` comes once more. */
  onFurther(raising: string): void;
  onAnswer(answer: Outgoing): void;
  /** What is wanted of this channel's producers may have changed. */
  onDemand(base: string): void;
  /** Resolves when a modulator that runs in another process' stead is fed. Rejects with why it is not. */
  onFeed(name: string, instead: Instead, channel: number): Promise<void>;
  /** Nothing is fed by this any more. */
  onUnfed(name: string): void;
  /** The schema of the type with this token; undefined where nobody has told of it. */
  schemaOf(token: bigint): Uint8Array | undefined;
  /** The views that modulators of this channel need may have changed. */
  onNeeds(base: string): void;
  /** The modulator of this derived channel asks for the newest state of a shared object. */
  onPull(derived: number, object: string): void;
  /** A modulator of this channel called a control, or logged a line. */
  onCall(base: string, name: string, values: readonly Value[]): void;
}

/** The modulators that are installed in this process, whichever producer's, and the environment that they run in. */
export class Modulation {
  readonly #createEnvironment: (events: TierEvents) => Tier;
  readonly #events: ModulationEvents;
  /** By their numbers at the host. */
  readonly #installed = new Map<number, Installation>();
  readonly #most: number;
  /** The numbers that the host knows base channels by. */
  readonly #bases = new Map<string, number>();
  /** Base channels of modulators, from before they are installed until they are removed: what they call then counts, too. */
  readonly #callers = new Map<number, string>();
  /** Producers here by the number of what they publish into, where that is a derived channel: their name for it, and their type. */
  readonly #direct = new Map<number, { readonly name: string; readonly token: bigint }>();
  /** The schemas that it was told of each, by token. */
  readonly #told = new Map<number, Map<bigint, Uint8Array>>();
  /** Installations under way: the host's number by the derived channel's and the process. */
  readonly #installing = new Map<string, number>();
  #apart: ReturnType<typeof setTimeout> | undefined;
  /** Counts connections that broke. */
  #connection = 0;
  #nextHosted = 1;
  #nextFeed = 1;
  #environment: Tier | undefined;

  /** @param most modulators that run here for consumers of this process' producers */
  constructor(createEnvironment: (events: TierEvents) => Tier, most: number, events: ModulationEvents) {
    this.#createEnvironment = createEnvironment;
    this.#most = most;
    this.#events = events;
  }

  /** The installation that makes this derived channel of what this process raises, or that one. */
  ofNumber(derived: number, process = 0): Installation | undefined {
    for (const installation of this.#installed.values())
      if (installation.number === derived && installation.process === process) return installation;
    return undefined;
  }

  [Symbol.iterator](): Iterator<Installation> {
    return this.#installed.values();
  }

  /** @param producer whose channel it is, and who offers what the modulator may need */
  install(install: Install, producer: ProducerEntry | undefined): void {
    const { request, derived } = install;
    const connection = this.#connection;
    const say = (answer: Outgoing): void => {
      // At another connection the request's number is that of another request.
      if (connection === this.#connection) this.#events.onAnswer(answer);
    };
    const answer = ({ schema, needs }: Installation): void =>
      say({ kind: "Installed", request, derived, schema, needs });
    this.#install(install, producer, answer).catch((error: unknown) => say(refusal(request, error)));
  }

  /** @throws JechoError why it is not */
  async #install(
    { channel, derived, modulator, instead, behind }: Install,
    producer: ProducerEntry | undefined,
    answer: (installation: Installation) => void,
  ): Promise<void> {
    const process = instead?.process ?? 0;
    if (modulator === undefined || (producer === undefined && instead === undefined))
      throw new JechoError("MODULATORS_NOT_SERVED", "there is no producer of this channel here");
    const parent = this.ofNumber(channel, process);
    const source = instead === undefined ? (producer as ProducerEntry).channel : `${process}@${channel}`;
    const feed = parent === undefined ? source : feedOf(parent);
    const known = this.#adopt(this.#hostedBase(feed, channel), modulator);
    if (known !== undefined) {
      known.number = derived;
      known.leaves = false;
      this.#meet(known);
      for (const { object, version, state } of modulator.objects)
        this.update({ kind: "ObjectUpdate", object, version, state, derived: 0 });
    } else if (instead === undefined && this.#runs() >= this.#most) {
      throw new JechoError("MODULATORS_NOT_SERVED", `the producer runs at most ${this.#most} modulators`);
    }
    const asked = { channel, derived, modulator, instead, behind };
    const wire = instead !== undefined && (parent === undefined || instead.direct) ? source : "";
    if (wire === "") {
      // The answer goes out before what it makes.
      if (known === undefined) await this.#installNew(feed, parent, asked, producer, answer);
      else answer(known);
      return;
    }
    // What comes over the wire is for the same modulators as what is made here.
    this.#alias(wire, feed, channel);
    const installation = known ?? (await this.#installNew(feed, parent, { ...asked, wire }, producer));
    try {
      await this.#events.onFeed(wire, instead as Instead, channel);
    } catch (error) {
      this.#remove(installation);
      throw error;
    }
    answer(installation);
  }

  /** Modulators that run here, or will, for this process' own producers. */
  #runs(): number {
    let runs = 0;
    for (const { process } of this.#installed.values()) if (process === 0) runs++;
    for (const name of this.#installing.keys()) if (name.endsWith("/0")) runs++;
    return runs;
  }

  async #installNew(
    feed: string,
    parent: Installation | undefined,
    {
      channel,
      derived,
      modulator,
      instead,
      behind,
      wire = "",
    }: Pick<Install, "channel" | "derived" | "instead" | "behind"> & { modulator: Modulator; wire?: string },
    producer: ProducerEntry | undefined,
    answer?: (installation: Installation) => void,
  ): Promise<Installation> {
    const process = instead?.process ?? 0;
    const base = parent?.base ?? feed;
    const environment = this.#running();
    const hosted = this.#nextHosted++;
    const input = this.#hostedBase(feed, channel);
    const name = `${derived}/${process}`;
    this.#installing.set(name, hosted);
    const { offers, context = new Map() } = (instead === undefined ? producer : undefined) ?? {};
    const schema = parent?.made ?? instead?.schema ?? producer?.schema ?? new Uint8Array(0);
    const further = [...(this.#told.get(input)?.values() ?? [])];
    if (schema.byteLength > 0) this.#toldOf(input).set(tokenOf(schema), schema);
    const isWanted = (): boolean => this.#installing.get(name) === hosted;
    this.#callers.set(hosted, base);
    try {
      const { schema: declared = new Uint8Array(0), needs } = await environment.install({
        derived: hosted,
        channel: input,
        schema: schema.byteLength === 0 ? undefined : schema,
        further,
        modulator,
        ...(offers !== undefined && { offers }),
        context,
        behind,
      });
      const objects = new Map(
        modulator.objects.map(({ name, object, version, state, lazy }) => [
          object,
          { name, version, state: JSON.parse(state) as Json, lazy },
        ]),
      );
      const made = declared.byteLength > 0 ? declared : schema;
      this.#checkBeside(derived, process, hosted, made);
      const number = isWanted() ? derived : 0;
      const own = instead?.own ?? false;
      const installation: Installation = {
        hosted,
        base,
        feed,
        input,
        wire,
        process,
        own,
        producers: instead?.producers ?? [],
        modulator,
        parameters: JSON.parse(modulator.parameters || "null") as Json,
        needs,
        schema: declared,
        made,
        objects,
        pulled: new Set(),
        lanes: new Map(),
        number,
        lastNumber: number,
        leaves: false,
        // Somebody has asked for it, and may have events before the gateway says how many want them.
        elsewhere: process === 0 ? 1 : 0,
      };
      this.#installed.set(hosted, installation);
      this.#meet(installation);
      if (number === 0) {
        this.#remove(installation);
        throw new JechoError("CLOSED", "it is not wanted any more");
      }
      this.#events.onNeeds(base);
      answer?.(installation);
      return installation;
    } catch (error) {
      this.#callers.delete(hosted);
      throw error;
    } finally {
      if (isWanted()) this.#installing.delete(name);
    }
  }

  #running(): Tier {
    this.#environment ??= this.#createEnvironment({
      onEvents: (frame, _derived, tag) =>
        this.#receive(frame, tag === undefined ? undefined : raisingOf(tag)),
      onDone: tag => this.#events.onDone(raisingOf(tag)),
      onCall: (hosted, name, values) => {
        const installation = this.#installed.get(hosted);
        const base = this.#callers.get(hosted);
        if (name !== "pull" && base !== undefined) this.#events.onCall(base, name, values);
        else if (installation !== undefined) this.#pull(installation, values[0]);
      },
      onRestarted: (hosted, { number: code, message }) => {
        const derived = this.#installed.get(hosted)?.number ?? 0;
        if (derived !== 0) this.#events.onAnswer({ kind: "Restarted", derived, code, message });
      },
      onRate: hosted => {
        const installation = this.#installed.get(hosted);
        if (installation === undefined) return;
        for (const name of this.sourcesOf(installation)) this.#events.onDemand(name);
      },
      onRemoved: (hosted, { number: code, message }) => {
        const installation = this.#installed.get(hosted);
        if (installation === undefined) return;
        this.#forget(installation);
        this.#callers.delete(hosted);
        if (installation.number !== 0)
          this.#events.onAnswer({ kind: "Removed", derived: installation.number, code, message });
      },
    });
    return this.#environment;
  }

  remove(derived: number, process: number): void {
    this.#installing.delete(`${derived}/${process}`);
    const installation = this.ofNumber(derived, process);
    if (installation === undefined) return;
    if (process === 0 || this.#environment === undefined) return this.#remove(installation);
    // Who raised it may be gone and come again, and what is under way will not come again.
    installation.leaves = true;
    void this.#environment.settled().then(() => {
      if (installation.leaves) this.#remove(installation);
    });
  }

  /** The connection broke: modulators stay, for their consumers are expected back. */
  interrupted(): void {
    this.#connection++;
    this.#installing.clear();
    this.#direct.clear();
    for (const installation of this.#installed.values()) {
      leaveConnection(installation);
    }
    clearTimeout(this.#apart);
    if ([...this.#installed.values()].some(({ process }) => process !== 0))
      this.#apart = setTimeout(() => this.#removeApart(({ process }) => process !== 0), APART_MS);
  }

  /** Nobody wants these back: what was not asked for at the present connection goes. */
  removeUnwanted(): void {
    // What runs in another process' stead is asked for when its consumers are back, whether others are or not.
    this.#removeApart(({ process }) => process === 0);
  }

  #removeApart(isMeant: (installation: Installation) => boolean): void {
    for (const installation of [...this.#installed.values()]) {
      if (installation.number === 0 && isMeant(installation)) this.#remove(installation);
    }
  }

  /** What the modulators are fed by that make this channel here. */
  feedsOf(derived: number): string[] {
    return [...this.#installed.values()].filter(({ number }) => number === derived).map(({ wire }) => wire);
  }

  /** What is fed by this. */
  fedBy(feed: string): Installation[] {
    const hosted = this.#bases.get(feed);
    if (hosted === undefined) return [];
    return [...this.#installed.values()].filter(({ input }) => input === hosted);
  }

  setContext(base: string, name: string, value: Value): void {
    const hosted = this.#bases.get(base);
    if (hosted !== undefined) this.#environment?.setContext(hosted, name, value);
  }

  /** The names of the views that modulators of a channel need. */
  needsOf(base: string): string[] {
    const names = new Set<string>();
    for (const installation of this.#installed.values()) {
      if (installation.base !== base) continue;
      for (const name of installation.needs) if (name.startsWith("context.")) names.add(name);
    }
    return [...names];
  }

  /** A newer version of a shared object, with its state unless that is only for those who pull it. */
  update(update: ObjectUpdate): void {
    const bases = new Set<string>();
    for (const installation of this.#installed.values()) {
      const { hosted, number, objects, pulled } = installation;
      const isPulled = update.derived !== 0 && update.derived === number && pulled.delete(update.object);
      if (isPulled) this.#environment?.update({ ...update, derived: hosted });
      const object = objects.get(update.object);
      if (object === undefined || object.version >= update.version) continue;
      if (update.state === "" || object.lazy !== isPulled) continue;
      object.version = update.version;
      object.state = JSON.parse(update.state) as Json;
      for (const name of this.sourcesOf(installation)) bases.add(name);
    }
    for (const base of bases) this.#events.onDemand(base);
    if (update.derived === 0) this.#environment?.update(update);
  }

  #pull({ number, modulator, pulled }: Installation, wanted: Value | undefined): void {
    if (number === 0) return;
    for (const { name, object, lazy } of modulator.objects) {
      if (name !== wanted || !lazy || pulled.has(object)) continue;
      pulled.add(object);
      this.#events.onPull(number, object);
    }
  }

  /** May there be a modulator that takes what is raised on this channel? */
  takes(base: string): boolean {
    return this.#bases.has(base);
  }

  /**
   * Gives a run to every modulator of its channel.
   *
   * @param raising names the synchronous event that the run is
   * @returns false where there is no modulator, so that `onDone` will not come
   */
  enqueue(base: string, frame: EventsFrame | LentRun, raising?: string): boolean {
    const hosted = this.#bases.get(base);
    if (this.#environment === undefined || hosted === undefined) return false;
    if (!this.#tellType(hosted, frame.token)) return false;
    if (frame.channel === hosted) return this.#environment.enqueue(frame, raising);
    // The host knows the channel by a number that is the same over connections; the frame itself is still to be sent.
    if (frame instanceof LentRun) return this.#environment.enqueue(frame.readdressed(hosted), raising);
    const copy = frame.copy();
    copy.readdress(hosted, frame.producer);
    return this.#environment.enqueue(copy, raising);
  }

  /** The environment hears of a type before the first run of it. @returns false where nobody has told of it here */
  #tellType(hosted: number, token: bigint): boolean {
    const told = this.#toldOf(hosted);
    if (token === 0n || told.has(token)) return true;
    const schema = this.#declaredSchema(token) ?? this.#events.schemaOf(token);
    if (schema === undefined) return false;
    told.set(token, schema);
    this.#environment?.addType(hosted, schema);
    return true;
  }

  #toldOf(hosted: number): Map<bigint, Uint8Array> {
    const told = this.#told.get(hosted) ?? new Map<bigint, Uint8Array>();
    this.#told.set(hosted, told);
    return told;
  }

  /** Of a type that a modulator here declares. */
  #declaredSchema(token: bigint): Uint8Array | undefined {
    for (const { schema } of this.#installed.values())
      if (schema.byteLength > 0 && tokenOf(schema) === token) return schema;
    return undefined;
  }

  flow(ready: boolean): void {
    for (const hosted of this.#installed.keys()) this.#environment?.flow(hosted, ready);
  }

  /** What modulators here make of what is raised there, one behind the other, each with the first of those. */
  #madeOf(feed: string): Map<Installation, Installation> {
    const made = new Map(this.fedBy(feed).map(first => [first, first]));
    for (const [installation, first] of made)
      for (const next of this.fedBy(feedOf(installation))) made.set(next, first);
    return made;
  }

  /** The channels whose events come to this modulator, by the names that producers here have for them. */
  sourcesOf(installation: Installation): Set<string> {
    const sources = new Set([installation.base]);
    // No producer here has a name for what another process raises.
    if (this.#direct.size === 0 || installation.process !== 0) return sources;
    const { base } = splitName(installation.base);
    for (const name of [base, ...Array.from(this.#direct.values(), ({ name }) => name)])
      if (this.#madeOf(name).has(installation)) sources.add(name);
    return sources;
  }

  /** What is wanted of a channel through modulators. */
  derivedOf(base: string, here: (derived: number) => number): DerivedDemand[] {
    const list: DerivedDemand[] = [];
    for (const [installation, first] of this.#madeOf(base)) {
      const objects = Object.fromEntries(
        [...installation.objects.values()].map(({ name, state }) => [name, state]),
      );
      const { hosted: id, parameters, number, elsewhere } = installation;
      const consumers = elsewhere + (number === 0 ? 0 : here(number));
      const mostPerSecond = this.#environment?.mostPerSecond(first.hosted) || Number.POSITIVE_INFINITY;
      list.push({ id, parameters, objects, consumers, mostPerSecond });
    }
    return list;
  }

  async close(): Promise<void> {
    clearTimeout(this.#apart);
    await this.#environment?.close();
  }

  /** A producer here has this name for the channel with this number. Of one that is derived, its events go where those go that are made here. */
  published(channel: number, name: string, token: bigint): void {
    if (splitName(name).derived === "") return;
    this.#direct.set(channel, { name, token });
    const made = this.ofNumber(channel);
    if (made !== undefined) this.#alias(name, feedOf(made), channel);
  }

  /**
   * What modulators here take is of one type, whether it is made here or published.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  #checkBeside(derived: number, process: number, hosted: number, made: Uint8Array): void {
    const direct = process === 0 ? this.#direct.get(derived) : undefined;
    const token = made.byteLength === 0 ? 0n : tokenOf(made);
    if (direct === undefined || direct.token === token) return;
    this.#environment?.remove(hosted);
    throw new JechoError(
      "TYPE_MISMATCH",
      `a producer of the same process publishes events of another type into ${direct.name}`,
    );
  }

  /** No producer here publishes into this one any more. */
  unpublished(channel: number): void {
    this.#direct.delete(channel);
  }

  /** Producers here may publish into what it makes, too. */
  #meet(installation: Installation): void {
    const { number, process } = installation;
    const direct = this.#direct.get(number);
    if (direct !== undefined && process === 0) this.#alias(direct.name, feedOf(installation), number);
  }

  /** Two names for what the same modulators are fed with. */
  #alias(name: string, feed: string, channel: number): void {
    const hosted = this.#bases.get(name) ?? this.#hostedBase(feed, channel);
    this.#bases.set(name, hosted);
    this.#bases.set(feed, hosted);
  }

  /** The installation that is apart from its derived channel and is the very modulator that is asked for. */
  #adopt(input: number, modulator: Modulator): Installation | undefined {
    for (const installation of this.#installed.values()) {
      if ((installation.number !== 0 && !installation.leaves) || installation.input !== input) continue;
      if (isSame(installation.modulator, modulator)) return installation;
    }
    return undefined;
  }

  #remove(installation: Installation): void {
    const { hosted } = installation;
    this.#forget(installation);
    leaveConnection(installation);
    this.#environment?.remove(hosted);
    void this.#environment?.settled().then(() => this.#callers.delete(hosted));
  }

  #forget(installation: Installation): void {
    const sources = this.sourcesOf(installation);
    this.#installed.delete(installation.hosted);
    const { wire } = installation;
    const isFed = [...this.#installed.values()].some(other => other.wire === wire);
    if (wire !== "" && !isFed) this.#events.onUnfed(wire);
    this.#forgetFeed(feedOf(installation));
    for (const name of sources) this.#events.onDemand(name);
    this.#events.onNeeds(installation.base);
  }

  #forgetFeed(feed: string): void {
    const hosted = this.#bases.get(feed);
    this.#bases.delete(feed);
    // It may have another name.
    if (hosted !== undefined && ![...this.#bases.values()].includes(hosted)) this.#told.delete(hosted);
  }

  /** The number that the host knows a base channel by: its first one at a gateway, unless that is taken. */
  #hostedBase(base: string, channel: number): number {
    let hosted = this.#bases.get(base);
    if (hosted === undefined) {
      const taken = new Set(this.#bases.values());
      hosted = channel;
      while (taken.has(hosted)) hosted += OTHER_NUMBERS;
      this.#bases.set(base, hosted);
    }
    return hosted;
  }

  #receive(message: Uint8Array, raising: string | undefined): void {
    const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
    const frame = parseFrame(view, message, 0, message.byteLength);
    if (frame.kind !== "Events") return;
    const installation = this.#installed.get(frame.channel);
    if (installation === undefined) return;
    this.#events.onEvents(installation, frame, message, raising);
    this.#feed(installation, frame, frame.isSync ? raising : undefined);
  }

  /** What a modulator made goes on to those that are behind it, in the same order. */
  #feed(installation: Installation, frame: EventsFrame, raising: string | undefined): void {
    const hosted = this.#bases.get(feedOf(installation));
    if (hosted === undefined) return;
    const copy = frame.copy();
    copy.readdress(hosted, frame.producer);
    // Each run that is waited for has a tag of its own.
    const tag = raising === undefined ? undefined : `${raising}>${this.#nextFeed++}`;
    if (raising !== undefined) this.#events.onFurther(raising);
    // The environment is in the middle of handing out this run.
    queueMicrotask(() => {
      const isTaken = this.#tellType(hosted, copy.token) && this.#environment?.enqueue(copy, tag) === true;
      if (!isTaken && raising !== undefined) this.#events.onDone(raising);
    });
  }
}

/** Names what a modulator makes, for those that are behind it. No channel's name looks like that. */
function feedOf({ base, hosted }: Installation): string {
  return `${base}#${hosted}`;
}

/** Its number means nothing at another connection, save to those who knew it by that. */
function leaveConnection(installation: Installation): void {
  if (installation.number !== 0) installation.lastNumber = installation.number;
  installation.number = 0;
  installation.pulled.clear();
}

function raisingOf(tag: string): string {
  const end = tag.indexOf(">");
  return end < 0 ? tag : tag.slice(0, end);
}

function isSame(a: Modulator, b: Modulator): boolean {
  const objects = ({ objects }: Modulator): string =>
    JSON.stringify(objects.map(({ name, object }) => [name, object]));
  return a.source === b.source && a.key === b.key && objects(a) === objects(b);
}
