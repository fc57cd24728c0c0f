import { JechoError, type Type } from "@jecho/shared";
import type { Connection } from "../connections/connection.ts";
import type { Channel } from "../delivery/channel.ts";
import { type GatewayProducer, type ProducerOutlet, Producers } from "./producers.ts";
import type { TypeRegistry } from "./types.ts";
import type { UnmadeSources } from "./unmade.ts";

/** A derived channel, as far as producers publish into it. */
export interface PublishedChannel {
  readonly channel: Channel;
  readonly unmade: Pick<UnmadeSources, "returns" | "left">;
  /** The outlets with its names. */
  readonly outlets: Set<Outlet>;
  /** @throws JechoError `TYPE_MISMATCH` */
  checkWriter(type: Type | undefined, name: string): void;
  /** Its consumers hear of a type. */
  announce(type: Type): void;
  isBehind(other: PublishedChannel): boolean;
}

/** The channel that outlets are of, with its derived channels. */
export interface OutletsHost {
  readonly name: string;
  readonly names: {
    readonly types: TypeRegistry;
    newNumber(): number;
    registerProducer(producer: GatewayProducer): void;
  };
  readonly derivations: { named(name: string): PublishedChannel | undefined };
  readonly derivedChannels: {
    installBehind(derived: PublishedChannel, connection: Connection): Promise<void> | undefined;
    leftBehind(derived: PublishedChannel, connection: Connection): void;
    tellDemandBehind(derived: PublishedChannel): void;
  };
}

/**
 * A derived channel's name, for producers that publish into it directly. They stay whether somebody derives a channel of that
 * name or not: as long as nobody does, nobody wants what they raise.
 */
export class Outlet implements ProducerOutlet {
  /** The name that producers use for it. */
  readonly name: string;
  /** Number of the channel for its producers while nobody derives it. */
  readonly number: number;
  readonly producers = new Producers();
  /** The derived channel that has the name at present. */
  derived: PublishedChannel | undefined;
  /** Producers whose events it takes: all whose type is that of the derived channel. */
  sending = new Producers();
  readonly #registry: TypeRegistry;
  readonly #types = new Map<GatewayProducer, Type>();

  constructor(name: string, number: number, registry: TypeRegistry) {
    this.name = name;
    this.number = number;
    this.#registry = registry;
  }

  add(producer: GatewayProducer, type: Type | undefined): void {
    this.producers.add(producer);
    if (type === undefined) return;
    this.#types.set(producer, type);
    this.#registry.hold(type);
  }

  remove(producer: GatewayProducer): void {
    this.producers.remove(producer);
    this.sending.remove(producer);
    const type = this.#types.get(producer);
    if (type !== undefined) this.#registry.release(type);
    this.#types.delete(producer);
  }

  typeOf(producer: GatewayProducer): Type | undefined {
    return this.#types.get(producer);
  }

  /** Types of the producers whose events it takes, by token. */
  get types(): Map<bigint, Type> {
    const types = new Map<bigint, Type>();
    for (const [producer, type] of this.#types)
      if (this.sending.find(producer.number) !== undefined) types.set(type.token, type);
    return types;
  }

  /** Detaches the producers of a derived channel that has gone. @returns those that sent */
  detach(): GatewayProducer[] {
    const sending = [...this.sending];
    this.sending = new Producers();
    this.derived = undefined;
    return sending;
  }
}

/** The producers of one channel's derived channels, by the names that they publish into. */
export class Outlets {
  readonly #host: OutletsHost;
  readonly #byName = new Map<string, Outlet>();

  constructor(host: OutletsHost) {
    this.#host = host;
  }

  get size(): number {
    return this.#byName.size;
  }

  /** The outlet of this name, which comes into being when first asked for. */
  named(name: string): Outlet {
    let outlet = this.#byName.get(name);
    if (outlet === undefined) {
      const { names } = this.#host;
      outlet = new Outlet(`${this.#host.name}#${name}`, names.newNumber(), names.types);
      this.#byName.set(name, outlet);
      this.attach(name);
    }
    return outlet;
  }

  /** A producer by its number. */
  find(number: number): GatewayProducer | undefined {
    for (const { producers } of this.#byName.values()) {
      const producer = producers.find(number);
      if (producer !== undefined) return producer;
    }
    return undefined;
  }

