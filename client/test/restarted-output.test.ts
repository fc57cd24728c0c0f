import { connect } from "@jecho/client";
import { startModulating } from "@jecho/client/modulating";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, test } from "vitest";
import { Inbox, moe, PATIENT, startRig, Tick, whenState } from "./rig.ts";

/** Counts what it has been given, and says when it begins. */
const COUNTING = moe(`static needs = ["controls.began"];
  count = 0;
  installed() { this.moe.controls.began(); }
  enqueue() { super.enqueue({ n: ++this.count, note: "" }); }`);
/** Ends the process that all modulators of a producer share. */
const KILLING = moe(`enqueue(event) { if (event.note === "kill") 'x'.repeat(2 ** 27).split(''); }`);

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

/** Takes its time with the second event, while the next ones wait for it. */
const SLOW = moe(`enqueue(event) {
    if (event.n === 2) for (const begin = Date.now(); Date.now() - begin < 200;);
    super.enqueue(event);
  }`);

test("PROV-7: what a modulator makes again at a restarted gateway comes to nobody twice, however far each consumer was", async () => {
  const limits = { ...PATIENT.limits, timeShare: 1, shareWindowMs: 60_000 };
  await using rig = await startRig({
    modulating: (address, token, say) => startModulating(address, token, say, { limits }),
  });
  await using far = await startCutter(rig.gateway.address);
  await using behind = await startCutter(rig.gateway.address);
  await using ahead = await startCutter(rig.gateway.address);
  const quick = { backoff: { firstMs: 10, mostMs: 50 } };
  await using producing = connect(far.address, {
    ...quick,
    modulators: { most: 0 },
    name: "producing",
  });
  await using first = connect(behind.address, { ...quick, name: "behind" });
  await using second = connect(ahead.address, { ...quick, name: "ahead" });
  // The history keeps events that come before the process for modulators is there again, however long that takes.
  const producer = await producing.channel("a", Tick).produce({ history: { events: 100 } });
  const [early, late] = [new Inbox<number>(), new Inbox<number>()];
  const consumer = await first.channel("a", Tick).subscribe(({ n }) => early.put(n), { modulator: SLOW });
  const other = await second.channel("a", Tick).subscribe(({ n }) => late.put(n), { modulator: SLOW });
  // Of nothing that it sends from now on the producer hears that it was taken.
  await producer.publishSync({ n: 1, note: "" });
  far.stall();
  for (let n = 2; n <= 4; n++) {
    producer.publish({ n, note: "" });
    if (n === 2) behind.stall();
    await late.take(n);
  }
  ahead.stall();
  producer.publish({ n: 5, note: "" });
  for (const way of [far, behind, ahead]) way.part();
  await rig.gateway.close();
  await rig.again();
  for (const way of [far, behind, ahead]) way.flow();
  behind.join();
  far.join();
  // The modulator goes on where the one that is back has been, and the other one comes while it works.
  await whenState(consumer, "live");
  ahead.join();
  expect(await early.take(5)).toEqual([1, 2, 3, 4, 5]);
  expect(await late.take(5)).toEqual([1, 2, 3, 4, 5]);
  await producer.publishSync({ n: 6, note: "" });
  expect([early.all, late.all]).toEqual([
    [1, 2, 3, 4, 5, 6],
    [1, 2, 3, 4, 5, 6],
  ]);
  expect([consumer.stats.missed, other.stats.missed]).toEqual([0, 0]);
});
