import { type Consumer, connect, type Modulator, type Session, type as typeOf, unpack } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { describe, expect, test } from "vitest";
import { PLACES, rigAt } from "./placement-rig.ts";
import { EVEN, Inbox, moe, numbersOf, PATIENT, type Rig, startRig, Tick, whenState } from "./rig.ts";

const THIRDS = moe("enqueue(event) { if (event.n % 3 === 0) super.enqueue(event); }");
const ALARMS = moe(`static output = { name: "Alarm", description: { level: "float64" } };
  enqueue(event) { if (event.n > 5) super.enqueue({ level: event.n }); }`);
const Alarm = typeOf("Alarm", { level: "float64" });
const Other = typeOf("Other", { n: "int64" });

interface Told {
  readonly n: number;
  readonly seq: number;
}

/** Subscribes to evens of "a", under that name. */
async function evens(rig: Rig, inbox: Inbox<Told>, session = rig.session()): Promise<Session> {
  await session
    .channel("a", Tick)
    .subscribe(({ n }, { seq }) => inbox.put({ n, seq }), { modulator: EVEN, as: "evens" });
  return session;
}

const numbers = (told: readonly Told[]): number[] => told.map(({ n }) => n);
const raise = async (
  producer: { publishSync(event: { n: number; note: string }): Promise<number> },
  ...all: number[]
): Promise<number[]> => {
  const consumers: number[] = [];
  for (const n of all) consumers.push(await producer.publishSync({ n, note: "" }));
  return consumers;
};

test("CHAN-9: what a producer publishes into a derived channel goes to all its consumers, with what is made there, as it is", async () => {
  await using rig = await startRig();
  const [own, named] = [new Inbox<Told>(), new Inbox<Told>()];
  const base = await rig.session().channel("a", Tick).produce();
  await evens(rig, own);
  await rig
    .session()
    .channel("a#evens", Tick)
    .subscribe(({ n }, { seq }) => named.put({ n, seq }));
  const direct = await rig.session().channel("a#evens", Tick).produce();
  expect(direct.demand).toMatchObject({ consumers: 2, derived: [], total: 2 });
  expect(await raise(direct, 1)).toEqual([2]);
  expect(await raise(base, 1, 2)).toEqual([0, 2]);
  expect(await raise(direct, 3)).toEqual([2]);
  for (const inbox of [own, named])
    expect(inbox.all).toEqual([
      { n: 1, seq: 1 },
      { n: 2, seq: 2 },
      { n: 3, seq: 3 },
    ]);
  // Consumers of the channel itself have nothing to do with it.
  const all = await numbersOf(rig, "a", Tick);
  await expect.poll(() => base.demand.consumers).toBe(1);
  await raise(direct, 5);
  await raise(base, 7);
  expect(all.all).toEqual([7]);
});

test("CHAN-9: its type is that of the derived channel", async () => {
  await using rig = await startRig();
  const base = await rig.session().channel("a", Tick).produce();
  const levels = new Inbox<number>();
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(event => levels.put((event as unknown as { level: number }).level), {
      modulator: ALARMS,
      as: "alarms",
    });
  await evens(rig, new Inbox());
  const wrong = { code: "TYPE_MISMATCH", message: expect.stringContaining("Alarm") };
  await expect(rig.session().channel("a#alarms", Tick).produce()).rejects.toMatchObject(wrong);
  await expect(rig.session().channel("a#alarms").produce()).rejects.toMatchObject(wrong);
  await expect(rig.session().channel("a#evens").produce()).rejects.toMatchObject({ code: "TYPE_MISMATCH" });
  const session = rig.session();
  const direct = await session.channel("a#alarms", Alarm).produce();
  await direct.publishSync({ level: 0.5 });
  await raise(base, 6);
  expect(levels.all).toEqual([0.5, 6]);
});