  /** All producers. */
  *producers(): Generator<GatewayProducer> {
    for (const { producers } of this.#byName.values()) yield* producers;
  }

  /** Whether a process has such a producer. */
  isAtProcess(process: number): boolean {
    for (const { sending } of this.#byName.values())
      for (const { connection } of sending) if (connection.process === process) return true;
    return false;
  }

  /**
   * Adds a producer: `admit` says when it counts.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  add(producer: GatewayProducer, outlet: Outlet, type: Type | undefined): void {
    try {
      outlet.derived?.checkWriter(type, outlet.name);
    } catch (error) {
      this.#dropIfUnused(outlet);
      throw error;
    }
    outlet.add(producer, type);
    this.#host.names.registerProducer(producer);
    if (outlet.derived !== undefined) this.#take(outlet, producer);
  }

  /** A derived channel has this name, or somebody publishes into it: those that do are connected with it. */
  attach(name: string): void {
    const outlet = this.#byName.get(name);
    const derived = this.#host.derivations.named(name);
    if (outlet === undefined || derived === undefined || outlet.derived === derived) return;
    outlet.derived = derived;
    derived.outlets.add(outlet);
    for (const producer of outlet.producers) {
      if (!this.#fits(outlet, producer, derived)) continue;
      this.#take(outlet, producer);
      void this.admit(producer, 0);
    }
  }

  /**
   * A modulator has declared its output's type: a producer whose type is another is disconnected from its channel, and
   * from those derived from it.
   */
  review(made: PublishedChannel): void {
    for (const outlet of this.#byName.values()) {
      const { derived } = outlet;
      if (derived === undefined || (derived !== made && !derived.isBehind(made))) continue;
      for (const producer of [...outlet.sending]) {
        if (this.#fits(outlet, producer, derived)) continue;
        outlet.sending.remove(producer);
        this.#disconnect(producer, outlet);
        this.#host.derivedChannels.leftBehind(derived, producer.connection);
      }
    }
  }

  /** Otherwise it stays, for whoever has the name next, and is told; nobody wants what it raises. */
  #fits(outlet: Outlet, producer: GatewayProducer, derived: PublishedChannel): boolean {
    try {
      derived.checkWriter(outlet.typeOf(producer), outlet.name);
      return true;
    } catch (error) {
      const { number: code, message } = JechoError.from(error);
      producer.connection.send({ kind: "Fault", code, message, producer: producer.number });
      return false;
    }
  }

  #disconnect(producer: GatewayProducer, outlet: Outlet): void {
    this.#tellOpened(producer, outlet, 0);
    producer.connection.send({ kind: "Demand", channel: outlet.number, consumers: 0 });
  }

  #take(outlet: Outlet, producer: GatewayProducer): void {
    outlet.sending.add(producer);
    outlet.derived?.unmade.returns(producer);
    const type = outlet.typeOf(producer);
    if (type !== undefined && outlet.derived !== undefined) outlet.derived.announce(type);
  }

  /** A derived channel is no more: its producers stay. */
  detach({ outlets }: PublishedChannel): void {
    for (const outlet of outlets) for (const producer of outlet.detach()) this.#disconnect(producer, outlet);
    outlets.clear();
  }

  /**
   * Gives a producer's process what is installed behind the derived channel; when that is done, its events count.
   *
   * @param request that opened it; 0 where it has been open before
   */
  async admit(producer: GatewayProducer, request: number): Promise<void> {
    const outlet = producer.outlet as Outlet;
    const { connection } = producer;
    const { derived } = outlet;
    this.#tellOpened(producer, outlet, request);
    if (derived === undefined || outlet.sending.find(producer.number) === undefined) {
      connection.send({ kind: "Demand", channel: outlet.number, consumers: 0 });
      return;
    }
    const isFirst = outlet.sending.of(connection).length === 1;
    await outlet.sending.admit(
      connection,
      isFirst ? this.#host.derivedChannels.installBehind(derived, connection) : undefined,
    );
    if (outlet.derived !== derived || outlet.sending.find(producer.number) === undefined) return;
    this.#host.derivedChannels.tellDemandBehind(derived);
    // The first word on its channel says that all is installed.
    derived.channel.tellDemand(connection);
  }

  #tellOpened(
    { connection, number }: GatewayProducer,
    { derived, number: idle, sending }: Outlet,
    request: number,
  ): void {
    const isSending = derived !== undefined && sending.find(number) !== undefined;
    const channel = isSending ? derived.channel.number : idle;
    const epoch = isSending ? derived.channel.epoch : 0;
    connection.send({ kind: "ProducerOpened", request, channel, producer: number, epoch });
  }

  remove(producer: GatewayProducer): void {
    const { connection } = producer;
    const outlet = producer.outlet as Outlet;
    outlet.remove(producer);
    if (outlet.derived !== undefined) this.#host.derivedChannels.leftBehind(outlet.derived, connection);
    this.#dropIfUnused(outlet);
  }

  #dropIfUnused(outlet: Outlet): void {
    if (outlet.producers.size > 0) return;
    outlet.derived?.outlets.delete(outlet);
    for (const [name, one] of this.#byName) if (one === outlet) this.#byName.delete(name);
  }
}
