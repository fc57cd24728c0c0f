/** Types of a view: what it looks at, what comes for it, and how it is doing. */
import type { InheritedSubscription, JechoError, Placement, Status, View } from "@jecho/client";
import type { GridData } from "../../src/types.ts";

/** All values of the window at every step, or only the cells that changed by more than a threshold (ppmv). */
export type Mode = { readonly kind: "filter" } | { readonly kind: "alarm"; readonly threshold: number };

/** An event of the field; in alarm mode with the cells that changed, as row * columns + column. */
export type FieldEvent = GridData & { readonly cells?: Uint32Array | undefined };

/** Part of the field that a view looks at. Each new `refresh` makes an alarm send all cells once. */
export interface FieldView extends View {
  readonly refresh?: number;
}

export interface FieldSnapshot {
  readonly status: Status;
  /** Mode that is in force in the producers. */
  readonly mode: Mode;
  /** A change of the mode, or a replay's beginning or end, is on its way. */
  readonly isChanging: boolean;
  /** Whether past events come, faster than they once did. */
  readonly isReplay: boolean;
  /** Cost of the last loss of the connection, once that is known; `at` as `Date.now()` gives it. */
  readonly resumed: { readonly at: number; readonly missedSteps: number } | undefined;
  /** Places where the modulator runs, and why there. */
  readonly placements: readonly Placement[];
  /** Why the last change of the mode or a single event failed. */
  readonly fault: JechoError | undefined;
}

/** Counts of what came for a view, and of what did not. */
export interface FieldStats {
  /** On the wire. */
  readonly bytes: number;
  readonly events: number;
  /** Events that will not come; those that were dropped because this page did not keep up are among them. */
  readonly missed: number;
  readonly dropped: number;
}

export interface FieldSubscriptionOptions {
  readonly view: View;
  readonly mode: Mode;
  /** Gets every event. */
  readonly receive: (event: FieldEvent) => void;
  /** Is told what it is called, whenever that changes: enough to open it again as it is. */
  readonly onLabel?: ((label: string) => void) | undefined;
  /** Subscription that another device handed over: goes on here, with the view that it had. */
  readonly inherited?: InheritedSubscription | undefined;
}

const COUNTS = ["bytes", "events", "missed", "dropped"] as const;

/** Counts of all of them together. */
export function sumOf(all: readonly FieldStats[]): FieldStats {
  const sum = { bytes: 0, events: 0, missed: 0, dropped: 0 };
  for (const stats of all) for (const name of COUNTS) sum[name] += stats[name];
  return sum;
}
