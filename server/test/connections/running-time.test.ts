import { performance } from "node:perf_hooks";
import { expect, onTestFinished, test, vi } from "vitest";
import { RunningTime } from "../../src/connections/running-time.ts";

/** Resolves to how long a wait took, in milliseconds. */
function waited(running: RunningTime, ms: number): Promise<number> {
  const began = performance.now();
  return new Promise(resolve => running.wait(ms, () => resolve(performance.now() - began)));
}

test("DEL-7: waits are over in the order of their ends, and not too early; one that was ended is not", async () => {
  const running = new RunningTime();
  const over: string[] = [];
  const end = running.wait(1, () => over.push("ended"));
  const long = waited(running, 400).then(ms => over.push(ms >= 399 ? "long" : `${ms}`));
  const short = waited(running, 5).then(ms => over.push(ms >= 4 ? "short" : `${ms}`));
  end();
  await Promise.all([long, short]);
  expect(over).toEqual(["short", "long"]);
});

test("DEL-7: after a time in which the process did not run each wait begins anew", async () => {
  const running = new RunningTime();
  const [short, long] = [waited(running, 300), waited(running, 1400)];
  // As when it is stopped by a signal.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
  expect(await short).toBeGreaterThanOrEqual(1799);
  expect(await long).toBeGreaterThanOrEqual(2899);
});

test("CON-6: of very many waits that are over together, a turn ends as many as take a millisecond", async () => {
  let now = 0;
  const clock = vi.spyOn(globalThis.performance, "now").mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const running = new RunningTime();
  let over = 0;
  for (let i = 0; i < 100; i++)
    running.wait(1 + (i % 2), () => {
      over++;
      now += 0.1;
    });
  now = 2;
  const perTurn: number[] = [];
  while (over < 100) {
    const before = over;
    await new Promise(resolve => setImmediate(resolve));
    perTurn.push(over - before);
  }
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(11);
});
