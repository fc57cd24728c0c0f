import { readFileSync } from "node:fs";

/** Files that a process holds open besides connections, at most. */
const OTHERS = 200;

/** How many connections a process of ours may have. Node takes as many file descriptors as it is allowed (`ulimit -Hn`). */
export function mostConnections(): number {
  try {
    const [, hard] = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    return hard === "unlimited" ? Number.POSITIVE_INFINITY : Number(hard) - OTHERS;
  } catch {
    // Only Linux says; elsewhere an open that fails does.
    return Number.POSITIVE_INFINITY;
  }
}
