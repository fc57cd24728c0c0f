import { setTimeout as delay } from "node:timers/promises";
import type { Connection } from "./connection.ts";

/**
 * Waits until the process for modulators has finished what it was given, and has sent what it made of it.
 *
 * @returns false where it did not within that time, or went away
 */
export async function drain(modulating: Connection, limitMs: number): Promise<boolean> {
  const late = new AbortController();
  const isLate = delay(limitMs, false, { signal: late.signal }).catch(() => false);
  const finished = async (): Promise<boolean> => {
    // The question overtakes what waits in queues.
    await modulating.level();
    if (late.signal.aborted || !modulating.isOpen) return false;
    await modulating.request(request => ({ kind: "Drain", request }));
    return true;
  };
  try {
    return await Promise.race([finished().catch(() => false), isLate]);
  } finally {
    late.abort();
  }
}
