import type { Connection } from "./connection.ts";

/** Bytes of one connection that may be unconfirmed before its time: a quarter of what its client lets be under way. */
const MOST_BYTES = 1 << 20;
/**
 * So long a message may wait for its confirmation otherwise: each one that goes by itself wakes two threads. What is unconfirmed when a
 * gateway dies comes twice to modulators beside it, so it is not to be much.
 */
const LONGEST_MS = 100;
/** Timers may be early by less than that. */
const EARLY_MS = 1;

/** Confirms to producers' processes what was taken, so that they need not keep it: a few messages at a time. */
export class Confirmations {
  /**
   * Connections with messages that are not confirmed, and since when; also some that have none any more. These are not
   * removed at once, for a map that is emptied and filled again with each synchronous event makes new tables each time.
   */
  readonly #waiting = new Map<Connection, number>();
  #timer: NodeJS.Timeout | undefined;

  /** A message with events has come: it is confirmed once these are stored where they have to be. */
  took(connection: Connection, bytes: number): void {
    // Mostly they are: that makes nothing for each message.
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

  /** Tells everybody what was taken, now. */
  confirm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const connection of this.#waiting.keys()) connection.confirm();
    this.#waiting.clear();
  }

  /** Tells those who have waited long enough. */
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
