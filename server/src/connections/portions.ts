/** Milliseconds that one turn of the event loop spends on such work. */
const TURN_MS = 1;

/** One step of some work. @returns whether more of it is to be done */
type Step = () => boolean;

interface WaitingWork {
  readonly steps: Step[];
  /** Index of the present work: all before it is done. */
  head: number;
  /** Resolved when all is done, where somebody waits for that. */
  over?: PromiseWithResolvers<void>;
}

/**
 * Work of the gateway's own, which may be much: sending the past when all come back, letting go of a connection with very many endpoints, or of
 * what is too old of very many channels. In one turn of the event loop as much is done as takes 1 ms; what else comes goes on in between. The work of
 * each owner, mostly a connection, keeps its order, and owners take turns.
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

  /** Does this work at once, as far as the turn has time for it, and the rest in later turns. @param work yields after each step */
  begin(owner: object, work: Iterator<unknown>): void {
    this.#next ??= setImmediate(this.#turn);
    const step = (): boolean => work.next().done !== true;
    let isMore = true;
    const began = performance.now();
    const leftMs = TURN_MS - this.#spentMs;
    let usedMs = 0;
    while (isMore && usedMs < leftMs && !this.#waiting.has(owner)) {
      isMore = step();
      usedMs = performance.now() - began;
    }
    this.#spentMs += usedMs;
    if (isMore) this.later(owner, step);
    this.#done();
  }

  /** Does this work in later turns. */
  later(owner: object, step: Step): void {
    this.#next ??= setImmediate(this.#turn);
    const waiting = this.#waiting.get(owner);
    if (waiting === undefined) this.#waiting.set(owner, { steps: [step], head: 0 });
    else waiting.steps.push(step);
  }

  /** Resolves when nothing of this owner's waits to be done any more; undefined where nothing does. */
  over(owner: object): Promise<void> | undefined {
    const waiting = this.#waiting.get(owner);
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
    for (const [owner, work] of this.#waiting) {
      // Behind the others, and there while its step may add more to it.
      this.#waiting.delete(owner);
      this.#waiting.set(owner, work);
      const step = work.steps[work.head] as Step;
      if (!step()) work.head++;
      if (work.head === work.steps.length) {
        this.#waiting.delete(owner);
        work.over?.resolve();
      }
      this.#spentMs = performance.now() - began;
      if (this.#spentMs >= TURN_MS) break;
    }
    this.#done();
    if (this.#waiting.size > 0) this.#next ??= setImmediate(this.#turn);
  };
}
