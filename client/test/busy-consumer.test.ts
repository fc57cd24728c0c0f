import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import type { BusyConsumer, Taken } from "./busy-consumer.ts";
import { startRig, untilFull } from "./rig.ts";
import { Tick } from "./tick.ts";

const NOTE = "x".repeat(32 * 1024);

/** A consumer in a thread of its own that has taken one event and takes no more, and a producer. */
async function busy(whenFull: BusyConsumer["whenFull"]) {
  const rig = await startRig();
  const gate = new Int32Array(new SharedArrayBuffer(8));
  const workerData: BusyConsumer = { address: rig.gateway.address, whenFull, gate };
  const worker = new Worker(new URL("busy-consumer.ts", import.meta.url), { workerData });
  const taken = once(worker, "message") as Promise<[Taken]>;
  const session = rig.session({ queue: { bytes: 1 << 20 } });
  const producer = await session.channel("a", Tick).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  return {
    session,
    producer,
    /** Lets the consumer go. @returns what it has had when event number `last` has come */
    async letGo(last: number): Promise<Taken> {
      Atomics.store(gate, 1, last);
      Atomics.store(gate, 0, 1);
      Atomics.notify(gate, 0);
      const [what] = await taken;
      return what;
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate();
      await rig[Symbol.asyncDispose]();
    },
  };
}

test("SLOW-4: an application's thread that takes nothing holds back producers that are to wait, and loses nothing", async () => {
  await using the = await busy("block");
  const raised = await untilFull(n => the.producer.publish({ n, note: NOTE }));
  // What was on the way when it stopped taking, and what the queues hold: less than would have cut it off.
  expect(raised * NOTE.length).toBeLessThan(32 << 20);
  expect(the.producer.demand.total).toBe(1);
  const { seen, missed } = await the.letGo(raised - 1);
  expect(seen).toEqual(Array.from({ length: raised }, (_, n) => n));
  expect(missed).toBe(0);
});

test("SLOW-4: an application's thread that takes nothing loses the oldest, as its policy says, and is told how many", async () => {
  await using the = await busy("drop-oldest");
  const raised = 2500;
  for (let n = 0; n < raised; n++) {
    the.producer.publish({ n, note: NOTE });
    if (n % 16 === 15) await the.session.flush();
  }
  await the.session.flush();
  expect(the.producer.demand.total).toBe(1);
  const { seen, missed, dropped } = await the.letGo(raised - 1);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect(seen.length + missed).toBe(raised);
  expect(missed).toBe(dropped);
  expect(dropped).toBeGreaterThan(500);
});
