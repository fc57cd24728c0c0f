import { type ErrorCode, errorCode } from "@jecho/shared";
import type { Placement as PlacementTable } from "@jecho/shared/internal";

const PLACES = ["producer", "gateway", "consumer"] as const;

/** Where a consumer's modulator runs for the producers of one process, and why. What comes is the same. */
export interface Placement {
  /** With the producer, in a process beside the gateway, or with this consumer. */
  readonly at: "producer" | "gateway" | "consumer";
  /** Why it is not with the producer, such as `MODULATORS_NOT_SERVED`; undefined where it is. */
  readonly code: ErrorCode | undefined;
  /** The same as a sentence; "" where it is with the producer. */
  readonly why: string;
  /** The producers' numbers, as events carry them. */
  readonly producers: readonly number[];
}

export function placementOf({ at, code, message, producers: numbers }: PlacementTable): Placement {
  const producers: number[] = [];
  for (let i = 0; i < numbers.length; i++) producers.push(numbers[i] as number);
  return {
    at: PLACES[at] ?? "producer",
    code: code === 0 ? undefined : errorCode(code),
    why: message,
    producers,
  };
}
