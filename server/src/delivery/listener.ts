import { encodeControl, type Position } from "@jecho/shared/internal";
import type { Connection } from "../connection.ts";
import { RunQueue, type WhenFull } from "./run-queue.ts";
import type { Waiting } from "./waiting.ts";

/** How a consumer's queue at the gateway is kept. */
export interface QueuePolicy {
  readonly whenFull: WhenFull;
  readonly limitBytes: number;
}

/** Bytes that may wait in a socket before its events wait in a queue of ours instead. */
export const SOCKET_HIGH_BYTES = 512 * 1024;
/** When so little is left, they come by their channels' topics again. */
export const SOCKET_LOW_BYTES = 128 * 1024;

/** The policy that lets go of least comes first: one copy crosses the wire for all consumers of a process. */
const KEEPING: readonly WhenFull[] = ["block", "disconnect", "drop-oldest", "latest"];

/** One process that listens to a channel: how many consumers it has there, and what waits for it. */
export class Listener {
  readonly connection: Connection;
  consumers = 0;
  /** Processes whose events alone are wanted, and how often. */
  #feeds: Map<number, number> | undefined;
  #policy: QueuePolicy;
  #backlog: Backlog | undefined;

  constructor(connection: Connection, policy: QueuePolicy) {
    this.connection = connection;
    this.#policy = policy;
  }

  /** Does it take what this process raises? */
  wants(process: number): boolean {
    return this.consumers > 0 || this.feedsOn(process);
  }

  /** Is it what this process raises that it takes, whatever others do? */
  feedsOn(process: number): boolean {
    return this.#feeds?.has(process) ?? false;
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
    const left = (this.#feeds?.get(feed) ?? 0) - 1;
    if (left > 0) this.#feeds?.set(feed, left);
    else this.#feeds?.delete(feed);
  }

  /**
   * One more consumer of this process; where policies differ, the one holds that keeps more.
   *
   * @param feed the process that it takes the events of; 0 for all
   */
  join({ whenFull, limitBytes }: QueuePolicy, feed: number): void {
    if (feed === 0) this.consumers++;
    else {
      this.#feeds ??= new Map();
      this.#feeds.set(feed, (this.#feeds.get(feed) ?? 0) + 1);
    }
    const keeps = KEEPING.indexOf(whenFull) < KEEPING.indexOf(this.#policy.whenFull);
    if (this.backlog !== undefined || !(keeps || limitBytes > this.#policy.limitBytes)) return;
    this.#policy = {
      whenFull: keeps ? whenFull : this.#policy.whenFull,
      limitBytes: Math.max(limitBytes, this.#policy.limitBytes),
    };
  }

  /** Its events wait here, and do not come by the channel's topic; undefined as long as it keeps up. */
  get backlog(): Backlog | undefined {
    return this.#backlog;
  }

  /** From now on its events wait. */
  lag(): Backlog {
    this.#backlog = new Backlog(this.#policy, this.connection.waiting);
    return this.#backlog;
  }

  /** Nothing waits any more, or is to. */
  keepUp(): void {
    this.#backlog?.queue.clear();
    this.#backlog = undefined;
  }

  /** Where a producer is, in the order of the channel's events. */
  tell(position: Position): void {
    if (this.#backlog === undefined) this.connection.send(position);
    // One that is about urgent events must not come behind them.
    else this.#backlog.queue.pushControl(encodeControl(position), position.urgent);
  }
}

/** What waits for a process that does not keep up. */
export class Backlog {
  readonly queue: RunQueue;
  /** The process has said that it can take no more for now. */
  isPaused = false;
  /** The producers were asked to wait for it. */
  isBlocking = false;

  constructor({ whenFull, limitBytes }: QueuePolicy, waiting: Waiting) {
    this.queue = new RunQueue(whenFull, limitBytes, waiting);
  }

  /** Does nothing wait, and may events come? */
  get isLevel(): boolean {
    return !this.isPaused && this.queue.isEmpty;
  }

  /**
   * Takes what is next.
   *
   * @param channel the number that what was dropped is told under
   * @param parts get it, in whole frames
   * @returns its bytes; 0 where that is nothing, or may not be sent
   */
  takeNext(channel: number, parts: Uint8Array[]): number {
    if (this.isPaused) return 0;
    const before = parts.length;
    const dropped = this.queue.takeDropped();
    if (dropped > 0) parts.push(encodeControl({ kind: "Dropped", channel, events: BigInt(dropped) }));
    const next = this.queue.shift();
    if (next !== undefined) parts.push(next);
    let bytes = 0;
    for (let i = before; i < parts.length; i++) bytes += (parts[i] as Uint8Array).byteLength;
    return bytes;
  }
}
