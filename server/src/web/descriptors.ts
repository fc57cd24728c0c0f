import { readdirSync, readFileSync } from "node:fs";

/** File descriptors that are left for what else a gateway opens: its history, its certificate, who asks for its counts. */
const RESERVED = 32;

/** @returns number of sockets that this process may have beside the files that it has open; Infinity where the system does not say */
export function mostSockets(): number {
  try {
    const [, most] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    return most === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(1, Number(most) - readdirSync("/proc/self/fd").length - RESERVED);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
