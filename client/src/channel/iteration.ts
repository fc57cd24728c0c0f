import type { Consumer } from "../consumer/consumer.ts";
import type { Handler, SubscribeOptions } from "../options/consumer-options.ts";

interface WaitingEvent<T> {
  readonly event: T;
  /** Counts the event as handled. */
  readonly handled: () => void;
}

/**
 * Subscribes, and hands out one event after the other. An event counts as handled when the next one is asked for, so whoever goes through
 * them slowly has further ones wait, as slow handlers do.
 */
export async function* iterate<T>(
  subscribe: (handler: Handler<T>, options: SubscribeOptions) => Promise<Consumer<T>>,
  options: SubscribeOptions,
): AsyncGenerator<T, void, undefined> {
  const { signal } = options;
  let waiting: WaitingEvent<T>[] = [];
  let wake = (): void => {};
  const take = (event: T): Promise<void> =>
    new Promise(handled => {
      waiting.push({ event, handled });
      wake();
    });
  let consumer: Consumer<T>;
  try {
    consumer = await subscribe(take, options);
  } catch (error) {
    if (signal?.aborted) return;
    throw error;
  }
  const stop = consumer.onStatus(() => wake());
  const aborted = (): void => wake();
  signal?.addEventListener("abort", aborted);
  try {
    while (!signal?.aborted) {
      const { state, error } = consumer.status;
      if (waiting.length > 0) {
        const events = waiting;
        waiting = [];
        yield* handOut(events, signal);
      } else if (state === "refused" && error?.code !== "CLOSED") throw error;
      else if (state === "refused" || state === "closed") return;
      else
        await new Promise<void>(resolve => {
          wake = resolve;
        });
    }
  } finally {
    stop();
    signal?.removeEventListener("abort", aborted);
    for (const { handled } of waiting) handled();
    await consumer.close();
  }
}

function* handOut<T>(events: readonly WaitingEvent<T>[], signal: AbortSignal | undefined): Generator<T> {
  let next = 0;
  try {
    while (next < events.length && !signal?.aborted) {
      yield (events[next] as WaitingEvent<T>).event;
      events[next++]?.handled();
    }
  } finally {
    // Who leaves off has had the last one, and wants no others.
    for (; next < events.length; next++) events[next]?.handled();
  }
}
