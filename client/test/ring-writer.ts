// A writer in a thread of its own, for the ring's tests: raises events as fast as it can, and says what it dropped.
import { parentPort, workerData } from "node:worker_threads";
import { Ring } from "../src/ring.ts";

const { memory, events, seed } = workerData as { memory: SharedArrayBuffer; events: number; seed: number };
const ring = new Ring(memory);
let state = seed;
function random(below: number): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return (state >>> 8) % below;
}

const dropped: number[] = [];
for (let raised = 1; raised <= events; raised++) {
  const bytes = 8 + random(1000);
  let at = ring.reserve(bytes);
  while (at < 0) {
    ring.dropOldest(record => {
      if (dropped.push(record.raised) === 1) parentPort?.postMessage("drops");
    });
    at = ring.reserve(bytes);
  }
  // Every byte tells which event it belongs to: a torn copy would show.
  ring.bytes.fill(raised & 255, at, at + bytes);
  if (ring.commit(1 + (raised % 3), raised, at + bytes, raised % 5 === 0)) parentPort?.postMessage("wake");
}
parentPort?.postMessage({ dropped });