describe.each(PLACES)("with modulators at the %s", at => {
  test("CHAN-9, TYPE-5: beside a modulator that declares no type others publish others, its own process, too; what is behind it reads each by its own", async () => {
    await using rig = await rigAt(at);
    const session = rig.session(rig.producing);
    const base = await session.channel("a", Tick).produce();
    const direct = await session.channel("a#all", Alarm).produce();
    const viewer = rig.session();
    const [own, behind] = [new Inbox<unknown>(), new Inbox<unknown>()];
    await viewer.channel("a").subscribe(event => own.put(unpack(event)), { modulator: moe(""), as: "all" });
    await viewer.channel("a#all").subscribe(event => behind.put(unpack(event)), { modulator: moe("") });
    await expect.poll(() => direct.demand.total).toBe(2);
    await raise(base, 1);
    await direct.publishSync({ level: 0.5 });
    const other = await rig.session(rig.producing).channel("a#all", Other).produce();
    await expect.poll(() => other.demand.total).toBe(2);
    await other.publishSync({ n: 3n });
    await raise(base, 2);
    await direct.publishSync({ level: 1.5 });
    const wanted = [{ n: 1, note: "" }, { level: 0.5 }, { n: 3n }, { n: 2, note: "" }, { level: 1.5 }];
    expect(await own.take(5)).toEqual(wanted);
    expect(await behind.take(5)).toEqual(wanted);
  });

  test("CHAN-9: who was connected before its modulator said what it makes is disconnected then, and told", async () => {
    await using rig = await rigAt(at);
    const errors: string[] = [];
    const early = rig.session({ ...rig.producing, onError: ({ code }) => errors.push(code) });
    const inbox = new Inbox<unknown>();
    await rig
      .session()
      .channel("a")
      .subscribe(event => inbox.put(unpack(event)), { modulator: ALARMS, as: "alarms" });
    const direct = await early.channel("a#alarms", Tick).produce();
    await expect.poll(() => direct.demand.total).toBe(1);
    const base = await rig.session(rig.producing).channel("a", Tick).produce();
    await expect.poll(() => errors).toEqual(["TYPE_MISMATCH"]);
    await expect.poll(() => direct.demand.total).toBe(0);
    expect(await raise(direct, 7)).toEqual([0]);
    await raise(base, 6);
    expect(await inbox.take(1)).toEqual([{ level: 6 }]);
  });
});

test("CHAN-9: who reads it is told types that nobody else writes", async () => {
  await using rig = await startRig();
  const inbox = new Inbox<number>();
  await rig
    .session()
    .channel("a")
    .subscribe(event => inbox.put((event as unknown as { level: number }).level), {
      modulator: moe(""),
      as: "all",
    });
  const direct = await rig.session().channel("a#all", Alarm).produce();
  await direct.publishSync({ level: 3 });
  expect(inbox.all).toEqual([3]);
  expect((await rig.session().channel("a#all").types()).map(({ name }) => name)).toEqual(["Alarm"]);
});

test("CHAN-9: there may be producers before there is a derived channel, and when it has gone; nobody wants what they raise then", async () => {
  await using rig = await startRig();
  const direct = await rig.session().channel("a#evens", Tick).produce();
  expect(direct.demand.total).toBe(0);
  expect(await raise(direct, 1)).toEqual([0]);
  const first = new Inbox<Told>();
  const session = await evens(rig, first);
  await expect.poll(() => direct.demand.total).toBe(1);
  expect(await raise(direct, 2)).toEqual([1]);
  await session.close();
  await expect.poll(() => direct.demand.total).toBe(0);
  expect(await raise(direct, 3)).toEqual([0]);
  const second = new Inbox<Told>();
  await evens(rig, second);
  await expect.poll(() => direct.demand.total).toBe(1);
  direct.publish({ n: 4, note: "" });
  await raise(direct, 5);
  expect([numbers(first.all), second.all]).toEqual([
    [2],
    [
      { n: 4, seq: 1 },
      { n: 5, seq: 2 },
    ],
  ]);
});

test("CHAN-9: a name that comes to be of another type is none of theirs, and they are told", async () => {
  await using rig = await startRig();
  const errors: string[] = [];
  const session = rig.session({ onError: ({ code }) => errors.push(code) });
  const direct = await session.channel("a#x", Tick).produce();
  await rig.session().channel("a", Tick).produce();
  const [one, other] = [rig.session(), rig.session()];
  await one.channel("a", Tick).subscribe(() => {}, { modulator: EVEN, as: "x" });
  await expect.poll(() => direct.demand.total).toBe(1);
  await one.close();
  await expect.poll(() => direct.demand.total).toBe(0);
  await other.channel("a", Tick).subscribe(() => {}, { modulator: ALARMS });
  await other.channel("a", Tick).subscribe(() => {}, { modulator: ALARMS, as: "x" });
  await expect.poll(() => errors).toEqual(["TYPE_MISMATCH"]);
  expect(direct.demand.total).toBe(0);
  expect(await raise(direct, 1)).toEqual([0]);
});

