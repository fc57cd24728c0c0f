import type { Connection } from "./connection.ts";

/** Bytes of one connection after which it is confirmed at once: an eighth of what its client sends ahead. */
const MOST_BYTES = 1 << 20;
/**
 * Longest time until a message is confirmed. Each confirmation that is sent by itself wakes two threads; but unconfirmed events are given again to
 * modulators beside the next gateway when this one dies, so they should be few.
 */
const LONGEST_MS = 100;
/** Timers are early by less than this. */
const EARLY_MS = 1;

/** Confirms received events to producers' processes, a few messages at a time, so that they need not keep them. */
export class Confirmations {
  /**
   * Connections with unconfirmed messages, and since when. Entries without such messages are not removed at once: a map that is emptied and
   * filled again with each synchronous event allocates new tables each time.
   */
  readonly #waiting = new Map<Connection, number>();
  #timer: NodeJS.Timeout | undefined;

  /** A message with events has come. It is confirmed once these are stored where they have to be. */
  took(connection: Connection, bytes: number): void {
    // Most messages need not be stored: nothing is allocated for them.
    if (connection.isStored) this.#took(connection, bytes);
    else connection.whenStored(() => this.#took(connection, bytes));
  }

  #took(connection: Connection, bytes: number): void {
    if (!connection.isOpen) return;
    if (connection.unconfirmed++ === 0) this.#waiting.set(connection, performance.now());
    connection.unconfirmedBytes += bytes;
    if (connection.unconfirmedBytes >= MOST_BYTES) connection.confirm();
    this.#timer ??= setTimeout(() => this.#look(), LONGEST_MS);
  }

  lost(connection: Connection): void {
    this.#waiting.delete(connection);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#waiting.clear();
  }

  /** Confirms everything now. */
  confirm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const connection of this.#waiting.keys()) connection.confirm();
    this.#waiting.clear();
  }

  /** Confirms what has waited long enough. */
  #look(): void {
    this.#timer = undefined;
    const now = performance.now();
    let next = LONGEST_MS;
    for (const [connection, since] of this.#waiting) {
      const left = since + LONGEST_MS - now;
      if (connection.unconfirmed > 0 && left > EARLY_MS) {
        next = Math.min(next, left);
        continue;
      }
      this.#waiting.delete(connection);
      connection.confirm();
    }
    if (this.#waiting.size > 0) this.#timer = setTimeout(() => this.#look(), Math.ceil(next));
  }
}
