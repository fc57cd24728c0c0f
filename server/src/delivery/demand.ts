import { Few } from "@jecho/shared/internal";

/**
 * Whom a channel's producers send for: consumers that listen, those that are still being sent the past, and those that are away
 * and may come back. Each wants all events, or those of one process alone: `feed` is that process' number, 0 for all.
 */
export class Demand {
  #consumers = 0;
  #feeds = 0;
  /** Consumers that are being sent the past, by what they want. */
  #coming: Few<number, number> | undefined;
  /** Consumers that are away and may come back, by the same: what ends the waiting for each. */
  #awaited: Few<number, Set<() => void>> | undefined;

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

  /** Somebody who was here may come back: until then producers go on sending. @param over called when that ends */
  await(windowMs: number, feed: number, over: () => void): void {
    const all = this.#awaited ?? new Few();
    this.#awaited = all;
    const awaited = all.get(feed) ?? new Set();
    all.set(feed, awaited);
    const end = (): void => {
      clearTimeout(timer);
      if (!awaited.delete(end)) return;
      if (awaited.size === 0) all.delete(feed);
      over();
    };
    const timer = setTimeout(end, windowMs).unref();
    awaited.add(end);
  }

  /** One of those who were expected is back. */
  returned(feed: number): void {
    const [end] = this.#awaited?.get(feed) ?? [];
    end?.();
  }

  stopAwaiting(): void {
    for (const awaited of [...(this.#awaited?.values() ?? [])]) for (const end of [...awaited]) end();
  }
}
