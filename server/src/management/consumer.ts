import { ERRORS, type JechoError, type Type } from "@jecho/shared";
import { Few, type SourcePlace } from "@jecho/shared/internal";
import type { ClientConnection } from "../connections/client-connection.ts";
import type { Connection } from "../connections/connection.ts";
import { ENDPOINT_BYTES } from "../connections/crowd.ts";
import type { Channel } from "../delivery/channel.ts";
import type { QueuePolicy } from "../delivery/listener.ts";
import type { Replay } from "../history/replay.ts";
import type { ChannelManager } from "./channel-manager.ts";
import type { DerivedChannel } from "./derived-channel.ts";

/** The channel, or derived channel, that a consumer reads; all its consumers share one. */
export interface ConsumerPlace {
  readonly manager: ChannelManager;
  readonly channel: Channel;
  /** Undefined for the channel itself. */
  readonly derived: DerivedChannel | undefined;
  /** Number of the only process whose events are read, for a modulator that runs in its stead; 0: all. */
  readonly feed: number;
}

/** The terms that a consumer asked for; most share the usual ones. */
export interface ConsumerTerms {
  /** The policy of its queue when it does not keep up. */
  readonly queue: QueuePolicy;
  /** The application's own word for it. */
  readonly label: string;
  /** The name that it gave its derived channel. */
  readonly as: string;
}

/**
 * A consumer at the gateway:
 *
 * | from | when | to |
 * | --- | --- | --- |
 * | new | what it reads is made by a modulator | installing |
 * | new, installing | it is opened, and begins in the past | replaying |
 * | new, installing, replaying | it is opened with what comes now, or has had its past | listening |
 * | replaying, listening | its connection is cut, it was too slow, or another device goes on for it | awaited |
 * | installing | its connection is cut while it comes back | awaited |
 * | new | another device may go on for one that goes on itself until then | awaited |
 * | awaited | it is back, or its time is over | ended |
 * | any | it is refused, or closed; its connection ended for good; its modulator runs for nobody any more | ended |
 */
export type GatewayConsumerState =
  | { readonly is: "new" }
  /**
   * @property sources how far it knows what became of each source
   * @property isLate it has waited so long that it is answered, whoever has not answered yet
   */
  | {
      readonly is: "installing";
      readonly comesBack: boolean;
      readonly sources: readonly SourcePlace[];
      readonly isLate: boolean;
    }
  | { readonly is: "replaying"; readonly replay: Replay }
  | { readonly is: "listening" }
  | { readonly is: "awaited"; readonly stopWaiting: () => void }
  | { readonly is: "ended" };

/** See `GatewayConsumerState`. Whatever counts consumers counts them by their states, in `become` alone. */
export class GatewayConsumer {
  readonly number: number;
  readonly connection: ClientConnection;
  readonly terms: ConsumerTerms;
  readonly #place: ConsumerPlace;
  /** The type that it reads the channel itself by; undefined for one that can read any, or reads what is derived. */
  readonly reads: Type | undefined;
  /** Bytes that are kept for it, on account of its connection's parties. */
  readonly #keptBytes: number;
  #state: GatewayConsumerState = NEW;

  /**
   * @param number 0 for one that only stands for another, which is awaited
   * @param keptBytes that are kept for it until it has ended
   */
  constructor(
    number: number,
    connection: ClientConnection,
    place: ConsumerPlace,
    terms: ConsumerTerms,
    keptBytes: number,
    reads?: Type,
  ) {
    this.number = number;
    this.connection = connection;
    this.#place = place;
    this.terms = terms;
    this.#keptBytes = keptBytes;
    this.reads = reads;
  }

  get manager(): ChannelManager {
    return this.#place.manager;
  }

  get channel(): Channel {
    return this.#place.channel;
  }

  get derived(): DerivedChannel | undefined {
    return this.#place.derived;
  }

  get feed(): number {
    return this.#place.feed;
  }

  get state(): GatewayConsumerState {
    return this.#state;
  }

