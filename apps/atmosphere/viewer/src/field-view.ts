/** What a view looks at, what comes for it, and how it is doing. */
import type { InheritedSubscription, JechoError, Placement, Status, View } from "@jecho/client";
import type { GridData } from "../../src/types.ts";

/** All values of the window at every step, or only the cells that changed by more than a threshold (ppmv). */
export type Mode = { readonly kind: "filter" } | { readonly kind: "alarm"; readonly threshold: number };

/** An event of the field; in alarm mode with the cells that changed, as row * columns + column. */
export type FieldEvent = GridData & { readonly cells?: Uint32Array | undefined };

/** What a view looks at. Each new `refresh` makes an alarm send all cells once. */
export interface FieldView extends View {
  readonly refresh?: number;
}

export interface FieldSnapshot {
  readonly status: Status;
  /** What is in force in the producers. */
  readonly mode: Mode;
  /** A change of the mode, or a replay's beginning or end, is on its way. */
  readonly isChanging: boolean;
  /** What comes is the past, faster than it was. */
  readonly isReplay: boolean;
  /** What the last loss of the connection cost, once that is known; `at` as `Date.now()` gives it. */
  readonly resumed: { readonly at: number; readonly missedSteps: number } | undefined;
  /** Where the modulator runs, and why there. */
  readonly placements: readonly Placement[];
  /** Why the last change of the mode or a single event failed. */
  readonly fault: JechoError | undefined;
}

/** What came for a view, and what did not. */
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
  /** What another device handed over: goes on there, with the view that it had. */
  readonly inherited?: InheritedSubscription | undefined;
}

const COUNTS = ["bytes", "events", "missed", "dropped"] as const;

/** What came in all of them together. */
export function sumOf(all: readonly FieldStats[]): FieldStats {
  const sum = { bytes: 0, events: 0, missed: 0, dropped: 0 };
  for (const stats of all) for (const name of COUNTS) sum[name] += stats[name];
  return sum;
}