/** A modulator behind evens: what it lets through. */
async function thirdsOfEvens(
  rig: Rig,
): Promise<{ inbox: Inbox<Told>; viewer: Session; consumer: Consumer<{ n: number; note: string }> }> {
  const viewer = await evens(rig, new Inbox());
  const inbox = new Inbox<Told>();
  const consumer = await viewer
    .channel("a#evens", Tick)
    .subscribe(({ n }, { seq }) => inbox.put({ n, seq }), { modulator: THIRDS });
  return { inbox, viewer, consumer };
}

test.each([
  ["in the producer", {}],
  ["elsewhere, where the producer runs none", { most: 0 }],
])("CHAN-9: modulators behind the derived channel take it too: %s", async (_, modulators) => {
  await using rig = await startRig();
  const { inbox } = await thirdsOfEvens(rig);
  const direct = await rig.session({ modulators }).channel("a#evens", Tick).produce();
  await expect.poll(() => direct.demand.total).toBeGreaterThan(0);
  expect(await raise(direct, 1, 3, 4, 6, 9)).toEqual([1, 2, 1, 2, 2]);
  expect(numbers(inbox.all)).toEqual([3, 6, 9]);
  expect(inbox.all.map(({ seq }) => seq)).toEqual("most" in modulators ? [0, 0, 0] : [1, 2, 3]);
});

test.each([
  ["the channel first", {}, true],
  ["the derived channel first", {}, false],
  ["the channel first, and no modulators there", { most: 0 }, true],
  ["the derived channel first, and no modulators there", { most: 0 }, false],
  ["the channel first, and one modulator there", { most: 1 }, true],
  ["the derived channel first, and one modulator there", { most: 1 }, false],
])("CHAN-9: one process publishes into both: %s", async (_, modulators, baseFirst) => {
  await using rig = await startRig();
  const { inbox } = await thirdsOfEvens(rig);
  const session = rig.session({ modulators });
  const open = (name: string) => session.channel(name, Tick).produce();
  const first = await open(baseFirst ? "a" : "a#evens");
  const second = await open(baseFirst ? "a#evens" : "a");
  const [base, direct] = baseFirst ? [first, second] : [second, first];
  await raise(direct, 1, 3);
  await raise(base, 2, 3, 6);
  await raise(direct, 9);
  await raise(base, 12);
  expect(numbers(inbox.all)).toEqual([3, 6, 9, 12]);
  // Either may go, and the other goes on.
  await (baseFirst ? base : direct).close();
  const [left, n] = baseFirst ? [direct, 15] : [base, 18];
  await raise(left, n);
  expect(numbers(inbox.all)).toEqual([3, 6, 9, 12, n]);
  // Or both, and begin anew.
  await left.close();
  const [one, other] = [await open(baseFirst ? "a" : "a#evens"), await open(baseFirst ? "a#evens" : "a")];
  await raise(one, 18);
  await raise(other, 24);
  expect(numbers(inbox.all)).toEqual([3, 6, 9, 12, n, 18, 24]);
});

test("CHAN-9: a modulator that a process comes to feed in one more way sees each event once, however many there are", async () => {
  await using rig = await startRig();
  const { inbox } = await thirdsOfEvens(rig);
  const session = rig.session({ modulators: { most: 0 } });
  const direct = await session.channel("a#evens", Tick).produce();
  let base: object | undefined;
  void session
    .channel("a", Tick)
    .produce()
    .then(producer => {
      base = producer;
    });
  let raised = 0;
  const burst = async (): Promise<number> => {
    for (let i = 0; i < 50; i++) direct.publish({ n: 3 * ++raised, note: "" });
    return direct.publishSync({ n: 3 * ++raised, note: "" });
  };
  while (base === undefined) await burst();
  expect([await burst(), await burst()]).toEqual([2, 2]);
  expect(numbers(inbox.all)).toEqual(Array.from({ length: raised }, (_, i) => 3 * (i + 1)));
});

