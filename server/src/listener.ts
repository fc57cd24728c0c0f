import { type EventsFrame, encodeControl } from "@jecho/shared/internal";
import type { Connection } from "./connection.ts";
import { RunQueue, type WhenFull } from "./run-queue.ts";

/** How a consumer's queue at the gateway is kept. */
export interface QueuePolicy {
  readonly whenFull: WhenFull;
  readonly limitBytes: number;
}

/** Bytes that may wait in a socket before its events wait in a queue of ours instead. */
export const SOCKET_HIGH_BYTES = 512 * 1024;
const SOCKET_LOW_BYTES = 128 * 1024;

/** The policy that lets go of least comes first: one copy crosses the wire for all consumers of a process. */
const KEEPING: readonly WhenFull[] = ["block", "disconnect", "drop-oldest", "latest"];

/** One process that listens to a channel: how many consumers it has there, and what waits for it. */
export class Listener {
  readonly connection: Connection;
  readonly #channel: number;
  consumers = 0;
  /** Its events go through the queue, and not by the channel's topic. */
  isLagging = false;
  /** It has said that it can take no more for now. */
  isPaused = false;
  /** The producers were asked to wait for it. */
  isBlocking = false;
  #policy: QueuePolicy;
  #queue: RunQueue | undefined;

  constructor(connection: Connection, channel: number, policy: QueuePolicy) {
    this.connection = connection;
    this.#channel = channel;
    this.#policy = policy;
  }

  /** What waits: made when something has to, for most consumers keep up. */
  get queue(): RunQueue {
    this.#queue ??= new RunQueue(this.#policy.whenFull, this.#policy.limitBytes);
    return this.#queue;
  }

  /** One more consumer of this process; where policies differ, the one holds that keeps more. */
  join({ whenFull, limitBytes }: QueuePolicy): void {
    this.consumers++;
    const keeps = KEEPING.indexOf(whenFull) < KEEPING.indexOf(this.#policy.whenFull);
    if (this.isLagging || !(keeps || limitBytes > this.#policy.limitBytes)) return;
    this.#policy = {
      whenFull: keeps ? whenFull : this.#policy.whenFull,
      limitBytes: Math.max(limitBytes, this.#policy.limitBytes),
    };
    this.#queue = undefined;
  }

  get isBehind(): boolean {
    return this.isPaused || this.connection.bufferedBytes > SOCKET_HIGH_BYTES;
  }

  /** In the order of the channel's events. */
  tell(control: Parameters<Connection["send"]>[0]): void {
    if (this.isLagging) this.queue.pushControl(encodeControl(control));
    else this.connection.send(control);
  }

  /** @returns what was dropped */
  enqueue(run: EventsFrame, keyOf: (run: EventsFrame, i: number) => string): EventsFrame[] {
    return this.queue.push(run, keyOf);
  }

  /** Sends what there is room for. True where nothing waits any more and the socket has room. */
  flush(): boolean {
    while (!this.isPaused && this.connection.bufferedBytes <= SOCKET_HIGH_BYTES) {
      const dropped = this.queue.takeDropped();
      if (dropped > 0)
        this.connection.send({ kind: "Dropped", channel: this.#channel, events: BigInt(dropped) });
      const message = this.queue.shift();
      if (message === undefined) return this.connection.bufferedBytes <= SOCKET_LOW_BYTES;
      this.connection.sendBytes(message);
    }
    return false;
  }
}
