import type { Modulator } from "@jecho/client";
import { expect, test } from "vitest";
import { Inbox, startRig, Tick } from "./rig.ts";

/** Lets everything through, marked with its name. */
const marks = (name: string): Modulator => ({
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) { super.enqueue({ n: event.n, note: this.parameters }); }
}`,
  parameters: name,
});

test("MOE-8: while events stream, the new pair's events follow the old one's, each producer's of each pair in order", async () => {
  await using rig = await startRig();
  const producers = await Promise.all([0, 1].map(() => rig.session().channel("a", Tick).produce()));
  const seen: { n: number; note: string }[] = [];
  const got = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(
      ({ n, note }) => {
        seen.push({ n, note });
        got.put(n);
      },
      { modulator: marks("old") },
    );
  let raised = 0;
  let isResetting = true;
  const stream = async (): Promise<void> => {
    while (isResetting) {
      for (const [i, producer] of producers.entries()) producer.publish({ n: 2 * raised + i, note: "" });
      raised++;
      await new Promise(resolve => setImmediate(resolve));
    }
  };
  const streaming = stream();
  await got.take(10);
  await consumer.reset({ modulator: marks("new") });
  const before = seen.length;
  await got.take(before + 10);
  isResetting = false;
  await streaming;
  const first = seen.findIndex(({ note }) => note === "new");
  expect(first).toBeGreaterThan(0);
  expect(seen.slice(first).every(({ note }) => note === "new")).toBe(true);
  expect(seen.slice(0, first).every(({ note }) => note === "old")).toBe(true);
  // Nothing of the old pair came after `reset` had resolved.
  expect(first).toBeLessThanOrEqual(before);
  for (const pair of ["old", "new"]) {
    for (const i of [0, 1]) {
      const own = seen.filter(({ n, note }) => note === pair && n % 2 === i).map(({ n }) => n);
      expect(own).toEqual([...new Set(own)].toSorted((a, b) => a - b));
    }
  }
});

test.each([
  [true, 1],
  [false, 0],
])("MOE-8: a reset with sync = %s resolves with %s of the old pair's handlers ended", async (sync, ended) => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const began = new Inbox<number>();
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
  let handled = 0;
  const handler = async ({ n }: { n: number }): Promise<void> => {
    began.put(n);
    await goesOn;
    handled++;
  };
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(handler, { modulator: marks("old") });
  producer.publish({ n: 1, note: "" });
  await began.take(1);
  const resetting = consumer.reset({ modulator: marks("new") }, { sync });
  if (sync) {
    // The new pair is in force, and yet the reset waits for the old one's handler.
    await expect.poll(() => producer.demand.derived.map(({ parameters }) => parameters)).toEqual(["new"]);
    goOn();
  }
  await resetting;
  expect(handled).toBe(ended);
  goOn();
});
