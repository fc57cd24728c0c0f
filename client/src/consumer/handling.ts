import type { Demodulator, EventSource } from "@jecho/modulators";
import { JechoError } from "@jecho/shared";
import { NOBODY, type Outcome } from "../concentrator/incoming/tally.ts";

/** Most unsettled promises of one consumer's handler before the gateway is asked to wait. */
const INBOX_EVENTS = 1024;

/** A synchronous event, as its producer's process knows it. */
export interface AwaitedEvent {
  readonly channel: number;
  readonly producer: number;
  readonly raised: number;
}

export interface HandlingEvents {
  /** The handler is done with a synchronous event. */
  onHandled(channel: number, producer: number, raised: number, outcome: Outcome): void;
  /** More events are to wait at the gateway, or need not any more. */
  onFlow(ready: boolean): void;
}

/** Tracks the work of one consumer's handler: synchronous events, and the promises that it has returned. */
export class Handling {
  readonly #events: HandlingEvents;
  readonly #inboxEvents: number;
  readonly #underWay = new Set<Promise<void>>();
  #isPaused = false;

  constructor(events: HandlingEvents, inboxEvents = INBOX_EVENTS) {
    this.#events = events;
    this.#inboxEvents = Math.max(1, inboxEvents);
  }

  /** The handler is done with a synchronous event. */
  end({ channel, producer, raised }: AwaitedEvent, error?: JechoError): void {
    const failed = error === undefined ? 0 : 1;
    const outcome = { consumers: 1, failed, message: error?.message ?? "", missing: 0 };
    this.#events.onHandled(channel, producer, raised, outcome);
  }

  /** The handler is not given that event, which nobody waits for and which has not failed. */
  discard({ channel, producer, raised }: AwaitedEvent): void {
    this.#events.onHandled(channel, producer, raised, NOBODY);
  }

  /** The handler has returned a promise. @param handled never rejects */
  wait(handled: Promise<void>): void {
    this.#underWay.add(handled);
    if (this.#underWay.size >= this.#inboxEvents) this.#pause(true);
    void handled.finally(() => {
      this.#underWay.delete(handled);
      if (this.#underWay.size * 2 <= this.#inboxEvents) this.#pause(false);
    });
  }

  /** Resolves when what is under way now is settled. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  #pause(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    this.#events.onFlow(!isPaused);
  }
}

/** A handler's result as a promise, where it is something to wait for. */
export function promiseOf(returned: unknown): Promise<unknown> | undefined {
  if (typeof returned !== "object" && typeof returned !== "function") return undefined;
  if (returned instanceof Promise) return returned;
  const isThenable = typeof (returned as PromiseLike<unknown> | undefined)?.then === "function";
  return isThenable ? Promise.resolve(returned) : undefined;
}

/** A demodulator's results for one event, and its failure. Results before a failure count. */
export interface Demodulated {
  readonly results: readonly unknown[];
  /** The first failure, if any: one at most. */
  readonly failures: readonly JechoError[];
}

/** Runs a demodulator: all of its results must be there before it returns, for later ones have lost their place. */
export function demodulate(demodulator: Demodulator, event: unknown, source: EventSource): Demodulated {
  const results: unknown[] = [];
  let isOver = false;
  const emit = (result: unknown): void => {
    if (isOver) throw new JechoError("DEMODULATOR_FAILED", "emit was called when push had returned");
    results.push(result);
  };
  try {
    const promise = promiseOf(demodulator.push(event, emit, source));
    if (promise === undefined) return { results, failures: [] };
    promise.catch(() => {});
    const why = "push returned a promise; a demodulator makes its results before it returns";
    return { results, failures: [new JechoError("DEMODULATOR_FAILED", why)] };
  } catch (error) {
    return { results, failures: [JechoError.from(error, "DEMODULATOR_FAILED")] };
  } finally {
    isOver = true;
  }
}

/** The errors in handling one event's results, in their order; never empty. */
export class Failures {
  readonly errors: readonly unknown[];

  constructor(errors: readonly unknown[]) {
    this.errors = errors;
  }
}

/**
 * Hands each of them to the handler, also behind one that it fails at.
 *
 * @param last what went wrong behind them, if anything
 * @returns what there is to wait for: all of them @throws Failures, at once where there is nothing to wait for
 */
export function handAll<T>(
  events: readonly T[],
  handle: (event: T) => unknown,
  last: readonly unknown[] = [],
): Promise<unknown> | undefined {
  const outcomes: unknown[] = [];
  let waits = false;
  for (const event of events) {
    try {
      const promise = promiseOf(handle(event));
      if (promise === undefined) continue;
      waits = true;
      outcomes.push(promise);
    } catch (error) {
      outcomes.push(new Failures([error]));
    }
  }
  if (waits) return allOf(outcomes, last);
  failWith(outcomes, last);
  return undefined;
}

async function allOf(outcomes: readonly unknown[], last: readonly unknown[]): Promise<void> {
  const settled = await Promise.allSettled(outcomes);
  failWith(
    settled.map(one => (one.status === "rejected" ? new Failures([one.reason]) : one.value)),
    last,
  );
}

/** @throws Failures those among the outcomes, and these, where there are any */
function failWith(outcomes: readonly unknown[], last: readonly unknown[]): void {
  const failed = outcomes.flatMap(outcome => (outcome instanceof Failures ? outcome.errors : []));
  if (failed.length + last.length > 0) throw new Failures([...failed, ...last]);
}
