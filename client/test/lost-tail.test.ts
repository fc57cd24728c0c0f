import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { connect, type EventPlace, type Modulator, type Producer, type Session, type } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, inject, onTestFinished, test } from "vitest";
import { openHungProducer } from "./hung-producer.ts";
import { EVEN, Inbox, numbersOf, PATIENT, type Rig, startRig, Tick, whenState } from "./rig.ts";

const Count = type("Count", { n: "uint32" });
const QUICK = { place: inject("place"), backoff: { firstMs: 10, mostMs: 50 } };
/** So short that nobody sends for a consumer that is away. */
const WINDOW = { resumeWindowMs: 200 };

type Numbers = Producer<{ n: number }>;

/** A consumer without a modulator, or with one, and the step from one event that it sees to the next. */
const TAKERS = [
  ["plain", undefined, 1],
  ["modulated", EVEN, 2],
] as const;

/** A consumer of channel `a` through a way that can be cut. */
async function cuttable(rig: Rig, modulator?: Modulator) {
  const way = await startCutter(rig.gateway.address);
  const session = connect(way.address, QUICK);
  const seen = new Inbox<number>();
  const consumer = await session
    .channel("a", Count)
    .subscribe(({ n }) => seen.put(n), modulator && { modulator });
  return {
    consumer,
    seen,
    async part(): Promise<void> {
      way.part();
      await whenState(consumer, "reconnecting");
    },
    async join(): Promise<void> {
      way.join();
      await whenState(consumer, "live");
    },
    async [Symbol.asyncDispose]() {
      await session.close();
      await way[Symbol.asyncDispose]();
    },
  };
}

async function raise(producer: Numbers, session: Session, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n++) producer.publish({ n });
  await session.flush();
}

/** What becomes of a producer that has raised its last event while its consumer was away. */
const ENDS: readonly [string, (producer: Numbers, session: Session) => unknown][] = [
  ["is silent", () => {}],
  ["closes", producer => producer.close()],
  ["leaves with its session", (_, session) => session.close()],
];

test.each(
  ENDS.flatMap(([how, end]) => TAKERS.map(([kind, ...taker]) => [how, kind, end, ...taker] as const)),
)(
  "DEL-12: what a consumer missed of a producer that %s is told though nothing else comes (%s)",
  async (_, __, end, modulator, step) => {
    await using rig = await startRig(WINDOW);
    await using the = await cuttable(rig, modulator);
    const producing = rig.session();
    const producer = await producing.channel("a", Count).produce();
    // A channel that nobody has open any more would be forgotten.
    await rig.session().channel("a", Count).produce();
    await expect.poll(() => producer.demand.total).toBe(1);
    await raise(producer, producing, 0, 10);
    await the.seen.take(10 / step);
    await the.part();
    await raise(producer, producing, 10, 30);
    // From then on nobody listens, and nothing is sent.
    await expect.poll(() => producer.demand.total).toBe(0);
    await raise(producer, producing, 30, 60);
    await end(producer, producing);
    await the.join();
    await expect.poll(() => step * the.seen.all.length + the.consumer.stats.missed).toBe(60);
  },
);

test.each([
  ["the gateway took nothing since the consumer was there", true],
  ["nobody has the channel open until the consumer is back", false],
])("DEL-12: what a producer raised while nobody listened is told, though %s", async (_, isOpen) => {
  await using rig = await startRig(WINDOW);
  await using the = await cuttable(rig);
  const producing = rig.session();
  const producer = await producing.channel("a", Count).produce();
  if (isOpen) await rig.session().channel("a", Count).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  await raise(producer, producing, 0, 10);
  await the.seen.take(10);
  await the.part();
  await expect.poll(() => producer.demand.total).toBe(0);
  await raise(producer, producing, 10, 30);
  await producer.close();
  await the.join();
  await expect.poll(() => the.consumer.stats.missed).toBe(20);
});

test.each([
  ["plain", undefined],
  ["modulated", EVEN],
])(
  "DEL-12: of a producer that was closed at a gateway that ended with its last events, that is told at the next one (%s)",
  async (_, modulator) => {
    await using rig = await startRig();
    const producing = rig.session();
    const other = await producing.channel("a", Count).produce();
    const producer = await producing.channel("a", Count).produce();
    await using way = await startCutter(rig.gateway.address);
    await using session = connect(way.address, QUICK);
    const seen = new Inbox<number>();
    const consumer = await session
      .channel("a", Count)
      .subscribe(({ n }) => seen.put(n), modulator === undefined ? {} : { modulator });
    await raise(producer, producing, 0, 10);
    await seen.take(modulator === undefined ? 10 : 5);
    way.part();
    await whenState(consumer, "reconnecting");
    await raise(producer, producing, 10, 30);
    await producer.close();
    // It came when that was over, and misses nothing of it.
    const late = await rig
      .session()
      .channel("a", Count)
      .subscribe(() => {}, modulator === undefined ? {} : { modulator });
    await rig.gateway.close();
    await rig.again();
    way.join();
    await expect.poll(() => consumer.stats.missed).toBe(20);
    await whenState(late, "live");
    other.publish({ n: 30 });
    await expect.poll(() => late.stats.events).toBe(1);
    expect(late.stats.missed).toBe(0);
  },
);

