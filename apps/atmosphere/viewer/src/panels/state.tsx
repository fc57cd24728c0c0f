import { type ReactNode, useEffect, useState } from "react";
import { describe, type Judged } from "./view-state.ts";

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
  const { words, since } = describe(state);
  return (
    <span className="pill" data-state={state.state} data-testid={testId} title={state.detail || undefined}>
      <span className="dot" aria-hidden="true" />
      <span>
        {words}
        {since !== "" && <span className="since">{since}</span>}
      </span>
    </span>
  );
}
