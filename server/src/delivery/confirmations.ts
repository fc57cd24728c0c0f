import type { Connection } from "../connection.ts";

/** Bytes of one connection that may be unconfirmed before the next tick: a quarter of what its client lets be under way. */
const MOST_BYTES = 1 << 20;
/**
 * So long it may take otherwise: each confirmation wakes two threads of its own. What is unconfirmed when a gateway dies comes twice to
 * modulators beside it, so it is not to be much.
 */
const TICK_MS = 100;

/** Confirms to producers' processes what was taken, so that they need not keep it: a few messages at a time. */
export class Confirmations {
  readonly #unconfirmed = new Set<Connection>();
  #timer: NodeJS.Timeout | undefined;

  /** A message with events has come. */
  took(connection: Connection, bytes: number): void {
    if (connection.unconfirmed++ === 0) this.#unconfirmed.add(connection);
    connection.unconfirmedBytes += bytes;
    if (connection.unconfirmedBytes >= MOST_BYTES) {
      this.#unconfirmed.delete(connection);
      connection.confirm();
    }
    this.#timer ??= setTimeout(() => this.confirm(), TICK_MS);
  }

  lost(connection: Connection): void {
    this.#unconfirmed.delete(connection);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#unconfirmed.clear();
  }

  /** Tells everybody what was taken, now. */
  confirm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const connection of this.#unconfirmed) connection.confirm();
    this.#unconfirmed.clear();
  }
}