test("CHAN-9: demand tells a direct producer what is derived of its channel, and the channel's producers the same as ever", async () => {
  await using rig = await startRig();
  const { viewer } = await thirdsOfEvens(rig);
  const session = rig.session();
  const direct = await session.channel("a#evens", Tick).produce();
  const shape = (demand: typeof direct.demand): unknown => [
    demand.consumers,
    demand.derived.map(({ consumers }) => consumers),
  ];
  await expect.poll(() => shape(direct.demand)).toEqual([1, [1]]);
  const base = await session.channel("a", Tick).produce();
  await expect.poll(() => shape(base.demand)).toEqual([0, [1, 1]]);
  expect(shape(direct.demand)).toEqual([1, [1]]);
  await viewer.close();
  await expect.poll(() => [direct.demand.total, base.demand.total]).toEqual([0, 0]);
});

test("CHAN-9: it is kept with the channel's history, and who was cut off has all of it", async () => {
  await using rig = await startRig();
  await using way = await startCutter(rig.gateway.address);
  const base = await rig
    .session()
    .channel("a", Tick)
    .produce({ history: { events: 100 } });
  await evens(rig, new Inbox());
  const direct = await rig.session().channel("a#evens", Tick).produce();
  await raise(direct, 1);
  await raise(base, 2);
  const inbox = new Inbox<Told>();
  const away = connect(way.address, { backoff: { firstMs: 20, mostMs: 100 } });
  const consumer = await away
    .channel("a#evens", Tick)
    .subscribe(({ n }, { seq }) => inbox.put({ n, seq }), { from: 1 });
  expect(numbers(await inbox.take(2))).toEqual([1, 2]);
  const interrupted = whenState(consumer, "reconnecting");
  way.cut();
  await interrupted;
  direct.publish({ n: 3, note: "" });
  base.publish({ n: 4, note: "" });
  expect(numbers(await inbox.take(4)).sort()).toEqual([1, 2, 3, 4]);
  await away.close();
});

test("CHAN-9: a direct producer's broken connection loses nothing and repeats nothing, and after a restart of the gateway it goes on", async () => {
  await using rig = await startRig();
  const { port } = rig.gateway;
  await using way = await startCutter(rig.gateway.address);
  const { inbox, viewer, consumer } = await thirdsOfEvens(rig);
  const plain = new Inbox<Told>();
  const named = await rig
    .session()
    .channel("a#evens", Tick)
    .subscribe(({ n }, { seq }) => plain.put({ n, seq }));
  const session = connect(way.address, { backoff: { firstMs: 20, mostMs: 100 } });
  const direct = await session.channel("a#evens", Tick).produce();
  await raise(direct, 3);
  const cut = whenState(session, "reconnecting");
  way.cut();
  for (const n of [4, 6]) direct.publish({ n, note: "" });
  await cut;
  direct.publish({ n: 9, note: "" });
  expect(numbers(await plain.take(4))).toEqual([3, 4, 6, 9]);
  expect(numbers(await inbox.take(3))).toEqual([3, 6, 9]);
  const apart = Promise.all([session, viewer, named].map(one => whenState(one, "reconnecting")));
  await rig.gateway.close();
  await apart;
  await using _again = await startRig({ port });
  await Promise.all([named, consumer].map(one => whenState(one, "live")));
  await expect.poll(() => direct.demand.total).toBe(3);
  direct.publish({ n: 12, note: "" });
  expect(numbers(await plain.take(5))).toEqual([3, 4, 6, 9, 12]);
  expect(numbers(await inbox.take(4))).toEqual([3, 6, 9, 12]);
  await session.close();
});

test.each([
  ["the derived channel", ["a#evens", "a"]],
  ["the channel", ["a", "a#evens"]],
])(
  "CHAN-9, DEL-2: what a broken connection lost of modulators behind it is sent again: opened first is %s",
  async (_, names) => {
    await using rig = await startRig();
    const { inbox } = await thirdsOfEvens(rig);
    await using cutter = await startCutter(rig.gateway.address);
    await using session = connect(cutter.address, { backoff: { firstMs: 20, mostMs: 100 } });
    for (let round = 0; round < 5; round++) {
      const opened = [];
      for (const name of names) opened.push(await session.channel(name, Tick).produce());
      inbox.all.length = 0;
      cutter.hold();
      for (const producer of opened) for (let n = 0; n < 30; n += 6) producer.publish({ n, note: "" });
      await expect.poll(() => cutter.heldBytes).toBeGreaterThan(0);
      cutter.cut();
      cutter.release();
      await inbox.take(10);
      expect(numbers(inbox.all).sort((a, b) => a - b)).toEqual([0, 0, 6, 6, 12, 12, 18, 18, 24, 24]);
      for (const producer of opened) await producer.close();
    }
  },
);

