import { checkName, ERRORS, JechoError, Type } from "@jecho/shared";
import type { EventsFrame, Modulator } from "@jecho/shared/internal";
import type { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";
import { DerivedChannel, equalityKey } from "./derived-channel.ts";
import type { Consumer, Place, Producer } from "./endpoints.ts";
import type { Retention } from "./history/event-log.ts";
import { History } from "./history/history.ts";
import type { NameServer } from "./name-server.ts";
import type { SharedObjects } from "./shared-objects.ts";

/** What is kept at most for consumers that were cut off, where the channel has no history. */
const TRANSIENT_BYTES = 8 << 20;
/** How long a channel with history stays in memory when nobody uses it. */
const IDLE_MS = 600_000;

/** Keeps one channel's books: its types, its endpoints by concentrator, its derived channels. */
export class ChannelManager {
  readonly name: string;
  readonly channel: Channel;
  readonly names: NameServer;
  /** Where its consumers are that read the channel itself. */
  readonly place: Place;
  readonly #objects: SharedObjects;
  readonly #producers = new Map<number, Producer>();
  /** Processes whose first producers wait for what is installed here. */
  readonly #admitting = new Map<Connection, Promise<void>>();
  readonly #consumers = new Set<Consumer>();
  readonly #derived = new Map<string, DerivedChannel>();
  /** Those that have names. */
  readonly #named = new Map<string, DerivedChannel>();
  /** The types that its producers write, by token. */
  readonly #types = new Map<bigint, Type>();
  /** What is kept of its events, and of those of its derived channels. */
  #retention: Retention | undefined;
  /** Field that distinguishes events of which the newest matters. */
  #key = "";
  /** The types that kept events of an earlier gateway were written with. */
  readonly #past = new Map<bigint, Type>();
  #idle: NodeJS.Timeout | undefined;

  constructor(name: string, channel: Channel, names: NameServer, objects: SharedObjects) {
    this.name = name;
    this.channel = channel;
    this.names = names;
    this.place = { manager: this, channel, derived: undefined, feed: 0 };
    this.#objects = objects;
    this.#prepare(channel);
  }

  /** What an earlier gateway kept. */
  restore(): void {
    const stored = this.names.keeping.store?.load(this.name);
    if (stored === undefined) return;
    for (const schema of stored.schemas) this.#remember(Type.fromSchema(schema));
    this.retain({ ...stored.retention, bytes: this.names.keeping.historyBytes }, "", false, true);
  }

  /**
   * Keeps at least this much from now on.
   *
   * @param always whether anybody listens or not
   * @param isNew the channel has just come into being
   */
  retain(wanted: Retention | undefined, key = "", always = false, isNew = false): void {
    if (key !== "") this.#key = key;
    if (wanted === undefined) return;
    if (always) this.channel.isKept = true;
    const old = this.#retention;
    this.#retention = {
      events: Math.max(wanted.events, old?.events ?? 0),
      seconds: Math.max(wanted.seconds, old?.seconds ?? 0),
      bytes: wanted.bytes,
      latest: wanted.latest || (old?.latest ?? false),
    };
    this.#keep(this.channel, this.name, isNew);
    for (const { channel, key } of this.#derived.values()) this.#keep(channel, this.#nameOf(key));
  }

  /** A type that kept events are written with, though nobody may write it any more. */
  #remember(type: Type): void {
    if (this.#past.has(type.token)) return;
    this.#past.set(type.token, type);
    this.names.types.hold(type);
  }

  #nameOf(derivedKey: string): string {
    return `${this.name} ${derivedKey}`;
  }

  /** Begins a channel's history, or keeps more from now on. */
  #keep(channel: Channel, name: string, isNew = false): void {
    if (this.#retention === undefined) return;
    const { history } = channel;
    if (history !== undefined && !history.isTransient) {
      history.log.retention = this.#retention;
      return;
    }
    const { store } = this.names.keeping;
    // Numbers that were given without being kept would be given twice.
    if (!isNew) store?.forget(name);
    const stored = isNew ? store?.load(name) : undefined;
    const newest = stored?.runs.at(-1)?.frame;
    if (newest !== undefined) channel.nextSeq = newest.seq + newest.count;
    const present = { epoch: channel.epoch, firstSeq: channel.nextSeq };
    channel.history = new History(this.#retention, channel.keyOf, name, present, store, stored);
    for (const run of history?.log.all() ?? []) channel.history.log.append(run);
    channel.lanes.restore(channel.history.sources().values());
    for (const { token, schema } of this.#types.values()) channel.history.addType(token, schema);
  }

  /**
   * A consumer's process was cut off: until the window is over the producers go on sending for it, and what comes is kept
   * for its return.
   */
  awaitReturn({ channel, derived, feed }: Consumer, windowMs = this.names.keeping.resumeWindowMs): void {
    if (windowMs <= 0) return;
    if (channel.history === undefined) {
      const retention = {
        events: Number.POSITIVE_INFINITY,
        seconds: Number.POSITIVE_INFINITY,
        bytes: Math.min(this.names.keeping.historyBytes, TRANSIENT_BYTES),
        latest: false,
      };
      const present = { epoch: channel.epoch, firstSeq: channel.nextSeq };
      channel.history = new History(retention, channel.keyOf, "", present, undefined, undefined);
    }
    channel.await(windowMs, feed, () => {
      if (!channel.isAwaiting && channel.history?.isTransient) channel.history = undefined;
      this.#tellDemand(channel);
      if (derived !== undefined) this.dropIfUnused(derived);
      this.#forgetIfUnused();
    });
  }

  #keyOf(run: EventsFrame, i: number): string {
    const type = this.#key === "" ? undefined : this.#typeOf(run.token);
    if (type === undefined) return "";
    try {
      const [start, end] = [run.eventStart(i), run.eventEnd(i)];
      type.verify(run.view, start, end);
      const event = type.readerOf(type)(run.view, run.bytes, start) as Record<string, unknown>;
      return String(event[this.#key]);
    } catch {
      // Its consumers will refuse it; here it is an event like any other.
      return "";
    }
  }

  #typeOf(token: bigint): Type | undefined {
    const own = this.#types.get(token) ?? this.#past.get(token);
    if (own !== undefined) return own;
    for (const { types } of this.#derived.values()) if (types.has(token)) return types.get(token);
    return undefined;
  }

  #cutOff(channel: Channel, connection: Connection): void {
    for (const consumer of [...this.#consumers]) {
      if (consumer.channel !== channel || consumer.connection !== connection) continue;
      this.#lose(consumer, new JechoError("SLOW_CONSUMER"));
    }
  }

  #lose(consumer: Consumer, { number, message }: JechoError): void {
    const { connection } = consumer;
    connection.removeConsumer(consumer);
    if (consumer.derived !== undefined) connection.modulators--;
    connection.send({ kind: "ConsumerLost", consumer: consumer.number, code: number, message });
    if (number === ERRORS.SLOW_CONSUMER[0]) this.awaitReturn(consumer);
    this.removeConsumer(consumer);
  }

  /** Gives a channel its manager's ways. */
  #prepare(channel: Channel): void {
    channel.keyOf = (run, i) => this.#keyOf(run, i);
    channel.processOf = producer => this.#producers.get(producer)?.connection.process ?? 0;
    channel.events = {
      onOverrun: connection => this.#cutOff(channel, connection),
      onBlock: ready => {
        for (const connection of this.producingConnections())
          connection.send({ kind: "Flow", derived: channel.number, ready });
      },
    };
  }

  /** Connections that have producers here, each once. */
  producingConnections(): Set<Connection> {
    return new Set([...this.#producers.values()].map(({ connection }) => connection));
  }

  /** A producer by its number. */
  producer(number: number): Producer | undefined {
    return this.#producers.get(number);
  }

  /** The producers of a process. */
  producersOf(connection: Connection): Producer[] {
    return [...this.#producers.values()].filter(producer => producer.connection === connection);
  }

  /** Has this process a producer here? */
  producesAt(connection: Connection): boolean {
    for (const producer of this.#producers.values()) if (producer.connection === connection) return true;
    return false;
  }

  /** The numbers of the producers of each process. */
  producersByProcess(): Map<Connection, number[]> {
    const all = new Map<Connection, number[]>();
    for (const { connection, number } of this.#producers.values()) {
      const numbers = all.get(connection);
      if (numbers === undefined) all.set(connection, [number]);
      else numbers.push(number);
    }
    return all;
  }

  /** Does this process run modulators? */
  runsModulators(producing: Connection): boolean {
    return this.producersOf(producing).every(({ modulates }) => modulates);
  }

  /** The type that the producers of a process write; empty where that is none. */
  schemaOf(producing: Connection): Uint8Array {
    const token = this.producersOf(producing)[0]?.token ?? 0n;
    return this.#types.get(token)?.schema ?? new Uint8Array(0);
  }

  /** Do this process' events count? */
  isAdmitted(producing: Connection): boolean {
    return !this.#admitting.has(producing);
  }

  /** Connections that have consumers of a derived channel, each once. */
  consumingConnections(derived: DerivedChannel): Set<Connection> {
    const all = [...this.#consumers.values()].filter(consumer => consumer.derived === derived);
    return new Set(all.map(({ connection }) => connection));
  }

  /** Tokens of the types that the present producers write. */
  get tokens(): bigint[] {
    return [...this.#types.keys()];
  }

  /** Does a producer of this channel write this type? */
  isWritten(token: bigint): boolean {
    return this.#types.has(token);
  }

  /**
   * Enters a producer into the books. It counts once it has all modulators: `admit` says when.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  addProducer(producer: Producer, type: Type | undefined): void {
    if (this.#producers.size > 0 && (type === undefined) !== (this.#types.size === 0)) {
      throw new JechoError(
        "TYPE_MISMATCH",
        `${this.name} is ${type === undefined ? "a typed" : "an untyped"} channel`,
      );
    }
    if (type !== undefined && !this.#types.has(type.token)) {
      this.#types.set(type.token, type);
      this.channel.history?.addType(type.token, type.schema);
      this.names.types.hold(type);
      for (const { connection } of this.#consumers) tellType(connection, type);
    }
    this.#producers.set(producer.number, producer);
  }

  /** Gives a new producer's concentrator what is installed here; when that is done, its events count. */
  async admit(producer: Producer): Promise<void> {
    const { connection } = producer;
    if (this.producersOf(connection).length === 1) {
      const admitting = Promise.all(
        [...this.#derived.values()].map(derived => derived.installAt(connection)),
      );
      this.#admitting.set(
        connection,
        admitting.then(() => {}),
      );
    } else for (const derived of this.#derived.values()) this.announcePlacements(derived);
    await this.#admitting.get(connection);
    this.#admitting.delete(connection);
    for (const { channel } of this.#derived.values()) this.#tellDemand(channel);
    // The first word on the channel itself says that all is installed.
    this.channel.tellDemand(connection);
  }

  removeProducer(producer: Producer): void {
    this.#producers.delete(producer.number);
    for (const { lanes } of this.#channels()) lanes.leave(producer.number);
    const { connection } = producer;
    const isLast = !this.producingConnections().has(connection);
    if (isLast) this.#admitting.delete(connection);
    for (const derived of this.#derived.values()) {
      if (isLast) derived.placements.remove(connection);
      this.announcePlacements(derived);
    }
    this.#forgetIfUnused();
  }

  /** The derived channel that somebody gave this name. */
  named(name: string): DerivedChannel | undefined {
    return this.#named.get(name);
  }

  /** What a consumer names that brings its modulator to this derived channel, or to the channel itself. */
  nameUnder(parent: DerivedChannel | undefined): string {
    if (parent === undefined) return this.name;
    // It was brought to a name, and that stays as long as what has it.
    const [name] = [...this.#named].find(([, derived]) => derived === parent) ?? [];
    return `${this.name}#${name}`;
  }

  /** Others may subscribe to it by this name as long as it exists. @throws JechoError `DERIVED_TAKEN`, `CHANNEL_NAME_INVALID` */
  nameDerived(derived: DerivedChannel, name: string): void {
    const full = checkName(`${this.name}#${name}`);
    if ((this.#named.get(name) ?? derived) !== derived)
      throw new JechoError("DERIVED_TAKEN", `another modulator derives ${full}`);
    this.#named.set(name, derived);
  }

  /**
   * The derived channel that this modulator makes of this one, or of a derived one: the one there is, or a new one.
   */
  derive(modulator: Modulator, parent?: DerivedChannel): DerivedChannel {
    const key = equalityKey(modulator, parent);
    let derived = this.#derived.get(key);
    if (derived === undefined) {
      derived = new DerivedChannel(this, this.names.newChannel(), key, modulator, this.#objects, parent);
      this.#derived.set(key, derived);
      this.#prepare(derived.channel);
      this.#keep(derived.channel, this.#nameOf(key), true);
      this.names.registerDerived(derived);
    }
    return derived;
  }

  /**
   * A consumer that declares a type must be able to read what the present producers write.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  checkReader(type: Type | undefined): void {
    if (type === undefined) return;
    for (const written of this.#types.values()) type.readerOf(written);
    if (this.#types.size === 0 && this.#producers.size > 0) {
      throw new JechoError(
        "TYPE_MISMATCH",
        `${this.name} is an untyped channel and the consumer expects ${type.name}`,
      );
    }
  }

  /** Enters a consumer into the books: producers are told. Its events begin with `listen`. */
  addConsumer(consumer: Consumer): void {
    clearTimeout(this.#idle);
    this.#consumers.add(consumer);
    consumer.channel.expect(consumer.feed);
    const types = new Set([
      ...this.#past.values(),
      ...this.#types.values(),
      ...(consumer.derived?.types.values() ?? []),
    ]);
    for (const type of types) tellType(consumer.connection, type);
    this.#tellDemand(consumer.channel);
  }

  /** From here on the consumer gets what comes. */
  listen(consumer: Consumer): void {
    if (!this.#consumers.has(consumer)) return;
    consumer.isListening = true;
    consumer.channel.expectNoMore(consumer.feed);
    consumer.channel.enter(consumer.connection, consumer.terms.queue, consumer.feed);
    this.#tellDemand(consumer.channel);
  }

  removeConsumer(consumer: Consumer): void {
    if (!this.#consumers.delete(consumer)) return;
    consumer.replay?.end();
    if (consumer.isListening) consumer.channel.leave(consumer.connection, consumer.feed);
    else consumer.channel.expectNoMore(consumer.feed);
    for (let at = consumer.derived; at !== undefined; at = at.parent) this.#leave(at, consumer.connection);
    this.#tellDemand(consumer.channel);
    if (consumer.derived !== undefined) this.dropIfUnused(consumer.derived);
    this.#forgetIfUnused();
  }

  /** A derived channel goes when its last consumer goes. */
  dropIfUnused(derived: DerivedChannel): void {
    if (derived.channel.consumers > 0 || derived.joining > 0) return;
    if (this.#derived.get(derived.key) !== derived) return;
    this.#derived.delete(derived.key);
    for (const [name, named] of this.#named) if (named === derived) this.#named.delete(name);
    this.names.forgetDerived(derived);
    derived.channel.history?.forget();
    derived.remove();
    if (derived.parent !== undefined) this.dropIfUnused(derived.parent);
    this.#forgetIfUnused();
  }

  /** What runs in a consumer's process goes with the last that needs it there. */
  #leave(derived: DerivedChannel, connection: Connection): void {
    if (!derived.placements.isOwn(connection)) return;
    for (const one of this.#derived.values()) {
      let at: DerivedChannel | undefined = one;
      while (at !== undefined && at !== derived) at = at.parent;
      if (at !== undefined && this.consumingConnections(one).has(connection)) return;
    }
    derived.placements.leave(connection);
  }

  /** Tells consumers of a derived channel where its modulator runs. */
  announcePlacements(derived: DerivedChannel): void {
    const placements = derived.placements.describe();
    for (const connection of this.consumingConnections(derived))
      connection.send({ kind: "Placed", derived: derived.channel.number, placements });
  }

  /** The gateway's process for modulators has gone. */
  lostMaker(derived: DerivedChannel, maker: Connection): void {
    derived.placements
      .lostMaker(maker)
      .catch((error: unknown) => this.modulatorRemoved(derived, JechoError.from(error)));
  }

  /** A modulator failed that ran in a consumer's process, for the consumers there. */
  modulatorRemovedAt(derived: DerivedChannel, connection: Connection, error: JechoError): void {
    for (const child of [...this.#derived.values()]) {
      if (child.parent === derived) this.modulatorRemovedAt(child, connection, error);
    }
    for (const consumer of [...this.#consumers.values()]) {
      if (consumer.derived === derived && consumer.connection === connection) this.#lose(consumer, error);
    }
  }

  /** The MOE of a producer removed the modulator: it is removed everywhere, and its consumers are told why. */
  modulatorRemoved(derived: DerivedChannel, error: JechoError): void {
    for (const child of [...this.#derived.values()]) {
      if (child.parent === derived) this.modulatorRemoved(child, error);
    }
    for (const consumer of [...this.#consumers]) {
      if (consumer.derived === derived) this.#lose(consumer, error);
    }
    derived.channel.stopAwaiting();
  }

  /** Consumers of a derived channel, told of a type that its events are written with from now on. */
  announceDerivedType(derived: DerivedChannel, type: Type): void {
    for (const consumer of this.#consumers) {
      if (consumer.derived === derived) tellType(consumer.connection, type);
    }
  }

  #tellDemand(channel: Channel): void {
    for (const connection of this.producingConnections())
      if (this.isAdmitted(connection)) channel.tellDemand(connection);
    if (this.names.modulating === undefined) return;
    const makers = this.names.derived(channel.number)?.placements.makers() ?? [];
    const producing = this.producingConnections();
    for (const [maker, processes] of makers) if (!producing.has(maker)) channel.tellDemand(maker, processes);
  }

  #channels(): Channel[] {
    return [this.channel, ...[...this.#derived.values()].map(({ channel }) => channel)];
  }

  #forgetIfUnused(): void {
    if (this.#producers.size === 0) {
      for (const type of this.#types.values()) {
        if (this.#retention !== undefined) this.#remember(type);
        this.names.types.release(type);
      }
      this.#types.clear();
    }
    if (
      this.#producers.size > 0 ||
      this.#consumers.size > 0 ||
      this.#derived.size > 0 ||
      this.channel.isAwaiting
    )
      return;
    if (this.channel.history === undefined || this.channel.history.log.bytes === 0) {
      this.#forget();
      return;
    }
    // Somebody who comes later may want what is kept.
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#forget(), IDLE_MS).unref();
  }

  #forget(): void {
    for (const type of this.#past.values()) this.names.types.release(type);
    this.#past.clear();
    this.names.forget(this);
  }
}

function tellType(connection: Connection, { schema }: Type): void {
  connection.send({ kind: "TypeKnown", schema, request: 0 });
}
