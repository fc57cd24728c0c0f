import { type ConsumerOpened, FROM, type Place, WHEN_FULL } from "@jecho/shared/internal";
import type { ConsumerEndpoint } from "./endpoint.ts";
import type { Away, New, Resting } from "./endpoint-states.ts";

/* The past that a consumer asks the gateway for, and the part of it that the gateway has. */

/** The part of the past that was kept until a consumer was opened again. */
export interface Recovery {
  /** Undefined where the gateway does not know. */
  readonly recovered: boolean | undefined;
  readonly missing: number;
}

export const WHOLE: Recovery = { recovered: true, missing: 0 };

/** Whether all of the past that was asked for is there; undefined where the gateway does not know. */
export function recoveredOf({ recovered, unknown }: ConsumerOpened): boolean | undefined {
  return unknown ? undefined : recovered;
}

/** Whether the consumer has rested and wants only the newest of the events since, or has not had the newest, with which it begins. */
export function wantsNewest({ queue, isOwedNewest }: ConsumerEndpoint, after: New | Away | Resting): boolean {
  return isOwedNewest || (after.is === "resting" && queue.whenFull === WHEN_FULL.latest);
}

/**
 * The place behind the newest event that the consumer has had; or the newest event, where it wants only that.
 */
export function placeBehind(consumer: ConsumerEndpoint, after: New | Away | Resting): Place {
  if (wantsNewest(consumer, after)) return { from: FROM.last, epoch: 0, seq: 0n, at: 0, speed: 0 };
  return { from: FROM.resume, epoch: consumer.epoch, seq: BigInt(consumer.seq), at: 0, speed: 0 };
}

/** Whether several pasts are all complete; undefined where that is not known of one. */
export function allRecovered(recovered: readonly (boolean | undefined)[]): boolean | undefined {
  if (recovered.includes(false)) return false;
  return recovered.includes(undefined) ? undefined : true;
}

/**
 * The part of the past that a consumer is told to be complete: of the gateway's history, and of the input of modulators here.
 *
 * @param keeps whether output that this process makes for itself is kept, too
 */
export function recoveryTold(
  opened: ConsumerOpened,
  behind: Recovery,
  keeps: boolean,
): { readonly recovered?: boolean; readonly missing?: number } {
  const recovered = allRecovered([recoveredOf(opened), behind.recovered, keeps]);
  if (recovered === undefined) return {};
  const missing = Number(opened.missing) + behind.missing;
  // Where some of it is missing, nobody may know how much.
  return recovered || missing > 0 ? { recovered, missing } : { recovered };
}