test("CHAN-9, MOE-17: what is made in a process while the past of what feeds a modulator there comes goes through that once", async () => {
  await using rig = await startRig();
  await using way = await startCutter(rig.gateway.address);
  const producing = rig.session({ modulators: { most: 0 } });
  const base = await producing.channel("a", Tick).produce({ history: { events: 100_000 } });
  const direct = await producing.channel("a#evens", Tick).produce();
  const viewer = connect(way.address, { backoff: { firstMs: 20, mostMs: 100 }, modulators: PATIENT });
  await evens(rig, new Inbox(), viewer);
  const passed: number[] = [];
  const consumer = await viewer
    .channel("a#evens", Tick)
    .subscribe(({ n }) => void passed.push(n), { modulator: THIRDS });
  await expect.poll(() => direct.demand.total).toBeGreaterThan(0);
  const [raised, published]: [number[], number[]] = [[], []];
  const raiseNext = (): void => {
    raised.push(6 * (raised.length + 1));
    base.publish({ n: raised.at(-1) as number, note: "" });
  };
  const publishNext = (): void => {
    published.push(6 * published.length + 3);
    direct.publish({ n: published.at(-1) as number, note: "x".repeat(300) });
  };
  const has = (all: readonly number[]): boolean => passed.includes(all.at(-1) as number);
  raiseNext();
  publishNext();
  await expect.poll(() => has(raised) && has(published)).toBe(true);
  const interrupted = whenState(consumer, "reconnecting");
  way.cut();
  await interrupted;
  for (let i = 0; i < 20_000; i++) publishNext();
  while (!has(published)) {
    raiseNext();
    await new Promise(resolve => setTimeout(resolve));
  }
  await expect.poll(() => has(raised)).toBe(true);
  expect(passed.filter(n => n % 2 === 0)).toEqual(raised);
  expect(passed.filter(n => n % 2 === 1)).toEqual(published);
  expect(consumer.stats.missed).toBe(0);
  await viewer.close();
});

test("CHAN-9, MOE-17: what comes to be behind a modulator that outlived its derived channel is fed once, and so is what was there", async () => {
  await using rig = await startRig({ resumeWindowMs: 50 });
  await using way = await startCutter(rig.gateway.address);
  const producing = rig.session({ modulators: { most: 0 } });
  await producing.channel("a", Tick).produce();
  const direct = await producing.channel("a#evens", Tick).produce();
  const viewer = connect(way.address, { backoff: { firstMs: 20, mostMs: 100 }, modulators: PATIENT });
  await evens(rig, new Inbox(), viewer);
  const passing = async (modulator: Modulator): Promise<Inbox<number>> => {
    const inbox = new Inbox<number>();
    await viewer.channel("a#evens", Tick).subscribe(({ n }) => inbox.put(n), { modulator });
    return inbox;
  };
  const thirds = await passing(THIRDS);
  await expect.poll(() => direct.demand.total).toBe(2);
  way.part();
  await expect.poll(() => direct.demand.total).toBe(0);
  way.join();
  await expect.poll(() => direct.demand.total).toBe(2);
  const all = await passing(moe("enqueue(event) { super.enqueue(event); }"));
  await raise(direct, 3, 5, 6);
  expect(all.all).toEqual([3, 5, 6]);
  expect(thirds.all).toEqual([3, 6]);
  await viewer.close();
});

test("MOE-17: behind a modulator with a type of its own one without is read by that type", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const viewer = rig.session();
  await viewer.channel("a", Tick).subscribe(() => {}, { modulator: ALARMS, as: "alarms" });
  const levels = new Inbox<number>();
  await rig
    .session()
    .channel("a#alarms")
    .subscribe(event => levels.put((event as unknown as { level: number }).level), { modulator: moe("") });
  await raise(producer, 7);
  expect(levels.all).toEqual([7]);
});
