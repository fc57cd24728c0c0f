import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { costsOf, processCpuUs, threadCpuUs } from "../src/beats.ts";

const TIMES = 3;
const SPIN_MS = 1;
/** Rounds that take some milliseconds of a processor, however long a busy machine lets them wait for it. */
const SPINS = 2_000_000;

it("every work is done as often as every other, and each has its own cost", async () => {
  let [idle, spun] = [0, 0];
  const works = {
    idle: () => void idle++,
    spin: () => {
      spun++;
      const start = performance.now();
      for (let i = 0; i < SPINS || performance.now() - start < SPIN_MS; i++);
    },
  };
  const costs = await costsOf(works, { beatMs: 5, times: TIMES, ms: 500 });
  expect(idle).toBeGreaterThan(0);
  expect(idle).toBe(spun);
  expect(idle % TIMES).toBe(0);
  // A beat with nothing in it, which is taken off, has no call that takes so long.
  expect(costs.spin.call).toBeGreaterThan(0.9 * 1000 * SPIN_MS);
  expect(costs.idle.call).toBeLessThan(costs.spin.call);
  expect(costs.idle.thread).toBeLessThan(costs.spin.thread);
});

it.runIf(process.platform === "linux")(
  "what another thread spends is the process' and not this thread's",
  async () => {
    const other = new Worker("for (;;);", { eval: true });
    await once(other, "online");
    try {
      const [thread, whole] = [threadCpuUs(), processCpuUs()];
      const spentUs = (): number => processCpuUs() - whole;
      await expect.poll(spentUs).toBeGreaterThan(500_000);
      expect(threadCpuUs() - thread).toBeLessThan(spentUs() / 2);
    } finally {
      await other.terminate();
    }
  },
);