  /** Whether the client knows the consumer as open. */
  get isOpen(): boolean {
    return isOpen(this.#state);
  }

  /**
   * Called while the consumer's modulator is being installed.
   *
   * @param comesBack it was open before
   * @param sources how far it knows what became of each source
   */
  install(comesBack: boolean, sources: readonly SourcePlace[]): void {
    this.#become({ is: "installing", comesBack, sources, isLate: false });
  }

  /** Notes that the consumer has waited long enough for its installation. */
  late(): void {
    if (this.#state.is === "installing") this.#become({ ...this.#state, isLate: true });
  }

  /** Opens the consumer with its past first. */
  replays(replay: Replay): void {
    this.#become({ is: "replaying", replay });
  }

  /** Opens the consumer for what comes. */
  listen(): void {
    this.#become(LISTENING);
  }

  /** Called when the consumer's connection has gone. @param isCut the other side did not take leave */
  lost(isCut: boolean): void {
    const state = this.#state;
    // One that was cut off before is still awaited until it is open.
    const mayReturn = state.is !== "installing" || (state.comesBack && !this.channel.demand.isAwaiting);
    if (isCut && mayReturn && this.manager.home !== "elsewhere") this.awaitReturn();
    else this.end();
  }

  /** Tells the consumer that it is none any more, and why. */
  lose({ number: code, message }: JechoError): void {
    this.connection.send({ kind: "ConsumerLost", consumer: this.number, code, message });
    if (code === ERRORS.SLOW_CONSUMER[0]) this.awaitReturn();
    else this.end();
  }

  /** Waits for the consumer to come back: until the time is over producers send for it, and events are kept for its return. */
  awaitReturn(windowMs = this.manager.names.keeping.resumeWindowMs): void {
    if (windowMs <= 0) return this.end();
    const stopWaiting = this.manager.names.returns.wait(windowMs, () => this.end());
    this.#become({ is: "awaited", stopWaiting });
  }

  /** Awaits another device that may go on for the consumer, which goes on itself meanwhile. @returns that device's consumer */
  awaitSuccessor(windowMs: number): GatewayConsumer {
    const successor = new GatewayConsumer(0, this.connection, this.#place, this.terms, ENDPOINT_BYTES);
    successor.awaitReturn(windowMs);
    return successor;
  }

  end(): void {
    if (this.#state.is !== "ended") this.#become(ENDED);
  }

  /** The only way from one state to another: whatever is known by states is written here. */
  #become(next: GatewayConsumerState): void {
    const before = this.#state;
    this.#state = next;
    if (before === NEW) this.connection.keep(this.#keptBytes);
    if (next === ENDED) this.connection.keep(-this.#keptBytes);
    // What comes is taken before what goes is let go: nothing that both need ends in between.
    this.#take(next, before);
    this.#release(before, next);
    this.manager.consumerChanged(this, before);
  }

  #take(next: GatewayConsumerState, before: GatewayConsumerState): void {
    const { connection, manager, channel, derived, feed } = this;
    if (isPresent(next) && !isPresent(before)) {
      connection.addConsumer(this);
      manager.names.registerConsumer(this);
    }
    if (isOpen(next) && !isOpen(before)) manager.opened(this);
    switch (next.is) {
      case "installing":
        if (before.is === "installing") return derived?.placements.wake();
        if (next.comesBack) {
          // What is made by those who run its modulator already is news for it.
          channel.demand.expect(feed);
          manager.keepForReturn(channel);
        }
        return derived?.placements.join(this);
      case "replaying":
        return channel.demand.expect(feed);
      case "listening":
        return channel.enter(connection, this.terms.queue, feed);
      case "awaited":
        channel.demand.await(this);
        return manager.keepForReturn(channel);
      default:
    }
  }

  #release(before: GatewayConsumerState, next: GatewayConsumerState): void {
    const { connection, manager, channel, derived, feed } = this;
    switch (before.is) {
      case "installing":
        if (next.is === "installing") break;
        if (before.comesBack) channel.demand.expectNoMore(feed);
        derived?.placements.joinNoMore(this);
        break;
      case "replaying":
        before.replay.end();
        channel.demand.expectNoMore(feed);
        break;
      case "listening":
        channel.leave(connection, this.terms.queue, feed);
        break;
      case "awaited":
        before.stopWaiting();
        channel.demand.awaitNoMore(this);
        break;
      default:
    }
    if (isOpen(before) && !isOpen(next)) manager.closed(this);
    if (!isPresent(before) || isPresent(next)) return;
    connection.removeConsumer(this);
    manager.names.forgetConsumer(this);
  }
}

const NEW: GatewayConsumerState = { is: "new" };
const LISTENING: GatewayConsumerState = { is: "listening" };
const ENDED: GatewayConsumerState = { is: "ended" };

function isOpen({ is }: GatewayConsumerState): boolean {
  return is === "replaying" || is === "listening";
}

/** Whether producers send for it. */
export function isWanted(state: GatewayConsumerState): boolean {
  return state.is === "awaited" || isOpen(state) || (state.is === "installing" && state.comesBack);
}

/** Whether a connection has the consumer. */
export function isPresent(state: GatewayConsumerState): boolean {
  return state.is === "installing" || isOpen(state);
}

/** The consumers of a channel and of those derived from it that are open. */
export class GatewayConsumers {
  readonly #all = new Few<number, GatewayConsumer>();

  [Symbol.iterator](): Iterator<GatewayConsumer> {
    return this.#all.values()[Symbol.iterator]();
  }

  get size(): number {
    return this.#all.size;
  }

  add(consumer: GatewayConsumer): void {
    this.#all.set(consumer.number, consumer);
  }

  remove(consumer: GatewayConsumer): void {
    this.#all.delete(consumer.number);
  }

  /** The consumers of one channel at one connection. */
  at(channel: Channel, connection: Connection): GatewayConsumer[] {
    return [...this.#all.values()].filter(one => one.channel === channel && one.connection === connection);
  }

  /** The consumers of a derived channel. */
  of(derived: DerivedChannel): GatewayConsumer[] {
    return [...this.#all.values()].filter(consumer => consumer.derived === derived);
  }

  /** Connections that have consumers of a derived channel, each once. */
  connectionsOf(derived: DerivedChannel): Set<Connection> {
    return new Set(this.of(derived).map(({ connection }) => connection));
  }

  /** Events are written with this type from now on. @param derived those of a derived channel alone, and what feeds modulators behind it */
  tellType(type: Type, derived?: DerivedChannel): void {
    const told = new Set<Connection>();
    for (const consumer of this.#all.values()) {
      const { channel, connection } = consumer;
      if ((derived !== undefined && channel !== derived.channel) || told.has(connection)) continue;
      told.add(connection);
      tellType(consumer, type);
    }
  }
}

export function tellType({ connection }: GatewayConsumer, { schema }: Type): void {
  connection.send({ kind: "TypeKnown", schema, request: 0 });
}
