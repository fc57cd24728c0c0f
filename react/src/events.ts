import {
  type Consumer,
  type EventChannel,
  type EventInfo,
  JechoError,
  type Missed,
  type Modulator,
  type Status,
  type SubscribeOptions,
} from "@jecho/client";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { Store } from "./store.ts";

/** How `useEvents` subscribes. */
export interface UseEventsOptions<T> extends Omit<SubscribeOptions, "signal"> {
  /** How many of the newest events are kept for the component; 1 by default. With 0 it is not rendered for them, as where `onEvent` draws. */
  readonly keep?: number;
  /** Gets each event, whether it is rendered or not; need not stay the same. */
  readonly onEvent?: (event: T, info: EventInfo) => unknown;
}

/** State of `useEvents`. */
export interface EventsState<T> {
  /** The newest event; undefined before the first, and with `keep: 0`. */
  readonly latest: T | undefined;
  /** The newest events, the oldest first: at most `keep`. */
  readonly events: readonly T[];
  /** How many events are known to be missing so far. */
  readonly missed: number;
  /** How the subscription is doing. */
  readonly status: Status;
  /** The subscription itself, once it is open. */
  readonly consumer: Consumer<T> | undefined;
}

const CONNECTING: Status = { state: "connecting", since: 0 };
/** State while there is no subscription yet. */
const NONE = { latest: undefined, events: [], missed: 0, status: CONNECTING, consumer: undefined };

/** Key that is equal where two modulators are the same: React is given a new object at each rendering. */
function keyOf(modulator: Modulator | undefined): string {
  if (modulator === undefined) return "";
  const { source, parameters, key, objects = {}, lazy } = modulator;
  const ids = Object.entries(objects).map(([name, { id }]) => [name, id]);
  return JSON.stringify([source, parameters, key, ids, lazy]);
}

/**
 * Subscribes for as long as the component is mounted. Events that come in one turn are one rendering. Another modulator, of another source, parameters or objects,
 * takes the place of the present one (`consumer.reset`); other options count when it subscribes.
 *
 * @param channel by `useChannel`; undefined for none yet
 */
export function useEvents<T>(
  channel: EventChannel<T> | undefined,
  options: UseEventsOptions<T> = {},
): EventsState<T> {
  const [store] = useState(() => new Store<EventsState<T>>(NONE));
  const newest = useRef(options);
  useEffect(() => {
    newest.current = options;
  });
  const wanted = keyOf(options.modulator);
  const installed = useRef(wanted);

  useEffect(() => {
    if (channel === undefined) return;
    const abort = new AbortController();
    const { keep: _keep, onEvent: _onEvent, ...rest } = newest.current;
    const set = (change: Partial<EventsState<T>>): void => {
      if (!abort.signal.aborted) store.set({ ...store.snapshot(), ...change });
    };
    const handle = (event: T, info: EventInfo): unknown => {
      const { keep = 1, onEvent } = newest.current;
      if (keep > 0) set({ latest: event, events: [...store.snapshot().events, event].slice(-keep) });
      return onEvent?.(event, info);
    };
    const onMissed = (missed: Missed): void => {
      set({ missed: store.snapshot().missed + missed.events });
      newest.current.onMissed?.(missed);
    };
    set(NONE);
    installed.current = keyOf(rest.modulator);
    channel.subscribe(handle, { ...rest, onMissed, signal: abort.signal }).then(
      consumer => {
        set({ consumer, status: consumer.status });
        consumer.onStatus(status => set({ status }));
      },
      (reason: unknown) => {
        const error = JechoError.from(reason);
        set({ status: { state: "refused", since: Date.now(), error } });
      },
    );
    return () => {
      abort.abort();
      store.set(NONE);
    };
  }, [channel, store]);

  const state = useSyncExternalStore(store.subscribe, store.snapshot, () => NONE);
  const { consumer } = state;
  useEffect(() => {
    if (consumer === undefined || wanted === installed.current) return;
    installed.current = wanted;
    const { modulator, demodulator, capabilities } = newest.current;
    consumer.reset({ modulator, demodulator, capabilities }).catch((reason: unknown) => {
      const error = JechoError.from(reason);
      // The former one goes on; the next rendering may ask again.
      if (store.snapshot().consumer === consumer)
        store.set({ ...store.snapshot(), status: { ...consumer.status, error } });
    });
  }, [consumer, wanted, store]);
  return state;
}
