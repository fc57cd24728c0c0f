import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type Producer, type Session } from "@jecho/client";
import { startModulating } from "@jecho/client/modulating";
import { type Cutter, startCutter } from "@jecho/e2e/cutter";
import { expect, inject, onTestFinished, test } from "vitest";
import { EVEN, Inbox, moe, type Rig, startRig, Tick, whenState } from "./rig.ts";

const QUICK = { place: inject("place"), backoff: { firstMs: 10, mostMs: 50 } };

/** A gateway whose process for modulators reaches it by a way that can hold back what it says. */
async function startHeld(
  options: Parameters<typeof startRig>[0],
): Promise<{ rig: Rig; way(): Promise<Cutter> }> {
  let way: Cutter | undefined;
  let isReady: Promise<void> | undefined;
  const rig = await startRig({
    ...options,
    modulating: (address, token) => {
      const started = startCutter(address).then(cutter => {
        way = cutter;
        return startModulating(cutter.address, token);
      });
      isReady = started.then(({ ready }) => ready);
      return {
        ready: isReady,
        close: async () => {
          // It does not wait for what the way has kept back.
          way?.part();
          await (await started).close();
          await way?.[Symbol.asyncDispose]();
        },
      };
    },
  });
  return {
    rig,
    way: async () => {
      await isReady;
      return way as Cutter;
    },
  };
}

/** The same, with a history that outlives the gateway. */
async function startKept(): ReturnType<typeof startHeld> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return startHeld({ historyFile: join(folder, "history.sqlite"), drainMs: 100 });
}

/** Starts the gateway again, and waits until this session is back. */
async function restart(rig: Rig, session: Session): Promise<void> {
  const again = whenState(session, "reconnecting").then(() => whenState(session, "live"));
  await rig.gateway.close();
  await rig.again();
  await again;
}

async function raise(producer: Producer<typeof Tick.event>, session: Session, from: number, to: number) {
  for (let n = from; n < to; n++) producer.publish({ n, note: "" });
  await session.flush();
}

test.each(["with history", "without history"])(
  "PROV-5: what a producer raised last that is closed before a modulator in its stead is fed comes, or is told (%s)",
  async kept => {
    const isKept = kept === "with history";
    const { rig, way: makingWay } = await (isKept ? startKept() : startHeld({ resumeWindowMs: 200 }));
    await using _rig = rig;
    const producing = rig.session({ modulators: { most: 0 } });
    const channel = producing.channel("a", Tick);
    const history = isKept ? { history: { events: 100 } } : {};
    const producer = await channel.produce(history);
    const other = await channel.produce(history);
    await using way = await startCutter(rig.gateway.address);
    await using session = connect(way.address, QUICK);
    const inbox = new Inbox<number>();
    const consumer = await session.channel("a", Tick).subscribe(({ n }) => inbox.put(n), { modulator: EVEN });
    expect(consumer.placements.map(({ at }) => at)).toEqual(["gateway"]);
    await raise(producer, producing, 0, 10);
    await inbox.take(5);
    way.part();
    await whenState(consumer, "reconnecting");
    if (!isKept) await expect.poll(() => producer.demand.total).toBe(0);
    // Nothing of that is made before the gateway ends.
    if (isKept) (await makingWay()).hold();
    await raise(producer, producing, 10, 30);
    if (isKept) await restart(rig, producing);
    const making = await makingWay();
    making.hold();
    way.join();
    await expect.poll(() => making.heldBytes).toBeGreaterThan(0);
    await producer.close();
    making.release();
    await whenState(consumer, "live");
    other.publish({ n: 100, note: "" });
    await expect.poll(() => inbox.all.includes(100)).toBe(true);
    await expect.poll(() => 2 * (inbox.all.length - 1) + consumer.stats.missed).toBe(30);
    expect(consumer.stats.missed).toBe(isKept ? 0 : 20);
  },
);

