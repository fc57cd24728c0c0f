import { connect, type EventPlace, type Modulator, type QueueOptions, type } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { describe, expect, test } from "vitest";
import { PLACES, rigAt } from "./placement-rig.ts";
import { EVEN, Inbox, numbersOf, type Rig, startRig, Tick, untilFull, whenLater } from "./rig.ts";

const Block = type("Block", { n: "uint32", key: "uint32", payload: "uint8[]" });
const PAYLOAD = new Uint8Array(32 * 1024);
const LIMIT_BYTES = 256 * 1024;
/** Lets all events through. */
const ALL = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { enqueue(event) { if (event.n > 0) super.enqueue(event); } }`;

/**
 * One consumer that has stopped reading and one that has not, and a producer.
 *
 * @param beside the queue of another consumer of the process that has stopped
 */
async function stalled(rig: Rig, queue: QueueOptions, beside?: QueueOptions) {
  const cutter = await startCutter(rig.gateway.address);
  const slowSession = connect(cutter.address, { backoff: { firstMs: 20, mostMs: 100 } });
  const seen: { n: number; key: number }[] = [];
  const order: string[] = [];
  const slow = await slowSession.channel("a", Block).subscribe(
    ({ n, key }) => {
      seen.push({ n, key });
      order.push(`event ${n}`);
    },
    { queue, onMissed: ({ events, dropped }) => order.push(`missed ${events} ${dropped}`) },
  );
  if (beside !== undefined) await slowSession.channel("a", Block).subscribe(() => {}, { queue: beside });
  const quick = await numbersOf(rig, "a", Block);
  const producing = rig.session();
  const producer = await producing.channel("a", Block).produce({ key: "key" });
  await expect.poll(() => producer.demand.total).toBe(beside === undefined ? 2 : 3);
  cutter.stall();
  return {
    cutter,
    slowSession,
    slow,
    seen,
    order,
    quick,
    producer,
    /** Raises events up to number `to`, not faster than the quick consumer takes them. */
    async raise(to: number): Promise<void> {
      for (let n = quick.all.length; n < to; n++) {
        producer.publish({ n, key: n % 4, payload: PAYLOAD });
        if (n % 50 === 49) await quick.take(n + 1);
      }
      await quick.take(to);
    },
    async [Symbol.asyncDispose]() {
      await slowSession.close();
      await cutter[Symbol.asyncDispose]();
    },
  };
}

test("SLOW-1: a slow consumer loses the oldest, is told how many, and harms nobody", async () => {
  await using rig = await startRig();
  await using the = await stalled(rig, { limitBytes: LIMIT_BYTES });
  await the.raise(2000);
  expect(the.quick.all).toEqual(Array.from({ length: 2000 }, (_, n) => n));
  the.cutter.flow();
  await expect.poll(() => the.seen.at(-1)?.n).toBe(1999);
  expect(the.slow.stats.dropped).toBeGreaterThan(500);
  expect(the.slow.stats.missed).toBe(the.slow.stats.dropped);
  expect(the.seen.length + the.slow.stats.missed).toBe(2000);
  expect(the.seen.map(({ n }) => n)).toEqual(the.seen.map(({ n }) => n).toSorted((a, b) => a - b));
  // Told before the first event behind the gap.
  const at = the.order.findIndex(it => it.startsWith("missed"));
  const [before, behind] = [the.order[at - 1], the.order[at + 1]].map(it => Number(it?.split(" ")[1]));
  expect((behind as number) - (before as number) - 1).toBe(Number(the.order[at]?.split(" ")[1]));
  // It misses nothing more of what comes no faster than it takes it.
  const { missed } = the.slow.stats;
  for (let n = 2000; n < 2020; n++) {
    await the.raise(n + 1);
    await expect.poll(() => the.seen.at(-1)?.n).toBe(n);
  }
  expect(the.slow.stats.missed).toBe(missed);
});

test("DEL-4, DEL-9: who goes on where a consumer was that had an urgent event gets what that had passed", async () => {
  await using rig = await startRig();
  await using cutter = await startCutter(rig.gateway.address);
  await using session = connect(cutter.address, { backoff: { firstMs: 20, mostMs: 100 } });
  const [events, urgent] = [300, 1000];
  const queue = { limitBytes: 64 << 20 };
  const seen: number[] = [];
  const left = Promise.withResolvers<EventPlace | undefined>();
  const first = await session.channel("a", Block).subscribe(
    ({ n }) => {
      seen.push(n);
      if (n !== urgent) return;
      left.resolve(first.place);
      void first.close();
    },
    { queue },
  );
  const quick = await numbersOf(rig, "a", Block);
  const history = { events: 2 * events };
  const producer = await rig.session().channel("a", Block).produce({ history });
  await expect.poll(() => producer.demand.total).toBeGreaterThan(1);
  cutter.stall();
  for (let n = 1; n <= events; n++) {
    producer.publish({ n, key: 0, payload: PAYLOAD });
    if (n % 50 === 0) await quick.take(n);
  }
  producer.publishUrgent({ n: urgent, key: 0, payload: PAYLOAD.subarray(1) });
  // Nobody is left to say how many there were.
  await producer.close();
  cutter.flow();
  const from = await left.promise;
  expect(seen.length).toBeLessThan(events);
  const second = await session
    .channel("a", Block)
    .subscribe(({ n }) => void seen.push(n), { queue, ...(from && { from }) });
  await expect.poll(() => seen.length).toBeGreaterThan(events);
  expect(seen.toSorted((a, b) => a - b)).toEqual([
    ...Array.from({ length: events }, (_, i) => i + 1),
    urgent,
  ]);
  expect(second.stats.missed).toBe(0);
});

test.each<[string, QueueOptions["whenFull"], Modulator | undefined]>([
  ["the channel itself", "drop-oldest", undefined],
  ["the channel itself", "latest", undefined],
  ["what a modulator lets through", "drop-oldest", { source: ALL }],
  ["what a modulator lets through", "latest", { source: ALL }],
])(
  "SLOW-1, DEL-4: of %s a slow consumer (%s) is told what was dropped of a producer that raises nothing more",
  async (_, whenFull, modulator) => {
    await using rig = await startRig();
    await using cutter = await startCutter(rig.gateway.address);
    await using session = connect(cutter.address);
    let seen = 0;
    const slow = await session.channel("a", Block).subscribe(() => void seen++, {
      queue: { limitBytes: LIMIT_BYTES, ...(whenFull && { whenFull }) },
      ...(modulator && { modulator }),
    });
    const quick = await numbersOf(rig, "a", Block);
    const producers = await Promise.all([1, 2].map(() => rig.session().channel("a", Block).produce()));
    for (const producer of producers) await expect.poll(() => producer.demand.total).toBe(2);
    cutter.stall();
    // When the second one raises its events, the last ones of the first one wait, and are the oldest.
    let raised = 0;
    for (const producer of producers)
      for (let i = 0; i < 1000; i++) {
        producer.publish({ n: ++raised, key: 0, payload: PAYLOAD });
        if (i % 50 === 49) await quick.take(raised);
      }
    cutter.flow();
    await expect.poll(() => seen + slow.stats.missed).toBe(raised);
    expect(slow.stats.dropped).toBeGreaterThan(1000);
  },
);

test("SLOW-1: with the policy latest the newest event of each value of the key waits", async () => {
  await using rig = await startRig();
  await using the = await stalled(rig, { whenFull: "latest", limitBytes: LIMIT_BYTES });
  await the.raise(2000);
  the.cutter.flow();
  await expect.poll(() => the.seen.at(-1)?.n).toBe(1999);
  expect(the.seen.slice(-4)).toEqual([1996, 1997, 1998, 1999].map(n => ({ n, key: n % 4 })));
  expect(the.seen.length + the.slow.stats.missed).toBe(2000);
});

test("SLOW-2: of consumers of one process the policy holds that keeps most", async () => {
  await using rig = await startRig();
  const queue = { limitBytes: 2 * LIMIT_BYTES } as const;
  await using the = await stalled(
    rig,
    { ...queue, whenFull: "latest" },
    { ...queue, whenFull: "drop-oldest" },
  );
  await the.raise(2000);
  the.cutter.flow();
  await expect.poll(() => the.seen.at(-1)?.n).toBe(1999);
  // More of the newest than one of each key.
  expect(the.seen.slice(-8).map(({ n }) => n)).toEqual(Array.from({ length: 8 }, (_, i) => 1992 + i));
  expect(the.seen.length + the.slow.stats.missed).toBe(2000);
});

test("SLOW-1: with the policy disconnect the consumer is cut off, comes back, and is told what it missed", async () => {
  await using rig = await startRig();
  await using the = await stalled(rig, { whenFull: "disconnect", limitBytes: LIMIT_BYTES });
  const states: string[] = [];
  the.slow.onStatus(({ state }) => states.push(state));
  await the.raise(2000);
  the.cutter.flow();
  await expect.poll(() => states).toContain("live");
  expect(states[0]).toBe("reconnecting");
  await the.raise(2100);
  await expect.poll(() => the.seen.at(-1)?.n).toBe(2099);
  expect(the.seen.length + the.slow.stats.missed).toBe(2100);
});

test("SLOW-1: with the policy block the producer's queue fills until the consumer reads again, and nothing is lost", async () => {
  await using rig = await startRig();
  const producing = rig.session({ queue: { bytes: 1 << 20 } });
  const producer = await producing.channel("a", Block).produce();
  let release = (): void => {};
  const released = new Promise<void>(resolve => {
    release = resolve;
  });
  const seen = new Inbox<number>();
  await rig
    .session()
    .channel("a", Block)
    .subscribe(
      async ({ n }) => {
        await released;
        seen.put(n);
      },
      { queue: { whenFull: "block", limitBytes: LIMIT_BYTES }, inboxEvents: 8 },
    );
  await expect.poll(() => producer.demand.total).toBe(1);
  const raised = await untilFull(n => producer.publish({ n, key: 0, payload: PAYLOAD }));
  expect(raised).toBeLessThan(3000);
  release();
  expect(await seen.take(raised)).toEqual(Array.from({ length: raised }, (_, n) => n));
  await producer.ready();
  producer.publish({ n: raised, key: 0, payload: PAYLOAD });
});

test("SLOW-1: a producer's session that closes leaves nothing behind for a consumer that has it wait and does not read", async () => {
  await using rig = await startRig();
  const producing = rig.session({ queue: { bytes: 1 << 20 } });
  const producer = await producing.channel("a", Block).produce();
  const quick = await numbersOf(rig, "a", Block);
  const released = Promise.withResolvers<void>();
  await rig
    .session()
    .channel("a", Block)
    .subscribe(() => released.promise, {
      queue: { whenFull: "block", limitBytes: LIMIT_BYTES },
      inboxEvents: 8,
    });
  await expect.poll(() => producer.demand.total).toBe(2);
  const raised = await untilFull(n => producer.publish({ n, key: 0, payload: PAYLOAD }));
  expect(producer.bufferedEvents).toBeGreaterThan(0);
  await producing.close();
  expect(await quick.take(raised)).toHaveLength(raised);
  released.resolve();
});

test("SLOW-1: with the policy block no producer is ready while consumers have it wait, and who waits for that leaves with its signal or with the producer", async () => {
  await using rig = await startRig();
  const producing = rig.session({ queue: { bytes: 1 << 20, whenFull: "block" } });
  const producer = await producing.channel("a", Block).produce();
  const other = await producing.channel("b", Block).produce();
  const gate = Promise.withResolvers<void>();
  const seen = new Inbox<number>();
  await rig
    .session()
    .channel("a", Block)
    .subscribe(
      async ({ n }) => {
        await gate.promise;
        seen.put(n);
      },
      { queue: { whenFull: "block", limitBytes: LIMIT_BYTES }, inboxEvents: 8 },
    );
  await expect.poll(() => producer.demand.total).toBe(1);
  await producer.ready();
  // More than finds room anywhere between the two.
  const events = 3000;
  const raised = Array.from({ length: events }, (_, n) =>
    producer.publishWhenReady({ n, key: 0, payload: PAYLOAD }),
  );
  expect(producer.isReady).toBe(false);
  const reason = new Error("enough");
  await expect(producer.ready({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  const controller = new AbortController();
  const aborted = producer.ready({ signal: controller.signal });
  controller.abort(reason);
  await expect(aborted).rejects.toBe(reason);
  // The queue is the session's.
  expect(other.isReady).toBe(false);
  const closed = other.ready();
  void other.close();
  await expect(closed).rejects.toMatchObject({ code: "CLOSED" });
  await expect(other.ready()).rejects.toMatchObject({ code: "CLOSED" });
  const ready = producer.ready();
  gate.resolve();
  await ready;
  expect(producer.isReady).toBe(true);
  await Promise.all(raised);
  expect(await seen.take(events)).toEqual(Array.from({ length: events }, (_, n) => n));
});

test("SLOW-3: a consumer whose handlers do not end hinders neither control messages nor another channel of its process", async () => {
  await using rig = await startRig();
  const producing = rig.session();
  const stuck = await producing.channel("stuck", Block).produce();
  const free = await producing.channel("free", Block).produce();
  const session = rig.session();
  let handled = 0;
  await session.channel("stuck", Block).subscribe(
    () => {
      handled++;
      return new Promise(() => {});
    },
    { inboxEvents: 8, queue: { limitBytes: LIMIT_BYTES } },
  );
  await expect.poll(() => stuck.demand.total).toBe(1);
  for (let n = 0; n < 1000; n++) {
    stuck.publish({ n, key: 0, payload: PAYLOAD });
    if (n % 20 === 19) await producing.flush();
  }
  const seen = new Inbox<number>();
  await session.channel("free", Block).subscribe(({ n }) => seen.put(n));
  await expect.poll(() => free.demand.total).toBe(1);
  for (let n = 0; n < 100; n++) free.publish({ n, key: 0, payload: PAYLOAD });
  expect(await seen.take(100)).toHaveLength(100);
  expect(handled).toBeLessThan(1000);
});

test("SLOW-1: of a process that does not keep up, what waits on one channel goes out in turns with what waits on another", async () => {
  await using rig = await startRig();
  await using the = await stalled(rig, {});
  the.cutter.flow();
  await the.slowSession.channel("b", Block).subscribe(({ n }) => void the.order.push(`other ${n}`));
  const session = rig.session();
  const second = await session.channel("b", Block).produce();
  await expect.poll(() => second.demand.total).toBe(1);
  the.cutter.stall();
  await the.raise(1500);
  second.publish({ n: 1, key: 0, payload: PAYLOAD });
  await session.flush();
  the.cutter.flow();
  await expect.poll(() => the.order).toContain("event 1499");
  // It was raised when megabytes of the first channel waited.
  expect(the.order.indexOf("event 1499")).toBeGreaterThan(the.order.indexOf("other 1"));
  expect(the.order).toContain("other 1");
});

test("SLOW-1: a process that does not keep up with many channels together has a queue for each, however little each of them sends", async () => {
  const names = Array.from({ length: 500 }, (_, i) => `many/${i}`);
  const each = 60;
  const payload = new Uint8Array(1024);
  await using rig = await startRig();
  await using cutter = await startCutter(rig.gateway.address);
  const slowSession = connect(cutter.address, { backoff: { firstMs: 20, mostMs: 100 } });
  let seen = 0;
  const slow = await Promise.all(
    names.map(name =>
      slowSession.channel(name).subscribe(() => seen++, { queue: { limitBytes: 4096 }, onMissed: () => {} }),
    ),
  );
  const producing = rig.session({ queue: { whenFull: "block" } });
  const producers = await Promise.all(names.map(name => producing.channel(name).produce()));
  await expect.poll(() => producers.every(({ demand }) => demand.total === 1)).toBe(true);
  cutter.stall();
  for (let i = 0; i < each; i++) for (const producer of producers) await producer.publishWhenReady(payload);
  await producing.flush();
  cutter.flow();
  const missed = (): number => slow.reduce((sum, { stats }) => sum + stats.missed, 0);
  await expect.poll(() => seen + missed()).toBe(names.length * each);
  expect(missed()).toBeGreaterThan(0);
  expect(slow.reduce((sum, { stats }) => sum + stats.dropped, 0)).toBe(missed());
  await slowSession.close();
});

test("SLOW-1: what waits for one process has a bound over all of its channels, and of each the newest stays", async () => {
  const names = Array.from({ length: 50 }, (_, i) => `many/${i}`);
  const each = 30;
  await using rig = await startRig({ connectionQueueBytes: 4 * PAYLOAD.byteLength });
  await using cutter = await startCutter(rig.gateway.address);
  const slowSession = connect(cutter.address, { backoff: { firstMs: 20, mostMs: 100 } });
  const newest = new Map<string, number>();
  const slow = await Promise.all(
    names.map(name =>
      slowSession.channel(name, Block).subscribe(({ n }) => newest.set(name, n), { onMissed: () => {} }),
    ),
  );
  const producing = rig.session({ queue: { whenFull: "block" } });
  const producers = await Promise.all(names.map(name => producing.channel(name, Block).produce()));
  await expect.poll(() => producers.every(({ demand }) => demand.total === 1)).toBe(true);
  cutter.stall();
  for (let n = 0; n < each; n++)
    for (const producer of producers) await producer.publishWhenReady({ n, key: 0, payload: PAYLOAD });
  await producing.flush();
  cutter.flow();
  await expect.poll(() => names.every(name => newest.get(name) === each - 1)).toBe(true);
  // Each channel by itself could have kept all.
  const dropped = slow.reduce((sum, { stats }) => sum + stats.dropped, 0);
  expect(dropped).toBeGreaterThan((names.length * each) / 2);
  await slowSession.close();
});

test("SLOW-3: with the policy block, a consumer for which too much waits holds its own producers, and another channel of its process goes on", async () => {
  await using rig = await startRig({ connectionQueueBytes: 4 * PAYLOAD.byteLength });
  const producing = rig.session({ queue: { whenFull: "block" } });
  const stuck = await producing.channel("stuck", Block).produce();
  const other = rig.session({ queue: { whenFull: "block" } });
  const free = await other.channel("free", Block).produce();
  const session = rig.session();
  const queue = { whenFull: "block" } as const;
  const never = new Promise<void>(() => {});
  const stuckConsumer = await session
    .channel("stuck", Block)
    .subscribe(() => never, { inboxEvents: 8, queue });
  const seen = new Inbox<number>();
  // Each time that it is full a few events wait for it.
  await session.channel("free", Block).subscribe(
    async ({ n }) => {
      await null;
      seen.put(n);
    },
    { inboxEvents: 1, queue },
  );
  await expect.poll(() => [stuck, free].every(({ demand }) => demand.total === 1)).toBe(true);
  const payload = PAYLOAD;
  let raised = 0;
  const flood = async (): Promise<void> => {
    for (; raised < 3000; raised++) await stuck.publishWhenReady({ n: raised, key: 0, payload });
  };
  const flooding = flood();
  for (let n = 0; n < 500; n++) await free.publishWhenReady({ n, key: 0, payload });
  expect(await seen.take(500)).toEqual(Array.from({ length: 500 }, (_, n) => n));
  // The other's producer waits.
  expect(raised).toBeLessThan(3000);
  await stuckConsumer.close();
  await flooding;
});

describe.each(PLACES)("modulators at the %s", at => {
  test("SLOW-1: what a slow process drops of what a modulator takes or makes is told as dropped", async () => {
    await using rig = await rigAt(at);
    await using cutter = await startCutter(rig.gateway.address);
    const slowSession = connect(cutter.address, { backoff: { firstMs: 20, mostMs: 100 } });
    const seen: number[] = [];
    const slow = await slowSession.channel("a", Block).subscribe(({ n }) => void seen.push(n), {
      modulator: EVEN,
      queue: { limitBytes: LIMIT_BYTES },
    });
    const quick = await numbersOf(rig, "a", Block, { modulator: EVEN });
    const producer = await rig.session(rig.producing).channel("a", Block).produce();
    await expect.poll(() => producer.demand.total).toBe(at === "gateway" ? 1 : 2);
    await expect.poll(() => slow.placements.map(placement => placement.at)).toEqual([at]);
    cutter.stall();
    for (let n = 0; n < 3000; n++) {
      producer.publish({ n, key: 0, payload: PAYLOAD });
      if (n % 50 === 49) await quick.take((n + 1) / 2);
    }
    cutter.flow();
    await expect.poll(() => seen.at(-1)).toBe(2998);
    const { missed, dropped } = slow.stats;
    expect(dropped).toBeGreaterThan(200);
    expect(dropped).toBe(missed);
    await slowSession.close();
  });
});

test("SLOW-1: a consumer that says during its past that it takes no more is sent nothing live until it does", async () => {
  await using rig = await startRig();
  const [producing, consuming] = [rig.session(), rig.session()];
  const producer = await producing.channel("a", Tick).produce({ history: { events: 100 } });
  for (let n = 1; n <= 10; n++) {
    producer.publish({ n, note: "" });
    await producing.flush();
    await whenLater(20);
  }
  const held = Promise.withResolvers<void>();
  const seen = new Inbox<number>();
  const handler = async ({ n }: { n: number }) => {
    seen.put(n);
    await held.promise;
  };
  const consumer = await consuming
    .channel("a", Tick)
    .subscribe(handler, { from: 1, speed: 1, inboxEvents: 1 });
  await seen.take(10);
  await expect.poll(() => consumer.status.replaying).not.toBe(true);
  // The gateway has heard by its answer that the consumer takes no more for now.
  await consuming.overview();
  for (let n = 11; n <= 20; n++) producer.publish({ n, note: "" });
  await producing.flush();
  await consuming.overview();
  expect(seen.all).toHaveLength(10);
  held.resolve();
  await seen.take(20);
});
