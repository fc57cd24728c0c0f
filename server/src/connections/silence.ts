import type { Connection } from "./connection.ts";

/** Number of looks for silence within the time that it may last. */
const LOOKS = 4;

/**
 * Ends connections that no whole message has come from for a time. uWebSockets.js ends one that sends nothing, and does not tell of the beginning of a
 * message, which may come one byte at a time.
 */
export class Silence {
  readonly #connections: () => Iterable<Connection>;
  readonly #timer: NodeJS.Timeout;
  #look = 0;

  /** @param limitMs how long; up to a quarter more */
  constructor(limitMs: number, connections: () => Iterable<Connection>) {
    this.#connections = connections;
    this.#timer = setInterval(() => this.#check(limitMs), Math.ceil(limitMs / LOOKS)).unref();
  }

  /** A whole message has come, or the connection. */
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
