import { type ReactNode, useEffect, useState } from "react";
import { describe, type Judged, sinceOf, wordsOf } from "./view-state.ts";

/** `Date.now()`, looked at every so often. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** A dot and a few words. */
export function StatePill({ state, testId }: { state: Judged; testId: string }): ReactNode {
  const since = sinceOf(state);
  return (
    <span
      className="pill"
      data-state={state.state}
      data-testid={testId}
      title={state.detail || describe(state)}
    >
      <span className="dot" aria-hidden="true" />
      <span>
        {wordsOf(state)}
        {since !== "" && <span className="since">{since}</span>}
      </span>
    </span>
  );
}
