import { type EventsFrame, encodeControl, type Position } from "@jecho/shared/internal";
import type { Connection, QueuedChannel, Standing } from "../connections/connection.ts";
import { RunQueue, type WhenFull } from "./run-queue.ts";
import type { SharedMemory } from "./waiting.ts";

/** Policy of a consumer's queue at the gateway. */
export interface QueuePolicy {
  readonly whenFull: WhenFull;
  readonly limitBytes: number;
}

/** Bytes that may wait in a socket before its events wait in a queue of ours instead. */
export const SOCKET_HIGH_BYTES = 512 * 1024;
/** Bytes in the socket below which events come by their channels' topics again. */
export const SOCKET_LOW_BYTES = 128 * 1024;

/** The policy that lets go of least comes first: one copy crosses the wire for all consumers of a process. */
const KEEPING: readonly WhenFull[] = ["block", "disconnect", "drop-oldest", "latest"];

/** A listener for the events of one process alone: modulators that run here in its stead. */
interface ListenerFeed {
  count: number;
  isHeard: boolean;
}

/** One process that listens to a channel: how many consumers it has there, and what waits for it. */
export class Listener {
  readonly connection: Connection;
  consumers = 0;
  /** Processes whose events alone are wanted. */
  #feeds: Map<number, ListenerFeed> | undefined;
  #policy: QueuePolicy;
  #backlog: ListenerBacklog | undefined;

  constructor(connection: Connection, policy: QueuePolicy) {
    this.connection = connection;
    this.#policy = policy;
  }

  /** Whether the listener takes this process' events. */
  wants(process: number): boolean {
    return this.consumers > 0 || this.feedsOn(process);
  }

  /** Whether one of the listener's consumers takes this process' events alone. */
  feedsOn(process: number): boolean {
    return this.#feeds?.has(process) ?? false;
  }

  /** Whether the output made here of this process' events has consumers. */
  isHeard(process: number): boolean {
    return this.#feeds?.get(process)?.isHeard ?? false;
  }

  /** Notes that the output made of this process' events has consumers. @returns false where that was known, or nothing is made here */
  hear(process: number): boolean {
    const feed = this.#feeds?.get(process);
    if (feed === undefined || feed.isHeard) return false;
    feed.isHeard = true;
    return true;
  }

  get isEmpty(): boolean {
    return this.consumers === 0 && (this.#feeds?.size ?? 0) === 0;
  }

  /** @param feed the process that it takes the events of; 0 for all */
  leave(feed: number): void {
    if (feed === 0) {
      this.consumers--;
      return;
    }
    const known = this.#feeds?.get(feed);
    if (known !== undefined && --known.count === 0) this.#feeds?.delete(feed);
  }

  /**
   * Adds a consumer of this process; where policies differ, the one holds that keeps more.
   *
   * @param feed the process that it takes the events of; 0 for all
   */
  join({ whenFull, limitBytes }: QueuePolicy, feed: number): void {
    if (feed === 0) this.consumers++;
    else {
      this.#feeds ??= new Map();
      const known = this.#feeds.get(feed);
      if (known === undefined) this.#feeds.set(feed, { count: 1, isHeard: false });
      else known.count++;
    }
    const keeps = KEEPING.indexOf(whenFull) < KEEPING.indexOf(this.#policy.whenFull);
    if (this.backlog !== undefined || !(keeps || limitBytes > this.#policy.limitBytes)) return;
    this.#policy = {
      whenFull: keeps ? whenFull : this.#policy.whenFull,
      limitBytes: Math.max(limitBytes, this.#policy.limitBytes),
    };
  }

  /** The queue of a listener that is behind, instead of the channel's topic; undefined as long as it keeps up. */
  get backlog(): ListenerBacklog | undefined {
    return this.#backlog;
  }

  /** Gives the process a queue, in which its events wait from now on. @param channel what it listens to */
  lag(channel: QueuedChannel): ListenerBacklog {
    this.#backlog = new ListenerBacklog(this.#policy, this.connection, channel);
    return this.#backlog;
  }

  /** Ends the queue: nothing waits any more, or is to. */
  keepUp(): void {
    this.#backlog?.end();
    this.#backlog = undefined;
  }

  /** Tells a producer's position in the order of the channel's events. */
  tell(position: Position): void {
    if (this.#backlog === undefined) this.connection.send(position);
    else this.#backlog.tell(position);
  }
}

/** Events that wait for a process that does not keep up. Its connection knows how it stands. */
export class ListenerBacklog {
  /** The producers were asked to wait for it. */
  isBlocking = false;
  readonly #queue: RunQueue;
  readonly #connection: Connection;
  readonly #channel: QueuedChannel;
  /** The process has said that it can take no more for now. */
  #isPaused = false;
  #standing: Standing = "level";

  constructor({ whenFull, limitBytes }: QueuePolicy, connection: Connection, channel: QueuedChannel) {
    this.#queue = new RunQueue(whenFull, limitBytes, connection.waiting);
    this.#connection = connection;
    this.#channel = channel;
    connection.lags(channel, this.#standing);
  }

  /** The queue, and how much may wait in it. */
  get queue(): Pick<RunQueue, "isFull" | "isLost" | "hasRoom" | "whenFull" | "bound"> {
    return this.#queue;
  }

  /** Whether nothing waits, and events may come. */
  get isLevel(): boolean {
    return this.#standing === "level";
  }

  /** The process can take no more for now, or can again. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#changed();
  }

  /** Adds a run, as to a `RunQueue`. */
  push(
    run: EventsFrame,
    keyOf: (run: EventsFrame, i: number) => string,
    memory: SharedMemory,
  ): EventsFrame[] {
    const gone = this.#queue.push(run, keyOf, memory);
    this.#changed();
    return gone;
  }

  /** Drops what its bound leaves no room for. @returns that */
  makeRoom(): EventsFrame[] {
    const gone = this.#queue.makeRoom();
    this.#changed();
    return gone;
  }

  /** Tells a producer's position in its place among the runs. */
  tell(position: Position): void {
    // One that is about urgent events must not come behind them.
    this.#queue.pushControl(encodeControl(position), position.urgent);
    this.#changed();
  }

  /**
   * Takes what is next.
   *
   * @param channel the number that what was dropped is told under
   * @param parts get it, in whole frames
   * @returns its bytes; 0 where that is nothing, or may not be sent
   */
  takeNext(channel: number, parts: Uint8Array[]): number {
    if (this.#isPaused) return 0;
    const before = parts.length;
    const dropped = this.#queue.takeDropped();
    if (dropped > 0) parts.push(encodeControl({ kind: "Dropped", channel, events: BigInt(dropped) }));
    const next = this.#queue.shift();
    if (next !== undefined) parts.push(next);
    let bytes = 0;
    for (let i = before; i < parts.length; i++) bytes += (parts[i] as Uint8Array).byteLength;
    this.#changed();
    return bytes;
  }

  /** Producers have waited for it for longer than they should. */
  blockedTooLong(): void {
    this.#channel.blockedTooLong(this.#connection);
  }

  /** Nothing waits any more, or is to. */
  end(): void {
    this.#queue.clear();
    this.#connection.lags(this.#channel, undefined);
  }

  #changed(): void {
    const standing = this.#isPaused ? "paused" : this.#queue.isEmpty ? "level" : "due";
    if (standing === this.#standing) return;
    this.#standing = standing;
    this.#connection.lags(this.#channel, standing);
  }
}
