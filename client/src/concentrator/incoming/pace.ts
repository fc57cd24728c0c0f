import type { Link } from "../link.ts";

/** Between two looks at how long the gateway's words take. */
const LOOK_MS = 500;
/** A thread that looks so much later than it wanted to was busy itself: that says nothing of the connection. */
const BUSY_MS = 250;
/** Where fewer bytes come between two looks nothing can have queued up. */
const LEAST_BYTES = 4096;
/** A word that takes longer, while other things come, is behind events that have queued up. */
const LATE_MS = 1000;
/** Time by which a word may take longer than the quickest one and still have met no queue. */
const EASY_MS = 50;

export interface PaceEvents {
  /** Events of which only the newest are wanted are to wait at the gateway, or to come again. */
  onHold(isHeld: boolean): void;
  /** While they wait: those that do may come, but none behind them. */
  onNext(): void;
}

/**
 * Sees to it that what only the newest is wanted of does not queue up in a connection that is slower than it comes: neither this end nor
 * the gateway sees how much the network has taken in, but a word of the gateway's that is asked for now comes behind all of that. As soon as
 * one takes long, events wait at the gateway, and each time that all those before them are here, the newest may come.
 */
export class Pace {
  readonly #link: Link;
  readonly #events: PaceEvents;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lookAt = 0;
  #heardBytes = 0;
  /** When the words were asked for that have not come, oldest first. */
  #asked: number[] = [];
  #quickestMs = Number.POSITIVE_INFINITY;
  #isHolding = false;
  /** Counts the times that this was stopped. */
  #era = 0;

  constructor(link: Link, events: PaceEvents) {
    this.#link = link;
    this.#events = events;
  }

  /** Begins when there are events of which only the newest are wanted. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#lookLater();
    // Before any of them has come: how long words take where nothing queues up.
    this.#ask(() => {});
  }

  /** Ends when there are none any more, or no connection. */
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
    // Where nothing comes either, it is not this connection's room that is short.
    if (bytes > 0 && now - (this.#asked[0] ?? now) > LATE_MS) {
      this.#isHolding = true;
      this.#events.onHold(true);
      if (this.#isHolding) this.#ask(() => this.#next());
    } else if (bytes >= LEAST_BYTES) this.#ask(() => {});
  }

  /** Called when all that was sent before the newest `Ping` is here. */
  #next(): void {
    this.#link.together(() => {
      this.#events.onNext();
      // The last of those that it is for may have left.
      if (!this.#isHolding) return;
      this.#ask(tookMs => {
        if (tookMs > this.#quickestMs + EASY_MS) return this.#next();
        this.#isHolding = false;
        this.#events.onHold(false);
      });
    });
  }

  /** @param answered gets how long it took; not called after `stop` */
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
