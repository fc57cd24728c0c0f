import { encodeControl, Few, joinFrames } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { Channel } from "./channel.ts";

/** A consumer that may come back. */
export interface AwaitedConsumer {
  readonly feed: number;
  readonly connection: Pick<Connection, "subject">;
  /** Ends the waiting. */
  end(): void;
}

/**
 * The consumers for which a channel's producers send: listening ones, coming ones (still being sent the past, or back and waiting for their
 * modulator), and awaited ones, which are away and may come back. Each wants all events, or those of one process: `feed` is that process's number,
 * 0 for all.
 */
export class ChannelDemand {
  #consumers = 0;
  #feeds = 0;
  /** Coming consumers, by their feed. */
  #coming: Few<number, number> | undefined;
  /** Awaited consumers, by their feed. */
  #awaited: Few<number, Set<AwaitedConsumer>> | undefined;

  /** Consumers of all events, listening or expected. */
  get consumers(): number {
    return this.#consumers + this.expected(0);
  }

  /** Listening consumers of one process's events. */
  get feeds(): number {
    return this.#feeds;
  }

  /** Adds a consumer that does not listen yet. */
  expect(feed: number): void {
    this.#coming ??= new Few();
    this.#coming.set(feed, (this.#coming.get(feed) ?? 0) + 1);
  }

  /** Removes a consumer that listens now, or will not come. */
  expectNoMore(feed: number): void {
    const left = (this.#coming?.get(feed) ?? 0) - 1;
    if (left > 0) this.#coming?.set(feed, left);
    else this.#coming?.delete(feed);
  }

  /** Adds a listening consumer. */
  enter(feed: number): void {
    if (feed === 0) this.#consumers++;
    else this.#feeds++;
  }

  /** Removes a listening consumer. */
  leave(feed: number): void {
    if (feed === 0) this.#consumers--;
    else this.#feeds--;
  }

  /** Number of coming and awaited consumers. */
  expected(feed: number): number {
    return (this.#coming?.get(feed) ?? 0) + (this.#awaited?.get(feed)?.size ?? 0);
  }

  /** Whether any consumer is coming or awaited. */
  get isExpecting(): boolean {
    return this.isAwaiting || (this.#coming !== undefined && this.#coming.size > 0);
  }

  /** Whether any consumer that was cut off is awaited. */
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

  /** Called when an awaited consumer is back: one of the same subject, for nobody ends the waiting for others. */
  returned({ feed, connection }: Omit<AwaitedConsumer, "end">): void {
    const name = connection.subject?.name;
    for (const awaited of this.#awaited?.get(feed) ?? [])
      if (awaited.connection.subject?.name === name) return awaited.end();
  }

  stopAwaiting(): void {
    for (const all of [...(this.#awaited?.values() ?? [])]) for (const awaited of [...all]) awaited.end();
  }
}

/** Most notices in one message. */
const MOST_TOGETHER = 1024;

/**
 * Tells senders of events the demand for them: once per turn, in one message, however many channels' demand changed and however
 * often. The demand at the end of the turn is told.
 */
export class DemandNotices {
  readonly #isPresent: (channel: Channel) => boolean;
  /** Channels whose demand is to be told, by connection, each with the processes whose events are meant. */
  readonly #due = new Map<Connection, Map<Channel, readonly number[]>>();

  /** @param isPresent whether a channel is still there when its demand is told */
  constructor(isPresent: (channel: Channel) => boolean) {
    this.#isPresent = isPresent;
  }

  /** The demand for these processes' events on the channel may have changed: tells the connection that sends them. */
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
