import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type EventPlace, type SubscribeOptions } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { createGateway } from "@jecho/server";
import { describe, expect, inject, test } from "vitest";

import { numbered, PLACES, rigAt } from "./placement-rig.ts";
import { EVEN, Inbox, numbersOf, PATIENT, type Rig, startRig, Tick, whenLater, whenState } from "./rig.ts";

const QUICK = { backoff: { firstMs: 20, mostMs: 100 }, place: inject("place") };

const evens = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i).filter(n => n % 2 === 0);

type Producing = Awaited<ReturnType<typeof producing>>;

/** A producer, in a session of its own, of a channel that keeps all. */
async function producing(rig: Rig, options = {}, history = { events: 100_000 }) {
  const session = rig.session(options);
  const producer = await session.channel("a", Tick).produce({ history });
  return {
    session,
    raise: async (from: number, to: number) => {
      for (let n = from; n <= to; n++) producer.publish({ n, note: "" });
      await session.flush();
    },
  };
}

/** A consumer of even events, of its past and of what comes. */
async function reading(rig: Rig, options: SubscribeOptions, channel = "a") {
  const seen = new Inbox<number>();
  const restarts: string[] = [];
  const missed: number[] = [];
  const consumer = await rig
    .session()
    .channel(channel, Tick)
    .subscribe(({ n }) => seen.put(n), {
      modulator: EVEN,
      onMissed: ({ events }) => missed.push(events),
      ...options,
    });
  consumer.onRestart(({ code }) => restarts.push(code));
  return { seen, consumer, missed, restarts };
}

/** Raises events from this one on without a pause. @returns a function that ends that, which resolves with the number of the last event */
function goesOnFrom(first: number, raise: (from: number, to: number) => Promise<void>) {
  let [n, goesOn] = [first, true];
  const raising = (async () => {
    for (; goesOn; n += 10) await raise(n, n + 9);
  })();
  return async (): Promise<number> => {
    goesOn = false;
    await raising;
    await raise(n, n + 9);
    return n + 9;
  };
}

describe.each(PLACES)("modulators at the %s", at => {
  test.each([
    ["a number", 1],
    ["a time", new Date(0)],
  ])(
    "HIST-7: with %s in the past, the past is modulated, and then comes what is live, once each",
    async (_, from) => {
      await using rig = await rigAt(at);
      const { raise } = await producing(rig, rig.producing);
      await raise(0, 100);
      const { seen, consumer, missed } = await reading(rig, { from });
      expect(consumer.status).toMatchObject({ state: "live", recovered: true, missing: 0 });
      expect(await seen.take(51)).toEqual(evens(0, 100));
      await expect.poll(() => consumer.status.replaying).toBe(false);
      await raise(101, 200);
      expect(await seen.take(101)).toEqual(evens(0, 200));
      expect({ missed, stats: consumer.stats.missed }).toEqual({ missed: [], stats: 0 });
    },
  );

  test("HIST-7: nothing is lost or doubled while a producer goes on, and another one has gone", async () => {
    await using rig = await rigAt(at);
    const gone = await producing(rig, rig.producing);
    await gone.raise(100_001, 100_101);
    await gone.session.close();
    const { raise } = await producing(rig, rig.producing);
    await raise(1, 1001);
    // The derived channel is there, and has made something.
    const other = await reading(rig, {});
    await raise(1002, 1101);
    await other.seen.take(50);
    const end = goesOnFrom(1102, raise);
    const { seen, consumer, missed, restarts } = await reading(rig, { from: 1 });
    await expect.poll(() => consumer.status.replaying).toBe(false);
    const last = await end();
    const [before, all] = [evens(100_001, 100_101), evens(1, last)];
    await seen.take(before.length + all.length);
    expect(seen.all.filter(n => n > 100_000)).toEqual(before);
    expect(seen.all.filter(n => n < 100_000)).toEqual(all);
    expect({ missed, stats: consumer.stats.missed }).toEqual({ missed: [], stats: 0 });
    await expect.poll(() => restarts).toEqual(["MODULATOR_RESTARTED"]);
  });

  test("HIST-7, DEL-3: a connection that breaks while the past is made loses nothing of what comes meanwhile", async () => {
    await using rig = await rigAt(at);
    await using way = await startCutter(rig.gateway.address);
    const { raise } = await producing(rig, rig.producing);
    for (let n = 1; n < 20_000; n += 500) await raise(n, n + 499);
    // The derived channel is there, and accounts for the newest events.
    const other = await reading(rig, {});
    await raise(20_001, 20_100);
    await other.seen.take(50);
    const end = goesOnFrom(20_101, raise);
    await using session = connect(way.address, QUICK);
    const seen: number[] = [];
    let breaks = 0;
    const consumer = await session.channel("a", Tick).subscribe(
      ({ n }) => {
        seen.push(n);
        if (seen.length !== 1000 && seen.length !== 5000) return;
        breaks++;
        way.cut();
      },
      { modulator: EVEN, from: 1 },
    );
    await expect.poll(() => breaks).toBe(2);
    await whenState(consumer, "live");
    await expect.poll(() => consumer.status.replaying).toBe(false);
    const last = await end();
    await expect.poll(() => seen.length + consumer.stats.missed).toBe(last / 2);
    expect(seen).toEqual(evens(1, last));
  });
});

