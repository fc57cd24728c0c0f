import {
  type Demand,
  type EventChannel,
  JechoError,
  type ProduceOptions,
  type Producer,
} from "@jecho/client";
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";

/** State of `useProducer`. */
export interface OpenedProducer<T> {
  /** The producer, once it is open. */
  readonly producer: Producer<T> | undefined;
  /** Why it could not be opened. */
  readonly error: JechoError | undefined;
}

/**
 * A producer for as long as the component is mounted.
 *
 * @param channel by `useChannel`; undefined for none yet
 * @param options as they are when it opens
 */
export function useProducer<T>(
  channel: EventChannel<T> | undefined,
  options?: Omit<ProduceOptions, "signal">,
): OpenedProducer<T> {
  const [state, setState] = useState<OpenedProducer<T>>({ producer: undefined, error: undefined });
  const newest = useRef(options);
  useEffect(() => {
    newest.current = options;
  });
  useEffect(() => {
    if (channel === undefined) return;
    const abort = new AbortController();
    let opened: Producer<T> | undefined;
    channel.produce({ ...newest.current, signal: abort.signal }).then(
      producer => {
        opened = producer;
        if (abort.signal.aborted) void producer.close();
        else setState({ producer, error: undefined });
      },
      (reason: unknown) => {
        if (!abort.signal.aborted) setState({ producer: undefined, error: JechoError.from(reason) });
      },
    );
    return () => {
      abort.abort();
      void opened?.close();
      setState({ producer: undefined, error: undefined });
    };
  }, [channel]);
  return state;
}

const NOTHING_WANTED: Demand = { consumers: 0, derived: [], total: 0, mostPerSecond: 0 };
const nothing = (): void => {};

/** Present demand of consumers for a producer's events: compute nothing that nobody looks at. @param producer by `useProducer`; undefined for none yet */
export function useDemand(producer: Pick<Producer<unknown>, "demand" | "onDemand"> | undefined): Demand {
  const subscribe = useCallback((changed: () => void) => producer?.onDemand(changed) ?? nothing, [producer]);
  return useSyncExternalStore(
    subscribe,
    () => producer?.demand ?? NOTHING_WANTED,
    () => NOTHING_WANTED,
  );
}
