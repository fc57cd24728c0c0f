import { connect } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, test } from "vitest";
import { Inbox, PATIENT, startRig, Tick, whenState } from "./rig.ts";

/** Counts what it has been given, and says when it begins. */
const COUNTING = {
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  static needs = ["controls.began"];
  count = 0;
  installed() { this.moe.controls.began(); }
  enqueue() { super.enqueue({ n: ++this.count, note: "" }); }
}`,
};
/** Ends the process that all modulators of a producer share. */
const KILLING = {
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) { if (event.note === "kill") new Array(5e8).fill(0); }
}`,
};

test("DEL-3, MOE-11: what a modulator made before it restarted arrives, though the connection breaks before it is confirmed", async () => {
  await using rig = await startRig();
  await using cutter = await startCutter(rig.gateway.address);
  const began = new Inbox<true>();
  await using session = connect(cutter.address, {
    backoff: { firstMs: 10, mostMs: 50 },
    modulators: PATIENT,
  });
  const producer = await session
    .channel("a", Tick)
    .produce({ delegate: { controls: { began: () => began.put(true) } } });
  const [counts, missed] = [new Inbox<number>(), new Inbox<number>()];
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => counts.put(n), {
      modulator: COUNTING,
      onMissed: ({ events }) => missed.put(events),
    });
  const killing = await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator: KILLING, onError: () => {} });
  killing.onStatus(() => {});
  await producer.publishSync({ n: 1, note: "" });
  expect(await counts.take(1)).toEqual([1]);
  cutter.hold();
  for (let n = 2; n <= 10; n++) producer.publish({ n, note: "" });
  producer.publish({ n: 11, note: "kill" });
  await began.take(2);
  const isBack = whenState(session, "reconnecting").then(() => whenState(session, "live"));
  cutter.cut();
  cutter.release();
  await isBack;
  producer.publish({ n: 12, note: "" });
  expect(await counts.take(12)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1]);
  expect(missed.all).toEqual([]);
  expect(consumer.status.state).toBe("live");
});
