import { connect, type SubscribeOptions, type } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, test } from "vitest";
import { numbersOf, type Rig, startRig } from "./rig.ts";

const Block = type("Block", { n: "uint32", payload: "uint8[]" });
const PAYLOAD = new Uint8Array(32 * 1024);
const ALARM = 1_000_000;

/** A producer with two consumers: one that keeps up, and one behind a cutter that lets nothing through any more. */
async function stalled(rig: Rig, options: SubscribeOptions) {
  const cutter = await startCutter(rig.gateway.address);
  const session = connect(cutter.address);
  const seen: number[] = [];
  const consumer = await session.channel("a", Block).subscribe(({ n }) => void seen.push(n), options);
  const level = await numbersOf(rig, "a", Block);
  const producer = await rig.session().channel("a", Block).produce();
  await expect.poll(() => producer.demand.total).toBe(2);
  cutter.stall();
  return {
    cutter,
    seen,
    consumer,
    level,
    producer,
    async [Symbol.asyncDispose]() {
      await session.close();
      await cutter[Symbol.asyncDispose]();
    },
  };
}

test("DEL-9: an urgent event overtakes those of its channel that wait at the gateway, and none is lost for it", async () => {
  await using rig = await startRig();
  await using slow = await stalled(rig, { queue: { limitBytes: 256 * 1024 } });
  const { cutter, seen, consumer, level, producer } = slow;
  for (let n = 0; n < 1000; n++) {
    producer.publish({ n, payload: PAYLOAD });
    if (n % 50 === 49) await level.take(n + 1);
  }
  producer.publishUrgent({ n: ALARM, payload: new Uint8Array(8) });
  producer.publishUrgent({ n: ALARM + 1, payload: new Uint8Array(8) });
  await level.take(1002);
  cutter.flow();
  await expect.poll(() => seen.at(-1)).toBe(999);
  const at = seen.indexOf(ALARM);
  // Behind what was in the socket already, in front of what was queued.
  expect(at).toBeGreaterThan(0);
  expect(at).toBeLessThan(seen.length - 2);
  expect(seen[at + 1]).toBe(ALARM + 1);
  const others = seen.filter(n => n < ALARM);
  expect(others).toEqual(others.toSorted((a, b) => a - b));
  expect(others.length + consumer.stats.missed).toBe(1000);
});

test("DEL-9: an urgent event overtakes those that wait for a connection", async () => {
  await using rig = await startRig();
  const cutter = await startCutter(rig.gateway.address);
  const producing = connect(cutter.address, { backoff: { firstMs: 20, mostMs: 50 } });
  const seen = await numbersOf(rig, "a", Block);
  const producer = await producing.channel("a", Block).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ n: 0, payload: PAYLOAD });
  await seen.take(1);
  cutter.part();
  await expect.poll(() => producing.status.state).toBe("reconnecting");
  for (let n = 1; n < 50; n++) producer.publish({ n, payload: PAYLOAD });
  producer.publishUrgent({ n: ALARM, payload: new Uint8Array(8) });
  cutter.join();
  expect((await seen.take(51)).slice(0, 4)).toEqual([0, ALARM, 1, 2]);
  expect(producer.stats).toMatchObject({ events: 51, dropped: 0 });
  await producing.close();
  await cutter[Symbol.asyncDispose]();
});

test("SLOW-1: one who has stopped reading loses the oldest of urgent events, too, and is told how many", async () => {
  await using rig = await startRig();
  await using slow = await stalled(rig, { queue: { limitBytes: 256 * 1024 }, onMissed: () => {} });
  const { cutter, seen, consumer, level, producer } = slow;
  for (let n = 0; n < 1000; n++) {
    producer.publishUrgent({ n, payload: PAYLOAD });
    if (n % 50 === 49) await level.take(n + 1);
  }
  cutter.flow();
  await expect.poll(() => seen.at(-1)).toBe(999);
  expect(consumer.stats.dropped).toBeGreaterThan(500);
  expect(consumer.stats.missed).toBe(consumer.stats.dropped);
  expect(seen.length + consumer.stats.missed).toBe(1000);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
});

test("DEL-9: urgent events of a producer that comes while others' wait at the gateway are counted from the first, and none is told as missing", async () => {
  const queue = { limitBytes: 64 << 20 };
  await using rig = await startRig({ consumerQueueBytes: queue.limitBytes });
  await using slow = await stalled(rig, { queue });
  const { cutter, seen, consumer, level, producer } = slow;
  for (let n = 0; n < 500; n++) {
    producer.publish({ n, payload: PAYLOAD });
    if (n % 50 === 49) await level.take(n + 1);
  }
  const late = await rig.session().channel("a", Block).produce();
  await expect.poll(() => late.demand.total).toBe(2);
  for (let n = 0; n < 2; n++) {
    late.publishUrgent({ n: ALARM + n, payload: new Uint8Array(8) });
    await level.take(501 + n);
  }
  cutter.flow();
  await expect.poll(() => seen.length).toBe(502);
  late.publishUrgent({ n: ALARM + 2, payload: new Uint8Array(8) });
  await expect.poll(() => seen.at(-1)).toBe(ALARM + 2);
  expect(seen.length).toBe(503);
  expect(consumer.stats.missed).toBe(0);
});
