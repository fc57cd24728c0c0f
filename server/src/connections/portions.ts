/** Milliseconds that one turn of the event loop spends on such work. */
const TURN_MS = 1;

/** One step of some work. @returns whether more of it is to be done */
export type Step = () => boolean;

interface WaitingWork {
  readonly steps: Step[];
  /** Index of the present work: all before it is done. */
  head: number;
  /** Resolved when all is done, where somebody waits for that. */
  over?: PromiseWithResolvers<void>;
}

/**
 * Work of the gateway's own for connections, which may be much: sending the past when all come back to a gateway that was started again, or
 * letting go of a connection with very many endpoints. In one turn of the event loop as much of it is done as takes 1 ms; the rest waits, and what
 * else comes goes on in between. Each connection's work keeps its order, and connections take turns.
 */
export class Portions {
  /** The one comes first whose turn it is. */
  readonly #waiting = new Map<object, WaitingWork>();
  readonly #done: () => void;
  /** Time used in this turn. */
  #spentMs = 0;
  #next: NodeJS.Immediate | undefined;

  /** @param done called when the portion of a turn is done */
  constructor(done: () => void) {
    this.#done = done;
  }

  /** Does this work for a connection at once, as far as the turn has time for it, and the rest in later turns. */
  begin(connection: object, step: Step): void {
    this.#next ??= setImmediate(this.#turn);
    let isMore = true;
    const began = performance.now();
    const leftMs = TURN_MS - this.#spentMs;
    let usedMs = 0;
    while (isMore && usedMs < leftMs && !this.#waiting.has(connection)) {
      isMore = step();
      usedMs = performance.now() - began;
    }
    this.#spentMs += usedMs;
    if (isMore) this.later(connection, step);
    this.#done();
  }

  /** Does this work for a connection in later turns. */
  later(connection: object, step: Step): void {
    this.#next ??= setImmediate(this.#turn);
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined) this.#waiting.set(connection, { steps: [step], head: 0 });
    else waiting.steps.push(step);
  }

  /** Resolves when nothing waits to be done for the connection any more; undefined where nothing does. */
  over(connection: object): Promise<void> | undefined {
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined) return undefined;
    waiting.over ??= Promise.withResolvers();
    return waiting.over.promise;
  }

  /** Stops all work. */
  close(): void {
    clearImmediate(this.#next);
    this.#waiting.clear();
  }

  readonly #turn = (): void => {
    this.#next = undefined;
    this.#spentMs = 0;
    const began = performance.now();
    for (const [connection, work] of this.#waiting) {
      // Behind the others, and there while its step may add more to it.
      this.#waiting.delete(connection);
      this.#waiting.set(connection, work);
      const step = work.steps[work.head] as Step;
      if (!step()) work.head++;
      if (work.head === work.steps.length) {
        this.#waiting.delete(connection);
        work.over?.resolve();
      }
      this.#spentMs = performance.now() - began;
      if (this.#spentMs >= TURN_MS) break;
    }
    this.#done();
    if (this.#waiting.size > 0) this.#next ??= setImmediate(this.#turn);
  };
}