test("HIST-7: yesterday's run is modulated without any producer", async () => {
  await using rig = await startRig();
  const { raise, session } = await producing(rig);
  // A history in memory lasts as long as its channel.
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {});
  await raise(0, 100);
  await session.close();
  const { seen, consumer } = await reading(rig, { from: 1 });
  expect(await seen.take(51)).toEqual(evens(0, 100));
  await expect.poll(() => consumer.status).toMatchObject({ recovered: true, missing: 0, replaying: false });
});

test("HIST-7: what is kept no longer is told, and what is kept is modulated", async () => {
  await using rig = await startRig();
  const { raise } = await producing(rig, {}, { events: 100 });
  for (let n = 0; n < 1000; n += 10) await raise(n, n + 9);
  const { seen, consumer } = await reading(rig, { from: 1 });
  const { missing = 0 } = consumer.status;
  expect(consumer.status).toMatchObject({ recovered: false });
  expect(missing).toBeGreaterThanOrEqual(890);
  expect(missing).toBeLessThanOrEqual(900);
  const kept = evens(missing, 999);
  expect(await seen.take(kept.length)).toEqual(kept);
});

test("HIST-7: a channel without a history begins with what comes, and says so", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const live = await numbersOf(rig, "a", Tick);
  producer.publish({ n: 1, note: "" });
  await live.take(1);
  const { seen, consumer } = await reading(rig, { from: new Date(0) });
  expect(consumer.status).toMatchObject({ state: "live", recovered: false });
  producer.publish({ n: 2, note: "" });
  expect(await seen.take(1)).toEqual([2]);
});

test("HIST-2, HIST-7: a number is the channel's own, and one that has not come is refused", async () => {
  await using rig = await startRig();
  const { raise } = await producing(rig);
  await raise(0, 100);
  await expect(reading(rig, { from: 103 })).rejects.toMatchObject({ code: "HISTORY_EXCEEDED" });
  const { seen } = await reading(rig, { from: 91 });
  expect(await seen.take(6)).toEqual(evens(90, 100));
});

test("HIST-7: a place of a consumer without a modulator is behind that consumer's newest event", async () => {
  await using rig = await startRig();
  const { raise } = await producing(rig);
  await raise(0, 9);
  const plain = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => plain.put(n), { from: 1 });
  await plain.take(10);
  const { place } = consumer;
  await raise(10, 19);
  const { seen } = await reading(rig, { from: place! });
  expect(await seen.take(5)).toEqual(evens(10, 19));
});

