import { encodeControl, Few, joinFrames } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { Channel } from "./channel.ts";

/** A consumer that may come back. */
export interface AwaitedConsumer {
  readonly feed: number;
  /** Ends the waiting. */
  end(): void;
}

/**
 * The consumers that a channel's producers send for: those that listen, those that come and are still being sent the past,
 * or come back and wait for their modulator, and those that are away and may come back. Each wants all events, or those of one process alone: `feed` is that process'
 * number, 0 for all.
 */
export class ChannelDemand {
  #consumers = 0;
  #feeds = 0;
  /** Consumers that are being sent the past, or come back and wait for their modulator, by what they want. */
  #coming: Few<number, number> | undefined;
  /** Consumers that are away and may come back, by the same. */
  #awaited: Few<number, Set<AwaitedConsumer>> | undefined;

  /** Consumers of all events: those that listen and those that are expected. */
  get consumers(): number {
    return this.#consumers + this.expected(0);
  }

  /** Consumers that listen, of some process' events alone. */
  get feeds(): number {
    return this.#feeds;
  }

  /** A consumer comes that does not listen yet. */
  expect(feed: number): void {
    this.#coming ??= new Few();
    this.#coming.set(feed, (this.#coming.get(feed) ?? 0) + 1);
  }

  /** A consumer that was expected listens, or comes no more. */
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

  /** A consumer listens no more. */
  leave(feed: number): void {
    if (feed === 0) this.#consumers--;
    else this.#feeds--;
  }

  /** Consumers that come or come back. */
  expected(feed: number): number {
    return (this.#coming?.get(feed) ?? 0) + (this.#awaited?.get(feed)?.size ?? 0);
  }

  /** Whether anybody comes, or is expected back. */
  get isExpecting(): boolean {
    return this.isAwaiting || (this.#coming !== undefined && this.#coming.size > 0);
  }

  /** Whether somebody who was cut off is expected back. */
  get isAwaiting(): boolean {
    return this.#awaited !== undefined && this.#awaited.size > 0;
  }

  /** Awaits a consumer that may come back: until then producers go on sending. */
  await(awaited: AwaitedConsumer): void {
    this.#awaited ??= new Few();
    const all = this.#awaited.get(awaited.feed) ?? new Set();
    this.#awaited.set(awaited.feed, all.add(awaited));
  }

  /** A consumer that was awaited is back, or comes no more. */
  awaitNoMore(awaited: AwaitedConsumer): void {
    const all = this.#awaited?.get(awaited.feed);
    all?.delete(awaited);
    if (all?.size === 0) this.#awaited?.delete(awaited.feed);
  }

  /** Called when an awaited consumer is back. */
  returned(feed: number): void {
    const [first] = this.#awaited?.get(feed) ?? [];
    first?.end();
  }

  stopAwaiting(): void {
    for (const all of [...(this.#awaited?.values() ?? [])]) for (const awaited of [...all]) awaited.end();
  }
}

/** Notices of one message at most. */
const MOST_TOGETHER = 1024;

/**
 * Tells those who send events what demand there is for them: once a turn, in one message, however many channels' demand has
 * changed meanwhile and however often. What is told is what is so by then.
 */
export class DemandNotices {
  readonly #isPresent: (channel: Channel) => boolean;
  /** Channels to tell of, by connection, each with the processes whose events it is about. */
  readonly #due = new Map<Connection, Map<Channel, readonly number[]>>();

  /** @param isPresent whether a channel has not been forgotten by the time that it would be told of */
  constructor(isPresent: (channel: Channel) => boolean) {
    this.#isPresent = isPresent;
  }

  /** The demand for what these processes raise on the channel may have changed: this connection, which sends it, is told. */
  add(connection: Connection, channel: Channel, processes: readonly number[]): void {
    if (this.#due.size === 0) queueMicrotask(() => this.#tell());
    const channels = this.#due.get(connection);
    if (channels === undefined) this.#due.set(connection, new Map([[channel, processes]]));
    else channels.set(channel, processes);
  }

  #tell(): void {
    const due = [...this.#due];
    this.#due.clear();
    for (const [connection, channels] of due) {
      const frames = [...channels]
        .filter(([channel]) => this.#isPresent(channel))
        .flatMap(([channel, processes]) => channel.takeDemand(connection, processes).map(encodeControl));
      for (let at = 0; at < frames.length; at += MOST_TOGETHER)
        connection.sendBytes(joinFrames(frames.slice(at, at + MOST_TOGETHER)));
    }
  }
}
