import { Worker } from "node:worker_threads";
import type { Watch } from "../../sandbox/sandbox.ts";
import { GUARD, type GuardData } from "./watch.ts";

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