test("PROV-5: what a modulator that fails had still to do of a producer that is closed is told, though another one of that process is there", async () => {
  const { rig, way } = await startHeld({});
  await using _rig = rig;
  const producing = rig.session({ modulators: { most: 0 } });
  const channel = producing.channel("a", Tick);
  const producer = await channel.produce();
  await channel.produce();
  // There it goes on.
  const elsewhere = await rig.session().channel("a", Tick).produce();
  const inbox = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n), {
      modulator: moe("enqueue(event) { if (event.n === 20) throw new Error(); super.enqueue(event); }"),
    });
  expect(consumer.placements.map(({ at }) => at).sort()).toEqual(["gateway", "producer"]);
  await raise(producer, producing, 0, 10);
  await inbox.take(10);
  const making = await way();
  making.stall();
  for (let n = 10; n < 30; n++) producer.publish({ n, note: "" });
  await producer.close();
  making.flow();
  await expect.poll(() => inbox.all.length + consumer.stats.missed).toBe(30);
  elsewhere.publish({ n: 100, note: "" });
  await expect.poll(() => inbox.all.includes(100)).toBe(true);
  expect(inbox.all.length + consumer.stats.missed).toBe(31);
});

test("PROV-5: the same holds for what an earlier gateway kept, of a producer that has raised nothing since", async () => {
  const { rig, way: makingWay } = await startKept();
  await using _rig = rig;
  const producing = rig.session({ modulators: { most: 0 } });
  const channel = producing.channel("a", Tick);
  const history = { history: { events: 100 } };
  const producer = await channel.produce(history);
  await channel.produce(history);
  await rig.session().channel("a", Tick).produce();
  await using way = await startCutter(rig.gateway.address);
  await using session = connect(way.address, QUICK);
  const inbox = new Inbox<number>();
  // So slow that the producer has gone when it fails.
  const consumer = await session.channel("a", Tick).subscribe(({ n }) => inbox.put(n), {
    modulator: moe(`enqueue(event) {
        if (event.n === 15) for (let i = 0; i < 3e8; i++);
        if (event.n === 20) throw new Error();
        super.enqueue(event);
      }`),
  });
  await raise(producer, producing, 0, 10);
  await inbox.take(10);
  way.part();
  await whenState(consumer, "reconnecting");
  (await makingWay()).hold();
  await raise(producer, producing, 10, 30);
  await restart(rig, producing);
  await makingWay();
  way.join();
  await whenState(consumer, "live");
  await producer.close();
  await expect.poll(() => inbox.all.length + consumer.stats.missed).toBe(30);
});

test("PROV-5: what a closed producer raised at an earlier gateway is not taken for another producer's that has its number by now", async () => {
  const { rig, way: makingWay } = await startKept();
  await using _rig = rig;
  const history = { history: { events: 100 } };
  await using producingWay = await startCutter(rig.gateway.address);
  await using producing = connect(producingWay.address, { ...QUICK, modulators: { most: 0 } });
  const channel = producing.channel("a", Tick);
  const producer = await channel.produce(history);
  await channel.produce(history);
  const others = rig.session({ modulators: { most: 0 } });
  const other = await others.channel("a", Tick).produce(history);
  await using way = await startCutter(rig.gateway.address);
  await using session = connect(way.address, QUICK);
  const inbox = new Inbox<number>();
  const consumer = await session.channel("a", Tick).subscribe(({ n }) => inbox.put(n), { modulator: EVEN });
  await raise(producer, producing, 0, 10);
  await raise(other, others, 100, 120);
  await inbox.take(15);
  way.part();
  await whenState(consumer, "reconnecting");
  (await makingWay()).hold();
  await raise(producer, producing, 10, 30);
  producingWay.part();
  await whenState(producing, "reconnecting");
  // The first one at the next gateway, as the one to be closed was at this one.
  await restart(rig, others);
  producingWay.join();
  await whenState(producing, "live");
  const making = await makingWay();
  making.hold();
  way.join();
  await expect.poll(() => making.heldBytes).toBeGreaterThan(0);
  await producer.close();
  // Its answer comes when the gateway has closed the other one.
  await channel.produce(history);
  making.release();
  await whenState(consumer, "live");
  for (let n = 120; n < 160; n += 2) {
    await raise(other, others, n, n + 2);
    await expect.poll(() => inbox.all.includes(28) && inbox.all.includes(n)).toBe(true);
  }
  expect(consumer.stats.missed).toBe(0);
  expect(inbox.all.filter(n => n < 100)).toEqual(Array.from({ length: 15 }, (_, i) => 2 * i));
  expect(inbox.all.filter(n => n >= 100)).toEqual(Array.from({ length: 30 }, (_, i) => 100 + 2 * i));
});
