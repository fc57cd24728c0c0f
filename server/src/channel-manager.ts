import { JechoError, type Type } from "@jecho/shared";
import type { Modulator } from "@jecho/shared/internal";
import type { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";
import { DerivedChannel, equalityKey } from "./derived-channel.ts";
import type { Consumer, Producer } from "./endpoints.ts";
import type { NameServer } from "./name-server.ts";
import type { SharedObjects } from "./shared-objects.ts";

/** Keeps one channel's books: its types, its endpoints by concentrator, its derived channels. */
export class ChannelManager {
  readonly name: string;
  readonly channel: Channel;
  readonly names: NameServer;
  readonly #objects: SharedObjects;
  readonly #producers = new Map<number, Producer>();
  readonly #consumers = new Map<number, Consumer>();
  readonly #derived = new Map<string, DerivedChannel>();
  /** The types that its producers write, by token. */
  readonly #types = new Map<bigint, Type>();

  constructor(name: string, channel: Channel, names: NameServer, objects: SharedObjects) {
    this.name = name;
    this.channel = channel;
    this.names = names;
    this.#objects = objects;
  }

  /** Connections that have producers here, each once. */
  producingConnections(): Set<Connection> {
    return new Set([...this.#producers.values()].map(({ connection }) => connection));
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
   * @throws JechoError `TYPE_MISMATCH`, `MODULATORS_NOT_SERVED`
   */
  addProducer(producer: Producer, type: Type | undefined): void {
    if (this.#producers.size > 0 && (type === undefined) !== (this.#types.size === 0)) {
      throw new JechoError(
        "TYPE_MISMATCH",
        `${this.name} is ${type === undefined ? "a typed" : "an untyped"} channel`,
      );
    }
    if (!producer.modulates && this.#derived.size > 0) {
      throw new JechoError(
        "MODULATORS_NOT_SERVED",
        `${this.name} has modulators and this producer runs none`,
      );
    }
    if (type !== undefined && !this.#types.has(type.token)) {
      this.#types.set(type.token, type);
      this.names.types.hold(type);
      for (const { connection } of this.#consumers.values()) tellType(connection, type);
    }
    this.#producers.set(producer.number, producer);
  }

  /** Gives a new producer's concentrator what is installed here; when that is done, its events count. */
  async admit(producer: Producer): Promise<void> {
    const { connection } = producer;
    const first = [...this.#producers.values()].every(p => p.connection !== connection || p === producer);
    if (first) await Promise.all([...this.#derived.values()].map(derived => derived.installAt(connection)));
    this.channel.tellDemand(connection);
    for (const { channel } of this.#derived.values()) channel.tellDemand(connection);
  }

  removeProducer(producer: Producer): void {
    this.#producers.delete(producer.number);
    const { connection } = producer;
    if (!this.producingConnections().has(connection)) {
      for (const derived of this.#derived.values()) derived.removeAt(connection);
    }
    this.#forgetIfUnused();
  }

  /** The derived channel that this modulator makes of this one: the one there is, or a new one. */
  derive(modulator: Modulator): DerivedChannel {
    const key = equalityKey(modulator);
    let derived = this.#derived.get(key);
    if (derived === undefined) {
      if ([...this.#producers.values()].some(({ modulates }) => !modulates)) {
        throw new JechoError("MODULATORS_NOT_SERVED", `a producer of ${this.name} runs no modulators`);
      }
      derived = new DerivedChannel(this, this.names.newChannel(), key, modulator, this.#objects);
      this.#derived.set(key, derived);
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

  addConsumer(consumer: Consumer): void {
    this.#consumers.set(consumer.number, consumer);
    const types = [...this.#types.values(), ...(consumer.derived?.types.values() ?? [])];
    for (const type of types) tellType(consumer.connection, type);
    consumer.channel.enter(consumer.connection);
    this.#tellDemand(consumer.channel);
  }

  removeConsumer(consumer: Consumer): void {
    if (!this.#consumers.delete(consumer.number)) return;
    consumer.channel.leave(consumer.connection);
    this.#tellDemand(consumer.channel);
    if (consumer.derived !== undefined) this.dropIfUnused(consumer.derived);
    this.#forgetIfUnused();
  }

  /** A derived channel goes when its last consumer goes. */
  dropIfUnused(derived: DerivedChannel): void {
    if (derived.channel.consumers > 0 || derived.joining > 0) return;
    if (this.#derived.get(derived.key) !== derived) return;
    this.#derived.delete(derived.key);
    this.names.forgetDerived(derived);
    derived.remove();
    this.#forgetIfUnused();
  }

  /** The MOE of a producer removed the modulator: it is removed everywhere, and its consumers are told why. */
  modulatorRemoved(derived: DerivedChannel, error: JechoError): void {
    for (const consumer of [...this.#consumers.values()]) {
      if (consumer.derived !== derived) continue;
      consumer.connection.consumers.delete(consumer.number);
      consumer.connection.modulators--;
      const { number, message } = error;
      consumer.connection.send({ kind: "ConsumerLost", consumer: consumer.number, code: number, message });
      this.removeConsumer(consumer);
    }
  }

  /** Consumers of a derived channel, told of a type that its events are written with from now on. */
  announceDerivedType(derived: DerivedChannel, type: Type): void {
    for (const consumer of this.#consumers.values()) {
      if (consumer.derived === derived) tellType(consumer.connection, type);
    }
  }

  #tellDemand(channel: Channel): void {
    for (const connection of this.producingConnections()) channel.tellDemand(connection);
  }

  #forgetIfUnused(): void {
    if (this.#producers.size === 0) {
      for (const type of this.#types.values()) this.names.types.release(type);
      this.#types.clear();
    }
    if (this.#producers.size === 0 && this.#consumers.size === 0 && this.#derived.size === 0)
      this.names.forget(this);
  }
}

function tellType(connection: Connection, { schema }: Type): void {
  connection.send({ kind: "TypeKnown", schema, request: 0 });
}
