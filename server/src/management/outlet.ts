import type { Type } from "@jecho/shared";
import type { DerivedChannel } from "./derived-channel.ts";
import type { Producer } from "./endpoints.ts";
import { Producers } from "./producers.ts";
import type { TypeRegistry } from "./type-registry.ts";

/**
 * A derived channel's name, for producers that publish into it directly. They stay whether somebody derives a channel of that
 * name or not: as long as nobody does, nobody wants what they raise.
 */
export class Outlet {
  /** As producers name it. */
  readonly name: string;
  /** What their channel has for a number while nobody derives it. */
  readonly number: number;
  readonly producers = new Producers();
  /** What has the name at present. */
  derived: DerivedChannel | undefined;
  /** Those whose events it takes: all whose type is that of the derived channel. */
  sending = new Producers();
  readonly #registry: TypeRegistry;
  readonly #types = new Map<Producer, Type>();

  constructor(name: string, number: number, registry: TypeRegistry) {
    this.name = name;
    this.number = number;
    this.#registry = registry;
  }

  add(producer: Producer, type: Type | undefined): void {
    this.producers.add(producer);
    if (type === undefined) return;
    this.#types.set(producer, type);
    this.#registry.hold(type);
  }

  remove(producer: Producer): void {
    this.producers.remove(producer);
    this.sending.remove(producer);
    const type = this.#types.get(producer);
    if (type !== undefined) this.#registry.release(type);
    this.#types.delete(producer);
  }

  typeOf(producer: Producer): Type | undefined {
    return this.#types.get(producer);
  }

  /** What those write whose events it takes, by token. */
  get types(): Map<bigint, Type> {
    const types = new Map<bigint, Type>();
    for (const [producer, type] of this.#types)
      if (this.sending.find(producer.number) !== undefined) types.set(type.token, type);
    return types;
  }

  /** Nobody derives it any more. @returns those that sent */
  detach(): Producer[] {
    const sending = [...this.sending];
    this.sending = new Producers();
    this.derived = undefined;
    return sending;
  }
}
