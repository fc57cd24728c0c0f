import { useStatus } from "@jecho/react";
import type { ReactNode } from "react";

/** Before it is known what the other device had open, and where that cannot be had any more. */
export function TakingOver({ onRetry }: { onRetry: () => void }): ReactNode {
  const { state, error } = useStatus();
  const isRefused = state === "refused";
  return (
    <main className="taking-over" data-testid="taking-over" data-state={state}>
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
          <button type="button" className="primary" data-testid="open-anew" onClick={onRetry}>
            Open anew
          </button>
        </>
      ) : (
        <p role="status">Taking over from the other device …</p>
      )}
    </main>
  );
}