test.each(["nothing", "a part"])(
  "DEL-12: of a producer that closes before the next gateway has opened it, which has %s of its last events, that is told",
  async kept => {
    const folder = await mkdtemp(join(tmpdir(), "jecho-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const historyFile = join(folder, "history.sqlite");
    await using rig = await startRig(kept === "nothing" ? {} : { historyFile });
    const producing = rig.session();
    const producer = await producing.channel("a", Count).produce({ history: { events: 100 } });
    await using the = await cuttable(rig);
    await raise(producer, producing, 0, 10);
    await the.seen.take(10);
    await the.part();
    await raise(producer, producing, 10, 30);
    const closing = whenState(producing, "reconnecting")
      .then(() => whenState(producing, "live"))
      .then(() => void producer.close());
    await rig.gateway.close();
    if (kept !== "nothing") {
      const database = new DatabaseSync(historyFile);
      database.exec("DELETE FROM runs WHERE seq > 10");
      database.close();
    }
    await rig.again();
    await closing;
    await the.join();
    await expect.poll(() => the.seen.all.length + the.consumer.stats.missed).toBe(30);
  },
);

test("DEL-12: of a producer that closes while the next gateway refuses it, that is told", async () => {
  await using rig = await startRig({ channels: 1 });
  await using way = await startCutter(rig.gateway.address);
  await using producing = connect(way.address, { ...QUICK, onError() {} });
  const producer = await producing.channel("a", Count).produce();
  await using the = await cuttable(rig);
  await raise(producer, producing, 0, 10);
  await the.seen.take(10);
  await the.part();
  await raise(producer, producing, 10, 30);
  way.part();
  await whenState(producing, "reconnecting");
  await rig.gateway.close();
  await rig.again();
  const other = rig.session();
  await other.channel("b", Count).produce();
  way.join();
  await whenState(producing, "live");
  await expect(producing.channel("a", Count).produce()).rejects.toMatchObject({ code: "OVERLOADED" });
  void producer.close();
  await other.close();
  await the.join();
  await expect.poll(() => the.consumer.stats.missed).toBe(20);
});

test("DEL-12: of a producer that was over before a consumer came, that consumer is told nothing when it is back", async () => {
  await using rig = await startRig(WINDOW);
  const lasting = rig.session();
  const other = await lasting.channel("a", Count).produce();
  const early = await numbersOf(rig, "a", Count);
  const leaving = rig.session();
  const first = await leaving.channel("a", Count).produce();
  await expect.poll(() => first.demand.total).toBe(1);
  await raise(first, leaving, 0, 10);
  await early.take(10);
  await leaving.close();
  await using the = await cuttable(rig);
  await expect.poll(() => other.demand.total).toBe(2);
  await the.part();
  await expect.poll(() => other.demand.total).toBe(1);
  await the.join();
  await expect.poll(() => other.demand.total).toBe(2);
  other.publish({ n: 10 });
  expect(await the.seen.take(1)).toEqual([10]);
  expect(the.consumer.stats.missed).toBe(0);
});

test.each([
  ["plain", undefined],
  ["modulated", EVEN],
])(
  "DEL-12, PROV-7: what a consumer was told to miss of a producer that has gone is not told again to one that goes on behind its place (%s)",
  async (_, modulator) => {
    await using rig = await startRig(WINDOW);
    await using the = await cuttable(rig, modulator);
    const other = await rig.session().channel("a", Count).produce();
    await the.part();
    await expect.poll(() => other.demand.total).toBe(0);
    const gone = rig.session();
    await raise(await gone.channel("a", Count).produce(), gone, 0, 10);
    await gone.close();
    await the.join();
    await expect.poll(() => the.consumer.stats.missed).toBe(10);
    const from = JSON.parse(JSON.stringify(the.consumer.place)) as EventPlace;
    await the.consumer.close();
    const next = await rig
      .session()
      .channel("a", Count)
      .subscribe(() => {}, { from, ...(modulator && { modulator }) });
    await expect.poll(() => other.demand.total).toBe(1);
    await other.publishSync({ n: 10 });
    expect([next.stats.events, next.stats.missed]).toEqual([1, 0]);
  },
);

test("DEL-12: one that goes on behind a place is told of what came and went meanwhile, though the clock was set back since", async () => {
  await using rig = await startRig(WINDOW);
  const other = await rig.session().channel("a", Count).produce();
  const channel = rig.session().channel("a", Count);
  const seen = new Inbox<number>();
  const before = await channel.subscribe(({ n }) => seen.put(n));
  await expect.poll(() => other.demand.total).toBe(1);
  await other.publishSync({ n: 0 });
  const place = before.place as Required<EventPlace>;
  await before.close();
  const gone = rig.session();
  await raise(await gone.channel("a", Count).produce(), gone, 0, 10);
  await gone.close();
  const from = { ...place, since: place.since + 3_600_000 };
  const after = await channel.subscribe(() => {}, { from });
  await expect.poll(() => after.stats.missed).toBe(10);
});

const CLOSES = ["is closed", "leaves with its session"] as const;
const WHEN = ["while its connection breaks", "while it has none"] as const;
test.each(CLOSES.flatMap(how => WHEN.flatMap(when => TAKERS.map(taker => [how, when, ...taker] as const))))(
  "DEL-3, DEL-11: a producer that %s %s sends its last events at the next one (%s)",
  async (how, when, _, modulator) => {
    await using rig = await startRig();
    await using cutter = await startCutter(rig.gateway.address);
    await using session = connect(cutter.address, { ...QUICK, modulators: PATIENT });
    const producer = await session.channel("a", Tick).produce();
    const inbox = new Inbox<number>();
    const consumer = await rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n }) => inbox.put(n), modulator === undefined ? {} : { modulator });
    await expect.poll(() => producer.demand.total).toBe(1);
    await producer.publishSync({ n: 2, note: "" });
    cutter.hold();
    for (const n of [4, 6, 8]) producer.publish({ n, note: "" });
    const isBroken = whenState(session, "reconnecting");
    const close = (): Promise<void> => (how === "is closed" ? producer.close() : session.close());
    const closed = when === "while its connection breaks" ? close() : undefined;
    // The events are out at the end of the turn.
    await new Promise(resolve => setImmediate(resolve));
    cutter.cut();
    // A session that was closed says nothing more.
    if (closed === undefined || how === "is closed") await isBroken;
    cutter.release();
    await (closed ?? close());
    expect(await inbox.take(4)).toEqual([2, 4, 6, 8]);
    expect(consumer.stats.missed).toBe(0);
  },
);

