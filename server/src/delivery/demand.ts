import { Few } from "@jecho/shared/internal";

/** A consumer that may come back. */
export interface Awaited {
  readonly feed: number;
  /** It is not awaited any more. */
  end(): void;
}

/**
 * Whom a channel's producers send for: consumers that listen, those that are still being sent the past, and those that are away
 * and may come back. Each wants all events, or those of one process alone: `feed` is that process' number, 0 for all.
 */
export class Demand {
  #consumers = 0;
  #feeds = 0;
  /** Consumers that are being sent the past, by what they want. */
  #coming: Few<number, number> | undefined;
  /** Consumers that are away and may come back, by the same. */
  #awaited: Few<number, Set<Awaited>> | undefined;

  /** Consumers of all events: those that listen and those that are expected. */
  get consumers(): number {
    return this.#consumers + this.expected(0);
  }

  /** Consumers that listen, of some process' events alone. */
  get feeds(): number {
    return this.#feeds;
  }

  /** A consumer comes, and is sent the past before it listens. */
  expect(feed: number): void {
    this.#coming ??= new Few();
    this.#coming.set(feed, (this.#coming.get(feed) ?? 0) + 1);
  }

  /** It listens, or comes no more. */
  expectNoMore(feed: number): void {
    const left = (this.#coming?.get(feed) ?? 0) - 1;
    if (left > 0) this.#coming?.set(feed, left);
    else this.#coming?.delete(feed);
  }

  /** A consumer listens. */
  enter(feed: number): void {
    if (feed === 0) this.#consumers++;
    else this.#feeds++;
  }

  /** It listens no more. */
  leave(feed: number): void {
    if (feed === 0) this.#consumers--;
    else this.#feeds--;
  }

  /** Consumers that come or come back. */
  expected(feed: number): number {
    return (this.#coming?.get(feed) ?? 0) + (this.#awaited?.get(feed)?.size ?? 0);
  }

  /** Is somebody who was cut off expected back? */
  get isAwaiting(): boolean {
    return this.#awaited !== undefined && this.#awaited.size > 0;
  }

  /** One who was here may come back: until then producers go on sending. */
  await(awaited: Awaited): void {
    this.#awaited ??= new Few();
    const all = this.#awaited.get(awaited.feed) ?? new Set();
    this.#awaited.set(awaited.feed, all.add(awaited));
  }

  /** It is back, or comes no more. */
  awaitNoMore(awaited: Awaited): void {
    const all = this.#awaited?.get(awaited.feed);
    all?.delete(awaited);
    if (all?.size === 0) this.#awaited?.delete(awaited.feed);
  }

  /** One of those who were expected is back. */
  returned(feed: number): void {
    const [first] = this.#awaited?.get(feed) ?? [];
    first?.end();
  }

  stopAwaiting(): void {
    for (const all of [...(this.#awaited?.values() ?? [])]) for (const awaited of [...all]) awaited.end();
  }
}
