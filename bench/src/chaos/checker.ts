import { MISSED, type Seen } from "./event.ts";

/** What was wrong with what consumers saw; all of it has to be 0. */
export interface Verdict {
  /** Events that never came and that nobody was told of. */
  lost: number;
  duplicated: number;
  reordered: number;
  /** Events that were lost or came twice where a session went from one process to another. */
  handoverGap: number;
  /** Events that a consumer was told to be missing. */
  told: number;
  events: number;
}

/** A producer's life: how many events it was told to be taken, and whether it raised no more on its own account. */
export interface Life {
  readonly producer: number;
  readonly life: number;
  readonly confirmed: number;
  readonly wasKilled: boolean;
}

/** One consumer, over all the processes that it lived in. */
export class ConsumerChecker {
  readonly name: string;
  /** It sees every how-manieth event. */
  readonly #step: number;
  readonly #last = new Map<string, number>();
  readonly verdict: Verdict = { lost: 0, duplicated: 0, reordered: 0, handoverGap: 0, told: 0, events: 0 };
  /** Where what came was not what should come next, in words. */
  readonly faults: string[] = [];
  /** Sources whose newest event was such. */
  readonly #amiss = new Set<string>();
  /** Sources that have not been seen since the last handover. */
  #fresh = new Set<string>();

  constructor(name: string, step: number) {
    this.name = name;
    this.#step = step;
  }

  /** Has it seen all of this life up to the event `n`? */
  hasSeen({ producer, life, confirmed }: Life): boolean {
    const newest = Math.floor((confirmed - 1) / this.#step) * this.#step;
    return newest < 0 || (this.#last.get(`${producer} ${life}`) ?? -1) >= newest;
  }

  handedOver(): void {
    this.#fresh = new Set(this.#last.keys());
  }

  take(seen: readonly Seen[]): void {
    for (const [producer, life, n] of seen) {
      if (producer === MISSED) this.verdict.told += life;
      else this.#event(`${producer} ${life}`, n);
    }
  }

  /** At the end: everything that was confirmed has come, or was told. */
  finish(lives: readonly Life[]): Verdict {
    for (const { producer, life, confirmed, wasKilled } of lives) {
      // What a killed process' modulators were still at is gone with it; what it was told to be taken is not.
      if (wasKilled && this.#step > 1) continue;
      const newest = Math.floor((confirmed - 1) / this.#step) * this.#step;
      const last = this.#last.get(`${producer} ${life}`) ?? -this.#step;
      if (last >= newest) continue;
      this.verdict.lost += (newest - last) / this.#step;
      this.faults.push(`${this.name}: ${producer} ${life}: nothing behind ${last}, of ${newest}`);
    }
    // What was told as missing is not lost without a word.
    const told = Math.min(this.verdict.told, this.verdict.lost);
    this.verdict.lost -= told;
    return this.verdict;
  }

  #event(source: string, n: number): void {
    const { verdict } = this;
    verdict.events++;
    const last = this.#last.get(source) ?? -this.#step;
    const isFirst = this.#fresh.delete(source);
    const isAmiss = n !== last + this.#step;
    // Of a row of them the first says it.
    if (!isAmiss) this.#amiss.delete(source);
    else if (!this.#amiss.has(source)) {
      this.#amiss.add(source);
      this.faults.push(`${this.name}: ${source}: ${n} behind ${last}`);
    }
    if (n === last) verdict.duplicated++;
    else if (n < last) verdict.reordered++;
    else verdict.lost += (n - last) / this.#step - 1;
    if (isFirst && n !== last + this.#step) verdict.handoverGap += Math.abs((n - last) / this.#step - 1);
    if (n > last) this.#last.set(source, n);
  }
}
