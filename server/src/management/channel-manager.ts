import { JechoError, type Type } from "@jecho/shared";
import type { EventsFrame } from "@jecho/shared/internal";
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
import type { DerivedChannel } from "./derived-channel.ts";
import { DerivedChannels } from "./derived-channels.ts";
import type { NameServer } from "./name-server.ts";
import { Outlets } from "./outlets.ts";
import type { GatewayProducer } from "./producers.ts";
import { Producers } from "./producers.ts";
import { ReadTypes } from "./read-types.ts";
import { type Reader, WrittenTypes } from "./types.ts";
import { UnmadeSources } from "./unmade.ts";

/** Time that an unused channel with history stays in memory. */
const IDLE_MS = 600_000;
/** Time for which a process tells other gateways how far a producer was that it has closed. */
const TOLD_MS = 60_000;

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
  /** The connection that asked for the channel first, which may have gone. */
  readonly maker: ClientConnection;
  readonly derivations: Derivations<DerivedChannel>;
  readonly derivedChannels: DerivedChannels;
  readonly unmade: UnmadeSources;
  readonly #keeper: HistoryKeeper;
  /** Few channels have any. */
  #outlets: Outlets | undefined;
  /** When processes last closed producers of theirs, the longest ago first; undefined where none has. */
  #closed: Map<Connection, number> | undefined;
  #idle: NodeJS.Timeout | undefined;
  /**
   * Where the channel's home is. From "leaving" on it is another gateway and nothing goes on here, but producers are not to hear that consumers have gone: they would
   * raise nothing, or not what these want, until both have met at the other one. "elsewhere": all have been sent there.
   */
  home: "here" | "leaving" | "elsewhere" = "here";
  /** Undefined as long as no consumer of the channel itself has a type. */
  #reads: ReadTypes | undefined;

  /** @param maker on whose account it is kept */
  constructor(name: string, names: NameServer, objects: SharedObjects, maker: ClientConnection) {
    this.name = name;
    this.maker = maker;
    this.names = names;
    this.channel = names.newChannel(this);
    this.place = { manager: this, channel: this.channel, derived: undefined, feed: 0 };
    this.types = new WrittenTypes(names.types, names.limits.typesPerChannel);
    this.derivations = new Derivations(name, names.limits.namesPerChannel);
    this.unmade = new UnmadeSources(this.channel, this.producers, this.derivations, names);
    this.#keeper = new HistoryKeeper(name, names.keeping, this.types);
    this.derivedChannels = new DerivedChannels(this, objects, this.#keeper);
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
    return this.#producerOf(producer)?.connection.process ?? 0;
  }

  presentOf(producer: number, source: bigint): { number: number; process: number } {
    const known = this.#producerOf(producer);
    // Another producer may have the number by now.
    const present = known?.source === source ? known : this.producers.ofSource(source);
    if (present !== undefined) return { number: present.number, process: present.connection.process };
    return this.channel.lanes.leftBy(source) ?? { number: producer, process: 0 };
  }

  presentSources(): ReadonlySet<bigint> {
    const sources = new Set<bigint>();
    for (const { source } of this.producers) sources.add(source);
    for (const { source } of this.#outlets?.producers() ?? []) sources.add(source);
    return sources;
  }

  subjectOf(producer: number): string {
    return this.#producerOf(producer)?.connection.subject?.name ?? "";
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

  isSentBy({ number }: Channel, connection: Connection): boolean {
    return this.#sendersOf(number).isAt(connection);
  }

  /** A process' producer has gone: where it sends nothing more of a channel, nobody there is to wait for that one's consumers. */
  #letGo(connection: Connection): void {
    for (const channel of this.#channels())
      if (channel.listeners.isBlocking && !this.isSentBy(channel, connection))
        connection.send({ kind: "Flow", derived: channel.number, ready: true });
  }

  /** The channel itself, and those derived from it. */
  *#channels(): Generator<Channel> {
    yield this.channel;
    for (const { channel } of this.derivations) yield channel;
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
    if (type !== undefined && this.types.add(type, producer.connection)) {
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
    if (!isFirst) for (const derived of this.derivations) this.derivedChannels.announce(derived);
    const installing = isFirst ? this.derivedChannels.installAt(connection, () => true) : undefined;
    if (!(await this.producers.admit(connection, installing))) return;
    for (const { channel } of this.derivations) this.tellDemand(channel);
    // The first word on the channel itself says that all is installed.
    this.channel.tellDemand(connection);
  }

  /** The gateway's process for modulators has gone. */
  makerLost(): void {
    this.unmade.makerLost();
    for (const { unmade } of this.derivations) unmade.makerLost();
  }

  /** A derived channel has gone: its producers have nothing to publish into. */
  detach(derived: DerivedChannel): void {
    this.#outlets?.detach(derived);
  }

  /** The modulator of this derived channel has declared its output's type. */
  reviewOutlets(derived: DerivedChannel): void {
    this.#outlets?.review(derived);
  }

  removeProducer(producer: GatewayProducer): void {
    const { connection, outlet } = producer;
    if (connection.isOpen) this.#noteClosed(connection);
    this.names.forgetProducer(producer);
    const among = outlet === undefined ? this.unmade : outlet.derived?.unmade;
    if (this.home === "here") among?.left(producer);
    for (const { channel } of this.derivations)
      channel.lanes.leave(producer.number, producer.connection.process);
    if (outlet !== undefined) this.outlets.remove(producer);
    else {
      const isLast = this.producers.remove(producer);
      for (const derived of this.derivations) {
        if (isLast && !derived.feeders.isAt(connection)) derived.placements.remove(connection);
        this.derivedChannels.announce(derived);
      }
    }
    this.#letGo(connection);
    this.forgetIfUnused();
  }

  #noteClosed(connection: Connection): void {
    this.#closed ??= new Map();
    this.#closed.delete(connection);
    this.#closed.set(connection, performance.now());
    for (const one of this.#closed.keys()) {
      if (this.#mayTell(one)) return;
      this.#closed.delete(one);
    }
  }

  #mayTell(connection: Connection): boolean {
    return connection.isOpen && performance.now() - (this.#closed?.get(connection) ?? 0) < TOLD_MS;
  }

  /** Connections that are to tell the channel's next home how far producers were that they closed: a consumer is away. */
  *departing(): Generator<Connection> {
    if (![...this.#channels()].some(({ demand }) => demand.isAwaiting)) return;
    for (const connection of this.#closed?.keys() ?? []) if (this.#mayTell(connection)) yield connection;
  }

  /** Names a derived channel, so that others may subscribe to it, and publish into it. @throws JechoError `DERIVED_TAKEN`, `CHANNEL_NAME_INVALID` */
  nameDerived(derived: DerivedChannel, name: string): void {
    this.derivations.name(derived, name);
    this.#outlets?.attach(name);
    for (const departure of this.names.departuresFrom(`${this.name}#${name}`))
      derived.unmade.departed(departure);
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
    this.hear(consumer);
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
      for (const one of this.#hearing(connection)) if (one !== consumer) this.hear(one);
    if (isPresent(before) && !isPresent(state)) this.derivedChannels.leave(derived, connection);
    if (isWanted(before) || isWanted(state)) this.tellDemand(channel);
    if (isPresent(state) || state.is === "awaited") return;
    if (derived !== undefined) this.derivedChannels.dropIfUnused(derived);
    this.forgetIfUnused();
  }

  /** Consumers of what a connection may make in others' stead. */
  #hearing(maker: ClientConnection): Iterable<GatewayConsumer> {
    return maker === this.names.modulating ? this.consumers : maker.consumers;
  }

  /** A consumer listens to the output: from now on there is demand for the input of modulators on the way to it that run elsewhere. */
  hear({ manager, derived, connection, isOpen }: GatewayConsumer): void {
    if (manager !== this || !isOpen) return;
    for (let at = derived; at !== undefined; at = at.parent) {
      const input = at.parent?.channel ?? this.channel;
      for (const { maker, process } of at.placements.standInsFor(connection))
        if (input.listeners.hear(maker, process)) this.tellDemand(input);
    }
  }

  /** The durable history is not stored any more: producers are told once. */
  historyFailed(why: string): void {
    const { number: code, message } = new JechoError("HISTORY_NOT_DURABLE", `of ${this.name}: ${why}`);
    for (const producer of this.producers)
      producer.connection.send({ kind: "Fault", code, message, producer: producer.number });
  }

  /** Tells those who send a channel's events, or a derived channel's, how many want them. */
  tellDemand(channel: Channel): void {
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
    this.home = "elsewhere";
    // The gateway's own process stays, and is not to keep modulators for the return of those who were cut off.
    for (const consumer of [...this.consumers])
      if (consumer.connection === this.names.modulating) consumer.lose(new JechoError("CHANNEL_MOVED"));
    for (const channel of this.#channels()) {
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
