import { JechoError } from "@jecho/shared";

export const DEFAULT_BYTES = 8 << 20;

/** The queue between those who raise events and the connection. */
export interface EventQueueOptions {
  /** Bytes of events that may wait: a power of two from 64 to 2^30, 8 MiB by default. An event may take half of them. */
  readonly bytes?: number;
  /**
   * Policy for an event that finds no room.
   *
   * - `error` (default): it is refused with `QUEUE_FULL`
   * - `drop-oldest`: it takes the place of the oldest, of which an eighth of the queue is dropped at once
   * - `block`: `publishWhenReady` and `publishSync` wait for room; `publish`, which cannot wait, refuses it
   */
  readonly whenFull?: "error" | "drop-oldest" | "block";
  /**
   * Time that an event may wait for others to go out with it, in milliseconds; 0 by default: until the end of
   * the turn. Synchronous events do not wait, nor does a queue that is half full.
   */
  readonly batchDelayMs?: number;
}

/** @throws JechoError `ARGUMENT_INVALID` where the options are none */
export function checkQueueOptions({ bytes = DEFAULT_BYTES }: EventQueueOptions): void {
  if (!Number.isSafeInteger(bytes) || bytes < 64 || bytes > 2 ** 30 || !Number.isInteger(Math.log2(bytes))) {
    throw new JechoError(
      "ARGUMENT_INVALID",
      `a queue of ${bytes} bytes; it takes a power of two from 64 to 2^30`,
    );
  }
}
