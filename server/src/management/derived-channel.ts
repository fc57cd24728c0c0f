import { hash } from "node:crypto";
import { ERRORS, JechoError, type Type } from "@jecho/shared";
import { Few, type Modulator, objectTag, type SourcePlace } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { Channel } from "../delivery/channel.ts";
import { sourceName } from "../delivery/lane.ts";
import type { SharedObjects } from "../objects/shared-objects.ts";
import type { ChannelManager } from "./channel-manager.ts";
import type { ConsumerPlace } from "./consumer.ts";
import { Declarations } from "./declarations.ts";
import { likenessOf } from "./derivations.ts";
import type { Outlet } from "./outlets.ts";
import { Placements, type WantedInstallation } from "./placements.ts";
import { Producers } from "./producers.ts";
import { checkMatch, isReadable, type Reader } from "./types.ts";
import { UnmadeSources } from "./unmade.ts";

const NO_TAGS: readonly bigint[] = [];

/** Names all that modulators must share to be compared, their objects, too: nobody is to learn of others' by that. */
export function comparedAs({ source, objects, capabilities }: Modulator): string {
  const read = objects.map(({ name, object, lazy }) => [name, object, lazy]);
  return hash("sha256", JSON.stringify([source, read, [...capabilities].sort()]), "base64");
}

/** Positions that consumers claim are remembered up to this number. */
const MOST_CLAIMED = 4096;

/** Notes how far a source's events have been made into output, where none or a further place is known. */
function noteLeast(places: Map<string, SourcePlace>, { origin, urgent, through }: SourcePlace): void {
  const name = sourceName({ source: origin, urgent });
  const known = places.get(name);
  if (origin !== 0n && (known === undefined || known.raised > through))
    places.set(name, { source: origin, urgent, raised: through, origin: 0n, through: 0n });
}

/** The least position in each source, of all that named the source. */
function leastOf(places: Iterable<SourcePlace>): Map<string, SourcePlace> {
  const least = new Map<string, SourcePlace>();
  for (const place of places) noteLeast(least, place);
  return least;
}

/** A derived channel: a modulator's output. It exists while it has consumers, and is installed for every producer. */
export class DerivedChannel {
  readonly manager: ChannelManager;
  readonly channel: Channel;
  /** The place of the channel's consumers. */
  readonly place: ConsumerPlace;
  readonly modulator: Modulator;
  /** The derived channel that this one is derived from; undefined for the channel itself. */
  readonly parent: DerivedChannel | undefined;
  /** Without a type that is made it has its parent's types, and makes events of those that its modulator was written for, too. */
  readonly #declared: Declarations;
  /** Tags of the shared objects of all modulators on the way here, the first one's first: events say the version of each. */
  readonly objects: readonly bigint[];
  /** Channels derived from this one. */
  readonly children = new Few<number, DerivedChannel>();
  /** Consumers may come back to what an earlier gateway kept: until then it stays. */
  isHeld = false;
  readonly placements: Placements;
  /** The sources that producers publish into the channel directly. */
  readonly unmade: UnmadeSources;
  /** Positions in raw sources that consumers said they had reached. */
  readonly #claimed = new Map<string, SourcePlace>();
  /** Outlets of producers that publish into the channel directly. */
  readonly outlets = new Set<Outlet>();
  readonly #objects: SharedObjects;
  /** As of `comparedAs`; undefined where its consumers do not compare it. */
  readonly #comparedAs: string | undefined;
  /** The subject that brought the modulator. */
  readonly by: string;

