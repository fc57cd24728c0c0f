import { ERRORS, JechoError, type Type } from "@jecho/shared";
import type { EventsFrame, Modulator } from "@jecho/shared/internal";
import type { Channel, ChannelOwner } from "./channel.ts";
import type { Connection } from "./connection.ts";
import { Consumers, tellType } from "./consumers.ts";
import { Derivations } from "./derivations.ts";
import { DerivedChannel, equalityKey } from "./derived-channel.ts";
import type { Consumer, Place, Producer } from "./endpoints.ts";
import type { Retention } from "./history/event-log.ts";
import { Keeper } from "./history/keeper.ts";
import type { NameServer } from "./name-server.ts";
import { Producers } from "./producers.ts";
import type { SharedObjects } from "./shared-objects.ts";
import { WrittenTypes } from "./written-types.ts";

/** How long a channel with history stays in memory when nobody uses it. */
const IDLE_MS = 600_000;

/** Keeps one channel's books: its types, its endpoints by concentrator, its derived channels. */
export class ChannelManager implements ChannelOwner {
  readonly name: string;
  readonly channel: Channel;
  readonly names: NameServer;
  /** Where its consumers are that read the channel itself. */
  readonly place: Place;
  readonly types: WrittenTypes;
  readonly producers = new Producers();
  readonly consumers = new Consumers();
  readonly derivations: Derivations;
  readonly #objects: SharedObjects;
  readonly #keeper: Keeper;
  #idle: NodeJS.Timeout | undefined;

  constructor(name: string, names: NameServer, objects: SharedObjects) {
    this.name = name;
    this.names = names;
    this.channel = names.newChannel(this);
    this.place = { manager: this, channel: this.channel, derived: undefined, feed: 0 };
    this.types = new WrittenTypes(names.types);
    this.derivations = new Derivations(name);
    this.#objects = objects;
    this.#keeper = new Keeper(name, names.keeping, this.types);
    this.#keeper.restore(this.channel);
  }

  /**
   * Keeps at least this much from now on.
   *
   * @param key field that distinguishes events of which the newest matters
   * @param always whether anybody listens or not
   */
  retain(wanted: Retention | undefined, key: string, always: boolean): void {
    if (!this.#keeper.ask(wanted, key)) return;
    if (always) this.channel.isKept = true;
    this.#keeper.keep(this.channel);
    for (const { channel, key } of this.derivations) this.#keeper.keep(channel, key);
  }

  /**
   * A consumer's process was cut off: until the window is over the producers go on sending for it, and what comes is kept
   * for its return.
   */
  awaitReturn({ channel, derived, feed }: Consumer, windowMs = this.names.keeping.resumeWindowMs): void {
    if (windowMs <= 0) return;
    this.#keeper.keepMeanwhile(channel);
    channel.demand.await(windowMs, feed, () => {
      if (!channel.demand.isAwaiting && channel.history?.isTransient) channel.history = undefined;
      this.#tellDemand(channel);
      if (derived !== undefined) this.dropIfUnused(derived);
      this.#forgetIfUnused();
    });
  }

  keyOf(run: EventsFrame, i: number): string {
    return this.#keeper.keyOf(run, i, token => this.#typeOf(token));
  }

  processOf(producer: number): number {
    return this.producers.find(producer)?.connection.process ?? 0;
  }

  cutOff(channel: Channel, connection: Connection): void {
    for (const consumer of this.consumers.at(channel, connection))
      this.#lose(consumer, new JechoError("SLOW_CONSUMER"));
  }

  block({ number }: Channel, ready: boolean): void {
    for (const connection of this.producers.connections())
      connection.send({ kind: "Flow", derived: number, ready });
  }

  #typeOf(token: bigint): Type | undefined {
    const own = this.types.find(token);
    if (own !== undefined) return own;
    for (const { types } of this.derivations) if (types.has(token)) return types.get(token);
    return undefined;
  }

