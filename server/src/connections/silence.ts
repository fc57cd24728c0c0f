import type { Connection } from "./connection.ts";

/** Number of looks within the longest silence. */
const LOOKS = 4;

/**
 * Ends connections from which no whole message has come for a time. uWebSockets.js ends silent ones, but does not report the beginning of a
 * message, which may come one byte at a time.
 */
export class Silence {
  readonly #connections: () => Iterable<Connection>;
  readonly #timer: NodeJS.Timeout;
  #look = 0;

  /** @param limitMs longest silence; up to a quarter more */
  constructor(limitMs: number, connections: () => Iterable<Connection>) {
    this.#connections = connections;
    this.#timer = setInterval(() => this.#check(limitMs), Math.ceil(limitMs / LOOKS)).unref();
  }

  /** Notes a whole message, or a new connection. */
  broken(connection: Connection): void {
    connection.heardAt = this.#look;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(limitMs: number): void {
    this.#look++;
    for (const connection of [...this.#connections()])
      if (this.#look - connection.heardAt > LOOKS)
        connection.end("HEARTBEAT_MISSED", `no whole message came for ${limitMs} ms`);
  }
}