test("PROV-5: what a modulator did not get is told, though it lets nothing pass until its producer ends", async () => {
  await using rig = await startRig({ installTimeoutMs: 300 });
  await using cutter = await startCutter(rig.gateway.address);
  await using consuming = connect(cutter.address, { ...QUICK, modulators: PATIENT });
  const consumer = await consuming.channel("a", Count).subscribe(() => {}, { modulator: EVEN });
  const plain = await numbersOf(rig, "a", Count);
  // The consumer's process is asked to run the modulator, and takes its time.
  cutter.hold();
  const producing = rig.session({ modulators: { most: 0 } });
  const producer = await producing.channel("a", Count).produce();
  await expect.poll(() => producer.demand.total).toBeGreaterThan(0);
  for (let n = 1; n < 10; n++) producer.publish({ n });
  await plain.take(9);
  cutter.release();
  await expect.poll(() => consumer.placements.map(({ at }) => at)).toEqual(["consumer"]);
  producer.publish({ n: 11 });
  await plain.take(10);
  await producer.close();
  await expect.poll(() => consumer.stats.missed).toBe(9);
});

test("PROV-5: what a modulator in its consumer's process did not get is told, though the consumer waits for others when that is said", async () => {
  await using rig = await startRig({ ...WINDOW, installTimeoutMs: 2500 });
  await using the = await cuttable(rig, EVEN);
  const producing = rig.session({ modulators: { most: 0 } });
  const producer = await producing.channel("a", Count).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  await raise(producer, producing, 0, 10);
  await the.seen.take(5);
  await the.part();
  await raise(producer, producing, 10, 30);
  await expect.poll(() => producer.demand.total).toBe(0);
  await raise(producer, producing, 30, 60);
  // It does not answer: until that is clear the consumer is not open, and its own modulator has been said to begin.
  const hung = await openHungProducer(rig.gateway.address);
  await the.join();
  await expect.poll(() => 2 * the.seen.all.length + the.consumer.stats.missed).toBe(60);
  hung.close();
});

