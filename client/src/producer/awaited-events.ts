import { JechoError } from "@jecho/shared";
import { Few } from "@jecho/shared/internal";
import type { Outcome } from "../concentrator/incoming/tally.ts";

/** Time that the gateway has to say how many consumers have not answered. */
const SAY_WHO_MS = 1000;
/** The longest that timers take. */
export const LONGEST_MS = 2 ** 31 - 1;

export interface Patience {
  /** Time that was asked for, in milliseconds. */
  readonly timeoutMs: number;
  /** End of the waiting, by `performance.now()`. */
  readonly endsAt: number;
  readonly signal: AbortSignal | undefined;
}

interface EventWaiter {
  readonly resolve: (consumers: number) => void;
  readonly reject: (error: unknown) => void;
  readonly timeoutMs: number;
  endsAt: number;
  /** The gateway was asked who has not answered. */
  hasGivenUp: boolean;
}

/**
 * Synchronous events of one producer that are under way. One timer is for all of them: to start and to stop one for each takes
 * as long as to encode the event.
 */
export class AwaitedEvents {
  readonly #events = new Few<number, EventWaiter>();
  readonly #giveUp: (raised: number) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wakesAt = Number.POSITIVE_INFINITY;

  /** @param giveUp the gateway is to say who has not handled the event with this count */
  constructor(giveUp: (raised: number) => void) {
    this.#giveUp = giveUp;
  }

  /** An event was raised. @returns how many consumers have handled it, once all have */
  wait(raised: number, { timeoutMs, endsAt, signal }: Patience): Promise<number> {
    const processed = new Promise<number>((resolve, reject) => {
      this.#events.set(raised, { resolve, reject, timeoutMs, endsAt, hasGivenUp: false });
    });
    if (endsAt < this.#wakesAt) this.#wakeAt(endsAt);
    if (signal === undefined) return processed;
    const abort = (): void => this.fail(raised, signal.reason);
    signal.addEventListener("abort", abort);
    return processed.finally(() => signal.removeEventListener("abort", abort));
  }

  /** Everybody has handled it, or the gateway says how many have not. */
  settle(raised: number, { consumers, failed, message, missing }: Outcome): void {
    const awaited = this.#take(raised);
    if (awaited === undefined) return;
    if (missing > 0) awaited.reject(timedOut(awaited.timeoutMs, missing, consumers));
    else if (failed === 0) awaited.resolve(consumers);
    else
      awaited.reject(
        new JechoError("HANDLER_FAILED", `${failed} of ${consumers} handlers failed: ${message}`),
      );
  }

  fail(raised: number, error: unknown): void {
    this.#take(raised)?.reject(error);
  }

  /** None of those that are under way will be answered. */
  failAll(error: JechoError): void {
    const events = [...this.#events.values()];
    this.#events.clear();
    this.#stop();
    for (const { reject } of events) reject(error);
  }

  #take(raised: number): EventWaiter | undefined {
    const awaited = this.#events.get(raised);
    if (awaited !== undefined) this.#events.delete(raised);
    return awaited;
  }

  #wakeAt(time: number): void {
    this.#stop();
    this.#wakesAt = time;
    const ms = Math.min(LONGEST_MS, Math.ceil(time - performance.now()));
    this.#timer = setTimeout(() => this.#wake(), ms);
  }

  /** The timer may be that of an event which has long been answered. */
  #wake(): void {
    this.#stop();
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const [raised, awaited] of [...this.#events]) {
      // Timers may be early by less than a millisecond.
      if (awaited.endsAt < now + 1 && !this.#end(raised, awaited, now)) continue;
      next = Math.min(next, awaited.endsAt);
    }
    if (next < Number.POSITIVE_INFINITY) this.#wakeAt(next);
  }

  /** @returns is there still something to wait for? */
  #end(raised: number, awaited: EventWaiter, now: number): boolean {
    if (awaited.hasGivenUp) {
      this.fail(raised, timedOut(awaited.timeoutMs));
      return false;
    }
    // The gateway says how many have not answered; should it not answer either, that is all there is to say.
    awaited.hasGivenUp = true;
    awaited.endsAt = now + SAY_WHO_MS;
    this.#giveUp(raised);
    return true;
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wakesAt = Number.POSITIVE_INFINITY;
  }
}

function timedOut(timeoutMs: number, missing?: number, answered = 0): JechoError {
  const who =
    missing === undefined
      ? "not every consumer has"
      : `${missing} of ${missing + answered} consumers have not`;
  return new JechoError("TIMED_OUT", `${who} handled the event after ${timeoutMs} ms`);
}
