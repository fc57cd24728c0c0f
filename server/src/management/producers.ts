import { Few, type OpenProducer, type Position } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { Channel } from "../delivery/channel.ts";

/** The manager of a producer's channel. */
export interface ProducerManager {
  /** The channel's name. */
  readonly name: string;
  readonly channel: Channel;
  readonly unmade: { speaks(connection: Connection, position: Position): void };
  removeProducer(producer: GatewayProducer): void;
}

/** The name of a derived channel, into which a direct producer publishes. */
export interface ProducerOutlet {
  /** The derived channel that has the name at present. */
  readonly derived:
    | { readonly channel: Channel; readonly unmade: { left(producer: GatewayProducer): void } }
    | undefined;
  /** Producers whose events that channel takes. */
  readonly sending: Producers;
}

/** A producer, as its channel's manager knows it. */
export class GatewayProducer {
  // Fields that each run needs come first, so that they are adjacent in memory.
  readonly connection: Connection;
  /** The manager's. */
  readonly channel: Channel;
  /** The outlet that it publishes into, where that is a derived channel. */
  readonly outlet: ProducerOutlet | undefined;
  /** The type that it writes; 0 on an untyped channel. */
  readonly token: bigint;
  readonly number: number;
  readonly manager: ProducerManager;
  /** Whether the producer's process can run modulators. */
  readonly modulates: boolean;
  /** Its source, and the counts of its newest usual and urgent event when it was opened. */
  readonly source: bigint;
  readonly raised: bigint;
  readonly raisedUrgent: bigint;
  /** Bytes kept for it, on account of its connection's parties. */
  keptBytes = 0;

  constructor(
    number: number,
    connection: Connection,
    manager: ProducerManager,
    token: bigint,
    { modulates, source, raised, raisedUrgent }: OpenProducer,
    outlet?: ProducerOutlet,
  ) {
    this.number = number;
    this.connection = connection;
    this.manager = manager;
    this.channel = manager.channel;
    this.outlet = outlet;
    this.token = token;
    this.modulates = modulates;
    this.source = source;
    this.raised = raised;
    this.raisedUrgent = raisedUrgent;
  }

  /** Count of its newest usual or urgent event, as far as the gateway knows. */
  raisedBy(urgent: boolean): bigint {
    const taken = BigInt(this.channel.lanes.raisedOf(this.source, urgent));
    const opened = urgent ? this.raisedUrgent : this.raised;
    return taken > opened ? taken : opened;
  }
}

const NONE: readonly Producers[] = [];

/** A channel's producers, by number and by process. */
export class Producers {
  readonly #own = new Few<number, GatewayProducer>();
  readonly #others: readonly Producers[];
  /** Processes whose first producers wait for the channel's modulators. */
  readonly #admitting = new Few<Connection, Promise<void>>();

  /** @param others further producers that belong to these */
  constructor(others = NONE) {
    this.#others = others;
  }

  *[Symbol.iterator](): Generator<GatewayProducer> {
    yield* this.#own.values();
    for (const producers of this.#others) yield* producers;
  }

  get size(): number {
    return this.#others.reduce((sum, { size }) => sum + size, this.#own.size);
  }

  /** The producers that write this type. */
  writing(token: bigint): GatewayProducer[] {
    return [...this].filter(producer => producer.token === token);
  }

  add(producer: GatewayProducer): void {
    this.#own.set(producer.number, producer);
  }

  /** @returns whether it is the only one of its process here */
  remove({ number, connection }: GatewayProducer): boolean {
    this.#own.delete(number);
    if (this.isAt(connection)) return false;
    this.#admitting.delete(connection);
    return true;
  }

  find(number: number): GatewayProducer | undefined {
    for (const producers of this.#others) {
      const producer = producers.find(number);
      if (producer !== undefined) return producer;
    }
    return this.#own.get(number);
  }

  /** The producer with this source. */
  ofSource(source: bigint): GatewayProducer | undefined {
    if (source === 0n) return undefined;
    for (const producer of this) if (producer.source === source) return producer;
    return undefined;
  }

  /** Connections that have producers here, each once. */
  connections(): Set<Connection> {
    const all = new Set<Connection>();
    for (const { connection } of this) all.add(connection);
    return all;
  }

  /** The producers of a process. */
  of(connection: Connection): GatewayProducer[] {
    const all: GatewayProducer[] = [];
    for (const producer of this.#own.values()) if (producer.connection === connection) all.push(producer);
    for (const others of this.#others) all.push(...others.of(connection));
    return all;
  }

  /** Whether this process has a producer here. */
  isAt(connection: Connection): boolean {
    for (const producer of this.#own.values()) if (producer.connection === connection) return true;
    for (const others of this.#others) if (others.isAt(connection)) return true;
    return false;
  }

  /** The numbers of the producers of each process. */
  numbers(): Few<Connection, number[]> {
    const all = new Few<Connection, number[]>();
    for (const { connection, number } of this) {
      const numbers = all.get(connection);
      if (numbers === undefined) all.set(connection, [number]);
      else numbers.push(number);
    }
    return all;
  }

  /** Whether this process runs modulators. */
  runModulators(connection: Connection): boolean {
    for (const { modulates } of this.of(connection)) if (!modulates) return false;
    return true;
  }

  /** The type that the first producer of a process writes; 0 where that is none. */
  tokenOf(connection: Connection): bigint {
    return this.of(connection)[0]?.token ?? 0n;
  }

  /**
   * A process's events count once this has happened, whichever of its producers waits for it.
   *
   * @returns false where its producers have gone meanwhile, even if they are back
   */
  async admit(connection: Connection, installing?: Promise<void>): Promise<boolean> {
    if (installing !== undefined) this.#admitting.set(connection, installing);
    const waited = this.#admitting.get(connection);
    await waited;
    if (this.#admitting.get(connection) === waited) this.#admitting.delete(connection);
    return this.isAt(connection) && !this.#admitting.has(connection);
  }

  /** Its own producers whose events do not count yet. */
  *joining(): Generator<GatewayProducer> {
    if (this.#admitting.size === 0) return;
    for (const producer of this.#own.values()) if (this.#admitting.has(producer.connection)) yield producer;
  }

  /** Whether this process' events count. */
  isAdmitted(connection: Connection): boolean {
    return !this.#admitting.has(connection) && this.#others.every(others => others.isAdmitted(connection));
  }
}