test("PROV-5: of a producer that came and went while a consumer was away, which runs its modulator itself, that is told", async () => {
  await using rig = await startRig();
  await using cutter = await startCutter(rig.gateway.address);
  await using consuming = connect(cutter.address, { ...QUICK, modulators: PATIENT });
  const consumer = await consuming.channel("a", Count).subscribe(() => {}, { modulator: EVEN });
  const seen = new Inbox<number>();
  const there = await rig
    .session()
    .channel("a", Count)
    .subscribe(({ n }) => seen.put(n), { modulator: EVEN });
  cutter.part();
  await whenState(consumer, "reconnecting");
  const producing = rig.session({ modulators: { most: 0 } });
  const producer = await producing.channel("a", Count).produce();
  await raise(producer, producing, 1, 11);
  expect(await seen.take(5)).toEqual([2, 4, 6, 8, 10]);
  await producer.close();
  cutter.join();
  await expect.poll(() => consumer.stats.missed).toBe(10);
  expect(there.stats.missed).toBe(0);
});

test("PROV-5: the same where the connection breaks once more, when events that came later are there", async () => {
  await using rig = await startRig();
  await using cutter = await startCutter(rig.gateway.address);
  await using consuming = connect(cutter.address, { ...QUICK, modulators: PATIENT });
  const seen = new Inbox<number>();
  const consumer = await consuming.channel("a", Count).subscribe(({ n }) => seen.put(n), { modulator: EVEN });
  await using other = await cuttable(rig, EVEN);
  await other.part();
  cutter.part();
  await whenState(consumer, "reconnecting");
  const producing = rig.session({ modulators: { most: 0 } });
  const producer = await producing.channel("a", Count).produce();
  await raise(producer, producing, 1, 11);
  await producer.close();
  await other.join();
  await expect.poll(() => other.consumer.stats.missed).toBe(10);
  const later = rig.session();
  await raise(await later.channel("a", Count).produce(), later, 0, 4000);
  // The gateway has sent all of the past, and behind it whatever else it has to say, when the first of it is here.
  cutter.slow(10_000);
  cutter.join();
  await seen.take(1);
  const { length } = seen.all;
  cutter.part();
  cutter.slow(Number.POSITIVE_INFINITY);
  expect(length).toBeLessThan(2000);
  cutter.join();
  await seen.take(2000);
  await expect.poll(() => consumer.stats.missed).toBe(10);
  expect(seen.all).toHaveLength(2000);
});

test("DEL-12: of a producer whose process was killed, what others' modulators made says how much a consumer missed that was away", async () => {
  await using rig = await startRig(WINDOW);
  await using dying = await startCutter(rig.gateway.address);
  await using plain = await cuttable(rig);
  await using modulated = await cuttable(rig, { ...EVEN, key: "its own" });
  const lasting = await rig.session().channel("a", Count).produce();
  const producing = connect(dying.address, QUICK);
  const producer = await producing.channel("a", Count).produce();
  await raise(producer, producing, 1, 11);
  await plain.seen.take(10);
  await modulated.seen.take(5);
  await Promise.all([plain.part(), modulated.part()]);
  // Nobody wants the events themselves any more.
  await expect.poll(() => producer.demand.total).toBe(0);
  const there = await cuttable(rig, EVEN);
  await expect.poll(() => producer.demand.total).toBe(1);
  await raise(producer, producing, 11, 31);
  await there.seen.take(10);
  dying.part();
  await Promise.all([plain.join(), modulated.join()]);
  await expect.poll(() => modulated.consumer.stats.missed).toBe(20);
  await expect.poll(() => plain.consumer.stats.missed).toBe(20);
  expect(there.consumer.stats.missed).toBe(0);
  await there[Symbol.asyncDispose]();
  dying.join();
  await producing.close();
  await lasting.close();
});

test("PROV-5, HIST-7: who is too far behind is told of a producer that came and went at an earlier gateway, also where it had only just begun", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  try {
    await using rig = await startRig({ resumeWindowMs: 500, historyFile: join(folder, "history") });
    await using cutter = await startCutter(rig.gateway.address);
    await using consuming = connect(cutter.address, { ...QUICK, modulators: PATIENT });
    const keeping = { history: { events: 1000 } };
    const lasting = await rig
      .session({ modulators: { most: 0 } })
      .channel("a", Count)
      .produce(keeping);
    const consumer = await consuming
      .channel("a", Count)
      .subscribe(() => {}, { modulator: EVEN, queue: { limitBytes: 100 } });
    cutter.part();
    await whenState(consumer, "reconnecting");
    const leaving = rig.session({ modulators: { most: 0 } });
    await raise(await leaving.channel("a", Count).produce(keeping), leaving, 0, 20);
    await leaving.close();
    await rig.gateway.close();
    await rig.again();
    cutter.join();
    await expect.poll(() => consumer.stats.missed).toBe(20);
    await lasting.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});
