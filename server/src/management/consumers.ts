import type { Type } from "@jecho/shared";
import { Few } from "@jecho/shared/internal";
import type { Connection } from "../connection.ts";
import type { Channel } from "../delivery/channel.ts";
import type { DerivedChannel } from "./derived-channel.ts";
import type { Consumer } from "./endpoints.ts";

/** The consumers of a channel and of those derived from it. */
export class Consumers {
  readonly #all = new Few<number, Consumer>();

  [Symbol.iterator](): Iterator<Consumer> {
    return this.#all.values()[Symbol.iterator]();
  }

  get size(): number {
    return this.#all.size;
  }

  add(consumer: Consumer): void {
    this.#all.set(consumer.number, consumer);
  }

  has(consumer: Consumer): boolean {
    return this.#all.has(consumer.number);
  }

  /** @returns false where there is none such */
  remove(consumer: Consumer): boolean {
    return this.#all.delete(consumer.number);
  }

  /** Those of one channel at one connection. */
  at(channel: Channel, connection: Connection): Consumer[] {
    return [...this.#all.values()].filter(one => one.channel === channel && one.connection === connection);
  }

  /** Those of a derived channel. */
  of(derived: DerivedChannel): Consumer[] {
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

export function tellType({ connection }: Consumer, { schema }: Type): void {
  connection.send({ kind: "TypeKnown", schema, request: 0 });
}
