import type { SharedObject } from "@jecho/client";
import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { useSession } from "./provider.ts";
import { Store } from "./store.ts";

/** A shared object in a component. */
export interface SharedState<S extends object> {
  /** Its newest state; the initial one before there is a session. */
  readonly state: Readonly<S>;
  /** Changes some fields, here at once and elsewhere soon. Before there is a session, the object begins with them. Stays the same. */
  readonly update: (patch: Partial<S>) => void;
  /** The object itself, for modulators; undefined before there is a session. */
  readonly object: SharedObject<S> | undefined;
}

/**
 * Shares an object for as long as the component is mounted.
 *
 * @param initial its state where nobody has shared it before; later ones are not looked at
 * @param id where others know it by that; else it is random
 */
export function useShared<S extends object>(initial: S, id?: string): SharedState<S> {
  const session = useSession();
  const [store] = useState(
    () => new Store<Omit<SharedState<S>, "update">>({ state: initial, object: undefined }),
  );
  const [first] = useState(store.snapshot);
  useEffect(() => {
    if (session === undefined) return;
    const object = session.share({ ...store.snapshot().state }, id === undefined ? {} : { id });
    const show = (): void => store.set({ state: object.state, object });
    show();
    const stop = object.onChange(show);
    return () => {
      stop();
      store.set({ state: object.state, object: undefined });
      void object.close();
    };
  }, [session, store, id]);
  const update = useCallback(
    (patch: Partial<S>) => {
      const { object, state } = store.snapshot();
      if (object === undefined) store.set({ state: { ...state, ...patch }, object });
      else object.update(patch);
    },
    [store],
  );
  const { state, object } = useSyncExternalStore(store.subscribe, store.snapshot, () => first);
  return { state, update, object };
}
