import { setTimeout as delay, setImmediate } from "node:timers/promises";
import type { Connection } from "../connections/connection.ts";
import type { HistoryStore } from "../history/store.ts";

/**
 * Waits until what is kept for those who do not keep up has gone out to them.
 *
 * @returns false where it has not within that time
 */
export function sendWaiting(connections: Iterable<Connection>, limitMs: number): Promise<boolean> {
  return within(limitMs, async () => {
    await Promise.all(Array.from(connections, connection => connection.level()));
    // The last of it was sent in a socket's callback, and goes out when that returns.
    await setImmediate();
    return true;
  });
}

/**
 * Waits until the process for modulators has finished its input, and has sent the output.
 *
 * @returns false where it did not within that time, or went away
 */
export function drain(modulating: Connection, limitMs: number): Promise<boolean> {
  return within(limitMs, async isLate => {
    // The question overtakes what waits in queues.
    await modulating.level();
    if (isLate() || !modulating.isOpen) return false;
    await modulating.request(request => ({ kind: "Drain", request }));
    return true;
  });
}

/**
 * Waits until what was taken is stored.
 *
 * @returns false where it was not within that time
 */
export async function isStored(store: HistoryStore | undefined, limitMs: number): Promise<boolean> {
  const settled = store?.settled();
  return settled === undefined || within(limitMs, () => settled.then(() => true));
}

/** @returns false where it takes longer, or fails */
async function within(
  limitMs: number,
  finish: (isLate: () => boolean) => Promise<boolean>,
): Promise<boolean> {
  const late = new AbortController();
  const isLate = delay(limitMs, false, { signal: late.signal }).catch(() => false);
  try {
    return await Promise.race([finish(() => late.signal.aborted).catch(() => false), isLate]);
  } finally {
    late.abort();
  }
}
