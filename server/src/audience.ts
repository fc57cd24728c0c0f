import type { Connection } from "./connection.ts";

/**
 * The connections that get a channel's runs by its topic. Two audiences are compared without their members: each connection has a
 * random mark of 60 bits, and an audience the exclusive or of its members' marks.
 */
export class Audience {
  readonly topic: string;
  #size = 0;
  #low = 0;
  #high = 0;

  constructor(topic: string) {
    this.topic = topic;
  }

  get size(): number {
    return this.#size;
  }

  enter(connection: Connection): void {
    this.#size++;
    this.#mark(connection);
    connection.subscribe(this.topic);
  }

  leave(connection: Connection): void {
    this.#size--;
    this.#mark(connection);
    connection.unsubscribe(this.topic);
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
