import type { ReactNode } from "react";
import type { SessionState } from "../session.ts";

/** Before it is known what the other device had open, and where that cannot be had any more. */
export function TakingOver({ state }: { state: SessionState }): ReactNode {
  const { status, retry } = state;
  const { error } = status;
  const isRefused = status.state === "refused";
  return (
    <main className="taking-over" data-testid="taking-over" data-state={status.state}>
      <h1>Atmosphere</h1>
      {isRefused ? (
        <>
          <p role="alert" data-testid="handover-refused">
            {error?.code === "HANDOVER_INVALID"
              ? "This link is no longer good: it works once, and for a short time. Make a new one on the other device."
              : "What the other device had open cannot be taken over."}
          </p>
          <p className="hint">
            {error?.code}: {error?.message}
          </p>
          <button type="button" className="primary" data-testid="open-anew" onClick={retry}>
            Open anew
          </button>
        </>
      ) : (
        <p role="status">Taking over from the other device …</p>
      )}
    </main>
  );
}
