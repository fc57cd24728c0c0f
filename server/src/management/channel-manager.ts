import { JechoError, type Type } from "@jecho/shared";
import type { EventsFrame, Modulator } from "@jecho/shared/internal";
import type { ClientConnection } from "../connections/client-connection.ts";
import type { Connection } from "../connections/connection.ts";
import type { Channel, ChannelOwner } from "../delivery/channel.ts";
import type { Retention } from "../history/event-log.ts";
import { HistoryKeeper } from "../history/keeper.ts";
import type { SharedObjects } from "../objects/shared-objects.ts";
import type { ConsumerPlace } from "./consumer.ts";
import {
  type GatewayConsumer,
  type GatewayConsumerState,
  GatewayConsumers,
  isPresent,
  isWanted,
  tellType,
} from "./consumer.ts";
import { Derivations } from "./derivations.ts";
import { DerivedChannel } from "./derived-channel.ts";
import type { GatewayInstallation } from "./installation.ts";
import type { NameServer } from "./name-server.ts";
import { Outlets } from "./outlets.ts";
import type { GatewayProducer } from "./producers.ts";
import { Producers } from "./producers.ts";
import { ReadTypes } from "./read-types.ts";
import { type Reader, WrittenTypes } from "./types.ts";
import { UnmadeSources } from "./unmade.ts";

/** Time that an unused channel with history stays in memory. */
const IDLE_MS = 600_000;

/** Tracks one channel: its types, its endpoints by concentrator, its derived channels. */
export class ChannelManager implements ChannelOwner {
  readonly name: string;
  readonly channel: Channel;
  readonly names: NameServer;
  /** The place of consumers that read the channel itself. */
  readonly place: ConsumerPlace;
  readonly types: WrittenTypes;
  readonly producers = new Producers();
  readonly consumers = new GatewayConsumers();
  readonly derivations: Derivations<DerivedChannel>;
  readonly unmade: UnmadeSources;
  readonly #objects: SharedObjects;
  readonly #keeper: HistoryKeeper;
  /** Few channels have any. */
  #outlets: Outlets | undefined;
  #idle: NodeJS.Timeout | undefined;
  /** Whether the channel's home is another gateway by now: nothing of it goes on here. */
  isMoved = false;
  /** Undefined as long as no consumer of the channel itself has a type. */
  #reads: ReadTypes | undefined;

  constructor(name: string, names: NameServer, objects: SharedObjects) {
    this.name = name;
    this.names = names;
    this.channel = names.newChannel(this);
    this.place = { manager: this, channel: this.channel, derived: undefined, feed: 0 };
    this.types = new WrittenTypes(names.types, names.limits.typesPerChannel);
    this.derivations = new Derivations(name, names.limits.namesPerChannel);
    this.unmade = new UnmadeSources(this.channel.lanes, this.derivations, names.keeping.resumeWindowMs);
    this.#objects = objects;
    this.#keeper = new HistoryKeeper(name, names.keeping, this.types);
    this.#keeper.restore(this.channel);
  }

  /** The producers of its derived channels. */
  get outlets(): Outlets {
    this.#outlets ??= new Outlets(this);
    return this.#outlets;
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
    this.#keeper.keep(this.channel, undefined);
    for (const derived of this.derivations) this.#keeper.keep(derived.channel, derived);
  }

  keepForReturn(channel: Channel): void {
    this.#keeper.keepForReturn(channel);
  }

  keyOf(run: EventsFrame, i: number): string {
    return this.#keeper.keyOf(run, i, token => this.#typeOf(token));
  }

  processOf(producer: number): number {
    return this.#connectionOf(producer)?.process ?? 0;
  }

  presentOf(producer: number, source: bigint): { number: number; process: number } {
    const known = this.#producerOf(producer);
    // Another producer may have the number by now.
    const present = known?.source === source ? known : this.producers.ofSource(source);
    return { number: present?.number ?? producer, process: present?.connection.process ?? 0 };
  }

  subjectOf(producer: number): string {
    return this.#connectionOf(producer)?.subject?.name ?? "";
  }

