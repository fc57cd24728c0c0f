/** Whether anybody can see the page: not while another tab is in front of it, its window is minimised, or a phone has put it away. */
import { useEffect, useEffectEvent, useSyncExternalStore } from "react";

let shownAt = 0;

/** True where there is no page. */
export function isShown(): boolean {
  return globalThis.document?.visibilityState !== "hidden";
}

/** `Date.now()` of when the page was last shown again; 0 where it has been seen all the time. */
export function lastShownAt(): number {
  return shownAt;
}

/** Calls back when the page is hidden and when it is shown again; returns what stops that. */
export function watchVisibility(listener: () => void): () => void {
  globalThis.document?.addEventListener("visibilitychange", listener);
  return () => globalThis.document?.removeEventListener("visibilitychange", listener);
}

watchVisibility(() => {
  if (isShown()) shownAt = Date.now();
});

/** Acts every so often while the page is shown, and as soon as it is shown again. */
export function useEvery(ms: number, act: () => void): void {
  const onTime = useEffectEvent(act);
  const isSeen = useSyncExternalStore(watchVisibility, isShown);
  useEffect(() => {
    if (!isSeen) return;
    onTime();
    const timer = setInterval(() => onTime(), ms);
    return () => clearInterval(timer);
  }, [ms, isSeen]);
}
