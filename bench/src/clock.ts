// Loaded before a program in each of its threads: the program's clock can be set, as that of its machine may be, by hand or by the network's time.
import { BroadcastChannel, isMainThread } from "node:worker_threads";

/** Option of Node for a process whose clock is to be set. */
export const HAS_CLOCK: readonly string[] = ["--import", import.meta.url];

/** For threads that begin later: each has its own copy of the environment. */
const AHEAD = "BENCH_CLOCK_AHEAD_MS";
const threads = new BroadcastChannel("clock");
let aheadMs = Number(process.env[AHEAD] ?? 0);

// Only where the process was started for it: whoever imports the names alone has the machine's clock.
if (process.execArgv.includes(import.meta.url)) {
  const { now } = Date;
  Date.now = () => now() + aheadMs;
  threads.onmessage = message => {
    aheadMs = (message as { data: number }).data;
  };
}
threads.unref();

/** Sets the clock of all threads of this process so far ahead of the machine's, or behind it. */
export function setClock(ms: number): void {
  aheadMs = ms;
  if (isMainThread) process.env[AHEAD] = String(ms);
  threads.postMessage(ms);
}
