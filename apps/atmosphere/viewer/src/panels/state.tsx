import { type ReactNode, useState } from "react";
import { useEvery } from "../page-visibility.ts";
import { describe, type Judged, sinceOf, wordsOf } from "./view-state.ts";

/** `Date.now()`, looked at every so often while anybody sees it. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEvery(everyMs, () => setNow(Date.now()));
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
