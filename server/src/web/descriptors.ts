import { readdirSync, readFileSync } from "node:fs";

/** File descriptors left for other uses: history, certificate, operators' connections. */
const RESERVED = 32;

/** @returns most sockets that this process may have beside its open files; Infinity where unknown */
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
