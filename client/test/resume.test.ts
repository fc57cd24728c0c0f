import { connect, type EventPlace, fifo, JechoError, type Missed, type Session, type } from "@jecho/client";
import { type Cutter, startCutter } from "@jecho/e2e/cutter";
import { createGateway } from "@jecho/server";
import { expect, inject, test } from "vitest";
import { EVEN, Inbox, numbersOf, PATIENT, startRig, Tick, whenState } from "./rig.ts";

const QUICK = { backoff: { firstMs: 10, mostMs: 50 } };
const Count = type("Count", { n: "uint32" });
/** A session through a way that can be cut. */
async function throughCutter(
  address: string,
): Promise<{ session: Session } & Omit<Cutter, "address"> & AsyncDisposable> {
  const cutter = await startCutter(address);
  const session = connect(cutter.address, { ...QUICK, place: inject("place"), modulators: PATIENT });
  return {
    ...cutter,
    session,
    async [Symbol.asyncDispose]() {
      await session.close();
      await cutter[Symbol.asyncDispose]();
    },
  };
}

test("DEL-3: what was under way when the producer's connection broke comes, once and in order", async () => {
  await using rig = await startRig();
  await using way = await throughCutter(rig.gateway.address);
  const inbox = new Inbox<number>();
  const missed: Missed[] = [];
  const consumer = await rig
    .session()
    .channel("a", Count)
    .subscribe(({ n }) => inbox.put(n), { onMissed: it => missed.push(it) });
  const producer = await way.session.channel("a", Count).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  for (let n = 0; n < 2000; n++) {
    producer.publish({ n });
    if (n % 400 === 399) {
      const again = whenState(way.session, "reconnecting").then(() => whenState(way.session, "live"));
      way.cut();
      await again;
    }
  }
  expect(await inbox.take(2000)).toEqual(Array.from({ length: 2000 }, (_, n) => n));
  expect(missed).toEqual([]);
  expect(consumer.stats.missed).toBe(0);
});

test("DEL-3: flush waits for what a broken connection may have swallowed", async () => {
  await using rig = await startRig();
  await using way = await throughCutter(rig.gateway.address);
  const inbox = await numbersOf(rig, "a", Count);
  const producer = await way.session.channel("a", Count).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  // The gateway's confirmation does not come through.
  way.stall();
  for (let n = 0; n < 5; n++) producer.publish({ n });
  await inbox.take(5);
  const order: string[] = [];
  const before = way.session.flush().then(() => order.push("flushed before"));
  const broken = whenState(way.session, "reconnecting");
  way.part();
  await broken;
  way.session.onStatus(({ state }) => order.push(state));
  const after = way.session.flush().then(() => order.push("flushed after"));
  way.flow();
  way.join();
  await Promise.all([before, after]);
  expect(order).toEqual(["live", "flushed before", "flushed after"]);
  expect(inbox.all).toEqual([0, 1, 2, 3, 4]);
});

test("DEL-5: a consumer whose connection broke goes on where it was, out of the channel's history", async () => {
  await using rig = await startRig();
  await using way = await throughCutter(rig.gateway.address);
  const producer = await rig
    .session()
    .channel("a", Count)
    .produce({ history: { events: 10_000 } });
  const inbox = new Inbox<number>();
  const consumer = await way.session.channel("a", Count).subscribe(({ n }) => inbox.put(n));
  await expect.poll(() => producer.demand.total).toBe(2);
  let n = 0;
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 200; i++) producer.publish({ n: n++ });
    const again = whenState(consumer, "reconnecting").then(() => whenState(consumer, "live"));
    way.cut();
    for (let i = 0; i < 200; i++) producer.publish({ n: n++ });
    await again;
    expect(consumer.status.recovered).toBe(true);
  }
  expect(await inbox.take(n)).toEqual(Array.from({ length: n }, (_, i) => i));
  expect(consumer.stats.missed).toBe(0);
});

