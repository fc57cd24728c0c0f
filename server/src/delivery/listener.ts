import { type Control, type EventsFrame, encodeControl, type Position } from "@jecho/shared/internal";
import type { Connection, QueuedChannel, Standing } from "../connections/connection.ts";
import type { Channel } from "./channel.ts";
import { RunQueue, type WhenFull } from "./run-queue.ts";
import type { SharedMemory } from "./waiting.ts";

/** Policy of a consumer's queue at the gateway. */
export interface QueuePolicy {
  readonly whenFull: WhenFull;
  readonly limitBytes: number;
}

/** Bytes in a socket from which on its events wait in queues here. */
export const SOCKET_HIGH_BYTES = 512 * 1024;
/** Bytes in the socket below which it gets events by topics again. */
export const SOCKET_LOW_BYTES = 128 * 1024;

/** Policies, the one that drops least first: all consumers of a process share one copy of the events. */
const KEEPING: readonly WhenFull[] = ["block", "disconnect", "drop-oldest", "latest"];

/** A listener for one process's events: for modulators that run in its stead. */
interface ListenerFeed {
  count: number;
  isHeard: boolean;
}

/** A process that listens to a channel: the number of its consumers, and its queue. */
export class Listener {
  readonly connection: Connection;
  consumers = 0;
  /** Processes whose events alone it wants. */
  #feeds: Map<number, ListenerFeed> | undefined;
  /** Its consumers' policies: as long as need be, for an array that is pushed to has room for 17. */
  #policies: readonly QueuePolicy[] = [];
  #backlog: ListenerBacklog | undefined;

  constructor(connection: Connection) {
    this.connection = connection;
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

  /** Notes that the output made of this process's events has consumers. @returns false where that was known, or no output is made here */
  hear(process: number): boolean {
    const feed = this.#feeds?.get(process);
    if (feed === undefined || feed.isHeard) return false;
    feed.isHeard = true;
    return true;
  }

  get isEmpty(): boolean {
    return this.consumers === 0 && (this.#feeds?.size ?? 0) === 0;
  }

  /** Removes a consumer of this process: the policies of those that are left hold. @param feed the process that it takes the events of; 0 for all */
  leave(policy: QueuePolicy, feed: number): void {
    this.#policies = this.#policies.toSpliced(this.#policies.indexOf(policy), 1);
    if (this.#policies.length > 0) this.#backlog?.follow(sharedBy(this.#policies));
    if (feed === 0) {
      this.consumers--;
      return;
    }
    const known = this.#feeds?.get(feed);
    if (known !== undefined && --known.count === 0) this.#feeds?.delete(feed);
  }

  /**
   * Adds a consumer of this process. Of different policies the one that keeps more is used.
   *
   * @param feed the process that it takes the events of; 0 for all
   */
  join(policy: QueuePolicy, feed: number): void {
    if (feed === 0) this.consumers++;
    else {
      this.#feeds ??= new Map();
      const known = this.#feeds.get(feed);
      if (known === undefined) this.#feeds.set(feed, { count: 1, isHeard: false });
      else known.count++;
    }
    this.#policies = this.#policies.concat(policy);
    this.#backlog?.follow(sharedBy(this.#policies));
  }

  /** The queue of a listener that is behind; undefined while it keeps up and gets events by the topic. */
  get backlog(): ListenerBacklog | undefined {
    return this.#backlog;
  }

  /** Gives the process a queue, in which its events wait from now on. @param channel its channel */
  lag(channel: QueuedChannel): ListenerBacklog {
    this.#backlog = new ListenerBacklog(sharedBy(this.#policies), this.connection, channel);
    return this.#backlog;
  }

  /** Ends the queue. */
  keepUp(): void {
    this.#backlog?.end();
    this.#backlog = undefined;
  }

  /** Sends a producer's position, in order with the channel's events. */
  tell(position: Position): void {
    if (this.#backlog === undefined) this.connection.send(position);
    else this.#backlog.tell(position);
  }
}

/** The policy that consumers with these policies, one at least, have together. */
function sharedBy(policies: readonly QueuePolicy[]): QueuePolicy {
  return policies.reduce((one, other) => ({
    whenFull: KEEPING.indexOf(other.whenFull) < KEEPING.indexOf(one.whenFull) ? other.whenFull : one.whenFull,
    limitBytes: Math.max(one.limitBytes, other.limitBytes),
  }));
}

/** Waiting events of a process that does not keep up. Its connection is told the queue's state. */
export class ListenerBacklog {
  /** Called when producers have waited for it too long; undefined where none were asked to wait. */
  whenTooLong: (() => void) | undefined;
  readonly #queue: RunQueue;
  readonly #connection: Connection;
  readonly #channel: QueuedChannel;
  /** Whether the process has said that it cannot take more for now. */
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

  /** Whether nothing waits, and the process takes events. */
  get isLevel(): boolean {
    return this.#standing === "level";
  }

  /** The process cannot take more for now, or can again. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#changed();
  }

  /** Goes by another policy from now on. */
  follow({ whenFull, limitBytes }: QueuePolicy): void {
    this.#queue.follow(whenFull, limitBytes);
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

  /** Drops events beyond its bound. @returns the dropped ones */
  makeRoom(): EventsFrame[] {
    const gone = this.#queue.makeRoom();
    this.#changed();
    return gone;
  }

  /** Adds a message, in order with the runs. */
  tell(message: Control): void {
    // A position of urgent events must not come behind later ones.
    this.#queue.pushControl(encodeControl(message), "urgent" in message && message.urgent);
    this.#changed();
  }

  /**
   * Takes the next frames.
   *
   * @param channel its channel
   * @param parts list to which the frames are added
   * @returns their bytes; 0 where nothing waits, or may be sent
   */
  takeNext(channel: Pick<Channel, "number" | "positionOf">, parts: Uint8Array[]): number {
    if (this.#isPaused) return 0;
    const before = parts.length;
    const dropped = this.#queue.takeDropped();
    if (dropped > 0)
      parts.push(encodeControl({ kind: "Dropped", channel: channel.number, events: BigInt(dropped) }));
    const next = this.#queue.shift();
    if (next !== undefined) parts.push(next);
    if (this.#queue.isEmpty)
      for (const lane of this.#queue.takeCutShort()) {
        const position = channel.positionOf(lane);
        if (position !== undefined) parts.push(encodeControl(position));
      }
    let bytes = 0;
    for (let i = before; i < parts.length; i++) bytes += (parts[i] as Uint8Array).byteLength;
    this.#changed();
    return bytes;
  }

  /** Nothing waits any more, or is to: messages other than runs are sent. */
  end(): void {
    for (const message of this.#queue.clear()) this.#connection.sendBytes(message);
    this.#connection.lags(this.#channel, undefined);
  }

  #changed(): void {
    const standing = this.#isPaused ? "paused" : this.#queue.isEmpty ? "level" : "due";
    if (standing === this.#standing) return;
    this.#standing = standing;
    this.#connection.lags(this.#channel, standing);
  }
}