  #connectionOf(producer: number): Connection | undefined {
    return this.#producerOf(producer)?.connection;
  }

  #producerOf(producer: number): GatewayProducer | undefined {
    return this.producers.find(producer) ?? this.#outlets?.find(producer);
  }

  cutOff(channel: Channel, connection: Connection): void {
    for (const consumer of this.consumers.at(channel, connection))
      consumer.lose(
        new JechoError("SLOW_CONSUMER", "the consumer did not read fast enough, and was cut off"),
      );
  }

  get blocking(): NameServer["blocking"] {
    return this.names.blocking;
  }

  blockedTooLong(channel: Channel, connection: Connection): void {
    const { blockMs } = this.names.limits;
    this.names.counts.reached("blockMs");
    const why = new JechoError(
      "SLOW_CONSUMER",
      `it had producers wait for more than ${blockMs} ms (blockMs)`,
    );
    const consumers = this.consumers.at(channel, connection);
    consumers[0]?.connection.accountable?.blockedTooLong(performance.now());
    for (const consumer of consumers) consumer.lose(why);
  }

  block({ number }: Channel, ready: boolean): void {
    for (const connection of this.#sendersOf(number).connections())
      connection.send({ kind: "Flow", derived: number, ready });
  }

  #typeOf(token: bigint): Type | undefined {
    const own = this.types.find(token);
    if (own !== undefined) return own;
    for (const derived of this.derivations) {
      const type = derived.typeOf(token);
      if (type !== undefined) return type;
    }
    return undefined;
  }

  /** The type that the first producer of a process writes; empty where that is none. Of others it hears by `TypeKnown` who takes the events. */
  schemaOf(producing: Connection): Uint8Array {
    return this.types.find(this.producers.tokenOf(producing))?.schema ?? new Uint8Array(0);
  }

  /**
   * Adds a producer. It counts once it has all modulators: `admit` says when.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  addProducer(producer: GatewayProducer, type: Type | undefined): void {
    this.types.checkWriter(type, this.name, this.producers.size);
    if (type !== undefined && this.types.add(type)) {
      this.channel.history?.addType(type.token, type.schema);
      this.consumers.tellType(type);
    }
    this.producers.add(producer);
    this.names.registerProducer(producer);
  }

  /**
   * Gives a new producer's concentrator what is installed here; when that is done, its events count. One that does not answer
   * never gets so far, and nobody else waits for it.
   */
  async admit({ connection }: GatewayProducer): Promise<void> {
    const isFirst = this.producers.of(connection).length === 1;
    if (!isFirst) for (const derived of this.derivations) this.announcePlacements(derived);
    const installing = isFirst ? this.#installAt(connection, () => true) : undefined;
    if (!(await this.producers.admit(connection, installing))) return;
    for (const { channel } of this.derivations) this.#tellDemand(channel);
    // The first word on the channel itself says that all is installed.
    this.channel.tellDemand(connection);
  }

  /** A process feeds these derived channels from now on. @returns when all are settled; undefined where they are */
  #installAt(
    connection: Connection,
    isMeant: (derived: DerivedChannel) => boolean,
  ): Promise<void> | undefined {
    // Those before others come first.
    for (const derived of this.derivations) if (isMeant(derived)) derived.placements.feed(connection);
    return this.#settled(connection, isMeant);
  }

  /** Others may come meanwhile. */
  #settled(connection: Connection, isMeant: (derived: DerivedChannel) => boolean): Promise<void> | undefined {
    const installing: Promise<void>[] = [];
    for (const derived of this.derivations) {
      const settled = isMeant(derived) ? derived.placements.settled(connection) : undefined;
      if (settled !== undefined) installing.push(settled);
    }
    if (installing.length === 0) return undefined;
    return Promise.all(installing).then(() => this.#settled(connection, isMeant));
  }

  /** A process publishes into this derived channel: gives it what is installed behind that. */
  installBehind(derived: DerivedChannel, connection: Connection): Promise<void> | undefined {
    return this.#installAt(connection, one => one.isBehind(derived));
  }

  /** A process publishes into this derived channel no more. */
  leftBehind(derived: DerivedChannel, connection: Connection): void {
    for (const one of this.derivations) {
      if (!one.isBehind(derived)) continue;
      if (!one.feeders.isAt(connection)) one.placements.remove(connection);
      this.announcePlacements(one);
    }
  }

  /** The modulator of this derived channel has declared its output's type. */
  reviewOutlets(derived: DerivedChannel): void {
    this.#outlets?.review(derived);
  }

  /** Tells the demand for everything behind a derived channel. */
  tellDemandBehind(derived: DerivedChannel): void {
    for (const one of this.derivations) if (one.isBehind(derived)) this.#tellDemand(one.channel);
  }

  removeProducer(producer: GatewayProducer): void {
    const { connection, outlet } = producer;
    this.names.forgetProducer(producer);
    if (!this.isMoved) this.unmade.left(producer);
    for (const { channel } of this.derivations) channel.lanes.leave(producer.number);
    if (outlet !== undefined) this.outlets.remove(producer);
    else {
      const isLast = this.producers.remove(producer);
      for (const derived of this.derivations) {
        if (isLast && !derived.feeders.isAt(connection)) derived.placements.remove(connection);
        this.announcePlacements(derived);
      }
    }
    this.forgetIfUnused();
  }

  /** Names a derived channel, so that others may subscribe to it, and publish into it. @throws JechoError `DERIVED_TAKEN`, `CHANNEL_NAME_INVALID` */
  nameDerived(derived: DerivedChannel, name: string): void {
    this.derivations.name(derived, name);
    this.#outlets?.attach(name);
  }

  /** The derived channel that this modulator makes of this one, or of a derived one: the one there is, or a new one. @param by the subject that brings it */
  derive(modulator: Modulator, by: string, parent?: DerivedChannel): DerivedChannel {
    const known = this.derivations.find(modulator, parent);
    if (known !== undefined) return known;
    const derived = new DerivedChannel(
      this,
      this.names.newChannel(this),
      modulator,
      this.#objects,
      by,
      parent,
    );
    this.derivations.add(derived);
    const isRestored = this.#keeper.keep(derived.channel, derived, true);
    derived.channel.history?.log.beginsLate();
    this.names.registerDerived(derived);
    if (isRestored) this.#holdRestored(derived);
    return derived;
  }

  /**
   * Keeps a restored derived channel for a while: a consumer of an earlier gateway may come back, and is to find its
   * past also where others have left by then.
   */
  #holdRestored(derived: DerivedChannel): void {
    derived.isHeld = true;
    setTimeout(() => {
      derived.isHeld = false;
      this.dropIfUnused(derived);
    }, this.names.keeping.resumeWindowMs).unref();
  }

  /**
   * Checks that a reader's declared type matches what the present producers write.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  checkReader(type: Type | undefined, reader: Reader): void {
    this.types.checkReader(type, this.name, this.producers.size, reader);
  }

  /** The type with this schema, which is one object for all consumers here; undefined where it is empty. @throws JechoError `TYPE_INVALID` */
  typeReadBy(schema: Uint8Array): Type | undefined {
    if (schema.byteLength === 0) return undefined;
    return this.#reads?.find(schema) ?? this.names.types.typeOf(schema);
  }

  /**
   * Looks whether there are consumers that can read what is written: producers whose events none of them can read are told once.
   *
   * @param joined told in any case where that is so of its events: it is new
   */
  reviewUnread(joined?: GatewayProducer): void {
    const reads = this.#reads;
    if (reads === undefined) return;
    for (const type of this.types.present()) {
      const found = reads.review(type, this.consumers.size);
      if (found === "newly")
        for (const producer of this.producers.writing(type.token)) this.#tellUnread(producer, type);
      else if (found === "unread" && joined?.token === type.token) this.#tellUnread(joined, type);
    }
  }

  #tellUnread({ connection, number: producer }: GatewayProducer, type: Type): void {
    const { number: code, message } = new JechoError(
      "TYPE_UNREAD",
      `none of the ${this.consumers.size} consumers of ${this.name} can read events of type ${type.name}`,
    );
    connection.send({ kind: "Fault", code, message, producer });
  }

  /** A consumer is open: it hears of all types before its first event. */
  opened(consumer: GatewayConsumer): void {
    clearTimeout(this.#idle);
    this.consumers.add(consumer);
    if (consumer.reads !== undefined) {
      this.#reads ??= new ReadTypes();
      this.#reads.enter(consumer.reads);
    }
    this.reviewUnread();
    const derived = consumer.derived ?? this.names.derived(consumer.channel.number);
    const out = [...(consumer.derived?.placements.leftOut() ?? [])];
    if (consumer.derived !== undefined && out.length > 0 && this.consumers.of(consumer.derived).length === 1)
      for (const [producing, why] of out) consumer.derived.leftOut(producing, why);
    for (const type of [...this.types.all(), ...(derived?.allTypes() ?? [])]) tellType(consumer, type);
    this.#hear(consumer);
  }

  /** A consumer is open no longer. */
  closed(consumer: GatewayConsumer): void {
    this.consumers.remove(consumer);
    if (consumer.reads !== undefined) this.#reads?.leave(consumer.reads);
  }

  /** A consumer has another state than this: producers are told, and what nobody needs any more goes. Called by `become` alone. */
  consumerChanged(consumer: GatewayConsumer, before: GatewayConsumerState): void {
    const { channel, derived, connection, state, feed } = consumer;
    channel.reviewReturns();
    // Those who listen to what is made of it may have been there before.
    if (state.is === "listening" && feed !== 0)
      for (const one of this.#hearing(connection)) if (one !== consumer) this.#hear(one);
    if (isPresent(before) && !isPresent(state)) this.#leave(derived, connection);
    if (isWanted(before) || isWanted(state)) this.#tellDemand(channel);
    if (isPresent(state) || state.is === "awaited") return;
    if (derived !== undefined) this.dropIfUnused(derived);
    this.forgetIfUnused();
  }

  /** Consumers of what a connection may make in others' stead. */
  #hearing(maker: ClientConnection): Iterable<GatewayConsumer> {
    return maker === this.names.modulating ? this.consumers : maker.consumers;
  }

  /** A consumer listens to the output: from now on there is demand for the input of modulators on the way to it that run elsewhere. */
  #hear({ manager, derived, connection, isOpen }: GatewayConsumer): void {
    if (manager !== this || !isOpen) return;
    for (let at = derived; at !== undefined; at = at.parent) {
      const input = at.parent?.channel ?? this.channel;
      for (const { maker, process } of at.placements.standInsFor(connection))
        if (input.listeners.hear(maker, process)) this.#tellDemand(input);
    }
  }

  /** A derived channel goes when its last consumer goes. */
  dropIfUnused(derived: DerivedChannel): void {
    const isUsed =
      derived.channel.consumers > 0 ||
      derived.placements.isJoined ||
      derived.children.size > 0 ||
      derived.isHeld;
    if (!isUsed) this.#drop(derived);
  }

  /** @param why those who still wait to be its consumers are not */
  #drop(derived: DerivedChannel, why?: JechoError): void {
    if (!this.derivations.remove(derived)) return;
    this.#outlets?.detach(derived);
    this.names.forgetDerived(derived);
    derived.channel.history?.forget();
    derived.remove(why);
    if (derived.parent !== undefined) this.dropIfUnused(derived.parent);
    this.forgetIfUnused();
  }

  /** Ends what runs in a consumer's process when the last that needs it there has gone. */
  #leave(derived: DerivedChannel | undefined, connection: Connection): void {
    if (derived === undefined) return;
    if (derived.placements.isOwn(connection) && !this.#isTakenAt(derived, connection))
      derived.placements.leave(connection);
    this.#leave(derived.parent, connection);
  }

  /** Whether the connection has, or will have, consumers of it or of what is behind it. */
  #isTakenAt(derived: DerivedChannel, connection: Connection): boolean {
    for (const one of this.derivations) {
      if (one !== derived && !one.isBehind(derived)) continue;
      if (one.placements.isJoining(connection) || this.consumers.connectionsOf(one).has(connection))
        return true;
    }
    return false;
  }

  /** An installation has another state: those who send now what is derived, and its consumers, are told. */
  placed(derived: DerivedChannel, { state, producing, consumer, whyOut }: GatewayInstallation): void {
    if (derived.channel.consumers === 0) return;
    if (state.is === "producer" || state.is === "gateway") this.#tellDemand(derived.channel);
    if (consumer === undefined && whyOut !== undefined) derived.leftOut(producing, whyOut);
    this.announcePlacements(derived, consumer);
  }

  /**
   * Tells consumers of a derived channel where its modulator runs: what it is fed with there has consumers now.
   *
   * @param only undefined: the consumers of all connections
   */
  announcePlacements(derived: DerivedChannel, only?: Connection): void {
    for (const connection of this.consumers.connectionsOf(derived)) {
      if (only !== undefined && connection !== only) continue;
      const placements = derived.placements.describe(connection);
      connection.send({ kind: "Placed", derived: derived.channel.number, placements });
    }
    for (const consumer of this.consumers)
      if (consumer.derived === derived || consumer.derived?.isBehind(derived)) this.#hear(consumer);
  }

  /** A process runs a modulator no longer: consumers that nobody runs it for are told why, and it ends where that is all of them. */
  checkOver(derived: DerivedChannel): void {
    for (const connection of this.consumers.connectionsOf(derived)) {
      const why = derived.placements.whyOver(connection);
      if (why === undefined) continue;
      for (const consumer of this.consumers.at(derived.channel, connection)) consumer.lose(why);
    }
    const why = derived.placements.whyOver();
    if (why !== undefined) this.#end(derived, why);
  }

  /** Ends a derived channel whose modulator nobody runs any more, with those behind it. */
  #end(derived: DerivedChannel, why: JechoError): void {
    for (const child of [...derived.children.values()]) this.#end(child, why);
    for (const consumer of this.consumers.of(derived)) consumer.lose(why);
    derived.channel.demand.stopAwaiting();
    // Those that are still to be its consumers are refused; who comes later has it installed anew.
    this.#drop(derived, why);
  }

  /** A modulator goes on, but not with all that it had or is to have; and so does what is derived from it. */
  modulatorImpaired(derived: DerivedChannel, code: number, message: string): void {
    for (const child of derived.children.values()) this.modulatorImpaired(child, code, message);
    for (const connection of this.consumers.connectionsOf(derived))
      connection.send({ kind: "Impaired", derived: derived.channel.number, code, message });
  }

  #tellDemand(channel: Channel): void {
    const senders = this.#sendersOf(channel.number);
    for (const connection of senders.connections())
      if (senders.isAdmitted(connection)) channel.tellDemand(connection);
    if (this.names.modulating === undefined) return;
    const makers = this.names.derived(channel.number)?.placements.makers() ?? [];
    const producing = senders.connections();
    for (const [maker, processes] of makers) if (!producing.has(maker)) channel.tellDemand(maker, processes);
  }

  /** The producers whose processes send events of the channel or derived channel of this number, unless others do in their stead. */
  #sendersOf(channel: number): Producers {
    return this.names.derived(channel)?.senders ?? this.producers;
  }

  /** Connections that have consumers here, or are to have some. */
  *consuming(): Generator<Connection> {
    for (const { connection } of this.consumers) yield connection;
    for (const { placements } of this.derivations) yield* placements.joining();
  }

  /** The channel's home is another gateway, and all who used it here have gone to look for it there: nothing is kept for their return. */
  movedOut(): void {
    for (const channel of [this.channel, ...Array.from(this.derivations, ({ channel }) => channel)]) {
      channel.demand.stopAwaiting();
      channel.history = undefined;
    }
    this.#forget();
  }

  /** Forgets the channel if it has no endpoints. */
  forgetIfUnused(): void {
    if (this.producers.size === 0) this.types.leave(this.#keeper.isAsked);
    if (this.#isUsed) return;
    if (this.channel.history === undefined || this.channel.history.log.bytes === 0) {
      this.#forget();
      return;
    }
    // Somebody who comes later may want what is kept.
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      if (!this.#isUsed) this.#forget();
    }, IDLE_MS).unref();
  }

  get #isUsed(): boolean {
    return (
      this.producers.size > 0 ||
      this.consumers.size > 0 ||
      this.derivations.size > 0 ||
      (this.#outlets?.size ?? 0) > 0 ||
      this.channel.demand.isAwaiting
    );
  }

  #forget(): void {
    this.types.forget();
    this.names.forget(this);
  }
}