  #lose(consumer: Consumer, { number, message }: JechoError): void {
    const { connection } = consumer;
    connection.removeConsumer(consumer);
    if (consumer.derived !== undefined) connection.modulators--;
    connection.send({ kind: "ConsumerLost", consumer: consumer.number, code: number, message });
    if (number === ERRORS.SLOW_CONSUMER[0]) this.awaitReturn(consumer);
    this.removeConsumer(consumer);
  }

  /** The type that the producers of a process write; empty where that is none. */
  schemaOf(producing: Connection): Uint8Array {
    return this.types.find(this.producers.tokenOf(producing))?.schema ?? new Uint8Array(0);
  }

  /**
   * Enters a producer into the books. It counts once it has all modulators: `admit` says when.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  addProducer(producer: Producer, type: Type | undefined): void {
    this.types.checkWriter(type, this.name, this.producers.size);
    if (type !== undefined && this.types.add(type)) {
      this.channel.history?.addType(type.token, type.schema);
      this.consumers.tellType(type);
    }
    this.producers.add(producer);
    this.names.registerProducer(producer);
  }

  /** Gives a new producer's concentrator what is installed here; when that is done, its events count. */
  async admit({ connection }: Producer): Promise<void> {
    if (this.producers.of(connection).length === 1) {
      const installing = Promise.all(Array.from(this.derivations, derived => derived.installAt(connection)));
      await this.producers.admit(connection, installing);
    } else {
      for (const derived of this.derivations) this.announcePlacements(derived);
      await this.producers.admit(connection);
    }
    for (const { channel } of this.derivations) this.#tellDemand(channel);
    // The first word on the channel itself says that all is installed.
    this.channel.tellDemand(connection);
  }

  removeProducer(producer: Producer): void {
    const isLast = this.producers.remove(producer);
    this.names.forgetProducer(producer);
    for (const { lanes } of this.#channels()) lanes.leave(producer.number);
    for (const derived of this.derivations) {
      if (isLast) derived.placements.remove(producer.connection);
      this.announcePlacements(derived);
    }
    this.#forgetIfUnused();
  }

  /**
   * The derived channel that this modulator makes of this one, or of a derived one: the one there is, or a new one.
   */
  derive(modulator: Modulator, parent?: DerivedChannel): DerivedChannel {
    const key = equalityKey(modulator, parent);
    let derived = this.derivations.find(key);
    if (derived === undefined) {
      derived = new DerivedChannel(this, this.names.newChannel(this), key, modulator, this.#objects, parent);
      this.derivations.add(derived);
      this.#keeper.keep(derived.channel, key, true);
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
    this.types.checkReader(type, this.name, this.producers.size);
  }

  /** Enters a consumer into the books: producers are told. Its events begin with `listen`. */
  addConsumer(consumer: Consumer): void {
    clearTimeout(this.#idle);
    this.consumers.add(consumer);
    consumer.channel.demand.expect(consumer.feed);
    for (const type of [...this.types.all(), ...(consumer.derived?.types.values() ?? [])])
      tellType(consumer, type);
    this.#tellDemand(consumer.channel);
  }

  /** From here on the consumer gets what comes. */
  listen(consumer: Consumer): void {
    if (!this.consumers.has(consumer)) return;
    consumer.isListening = true;
    consumer.channel.demand.expectNoMore(consumer.feed);
    consumer.channel.enter(consumer.connection, consumer.terms.queue, consumer.feed);
    this.#tellDemand(consumer.channel);
  }

  removeConsumer(consumer: Consumer): void {
    if (!this.consumers.remove(consumer)) return;
    consumer.replay?.end();
    if (consumer.isListening) consumer.channel.leave(consumer.connection, consumer.feed);
    else consumer.channel.demand.expectNoMore(consumer.feed);
    for (let at = consumer.derived; at !== undefined; at = at.parent) this.#leave(at, consumer.connection);
    this.#tellDemand(consumer.channel);
    if (consumer.derived !== undefined) this.dropIfUnused(consumer.derived);
    this.#forgetIfUnused();
  }

  /** A derived channel goes when its last consumer goes. */
  dropIfUnused(derived: DerivedChannel): void {
    if (derived.channel.consumers > 0 || derived.joining > 0) return;
    if (!this.derivations.remove(derived)) return;
    this.names.forgetDerived(derived);
    derived.channel.history?.forget();
    derived.remove();
    if (derived.parent !== undefined) this.dropIfUnused(derived.parent);
    this.#forgetIfUnused();
  }

  /** What runs in a consumer's process goes with the last that needs it there. */
  #leave(derived: DerivedChannel, connection: Connection): void {
    if (!derived.placements.isOwn(connection)) return;
    for (const one of this.derivations) {
      let at: DerivedChannel | undefined = one;
      while (at !== undefined && at !== derived) at = at.parent;
      if (at !== undefined && this.consumers.connectionsOf(one).has(connection)) return;
    }
    derived.placements.leave(connection);
  }

  /** Tells consumers of a derived channel where its modulator runs. */
  announcePlacements(derived: DerivedChannel): void {
    const placements = derived.placements.describe();
    for (const connection of this.consumers.connectionsOf(derived))
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
    for (const child of this.derivations.behind(derived)) this.modulatorRemovedAt(child, connection, error);
    for (const consumer of this.consumers.of(derived))
      if (consumer.connection === connection) this.#lose(consumer, error);
  }

  /** The MOE of a producer removed the modulator: it is removed everywhere, and its consumers are told why. */
  modulatorRemoved(derived: DerivedChannel, error: JechoError): void {
    for (const child of this.derivations.behind(derived)) this.modulatorRemoved(child, error);
    for (const consumer of this.consumers.of(derived)) this.#lose(consumer, error);
    derived.channel.demand.stopAwaiting();
  }

  #tellDemand(channel: Channel): void {
    for (const connection of this.producers.connections())
      if (this.producers.isAdmitted(connection)) channel.tellDemand(connection);
    if (this.names.modulating === undefined) return;
    const makers = this.names.derived(channel.number)?.placements.makers() ?? [];
    const producing = this.producers.connections();
    for (const [maker, processes] of makers) if (!producing.has(maker)) channel.tellDemand(maker, processes);
  }

  #channels(): Channel[] {
    return [this.channel, ...Array.from(this.derivations, ({ channel }) => channel)];
  }

  #forgetIfUnused(): void {
    if (this.producers.size === 0) this.types.leave(this.#keeper.isAsked);
    if (
      this.producers.size > 0 ||
      this.consumers.size > 0 ||
      this.derivations.size > 0 ||
      this.channel.demand.isAwaiting
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
    this.types.forget();
    this.names.forget(this);
  }
}