test("DEL-6: without history a consumer is told how many it missed", async () => {
  await using rig = await startRig({ resumeWindowMs: 0 });
  await using way = await throughCutter(rig.gateway.address);
  const producing = rig.session();
  const producer = await producing.channel("a", Count).produce();
  const seen: number[] = [];
  const consumer = await way.session.channel("a", Count).subscribe(({ n }) => void seen.push(n));
  const other = await numbersOf(rig, "a", Count);
  await expect.poll(() => producer.demand.total).toBe(2);
  for (let n = 0; n < 100; n++) producer.publish({ n });
  await expect.poll(() => seen.length).toBe(100);
  way.part();
  await expect.poll(() => producer.demand.total).toBe(1);
  for (let n = 100; n < 150; n++) producer.publish({ n });
  await other.take(150);
  way.join();
  await expect.poll(() => consumer.status.state).toBe("live");
  expect(consumer.status).toMatchObject({ recovered: false, missing: 50 });
  for (let n = 150; n < 200; n++) producer.publish({ n });
  await expect.poll(() => seen.at(-1)).toBe(199);
  expect(seen).toHaveLength(150);
  expect(consumer.stats.missed).toBe(50);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
});

test("DEL-7: a derived channel goes on over a broken connection with the modulator and its state as they were", async () => {
  await using rig = await startRig();
  await using way = await throughCutter(rig.gateway.address);
  const source = `import { FifoModulator } from "jecho:moe";
    export default class extends FifoModulator {
      seen = 0;
      enqueue(event) { if (++this.seen % 2 === 0) super.enqueue(event); }
    }`;
  const inbox = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Count)
    .subscribe(({ n }) => inbox.put(n), { modulator: { source } });
  const producer = await way.session.channel("a", Count).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  for (let n = 0; n < 600; n++) {
    producer.publish({ n });
    if (n % 101 === 100) {
      const again = whenState(way.session, "reconnecting").then(() => whenState(way.session, "live"));
      way.cut();
      await again;
    }
  }
  // Had it begun anew after an odd number of events, even numbers would come.
  expect(await inbox.take(300)).toEqual(Array.from({ length: 300 }, (_, i) => 2 * i + 1));
  expect(consumer.stats.missed).toBe(0);
});

test("DEL-7: what comes while a consumer is away is kept for it on a channel without history, too", async () => {
  await using rig = await startRig();
  await using way = await throughCutter(rig.gateway.address);
  const producing = rig.session();
  const producer = await producing.channel("a", Count).produce();
  const inbox = new Inbox<number>();
  const consumer = await way.session.channel("a", Count).subscribe(({ n }) => inbox.put(n));
  await expect.poll(() => producer.demand.total).toBe(1);
  for (let n = 0; n < 100; n++) producer.publish({ n });
  await inbox.take(100);
  const away = whenState(consumer, "reconnecting");
  way.part();
  await away;
  for (let n = 100; n < 200; n++) producer.publish({ n });
  await producing.flush();
  way.join();
  await expect.poll(() => consumer.status.state).toBe("live");
  expect(consumer.status.recovered).toBe(true);
  for (let n = 200; n < 300; n++) producer.publish({ n });
  expect(await inbox.take(300)).toEqual(Array.from({ length: 300 }, (_, n) => n));
  expect(consumer.stats.missed).toBe(0);
});

test.each([
  ["plain", undefined],
  ["modulated", EVEN],
])(
  "DEL-7: what was sent into a connection that was broken without a word comes again, without history, too (%s)",
  async (_, modulator) => {
    await using rig = await startRig({ heartbeatMs: 1000 });
    await using way = await throughCutter(rig.gateway.address);
    const producer = await rig.session().channel("a", Count).produce();
    const inbox = new Inbox<number>();
    const consumer = await way.session
      .channel("a", Count)
      .subscribe(({ n }) => inbox.put(n), modulator && { modulator });
    await expect.poll(() => producer.demand.total).toBe(1);
    producer.publish({ n: 0 });
    await inbox.take(1);
    const isNoticed = whenState(consumer, "reconnecting");
    way.stall();
    for (let n = 1; n < 50; n++) producer.publish({ n });
    await isNoticed;
    for (let n = 50; n < 100; n++) producer.publish({ n });
    way.flow();
    const step = modulator === undefined ? 1 : 2;
    const all = Array.from({ length: 100 / step }, (_, i) => i * step);
    expect(await inbox.take(all.length)).toEqual(all);
    await whenState(consumer, "live");
    expect(consumer.status).toMatchObject({ recovered: true, missing: 0 });
    expect(consumer.stats.missed).toBe(0);
  },
);

