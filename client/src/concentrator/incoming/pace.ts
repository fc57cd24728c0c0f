import type { Link } from "../link.ts";

/** Time between two measurements of the gateway's answers. */
const LOOK_MS = 500;
/** A measurement that is later than this was delayed by the thread itself, and says nothing about the connection. */
const BUSY_MS = 250;
/** Fewest bytes between two measurements that can have queued up. */
const LEAST_BYTES = 4096;
/** An answer that takes longer than this, while bytes come, is behind events that have queued up. */
const LATE_MS = 1000;
/** Time by which an answer may take longer than the quickest one without having met a queue. */
const EASY_MS = 50;

/**
 * Keeps channels of which only the newest is wanted from queueing up in a slow connection. Neither side sees how much the network holds, but an
 * answer of the gateway comes behind all of that. As soon as one takes long, events wait at the gateway; each time that all before them are
 * here, the newest may come.
 */
export class Pace {
  readonly #link: Link;
  readonly #told: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lookAt = 0;
  #heardBytes = 0;
  /** Times of the unanswered `Ping`s, oldest first. */
  #asked: number[] = [];
  #quickestMs = Number.POSITIVE_INFINITY;
  #isHolding = false;
  /** Counts the times that this was stopped. */
  #era = 0;

  /** @param told called each time that `isHolding` has changed */
  constructor(link: Link, told: () => void) {
    this.#link = link;
    this.#told = told;
  }

  /** Whether channels of which only the newest is wanted are to wait at the gateway: the connection is slower than their events come. */
  get isHolding(): boolean {
    return this.#isHolding;
  }

  #become(isHolding: boolean): void {
    this.#isHolding = isHolding;
    this.#told();
  }

  /** Begins with the first consumer that wants the newest only. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#lookLater();
    // Before events come: measures an answer that meets no queue.
    this.#ask(() => {});
  }

  /** Ends with the last such consumer, or with the connection. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#era++;
    this.#asked = [];
    this.#isHolding = false;
    this.#quickestMs = Number.POSITIVE_INFINITY;
  }

  #lookLater(): void {
    this.#lookAt = performance.now() + LOOK_MS;
    const era = this.#era;
    this.#timer = setTimeout(() => {
      this.#look(performance.now());
      if (era === this.#era) this.#lookLater();
    }, LOOK_MS);
  }

  #look(now: number): void {
    if (this.#isHolding) return;
    if (now - this.#lookAt > BUSY_MS) this.#asked = this.#asked.map(() => now);
    const bytes = this.#link.heardBytes - this.#heardBytes;
    this.#heardBytes = this.#link.heardBytes;
    // Where no bytes come, the connection is not full.
    if (bytes > 0 && now - (this.#asked[0] ?? now) > LATE_MS) {
      this.#become(true);
      // The last such consumer may have left.
      if (this.#isHolding) this.#ask(() => this.#next());
    } else if (bytes >= LEAST_BYTES) this.#ask(() => {});
  }

  /** Called when all that was sent before the newest `Ping` is here. */
  #next(): void {
    const era = this.#era;
    this.#link.together(() => {
      // The events that wait may come now, but none behind them.
      this.#become(false);
      if (era === this.#era) this.#become(true);
      if (era !== this.#era) return;
      this.#ask(tookMs => {
        if (tookMs > this.#quickestMs + EASY_MS) return this.#next();
        this.#become(false);
      });
    });
  }

  /** @param answered called with the milliseconds until the answer; not after `stop` */
  #ask(answered: (tookMs: number) => void): void {
    const era = this.#era;
    const askedAt = performance.now();
    this.#asked.push(askedAt);
    this.#link.ask(() => {
      if (era !== this.#era) return;
      this.#asked.shift();
      const tookMs = performance.now() - askedAt;
      if (!this.#isHolding) this.#quickestMs = Math.min(this.#quickestMs, tookMs);
      answered(tookMs);
    });
  }
}
