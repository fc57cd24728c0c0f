import type { Demodulator, EventSource } from "@jecho/modulators";
import { JechoError } from "@jecho/shared";
import { promiseOf } from "./handling.ts";

/** What a demodulator made of one event, and what it failed at: what came before that counts. */
export interface Demodulated {
  readonly results: readonly unknown[];
  /** One at most. */
  readonly failures: readonly JechoError[];
}

/** Has a demodulator make what the handler is to see: all of it before it returns, for what it makes later has lost its place. */
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
