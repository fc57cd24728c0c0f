import type { EventLog } from "./event-log.ts";

/** How much of the bound may come before all histories are looked at again, and how much is let go of then. */
const SHARE = 16;

/**
 * The bound of what all histories keep in memory together. When it is reached the oldest go of those that keep most, so that one who keeps much takes
 * nothing from others.
 */
export class HistoryBudget {
  readonly #limitBytes: number;
  readonly #logs: () => Iterable<EventLog>;
  #unseenBytes = 0;

  /** @param logs all that there are */
  constructor(limitBytes: number, logs: () => Iterable<EventLog>) {
    this.#limitBytes = limitBytes;
    this.#logs = logs;
  }

  /** So much more is kept. */
  added(bytes: number): void {
    this.#unseenBytes += bytes;
    const step = this.#limitBytes / SHARE;
    if (this.#unseenBytes <= step) return;
    this.#unseenBytes = 0;
    const logs = [...this.#logs()].sort((a, b) => b.bytes - a.bytes);
    let total = 0;
    for (const log of logs) total += log.bytes;
    if (total <= this.#limitBytes - step) return;
    const mostBytes = levelOf(logs, this.#limitBytes - 2 * step);
    for (const log of logs) log.letGo(mostBytes);
  }
}

/** The most that each may keep for all of them to keep so much. @param logs those that keep most come first */
function levelOf(logs: readonly EventLog[], totalBytes: number): number {
  let restBytes = totalBytes;
  for (let i = logs.length - 1; i >= 0; i--) {
    const { bytes } = logs[i] as EventLog;
    const equalBytes = restBytes / (i + 1);
    if (bytes > equalBytes) return equalBytes;
    restBytes -= bytes;
  }
  return Number.POSITIVE_INFINITY;
}