test("HIST-7: of a gateway that was started again, too, each event of the past comes once", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-past-"));
  const historyFile = join(folder, "history.sqlite");
  let gateway = await createGateway({ historyFile });
  try {
    await using producing = connect(gateway.address, { ...QUICK, modulators: { most: 0 } });
    await using session = connect(gateway.address, QUICK);
    const producer = await producing.channel("a", Tick).produce({ history: { events: 100_000 } });
    const raise = async (from: number, to: number): Promise<void> => {
      for (let n = from; n <= to; n++) {
        producer.publish({ n, note: "" });
        producer.publishUrgent({ n: 1_000_000 + n, note: "" });
      }
      await producing.flush();
    };
    const first = new Inbox<number>();
    const consumer = await session.channel("a", Tick).subscribe(({ n }) => first.put(n), { modulator: EVEN });
    await raise(0, 99);
    await first.take(100);
    const { host, port } = gateway;
    const broken = whenState(consumer, "reconnecting");
    await gateway.close();
    await broken;
    gateway = await createGateway({ host, port, historyFile });
    await raise(100, 199);
    await first.take(200);
    await using reader = connect(gateway.address, { ...QUICK, name: "reader" });
    const seen = new Inbox<number>();
    const back = await reader
      .channel("a", Tick)
      .subscribe(({ n }) => seen.put(n), { from: 1, modulator: EVEN });
    await raise(200, 299);
    await seen.take(300);
    expect(seen.all.filter(n => n < 1_000_000)).toEqual(evens(0, 299));
    expect(seen.all.filter(n => n >= 1_000_000)).toEqual(evens(1_000_000, 1_000_299));
    expect(back.stats.missed).toBe(0);
  } finally {
    await gateway.close();
    await rm(folder, { recursive: true });
  }
});

test("HIST-4, HIST-7: with a speed the past comes in its rhythm, and what is live waits for it", async () => {
  await using rig = await startRig();
  const { raise } = await producing(rig);
  for (let n = 0; n < 10; n += 2) {
    await raise(n, n);
    await whenLater(20);
  }
  const asked = performance.now();
  const { seen } = await reading(rig, { from: 1, speed: 0.25 });
  await raise(10, 10);
  expect(await seen.take(6)).toEqual(evens(0, 10));
  expect(performance.now() - asked).toBeGreaterThanOrEqual(4 * 4 * 20 - 1);
});

test("HIST-7: a producer's own process makes the past of its consumers, too", async () => {
  await using rig = await startRig();
  const { raise, session } = await producing(rig);
  await raise(0, 100);
  const seen = new Inbox<number>();
  const consumer = await session
    .channel("a", Tick)
    .subscribe(({ n }) => seen.put(n), { from: 1, modulator: EVEN });
  await raise(101, 200);
  expect(await seen.take(101)).toEqual(evens(0, 200));
  expect(consumer.stats.missed).toBe(0);
});

test("HIST-7: the past goes on where its connection broke", async () => {
  await using rig = await startRig();
  await using way = await startCutter(rig.gateway.address);
  const { raise }: Producing = await producing(rig);
  for (let n = 0; n < 100; n += 10) {
    await raise(n, n + 9);
    await whenLater(20);
  }
  await using session = connect(way.address, QUICK);
  const seen = new Inbox<number>();
  const consumer = await session
    .channel("a", Tick)
    .subscribe(({ n }) => seen.put(n), { from: 1, modulator: EVEN, speed: 0.5 });
  await seen.take(10);
  const lost = whenState(consumer, "reconnecting");
  way.cut();
  await lost;
  await raise(100, 200);
  expect(await seen.take(101)).toEqual(evens(0, 200));
  expect(consumer.stats.missed).toBe(0);
});

