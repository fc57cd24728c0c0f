import { workerData } from "node:worker_threads";
import { GUARD, type GuardData } from "./watch.ts";

/*
 * A thread beside the sandboxes. It ends the process when a call goes on after its deadline, which an engine
 * cannot always prevent, and when the producer is gone while a call keeps the main thread from noticing.
 */

const INTERVAL_MS = 20;
const ORPHAN_TICKS = 10;

const { words, parent } = workerData as GuardData;
let calls = -1;
let cpuMsBefore = 0;
let wallMsBefore = 0;
let tick = 0;

setInterval(() => {
  if (++tick % ORPHAN_TICKS === 0 && process.ppid !== parent) process.kill(process.pid, "SIGKILL");
  const call = Atomics.load(words, GUARD.calls);
  const limitMs = Atomics.load(words, GUARD.limitMs);
  const { user, system } = process.cpuUsage();
  const cpuMs = (user + system) / 1000;
  const wallMs = performance.now();
  if (call !== calls || limitMs === 0) {
    calls = call;
    cpuMsBefore = cpuMs;
    wallMsBefore = wallMs;
    return;
  }
  // On a loaded machine a call may have to wait for its turn, so the time on the wall alone says nothing; nor does the
  // processor's, which other threads of the process use as well.
  const usedMs = Math.min(cpuMs - cpuMsBefore, wallMs - wallMsBefore);
  const graceMs = Math.max(GUARD.graceMs, GUARD.graceShare * limitMs);
  if (usedMs > limitMs + graceMs) process.kill(process.pid, GUARD.signal);
}, INTERVAL_MS);
