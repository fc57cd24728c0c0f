import { hash } from "node:crypto";
import { ERRORS, JechoError, Type } from "@jecho/shared";
import { Few, type Modulator, objectTag, type SourcePlace, tokenOf } from "@jecho/shared/internal";
import type { Connection } from "../connection.ts";
import type { Channel } from "../delivery/channel.ts";
import type { SharedObjects } from "../objects/shared-objects.ts";
import type { ChannelManager } from "./channel-manager.ts";
import { likenessOf } from "./derivations.ts";
import type { Place } from "./endpoints.ts";
import type { Outlet } from "./outlet.ts";
import { Placements, type Wanted } from "./placements.ts";
import { Producers } from "./producers.ts";
import { checkMatch, isReadable, type Reader } from "./written-types.ts";

const NO_TAGS: readonly bigint[] = [];

/** What modulators have to have in common besides their source to be compared: nobody is to learn of others' objects by that. */
function alikeBut({ objects, capabilities }: Modulator): string {
  const read = objects.map(({ name, object, lazy }) => [name, object, lazy]);
  return JSON.stringify([read, [...capabilities].sort()]);
}

function reach(places: Map<string, SourcePlace>, source: bigint, urgent: boolean, raised: number): void {
  const name = `${source} ${urgent}`;
  const known = places.get(name);
  if (known === undefined || Number(known.raised) < raised)
    places.set(name, { source, urgent, raised: BigInt(raised), origin: 0n, through: 0n });
}

/** What a modulator makes of its parent channel. It exists while it has consumers, and is installed for every producer. */
export class DerivedChannel {
  readonly manager: ChannelManager;
  readonly channel: Channel;
  /** Where its consumers are. */
  readonly place: Place;
  readonly modulator: Modulator;
  /** The derived channel that this one is derived from; undefined for the channel itself. */
  readonly parent: DerivedChannel | undefined;
  /** The types that its modulators declared at their installation, by token. Without one it has its parent's types. */
  readonly types = new Map<bigint, Type>();
  /** The type that its modulator was written for, if it says so. Without one of its own it makes events of that, too. */
  #reads: Type | undefined;
  /** Tags of the shared objects of all modulators on the way here, the first one's first: events say the version of each. */
  readonly objects: readonly bigint[];
  /** Channels derived from this one. */
  readonly children = new Few<number, DerivedChannel>();
  /** Consumers may come back to what an earlier gateway kept: until then it stays. */
  isHeld = false;
  readonly placements: Placements;
  /** How far consumers knew what became of raw sources when they came. */
  readonly #reached = new Map<string, SourcePlace>();
  /** Where producers publish into it directly. */
  readonly outlets = new Set<Outlet>();
  readonly #objects: SharedObjects;

  constructor(
    manager: ChannelManager,
    channel: Channel,
    modulator: Modulator,
    objects: SharedObjects,
    parent?: DerivedChannel,
  ) {
    this.manager = manager;
    this.channel = channel;
    this.place = { manager, channel, derived: this, feed: 0 };
    this.modulator = modulator;
    this.#objects = objects;
    this.parent = parent;
    const behind = parent?.objects ?? NO_TAGS;
    this.objects = behind;
    this.placements = new Placements(this);
    parent?.children.set(channel.number, this);
    if (modulator.objects.length === 0) return;
    this.objects = [...behind, ...modulator.objects.map(({ object }) => objectTag(object))];
    objects.use(this);
  }

  /** Names it among all that there are or have been of its channel: the same again for an equal modulator. */
  get key(): string {
    const { source } = this.modulator;
    const text = `${this.parent?.key ?? ""}:${source.length}:${source}${likenessOf(this.modulator)}`;
    return hash("sha256", text, "base64");
  }

  /** The producers whose events its modulator takes: of the channel, or what they publish into those between. */
  get feeders(): Producers {
    return this.parent?.senders ?? this.manager.producers;
  }