test("HIST-1: what is kept for those who come back is no history: a new consumer begins with what comes", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Count).produce();
  const first = await numbersOf(rig, "a", Count);
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ n: 1 });
  await first.take(1);
  const second = await numbersOf(rig, "a", Count, { from: 1 });
  const third = await numbersOf(rig, "a", Count, { from: "last" });
  await producer.publishSync({ n: 2 });
  expect([await second.take(1), await third.take(1)]).toEqual([[2], [2]]);
});

test("DEL-3, DEL-6: a gateway that is started again gets what the producer was not told to be taken", async () => {
  const first = await createGateway();
  const { port } = first;
  const producing = connect(first.address, { ...QUICK, name: "producing" });
  const consuming = connect(first.address, { ...QUICK, name: "consuming" });
  const inbox = new Inbox<number>();
  const consumer = await consuming.channel("a", Count).subscribe(({ n }) => inbox.put(n));
  const derived = new Inbox<number>();
  await consuming.channel("a", Count).subscribe(({ n }) => derived.put(n), fifo());
  const producer = await producing.channel("a", Count).produce();
  await expect.poll(() => producer.demand.total).toBe(2);
  for (let n = 0; n < 500; n++) producer.publish({ n });
  await inbox.take(500);
  await derived.take(500);
  await first.close();
  for (let n = 500; n < 1000; n++) producer.publish({ n });
  await using _second = await createGateway({ port });
  expect(await inbox.take(1000)).toEqual(Array.from({ length: 1000 }, (_, n) => n));
  expect(await derived.take(1000)).toEqual(Array.from({ length: 1000 }, (_, n) => n));
  expect(consumer.stats.missed).toBe(0);
  // The second gateway cannot know whether something is missing, and does not say that it were.
  expect(Object.keys(consumer.status).toSorted()).toEqual(["since", "state"]);
  await Promise.all([producing.close(), consuming.close()]);
});

test("DEL-4: consumers of one channel in one process each have every event once", async () => {
  await using rig = await startRig();
  await using way = await throughCutter(rig.gateway.address);
  const producer = await rig
    .session()
    .channel("a", Tick)
    .produce({ history: { events: 1000 } });
  const inboxes = [new Inbox<number>(), new Inbox<number>()];
  for (const inbox of inboxes) await way.session.channel("a", Tick).subscribe(({ n }) => inbox.put(n));
  for (let n = 0; n < 300; n++) producer.publish({ n, note: "" });
  const again = whenState(way.session, "reconnecting").then(() => whenState(way.session, "live"));
  way.cut();
  await again;
  for (let n = 300; n < 600; n++) producer.publish({ n, note: "" });
  for (const inbox of inboxes)
    expect(await inbox.take(600)).toEqual(Array.from({ length: 600 }, (_, n) => n));
});

test("TYPE-5: a producer that is refused when it comes back says why at its next event", async () => {
  await using rig = await startRig();
  await using way = await throughCutter(rig.gateway.address);
  const producer = await way.session.channel("a").produce();
  way.part();
  await expect.poll(() => rig.gateway.stats().channels).toBe(0);
  await rig.session().channel("a", Tick).produce();
  way.join();
  const publish = (): string => {
    try {
      producer.publish(new Uint8Array(8));
      return "";
    } catch (error) {
      return JechoError.from(error).code;
    }
  };
  await expect.poll(publish).toBe("TYPE_MISMATCH");
  await expect(producer.publishSync(new Uint8Array(8))).rejects.toMatchObject({ code: "TYPE_MISMATCH" });
});

