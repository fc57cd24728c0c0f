import { type ErrorCode, errorCode } from "@jecho/shared";
import type { Placement as PlacementTable } from "@jecho/shared/internal";

const PLACES = ["producer", "gateway", "consumer", "nowhere"] as const;
const TIERS = ["local", "compiled", "hosted"] as const;

/** The place where a consumer's modulator runs for the producers of one process, and why. The events are the same at each, except at none. */
export interface Placement {
  /**
   * The place: with the producer, in a process beside the gateway, or with this consumer. `nowhere`: these
   * producers are left out, and the consumer misses their events until that changes.
   */
  readonly at: "producer" | "gateway" | "consumer" | "nowhere";
  /**
   * Why it is not with the producer; undefined where it is. `MODULATORS_NOT_SERVED` or `OVERLOADED` where it runs elsewhere. Nowhere it runs
   * where the producer has not answered yet (`TIMED_OUT`), cannot run it (such as `SERVICE_MISSING`), or has removed it (such as `MODULATOR_FAILED`).
   */
  readonly code: ErrorCode | undefined;
  /** The reason as a sentence; "" where the modulator is with the producer. */
  readonly why: string;
  /**
   * The tier that it runs in there: `local` in that process as its own code, `compiled` in its thread, or `hosted` behind a wall; undefined where that is
   * not known: nowhere, or in several consumers' processes.
   */
  readonly tier: "local" | "compiled" | "hosted" | undefined;
  /** Why it is not compiled, where it is hosted; else "". */
  readonly tierWhy: string;
  /** The producers' numbers, as events carry them. */
  readonly producers: readonly number[];
}

export function placementOf({
  at,
  code,
  message,
  producers: numbers,
  tier,
  tierWhy,
}: PlacementTable): Placement {
  const producers: number[] = [];
  for (let i = 0; i < numbers.length; i++) producers.push(numbers[i] as number);
  return {
    at: PLACES[at] ?? "producer",
    code: code === 0 ? undefined : errorCode(code),
    why: message,
    tier: TIERS.find(one => one === tier),
    tierWhy,
    producers,
  };
}