  constructor(
    manager: ChannelManager,
    channel: Channel,
    modulator: Modulator,
    objects: SharedObjects,
    by: string,
    parent?: DerivedChannel,
  ) {
    this.manager = manager;
    this.channel = channel;
    this.place = { manager, channel, derived: this, feed: 0 };
    this.modulator = modulator;
    this.#comparedAs = modulator.compares ? comparedAs(modulator) : undefined;
    this.#declared = new Declarations(manager.names.types, manager.names.limits.typesPerChannel);
    this.#objects = objects;
    this.by = by;
    this.parent = parent;
    const tags = parent?.objects ?? NO_TAGS;
    this.objects = tags;
    this.placements = new Placements(this);
    const behind = { [Symbol.iterator]: () => this.behind() };
    // Joining producers may have raised events while nobody derived the channel: where they begin is not known.
    this.unmade = new UnmadeSources(channel, { joining: () => [] }, behind, manager.names);
    parent?.children.set(channel.number, this);
    if (modulator.objects.length === 0) return;
    this.objects = [...tags, ...modulator.objects.map(({ object }) => objectTag(object))];
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

  /** The channel's producers, and those that publish into this derived channel. */
  get senders(): Producers {
    const direct = [...this.outlets].filter(({ sending }) => sending.size > 0);
    if (direct.length === 0) return this.feeders;
    return new Producers([this.feeders, ...direct.map(({ sending }) => sending)]);
  }

  /** All that is derived from it, also behind others. */
  *behind(): Generator<DerivedChannel> {
    for (const child of this.children.values()) {
      yield child;
      yield* child.behind();
    }
  }

  /** All sources that its events may be made of: those of the channel, and those published into the derived channels between. */
  *sources(): Generator<UnmadeSources> {
    yield this.manager.unmade;
    for (let between = this.parent; between !== undefined; between = between.parent) yield between.unmade;
  }

  /** Whether this process publishes into the derived channel directly. */
  isDirectAt(connection: Connection): boolean {
    for (const { sending } of this.outlets) if (sending.isAt(connection)) return true;
    return false;
  }

  /** Number of modulators that the channel's events have been through. */
  get depth(): number {
    return 1 + (this.parent?.depth ?? 0);
  }

  /** Whether this channel is derived from the other one. */
  isBehind(other: DerivedChannel): boolean {
    return this.parent === other || (this.parent?.isBehind(other) ?? false);
  }

  /** Tokens of what it is written with at present. */
  get tokens(): bigint[] {
    const { made, passesOn } = this.#declared;
    const passed = passesOn ? (this.parent?.tokens ?? this.manager.types.tokens) : [];
    return [
      ...new Set([...made.keys(), ...passed, ...[...this.outlets].flatMap(({ types }) => [...types.keys()])]),
    ];
  }

  /** Types that its events may be of, besides those of the channel. */
  allTypes(): Type[] {
    const direct = [...this.outlets].flatMap(({ types }) => [...types.values()]);
    const { made, read } = this.#declared;
    return [...made.values(), ...read.values(), ...direct, ...(this.parent?.allTypes() ?? [])];
  }

  /** A type of its own, by token. */
  typeOf(token: bigint): Type | undefined {
    const own = this.#declared.made.get(token) ?? this.#declared.read.get(token);
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
    const { made } = this;
    const isTyped = this.tokens.length > 0;
    const fits =
      (type !== undefined && made.has(type.token)) ||
      (this.#passesOn && (this.senders.size === 0 || isTyped === (type !== undefined)));
    if (fits) return;
    const [declared] = made.values();
    const known = declared === undefined ? (isTyped ? "typed" : "untyped") : `of ${declared.name}`;
    throw new JechoError(
      "TYPE_MISMATCH",
      `${name} is ${known}, and the producer writes ${type === undefined ? "bytes" : type.name}`,
    );
  }

  /** The types that its modulator, or the one before it, is declared to make; none where its events have the types that producers write. */
  get made(): ReadonlyMap<bigint, Type> {
    const { made } = this.#declared;
    return made.size > 0 ? made : (this.parent?.made ?? made);
  }

  /** Whether the channel's events may have the types that producers write. */
  get #passesOn(): boolean {
    return this.#declared.passesOn && (this.parent === undefined || this.parent.#passesOn);
  }

  /** Events of this type come from now on: consumers of it and of what is behind it are told. */
  announce(type: Type): void {
    for (const derived of this.manager.derivations)
      if (derived === this || derived.isBehind(this)) this.manager.consumers.tellType(type, derived);
  }

  /**
   * Checks that a reader's declared type matches some of the types that the modulator makes or passes on.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  checkReader(type: Type | undefined, reader: Reader): void {
    const all = [this.#declared.made, ...[...this.outlets].map(({ types }) => types)];
    const made = all.flatMap(of => [...of.values()]);
    if (type === undefined || made.some(written => isReadable(written, type))) return;
    if (this.#declared.passesOn) (this.parent ?? this.manager).checkReader(type, reader);
    else checkMatch(made, type, this.manager.name, reader);
  }

  /**
   * A modulator that says what it was written for must be able to read what one of its present producers writes.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  checkInput(): void {
    if (this.#declared.takesAny) return;
    let mismatch: unknown;
    for (const type of this.#declared.read.values()) {
      try {
        return (this.parent ?? this.manager).checkReader(type, "modulator");
      } catch (error) {
        mismatch ??= error;
      }
    }
    throw mismatch;
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
    for (const { number: producer } of this.feeders.of(producing))
      producing.send({ kind: "Fault", code: number, message: why, producer });
  }

  /** Connections that have the modulator installed. */
  connections(): Iterable<Connection> {
    return this.placements.connections();
  }

  /** Whether all copies of this object that modulators of this channel read are lazy; true where there are none. */
  isLazy(object: string): boolean {
    for (const known of this.modulator.objects) if (known.object === object && !known.lazy) return false;
    return true;
  }

  /** Whether the consumer of a modulator may find out whether it is equal to that of this channel. @param as of `comparedAs` */
  isComparable(as: string, parent: DerivedChannel | undefined): boolean {
    return this.parent === parent && this.#comparedAs === as;
  }

  /**
   * Takes the positions that consumers say they had before this channel was there. The least one counts: who was further drops what it is sent
   * again, and a stranger's word has nobody miss anything.
   */
  know(sources: readonly SourcePlace[]): void {
    for (const place of sources) noteLeast(this.#claimed, place);
    for (const name of this.#claimed.keys()) {
      if (this.#claimed.size <= MOST_CLAIMED) return;
      this.#claimed.delete(name);
    }
  }

  /**
   * The last event of each source of this process that output accounts for: as the gateway has seen it, or else as consumers say, and no further than
   * the source is.
   *
   * @param consumer whose process makes it for itself, and may be less far than others; undefined for what is made for everybody
   */
  reachedAt(producing: Connection, consumer: Connection | undefined): SourcePlace[] {
    // Where it is behind another modulator, what is kept are not the raw events.
    if (this.parent !== undefined) return [];
    // It begins with what comes.
    if (consumer !== undefined && this.placements.isNew(consumer)) return [];
    let reached = consumer && leastOf(this.placements.placesOf(consumer));
    if (reached === undefined || reached.size === 0) reached = new Map([...this.#claimed, ...this.#made()]);
    const places: SourcePlace[] = [];
    for (const producer of this.feeders.of(producing))
      for (const urgent of [false, true]) {
        const place = reached.get(sourceName({ source: producer.source, urgent }));
        const raised = producer.raisedBy(urgent);
        if (place !== undefined) places.push(place.raised > raised ? { ...place, raised } : place);
      }
    return places;
  }

  /** How far the output that has come to the gateway accounts for each source. */
  #made(): Map<string, SourcePlace> {
    const made = new Map<string, SourcePlace>();
    for (const { origin, urgent, through } of this.channel.lanes.made()) {
      const name = sourceName({ source: origin, urgent });
      const raised = BigInt(through);
      if ((made.get(name)?.raised ?? -1n) < raised)
        made.set(name, { source: origin, urgent, raised, origin: 0n, through: 0n });
    }
    return made;
  }

  /** Takes the modulator out of every process. @param why those who still wait to be its consumers are not */
  remove(why?: JechoError): void {
    this.parent?.children.delete(this.channel.number);
    this.#objects.release(this);
    this.#declared.release();
    this.placements.end(why);
  }

  /** The request for those who are to run its modulator. */
  wanted(): WantedInstallation {
    const { manager, channel, modulator, parent } = this;
    return {
      channel: (parent ?? manager).channel.number,
      derived: channel.number,
      modulator: this.#objects.withNewest(modulator),
      behind: parent?.objects.length ?? 0,
      by: this.by,
    };
  }

  /** The schema of the output made of this process' events. */
  schemaOf(producing: Connection): Uint8Array {
    const declared = this.placements.madeOf(producing);
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
   * A process has installed the modulator, and declares its types: see `Declarations.add`.
   *
   * @param by the process
   * @returns the type that it makes there; undefined for that of what it takes
   * @throws JechoError `TYPE_INVALID`, `OVERLOADED`
   */
  declares(schema: Uint8Array, reads: Uint8Array, by: Connection): Type | undefined {
    const { made, fresh } = this.#declared.add(schema, reads, by);
    for (const type of fresh) this.announce(type);
    if (made !== undefined && fresh.includes(made)) this.manager.reviewOutlets(this);
    return made;
  }

  /** Whether the channel's events may have this type. */
  mayBe(token: bigint): boolean {
    if (token === 0n || this.typeOf(token) !== undefined || this.manager.types.isWritten(token)) return true;
    return this.parent?.mayBe(token) ?? false;
  }
}
