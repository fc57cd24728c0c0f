import type { Connection } from "../connection.ts";

/**
 * The connections that get a channel's runs by its topic. Two audiences are compared without their members: each connection has a
 * random mark of 60 bits, and an audience the exclusive or of its members' marks.
 */
export class Audience {
  readonly #topic: string;
  #size = 0;
  #low = 0;
  #high = 0;
  /** The only member, as long as there has not been another one beside it. */
  #only: Connection | undefined;

  constructor(topic: string) {
    this.#topic = topic;
  }

  get size(): number {
    return this.#size;
  }

  enter(connection: Connection): void {
    this.#only = this.#size++ === 0 ? connection : undefined;
    this.#mark(connection);
    connection.subscribe(this.#topic);
  }

  leave(connection: Connection): void {
    this.#size--;
    this.#only = undefined;
    this.#mark(connection);
    connection.unsubscribe(this.#topic);
  }

  /**
   * Sends this to all members but who it comes from.
   *
   * @param isAwaited somebody waits for it: one who listens alone gets it at once. What is published goes out when the loop has
   * come round, and then all of it together.
   */
  send(bytes: Uint8Array, from: Connection, isAwaited: boolean): void {
    if (!isAwaited || this.#only === undefined) from.publish(this.#topic, bytes);
    else if (this.#only !== from) this.#only.sendBytes(bytes);
  }

  /** Has the other the same members? */
  equals(other: Audience): boolean {
    return this.#low === other.#low && this.#high === other.#high && this.#size === other.#size;
  }

  #mark({ markLow, markHigh }: Connection): void {
    this.#low ^= markLow;
    this.#high ^= markHigh;
  }
}
