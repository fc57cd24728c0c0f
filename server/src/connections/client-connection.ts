import { Few } from "@jecho/shared/internal";
import type { GatewayConsumer } from "../management/consumer.ts";
import type { GatewayProducer } from "../management/producers.ts";
import { Connection } from "./connection.ts";
import type { Party } from "./crowd.ts";

/** A topic that nothing is published to. */
const PRODUCERS = "producers";

/** A concentrator's connection with its endpoints. Most have one consumer. */
export class ClientConnection extends Connection {
  /** The address that the connection is counted for. */
  address = "";
  #modulators = 0;
  /** The connection's producers, by their numbers. Most connections have none. */
  #producers: Few<number, GatewayProducer> | undefined;
  readonly #consumers = new Few<number, GatewayConsumer>();

  /** Whether it is another gateway's, too. */
  get isElsewhere(): boolean {
    return false;
  }

  /** The party that offences are counted for: the subject or, at a gateway without keys, the address. */
  get accountable(): Party | undefined {
    return this.parties.at(-1);
  }

  /** The connection's consumer of this number. */
  consumer(number: number): GatewayConsumer | undefined {
    return this.#consumers.get(number);
  }

  get producers(): Iterable<GatewayProducer> {
    return this.#producers?.values() ?? [];
  }

  /** The connection's consumers, including those that are to be opened. */
  get consumers(): Iterable<GatewayConsumer> {
    return this.#consumers.values();
  }

  /** Number of the connection's producers and consumers. */
  get endpoints(): number {
    return (this.#producers?.size ?? 0) + this.#consumers.size;
  }

  /** Prepares the connection for sending events. */
  willPublish(): void {
    // A socket without any subscription may not publish.
    this.subscribe(PRODUCERS);
  }

  addProducer(producer: GatewayProducer): void {
    this.#producers ??= new Few();
    if (this.#producers.size === 0) this.willPublish();
    this.#producers.set(producer.number, producer);
  }

  removeProducer({ number }: GatewayProducer): void {
    this.#producers?.delete(number);
  }

  addConsumer(consumer: GatewayConsumer): void {
    this.#consumers.set(consumer.number, consumer);
    if (consumer.derived !== undefined) this.#modulators++;
  }

  removeConsumer({ number, derived }: GatewayConsumer): void {
    this.#consumers.delete(number);
    if (derived !== undefined) this.#modulators--;
  }

  /** Number of the connection's consumers with a modulator. */
  get modulators(): number {
    return this.#modulators;
  }
}