  /** The same with those who publish into this one. */
  get senders(): Producers {
    const direct = [...this.outlets].filter(({ sending }) => sending.size > 0);
    if (direct.length === 0) return this.feeders;
    return new Producers([this.feeders, ...direct.map(({ sending }) => sending)]);
  }

  /** Does this process publish into it directly? */
  isDirectAt(connection: Connection): boolean {
    for (const { sending } of this.outlets) if (sending.isAt(connection)) return true;
    return false;
  }

  /** How many modulators its events have been through. */
  get depth(): number {
    return 1 + (this.parent?.depth ?? 0);
  }

  /** Is it made of that one? */
  isBehind(other: DerivedChannel): boolean {
    return this.parent === other || (this.parent?.isBehind(other) ?? false);
  }

  /** Tokens of what it is written with at present. */
  get tokens(): bigint[] {
    const made =
      this.types.size > 0 ? [...this.types.keys()] : (this.parent?.tokens ?? this.manager.types.tokens);
    return [...new Set([...made, ...[...this.outlets].flatMap(({ types }) => [...types.keys()])])];
  }

  /** Types that its events may be of, besides those of the channel. */
  allTypes(): Type[] {
    const direct = [...this.outlets].flatMap(({ types }) => [...types.values()]);
    const own = this.#reads === undefined ? [] : [this.#reads];
    return [...this.types.values(), ...own, ...direct, ...(this.parent?.allTypes() ?? [])];
  }

