import { Worker } from "node:worker_threads";
import type { Watch } from "../../sandbox/sandbox.ts";

/** What the main thread tells its guard: words of shared memory, and how the guard ends the process. */
export const GUARD = {
  /** Word 0: calls begun so far. */
  calls: 0,
  /** Word 1: deadline of the present call in ms; 0 between calls. */
  limitMs: 1,
  /** Processor time that a call may go on after its deadline, until the engine has ended it: at least this, */
  graceMs: 150,
  /** and this share of the deadline, for a timer is late on a loaded machine. */
  graceShare: 0.5,
  /** Ends the process whatever it does, and tells its parent why. */
  signal: "SIGVTALRM",
} as const;

/** What the host's process exits with where its engine does not load. */
export const NO_ENGINE = 78;

export interface GuardData {
  readonly words: Int32Array;
  /** Process id of the producer. */
  readonly parent: number;
}

/** Starts the guard thread. */
export function startGuard(parent: number): Watch {
  const words = new Int32Array(new SharedArrayBuffer(8));
  // Beside the host's generated program.
  const workerData: GuardData = { words, parent };
  const guard = new Worker(new URL("./guard.mjs", import.meta.url), { workerData, name: "guard" });
  guard.unref();
  return {
    enter(limitMs) {
      Atomics.add(words, GUARD.calls, 1);
      Atomics.store(words, GUARD.limitMs, limitMs);
    },
    leave() {
      Atomics.store(words, GUARD.limitMs, 0);
    },
  };
}
