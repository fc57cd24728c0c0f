import type { Connection } from "./connection.ts";

/** Milliseconds that one turn of the event loop spends on such work. */
const TURN_MS = 5;
/** Bytes of memory that the waiting work of one connection may hold. */
const WAITING_BYTES = 16 << 20;

interface Portion {
  readonly act: () => void;
  /** Bytes of memory that it holds. */
  readonly bytes: number;
}

interface WaitingPortions {
  readonly work: Portion[];
  /** Index of the next portion: all before it are done. */
  head: number;
  bytes: number;
}

/**
 * Work that connections may ask for in thousands at once, as when all come back to a gateway that was started again. In one turn of the event loop as
 * much of it is done as takes 5 ms; the rest waits, and what else comes goes on in between. Each connection's work keeps its order, and
 * connections take turns.
 */
export class Portions {
  /** The one comes first whose turn it is. */
  readonly #waiting = new Map<Connection, WaitingPortions>();
  readonly #done: () => void;
  #spentMs = 0;
  #next: NodeJS.Immediate | undefined;

  /** @param done called when the portion of a later turn is done */
  constructor(done: () => void) {
    this.#done = done;
  }

  /**
   * Does this now, where there is time and nothing of that connection waits, or in a later turn, unless the connection has gone by then.
   *
   * @param bytes of memory that it holds while it waits
   * @returns whether it waits
   */
  add(connection: Connection, bytes: number, act: () => void): boolean {
    if (this.#spentMs < TURN_MS && !this.#waiting.has(connection)) {
      this.#next ??= setImmediate(this.#turn);
      this.#do(act);
      return false;
    }
    const queue = this.#wait(connection, { act, bytes });
    if (queue.bytes <= WAITING_BYTES) return true;
    // Whoever asks for more than may be kept has it done at once.
    this.#waiting.delete(connection);
    for (const one of queue.work.slice(queue.head)) this.#do(one.act);
    return false;
  }

  /** Does this in a later turn, unless the connection has gone by then. */
  later(connection: Connection, act: () => void): void {
    this.#wait(connection, { act, bytes: 0 });
  }

  /** Nothing more is done. */
  close(): void {
    clearImmediate(this.#next);
    this.#waiting.clear();
  }

  #wait(connection: Connection, work: Portion): WaitingPortions {
    this.#next ??= setImmediate(this.#turn);
    let queue = this.#waiting.get(connection);
    if (queue === undefined) {
      queue = { work: [], head: 0, bytes: 0 };
      this.#waiting.set(connection, queue);
    }
    queue.work.push(work);
    queue.bytes += work.bytes;
    return queue;
  }

  readonly #turn = (): void => {
    this.#next = undefined;
    this.#spentMs = 0;
    for (const [connection, queue] of this.#waiting) {
      const { act, bytes } = queue.work[queue.head++] as Portion;
      queue.bytes -= bytes;
      this.#waiting.delete(connection);
      // Behind the others, if something of it still waits.
      if (connection.isOpen && queue.head < queue.work.length) this.#waiting.set(connection, queue);
      if (connection.isOpen) this.#do(act);
      if (this.#spentMs >= TURN_MS) break;
    }
    this.#done();
    if (this.#waiting.size > 0) this.#next ??= setImmediate(this.#turn);
  };

  #do(act: () => void): void {
    const began = performance.now();
    act();
    this.#spentMs += performance.now() - began;
  }
}
