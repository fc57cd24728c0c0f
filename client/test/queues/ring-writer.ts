// A writer in a thread of its own, for the ring's tests: raises events as fast as it can, and says what it dropped.
import { parentPort, workerData } from "node:worker_threads";
import { Dice } from "@jecho/e2e/dice";
import { Ring } from "../../src/queues/ring.ts";

const { memory, events, seed } = workerData as { memory: SharedArrayBuffer; events: number; seed: number };
const ring = new Ring(memory);
const dice = new Dice(seed);

const dropped: number[] = [];
for (let raised = 1; raised <= events; raised++) {
  const bytes = 8 + dice.below(1000);
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
