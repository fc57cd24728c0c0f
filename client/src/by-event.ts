/** Things by the channel, the producer and the count of an event. */
export class ByEvent<V> {
  readonly #channels = new Map<number, Map<number, Map<number, V>>>();

  get(channel: number, producer: number, raised: number): V | undefined {
    return this.#channels.get(channel)?.get(producer)?.get(raised);
  }

  set(channel: number, producer: number, raised: number, value: V): void {
    let producers = this.#channels.get(channel);
    if (producers === undefined) {
      producers = new Map();
      this.#channels.set(channel, producers);
    }
    let events = producers.get(producer);
    if (events === undefined) {
      events = new Map();
      producers.set(producer, events);
    }
    events.set(raised, value);
  }

  delete(channel: number, producer: number, raised: number): boolean {
    return this.#channels.get(channel)?.get(producer)?.delete(raised) ?? false;
  }

  *entries(): Generator<[channel: number, producer: number, raised: number, value: V]> {
    for (const [channel, producers] of this.#channels)
      for (const [producer, events] of producers)
        for (const [raised, value] of events) yield [channel, producer, raised, value];
  }

  clear(): void {
    this.#channels.clear();
  }
}