  /** Of its own types. */
  typeOf(token: bigint): Type | undefined {
    const own = this.types.get(token) ?? (this.#reads?.token === token ? this.#reads : undefined);
    if (own !== undefined) return own;
    for (const { types } of this.outlets) if (types.has(token)) return types.get(token);
    return undefined;
  }

  /**
   * A producer that publishes into it directly writes what its modulator declares that it makes; where it declares nothing, all
   * are typed or none.
   *
   * @param name that it publishes into
   * @throws JechoError `TYPE_MISMATCH`
   */
  checkWriter(type: Type | undefined, name: string): void {
    const declared = this.declaredSchema;
    const isTyped = this.tokens.length > 0;
    const fits =
      declared === undefined
        ? this.senders.size === 0 || isTyped === (type !== undefined)
        : tokenOf(declared) === type?.token;
    if (fits) return;
    const known =
      declared === undefined ? (isTyped ? "typed" : "untyped") : `of ${Type.fromSchema(declared).name}`;
    throw new JechoError(
      "TYPE_MISMATCH",
      `${name} is ${known}, and the producer writes ${type === undefined ? "bytes" : type.name}`,
    );
  }

  /** What its modulator, or the one before it, says that it makes; undefined where that is what producers write. */
  get declaredSchema(): Uint8Array | undefined {
    const [declared] = this.types.values();
    return declared?.schema ?? this.parent?.declaredSchema;
  }

  /** Events of this type come from now on: consumers of it and of what is behind it are told. */
  announce(type: Type): void {
    for (const derived of this.manager.derivations)
      if (derived === this || derived.isBehind(this)) this.manager.consumers.tellType(type, derived);
  }

  /**
   * Who declares a type must be able to read some of what the modulator makes, or passes on.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  checkReader(type: Type | undefined, reader: Reader): void {
    const made = [this.types, ...[...this.outlets].map(({ types }) => types)].flatMap(of => [...of.values()]);
    if (type === undefined || made.some(written => isReadable(written, type))) return;
    if (this.types.size === 0) (this.parent ?? this.manager).checkReader(type, reader);
    else checkMatch(made, type, this.manager.name, reader);
  }

  /**
   * A modulator that says what it was written for must be able to read what one of its present producers writes.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  checkInput(): void {
    (this.parent ?? this.manager).checkReader(this.#reads, "modulator");
  }

  /**
   * This process is left out: consumers of this channel miss what it raises, until its installation runs. The one place where that is
   * known as it comes to pass, while there are consumers; `placements.leftOut` knows it at any time.
   */
  leftOut(producing: Connection, { code, message }: JechoError): void {
    // It will find out itself when it has time again.
    if (code === "TIMED_OUT") return;
    const [number] = ERRORS.MODULATOR_LEFT_OUT;
    const why = `a modulator of ${this.manager.name} does not run for this process (${code}: ${message})`;
    producing.send({ kind: "Fault", code: number, message: why });
  }

  /** Where the modulator is installed. */
  connections(): Iterable<Connection> {
    return this.placements.connections();
  }

  /** Are all its copies of this object lazy, if it reads it? */
  isLazy(object: string): boolean {
    for (const known of this.modulator.objects) if (known.object === object && !known.lazy) return false;
    return true;
  }

  /** May the consumer of this modulator find out whether it is equal to that of this channel? */
  isComparable(modulator: Modulator, parent: DerivedChannel | undefined): boolean {
    const { source, compares } = this.modulator;
    if (!compares || !modulator.compares || this.parent !== parent || source !== modulator.source)
      return false;
    return alikeBut(this.modulator) === alikeBut(modulator);
  }

  /** Its consumers were so far at another gateway, or while this channel was not there. */
  know(sources: readonly SourcePlace[]): void {
    for (const { origin, urgent, through } of sources)
      if (origin !== 0n) reach(this.#reached, origin, urgent, Number(through));
  }

  /** How far what was made accounts for each source of this process, where anything is known of that. */
  reachedAt(producing: Connection): SourcePlace[] {
    // Where it is behind another modulator, what is kept are not the raw events.
    if (this.parent !== undefined) return [];
    const reached = new Map(this.#reached);
    for (const { origin, urgent, through } of this.channel.lanes.made())
      reach(reached, origin, urgent, through);
    const own = new Set(this.feeders.of(producing).map(({ source }) => source));
    return [...reached.values()].filter(({ source }) => own.has(source));
  }

  /** Takes the modulator out of every process. @param why those who still wait to be its consumers are not */
  remove(why?: JechoError): void {
    this.parent?.children.delete(this.channel.number);
    this.#objects.release(this);
    for (const type of this.types.values()) this.manager.names.types.release(type);
    if (this.#reads !== undefined) this.manager.names.types.release(this.#reads);
    this.placements.end(why);
  }

  /** What those who run its modulator are asked to install. */
  wanted(): Wanted {
    const { manager, channel, modulator, parent } = this;
    return {
      channel: (parent ?? manager).channel.number,
      derived: channel.number,
      modulator: this.#objects.withNewest(modulator),
      behind: parent?.objects.length ?? 0,
    };
  }

  /** What is made of this process' events is of this type. */
  schemaOf(producing: Connection): Uint8Array {
    const [declared] = this.types.values();
    if (declared !== undefined) return declared.schema;
    if (this.feeders.isAt(producing))
      return this.parent?.schemaOf(producing) ?? this.manager.schemaOf(producing);
    for (const { sending, types } of this.outlets) {
      const type = types.get(sending.tokenOf(producing));
      if (type !== undefined) return type.schema;
    }
    return new Uint8Array(0);
  }

  /**
   * The modulator says what type it makes, without one that of what it takes; and which one it was written for, without one
   * whatever comes.
   */
  declares(schema: Uint8Array, reads: Uint8Array): void {
    if (reads.byteLength > 0 && this.#reads === undefined) {
      this.#reads = this.manager.names.types.typeOf(reads);
      this.#hold(this.#reads);
    }
    if (schema.byteLength === 0) return;
    const type = this.manager.names.types.typeOf(schema);
    if (this.types.has(type.token)) return;
    this.types.set(type.token, type);
    this.#hold(type);
    this.manager.reviewOutlets(this);
  }

  #hold(type: Type): void {
    this.manager.names.types.hold(type);
    this.announce(type);
  }

  /** May its events be of this type? */
  mayBe(token: bigint): boolean {
    if (token === 0n || this.typeOf(token) !== undefined || this.manager.types.isWritten(token)) return true;
    return this.parent?.mayBe(token) ?? false;
  }
}
