import type { Type } from "@jecho/shared";
import { Few } from "@jecho/shared/internal";
import type { Connection } from "../connection.ts";
import type { Channel } from "../delivery/channel.ts";
import type { GatewayConsumer } from "./consumer.ts";
import type { DerivedChannel } from "./derived-channel.ts";

/** The consumers of a channel and of those derived from it that are open. */
export class Consumers {
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

  /** Those of one channel at one connection. */
  at(channel: Channel, connection: Connection): GatewayConsumer[] {
    return [...this.#all.values()].filter(one => one.channel === channel && one.connection === connection);
  }

  /** Those of a derived channel. */
  of(derived: DerivedChannel): GatewayConsumer[] {
    return [...this.#all.values()].filter(consumer => consumer.derived === derived);
  }

  /** Connections that have consumers of a derived channel, each once. */
  connectionsOf(derived: DerivedChannel): Set<Connection> {
    return new Set(this.of(derived).map(({ connection }) => connection));
  }

  /** Events are written with this type from now on. @param derived those of a derived channel alone, and what feeds modulators behind it */
  tellType(type: Type, derived?: DerivedChannel): void {
    for (const consumer of this.#all.values())
      if (derived === undefined || consumer.channel === derived.channel) tellType(consumer, type);
  }
}

export function tellType({ connection }: GatewayConsumer, { schema }: Type): void {
  connection.send({ kind: "TypeKnown", schema, request: 0 });
}
