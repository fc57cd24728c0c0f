/**
 * Things by the channel, the producer and the count of an event. Mostly there is one or none, and that is kept without a map:
 * one that is filled and emptied for each event is made anew each time.
 */
export class ByEvent<V extends object | true> {
  #channel = 0;
  #producer = 0;
  #raised = 0;
  #only: V | undefined;
  /** Those that came while there was one. */
  #others: Map<number, Map<number, Map<number, V>>> | undefined;
  #size = 0;

  get(channel: number, producer: number, raised: number): V | undefined {
    if (this.#isOnly(channel, producer, raised)) return this.#only;
    return this.#others?.get(channel)?.get(producer)?.get(raised);
  }

  set(channel: number, producer: number, raised: number, value: V): void {
    const isFree = this.#only === undefined && this.#others === undefined;
    if (!isFree && !this.#isOnly(channel, producer, raised))
      return this.#add(channel, producer, raised, value);
    this.#channel = channel;
    this.#producer = producer;
    this.#raised = raised;
    this.#only = value;
  }

  delete(channel: number, producer: number, raised: number): boolean {
    if (this.#isOnly(channel, producer, raised)) {
      this.#only = undefined;
      return true;
    }
    const isThere = this.#others?.get(channel)?.get(producer)?.delete(raised) ?? false;
    if (isThere && --this.#size === 0) this.#others = undefined;
    return isThere;
  }

  *entries(): Generator<[channel: number, producer: number, raised: number, value: V]> {
    if (this.#only !== undefined) yield [this.#channel, this.#producer, this.#raised, this.#only];
    for (const [channel, producers] of this.#others ?? [])
      for (const [producer, events] of producers)
        for (const [raised, value] of events) yield [channel, producer, raised, value];
  }

  clear(): void {
    this.#only = undefined;
    this.#others = undefined;
    this.#size = 0;
  }

  #isOnly(channel: number, producer: number, raised: number): boolean {
    return (
      this.#only !== undefined &&
      this.#raised === raised &&
      this.#producer === producer &&
      this.#channel === channel
    );
  }

  #add(channel: number, producer: number, raised: number, value: V): void {
    this.#others ??= new Map();
    const producers = inner(this.#others, channel);
    const events = inner(producers, producer);
    if (!events.has(raised)) this.#size++;
    events.set(raised, value);
  }
}

function inner<V>(maps: Map<number, Map<number, V>>, key: number): Map<number, V> {
  let map = maps.get(key);
  if (map === undefined) {
    map = new Map();
    maps.set(key, map);
  }
  return map;
}
