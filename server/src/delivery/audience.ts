import type { Few } from "@jecho/shared/internal";
import type { Connection } from "../connection.ts";
import type { Listener } from "./listener.ts";

/** Bytes that an audience is sent between two looks at who does not keep up, and all audiences together, one of many small ones. */
const LOOK_EVERY_BYTES = 64 * 1024;
const LOOK_EVERY_BYTES_OF_ALL = 4 << 20;

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
  readonly #listeners: Few<Connection, Listener>;
  #sinceLook = 0;
  #lookedAt = 0;

  /** @param listeners of the channel, those included that get its runs by themselves */
  constructor(topic: string, listeners: Few<Connection, Listener>) {
    this.#topic = topic;
    this.#listeners = listeners;
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

  /**
   * Now and then looks whether a listener does not keep up that has done so far.
   *
   * @param bytes that it was sent just now
   * @param allBytes that all audiences were sent so far
   * @returns true where there is one
   */
  look(bytes: number, allBytes: number): boolean {
    this.#sinceLook += bytes;
    const isLong = allBytes - this.#lookedAt >= LOOK_EVERY_BYTES_OF_ALL;
    if (!isLong && this.#sinceLook < LOOK_EVERY_BYTES) return false;
    this.#sinceLook = 0;
    this.#lookedAt = allBytes;
    let isBehind = false;
    for (const { connection } of this.#listeners.values()) if (connection.fallsBehind()) isBehind = true;
    return isBehind;
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