test("WIRE-5: a bit that flips on the way costs a connection, and neither an event nor the session", async () => {
  await using rig = await startRig();
  await using way = await startCutter(rig.gateway.address);
  await using session = connect(way.address, {
    backoff: { firstMs: 10, mostMs: 50 },
    place: inject("place"),
  });
  const producer = await rig
    .session()
    .channel("a", Tick)
    .produce({ history: { events: 1000 } });
  const inbox = new Inbox<number>();
  const consumer = await session.channel("a", Tick).subscribe(({ n }) => inbox.put(n));
  for (let n = 0; n < 3; n++) {
    const again = whenState(session, "reconnecting").then(() => whenState(session, "live"));
    way.garble();
    producer.publish({ n, note: "" });
    await again;
    expect(await inbox.take(n + 1)).toEqual(Array.from({ length: n + 1 }, (_, i) => i));
  }
  expect(consumer.stats.missed).toBe(0);
  // What is not sound again and again is no gateway.
  const refused = whenState(session, "refused");
  way.garble();
  const again = setInterval(() => way.garble(), 1);
  producer.publish({ n: 3, note: "" });
  await refused;
  clearInterval(again);
  expect(session.status.error?.code).toBe("FRAME_MALFORMED");
});

for (const [who, modulator] of [
  ["a plain consumer", undefined],
  ["a consumer with a modulator", EVEN],
] as const)
  test(`DEL-5: the place of ${who} that went on at a place still has the sources that had ended there`, async () => {
    await using rig = await startRig();
    const name = "a";
    const first = new Inbox<number>();
    const options = modulator === undefined ? {} : { modulator };
    const before = await rig
      .session()
      .channel(name, Count)
      .subscribe(({ n }) => first.put(n), options);
    const producing = rig.session();
    const history = { events: 1000 };
    const ending = await producing.channel(name, Count).produce({ history });
    await ending.ready;
    for (let n = 0; n <= 8; n += 2) ending.publish({ n });
    expect(await first.take(5)).toEqual([0, 2, 4, 6, 8]);
    await ending.close();

    const second = new Inbox<number>();
    const between = await rig
      .session()
      .channel(name, Count)
      .subscribe(({ n }) => second.put(n), { ...options, from: before.place as EventPlace });
    const going = await producing.channel(name, Count).produce({ history });
    going.publish({ n: 10 });
    expect(await second.take(1)).toEqual([10]);

    // The numbering is unknown as where a file was damaged: all that is kept is sent.
    const place = { ...(between.place as EventPlace), epoch: 1 };
    const third = new Inbox<number>();
    await rig
      .session()
      .channel(name, Count)
      .subscribe(({ n }) => third.put(n), { ...options, from: place });
    going.publish({ n: 12 });
    expect(await third.take(1)).toEqual([12]);
  });

for (const [what, changed] of [
  ["another modulator", { modulator: { source: `${EVEN.source} ` } }],
  ["none any more", {}],
] as const)
  test(`DEL-5: the place of a consumer that has ${what} still has the sources that had ended by then`, async () => {
    await using rig = await startRig();
    const first = new Inbox<number>();
    const consumer = await rig
      .session()
      .channel("a", Count)
      .subscribe(({ n }) => first.put(n), { modulator: EVEN });
    const producing = rig.session();
    const history = { events: 1000 };
    const ending = await producing.channel("a", Count).produce({ history });
    await ending.ready;
    for (let n = 0; n < 5; n++) ending.publish({ n });
    expect(await first.take(3)).toEqual([0, 2, 4]);
    await ending.close();
    await consumer.reset(changed);

    const going = await producing.channel("a", Count).produce({ history });
    going.publish({ n: 10 });
    expect(await first.take(4)).toEqual([0, 2, 4, 10]);
    const second = new Inbox<number>();
    await rig
      .session()
      .channel("a", Count)
      .subscribe(({ n }) => second.put(n), {
        ...changed,
        from: { ...(consumer.place as EventPlace), epoch: 1 },
      });
    going.publish({ n: 12 });
    expect(await second.take(1)).toEqual([12]);
  });
