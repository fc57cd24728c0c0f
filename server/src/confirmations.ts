import type { Connection } from "./connection.ts";
import type { HistoryStore } from "./history/store.ts";

/** Messages of one connection that may be unconfirmed before the next tick. */
const MOST_UNCONFIRMED = 32;
const TICK_MS = 20;

/**
 * Confirms to producers' processes what was taken, so that they need not keep it: a few messages at a time, and not before
 * what has to survive a restart is stored.
 */
export class Confirmations {
  readonly #store: HistoryStore | undefined;
  readonly #unconfirmed = new Set<Connection>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: HistoryStore | undefined) {
    this.#store = store;
  }

  /** A message with events has come. */
  took(connection: Connection): void {
    this.#unconfirmed.add(connection);
    if (++connection.unconfirmed >= MOST_UNCONFIRMED && this.#store === undefined) {
      this.#unconfirmed.delete(connection);
      connection.confirm();
    }
    this.#timer ??= setTimeout(() => this.#tick(), TICK_MS);
  }

  lost(connection: Connection): void {
    this.#unconfirmed.delete(connection);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#unconfirmed.clear();
  }

  #tick(): void {
    this.#timer = undefined;
    this.#store?.commit();
    for (const connection of this.#unconfirmed) connection.confirm();
    this.#unconfirmed.clear();
  }
}
