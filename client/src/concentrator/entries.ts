import { splitName } from "@jecho/shared";
import { NumberTable } from "@jecho/shared/internal";
import type { ConsumerEntry, EndpointEntry, ObjectEntry, ProducerEntry } from "./entry.ts";

/** The endpoints of a process: by the numbers that its sessions know them by, by their channels, and by those of the present connection. */
export class Entries {
  readonly #all = new Map<number, EndpointEntry>();
  /** Those that raise events: each run asks for one. */
  readonly #raising = new NumberTable<ProducerEntry>();
  readonly #producersNamed = new Map<string, Set<ProducerEntry>>();
  readonly #producers = new Map<number, Set<ProducerEntry>>();
  readonly #consumers = new Map<number, ConsumerEntry>();
  readonly #copies = new Map<number, ObjectEntry>();

  [Symbol.iterator](): Iterator<EndpointEntry> {
    return this.#all.values();
  }

  add(entry: EndpointEntry): void {
    this.#all.set(entry.endpoint, entry);
    if (entry.is !== "producer") return;
    this.#raising.set(entry.endpoint, entry);
    enter(this.#producersNamed, entry.channel, entry);
  }

  /** It is no more. What it is at the present connection, `leave` ends. */
  remove(entry: EndpointEntry): void {
    this.#all.delete(entry.endpoint);
    if (entry.is !== "producer") return;
    this.#raising.delete(entry.endpoint);
    leave(this.#producersNamed, entry.channel, entry);
  }

  /** Is it still there? */
  has(entry: EndpointEntry): boolean {
    return this.#all.get(entry.endpoint) === entry;
  }

  get(endpoint: number): EndpointEntry | undefined {
    return this.#all.get(endpoint);
  }

  producer(endpoint: number): ProducerEntry | undefined {
    return this.#raising.get(endpoint);
  }

  consumer(endpoint: number): ConsumerEntry | undefined {
    const entry = this.#all.get(endpoint);
    return entry?.is === "consumer" ? entry : undefined;
  }

  object(endpoint: number): ObjectEntry | undefined {
    const entry = this.#all.get(endpoint);
    return entry?.is === "object" ? entry : undefined;
  }

  /** The producers of the channel of this name. */
  producersNamed(channel: string): Iterable<ProducerEntry> {
    return this.#producersNamed.get(channel) ?? [];
  }

  /** Of the type with this token, where a producer here writes it. */
  schemaOf(token: bigint): Uint8Array | undefined {
    for (const entry of this.#all.values())
      if (entry.is === "producer" && entry.token === token) return entry.schema;
    return undefined;
  }

  /** Its numbers at the present connection are known. */
  enter(entry: EndpointEntry): void {
    if (entry.is === "producer") enter(this.#producers, entry.channelNumber, entry);
    else if (entry.is === "consumer") this.#consumers.set(entry.number, entry);
    else this.#copies.set(entry.number, entry);
  }

  /** Its numbers mean nothing any more. */
  leave(entry: EndpointEntry): void {
    if (entry.is === "producer") leave(this.#producers, entry.channelNumber, entry);
    else if (entry.is === "consumer") this.#consumers.delete(entry.number);
    else this.#copies.delete(entry.number);
  }

  /** The producers of the channel that has this number at the present connection, if there are any. */
  producersOf(channel: number): ReadonlySet<ProducerEntry> | undefined {
    return this.#producers.get(channel);
  }

  consumerOf(number: number): ConsumerEntry | undefined {
    return this.#consumers.get(number);
  }

  /** All that are open at the present connection. */
  get consumers(): Iterable<ConsumerEntry> {
    return this.#consumers.values();
  }

  /** The consumers of the channel or derived channel that has this number at the present connection. */
  *consumersOf(channel: number): Generator<ConsumerEntry> {
    for (const entry of this.#consumers.values()) if (entry.channelNumber === channel) yield entry;
  }

  copyOf(number: number): ObjectEntry | undefined {
    return this.#copies.get(number);
  }

  /** The producer that has this number at the present connection. */
  producerOf(number: number): ProducerEntry | undefined {
    for (const producers of this.#producers.values())
      for (const producer of producers) if (producer.number === number) return producer;
    return undefined;
  }

  /** Are there consumers of the channel, or of what is made of it? They may be away. */
  isConsumed(base: string): boolean {
    for (const entry of this.#all.values()) {
      if (entry.is !== "consumer" || entry.feed !== undefined) continue;
      if (splitName(entry.channel).base === base) return true;
    }
    return false;
  }

  /** Is there an application's consumer that was open and is not yet again? */
  isAnyAway(): boolean {
    for (const entry of this.#all.values())
      if (entry.is === "consumer" && entry.feed === undefined && entry.wasOpen && entry.number === 0)
        return true;
    return false;
  }

  /** The connection broke, and its numbers are gone. @returns what was open */
  interrupted(): EndpointEntry[] {
    this.#producers.clear();
    this.#consumers.clear();
    this.#copies.clear();
    const wereOpen: EndpointEntry[] = [];
    for (const entry of this.#all.values()) {
      if (entry.number !== 0) wereOpen.push(entry);
      entry.number = 0;
      if (entry.is === "object") continue;
      if (entry.is === "producer") entry.open = false;
      else {
        if (entry.channelNumber !== 0) entry.lastChannel = entry.channelNumber;
        entry.replay = 0;
      }
      entry.channelNumber = 0;
    }
    return wereOpen;
  }
}

function enter<K, E>(sets: Map<K, Set<E>>, channel: K, entry: E): void {
  const set = sets.get(channel);
  if (set === undefined) sets.set(channel, new Set([entry]));
  else set.add(entry);
}

function leave<K, E>(sets: Map<K, Set<E>>, channel: K, entry: E): void {
  const set = sets.get(channel);
  set?.delete(entry);
  if (set?.size === 0) sets.delete(channel);
}