test("HIST-7: a connection that is gone for longer than output is kept begins the rest of its past anew", async () => {
  await using rig = await startRig({ resumeWindowMs: 50 });
  await using way = await startCutter(rig.gateway.address);
  const producing = rig.session();
  const producer = await producing.channel("a", Tick).produce({ history: { events: 1000 } });
  const raise = async (from: number, to: number): Promise<void> => {
    for (let n = from; n <= to; n++) producer.publish({ n, note: "" });
    await producing.flush();
  };
  for (let n = 1; n <= 10; n++) {
    await raise(n, n);
    await whenLater(100);
  }
  await using session = connect(way.address, { ...QUICK, name: "away", modulators: PATIENT });
  const seen = new Inbox<number>();
  const consumer = await session
    .channel("a", Tick)
    .subscribe(({ n }) => seen.put(n), { from: 1, modulator: EVEN, speed: 0.125 });
  await seen.take(1);
  // These wait for the past, which ends before them.
  await raise(11, 20);
  way.part();
  await whenState(consumer, "reconnecting");
  await expect.poll(() => producer.demand.derived).toEqual([]);
  await raise(21, 30);
  way.join();
  await whenState(consumer, "live");
  await raise(31, 40);
  expect(await seen.take(20)).toEqual(evens(1, 40));
  expect(consumer.stats.missed).toBe(0);
});

test("HIST-7: in the middle of a past a consumer's place is behind what was made of it, beside another consumer", async () => {
  await using rig = await rigAt("consumer");
  const { raise } = await producing(rig, rig.producing);
  for (let n = 0; n < 20; n += 2) {
    await raise(n, n + 1);
    await whenLater(20);
  }
  const session = rig.session();
  const beside = new Inbox<number>();
  await session.channel("a", Tick).subscribe(({ n }) => beside.put(n), { modulator: EVEN });
  const first = new Inbox<number>();
  const consumer = await session
    .channel("a", Tick)
    .subscribe(({ n }) => first.put(n), { modulator: EVEN, from: 1, speed: 0.125 });
  await raise(20, 29);
  await beside.take(5);
  await first.take(2);
  const { place } = consumer;
  await consumer.close();
  const had = first.all.length;
  const { seen, missed } = await reading(rig, { from: place as EventPlace });
  await raise(30, 40);
  expect([...first.all, ...(await seen.take(21 - had))]).toEqual(evens(0, 40));
  expect(missed).toEqual([]);
});

test("HIST-7: behind a named derived channel, the past is that of the channel", async () => {
  await using rig = await startRig();
  const { raise } = await producing(rig);
  await reading(rig, { as: "even" });
  await raise(0, 100);
  const FOURTH = { source: EVEN.source.replace("% 2", "% 4") };
  const { seen, consumer } = await reading(rig, { modulator: FOURTH, from: 1 }, "a#even");
  await raise(101, 200);
  expect(await seen.take(51)).toEqual(evens(0, 200).filter(n => n % 4 === 0));
  expect(consumer.stats.missed).toBe(0);
});

test("HIST-7: a modulator that needs what only producers offer has no past", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const producer = await session.channel("a", Tick).produce({
    history: { events: 100 },
    delegate: { context: { level: () => 1 } },
  });
  producer.publish({ n: 2, note: "" });
  await session.flush();
  const source = EVEN.source.replace(
    "class extends FifoModulator {",
    `class extends FifoModulator {
  static needs = ["context.level"];`,
  );
  const errors = new Inbox<string>();
  const { seen, consumer } = await reading(rig, {
    from: 1,
    modulator: { source },
    onError: ({ code }) => errors.put(code),
  });
  expect(consumer.status).toMatchObject({ recovered: false });
  expect(await errors.take(1)).toEqual(["SERVICE_MISSING"]);
  producer.publish({ n: 4, note: "" });
  expect(await seen.take(1)).toEqual([4]);
});

test("HIST-7: the past and what is live are two lives of a modulator's state", async () => {
  await using rig = await startRig();
  const { raise } = await producing(rig);
  await raise(0, 10);
  const notes = new Inbox<string>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n, note }) => notes.put(`${n}: ${note}`), { from: 1, modulator: numbered });
  await notes.take(6);
  await expect.poll(() => consumer.status.replaying).toBe(false);
  await raise(11, 14);
  expect((await notes.take(8)).slice(5)).toEqual(["10: 6", "12: 1", "14: 2"]);
});
