import type { Connection } from "./connection.ts";

/** Milliseconds that one turn of the event loop spends on such work. */
const TURN_MS = 1;

interface WaitingPortions {
  readonly work: (() => void)[];
  /** Index of the next portion: all before it are done. */
  head: number;
}

/**
 * Work of the gateway's own for connections, as to send the past, which may be much when all come back to a gateway that was started again. In one turn of
 * the event loop as much of it is done as takes 1 ms; the rest waits, and what else comes goes on in between. Each connection's work keeps its
 * order, and connections take turns.
 */
export class Portions {
  /** The one comes first whose turn it is. */
  readonly #waiting = new Map<Connection, WaitingPortions>();
  readonly #done: () => void;
  #next: NodeJS.Immediate | undefined;

  /** @param done called when the portion of a later turn is done */
  constructor(done: () => void) {
    this.#done = done;
  }

  /** Does this in a later turn, unless the connection has gone by then. */
  later(connection: Connection, act: () => void): void {
    this.#next ??= setImmediate(this.#turn);
    const queue = this.#waiting.get(connection);
    if (queue === undefined) this.#waiting.set(connection, { work: [act], head: 0 });
    else queue.work.push(act);
  }

  /** Stops all work. */
  close(): void {
    clearImmediate(this.#next);
    this.#waiting.clear();
  }

  readonly #turn = (): void => {
    this.#next = undefined;
    const began = performance.now();
    for (const [connection, queue] of this.#waiting) {
      const act = queue.work[queue.head++] as () => void;
      this.#waiting.delete(connection);
      // Behind the others, if something of it still waits.
      if (connection.isOpen && queue.head < queue.work.length) this.#waiting.set(connection, queue);
      if (connection.isOpen) act();
      if (performance.now() - began >= TURN_MS) break;
    }
    this.#done();
    if (this.#waiting.size > 0) this.#next ??= setImmediate(this.#turn);
  };
}
