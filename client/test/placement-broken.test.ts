import { connect, type Modulator, type Placement } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { createGateway } from "@jecho/server";
import { describe, expect, inject, test } from "vitest";
import { numbered, PLACES, rigAt, startPatient } from "./placement-rig.ts";
import { EVEN, Inbox, moe, numbersOf, PATIENT, PATIENT_GATEWAY, startRig, Tick, whenState } from "./rig.ts";

const QUICK = {
  backoff: { firstMs: 10, mostMs: 50 },
  place: inject("place"),
  modulators: PATIENT,
};

const EVENS = Array.from({ length: 1000 }, (_, i) => 2 * i);

describe.each(PLACES)("modulators at the %s", at => {
  test("DEL-4, DEL-7: over a consumer's broken connection each event comes once and in order, of the same modulator", async () => {
    await using rig = await rigAt(at);
    await using way = await startCutter(rig.gateway.address);
    await using session = connect(way.address, QUICK);
    const producer = await rig
      .session(rig.producing)
      .channel("a", Tick)
      .produce({ history: { seconds: 60 } });
    const inbox = new Inbox<string>();
    const consumer = await session
      .channel("a", Tick)
      .subscribe(({ n, note }) => inbox.put(`${n} ${note}`), { modulator: numbered });
    for (let n = 0; n < 2000; n++) {
      producer.publish({ n, note: "" });
      if (n % 500 !== 250) continue;
      const again = whenState(consumer, "reconnecting").then(() => whenState(consumer, "live"));
      way.cut();
      await again;
    }
    expect(await inbox.take(1000)).toEqual(EVENS.map((n, i) => `${n} ${i + 1}`));
    expect(consumer.stats.missed).toBe(0);
    expect(consumer.status).toMatchObject({ recovered: true, missing: 0 });
    expect(consumer.placements.map(({ at }) => at)).toEqual([at]);
    expect(await producer.publishSync({ n: 2000, note: "" })).toBe(1);
  });

  test("DEL-3, DEL-4, DEL-7: over a producer's broken connection each event comes once and in order, of the same modulator", async () => {
    await using rig = await rigAt(at);
    await using way = await startCutter(rig.gateway.address);
    await using session = connect(way.address, { ...QUICK, ...rig.producing });
    const producer = await session.channel("a", Tick).produce();
    const inbox = new Inbox<string>();
    const restarts: unknown[] = [];
    const consumer = await rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n, note }) => inbox.put(`${n} ${note}`), { modulator: numbered });
    consumer.onRestart(error => restarts.push(error));
    for (let n = 0; n < 2000; n++) {
      producer.publish({ n, note: "" });
      if (n % 500 !== 250) continue;
      // In the middle of it: some have come, others are under way.
      await inbox.take(Math.floor(n / 4));
      const again = whenState(session, "reconnecting").then(() => whenState(session, "live"));
      way.cut();
      await again;
    }
    expect(await inbox.take(1000)).toEqual(EVENS.map((n, i) => `${n} ${i + 1}`));
    expect({ missed: consumer.stats.missed, restarts }).toEqual({ missed: 0, restarts: [] });
  });

  test("DEL-3, MOE-18: over a gateway's restart each event comes once and in order, and they run where they ran", async () => {
    // A consumer on a busy machine has not taken all for a while.
    const options = {
      ...PATIENT_GATEWAY,
      drainMs: 60_000,
      ...(at === "gateway" && { modulating: startPatient }),
    };
    let gateway = await createGateway(options);
    await using way = await startCutter(gateway.address);
    await using producing = connect(way.address, {
      ...QUICK,
      name: "producing",
      ...(at !== "producer" && { modulators: { most: 0 } }),
    });
    await using session = connect(way.address, QUICK);
    const producer = await producing.channel("a", Tick).produce({ history: { seconds: 600 } });
    const inbox = new Inbox<number>();
    const consumer = await session
      .channel("a", Tick)
      .subscribe(({ n }) => inbox.put(n), { modulator: numbered });
    for (let n = 0; n < 1000; n++) producer.publish({ n, note: "" });
    // In the middle of it.
    await inbox.take(250);
    const { host, port } = gateway;
    const broken = whenState(consumer, "reconnecting");
    await gateway.close();
    await broken;
    gateway = await createGateway({ host, port, ...options });
    for (let n = 1000; n < 2000; n++) producer.publish({ n, note: "" });
    expect(await inbox.take(1000)).toEqual(EVENS);
    await expect.poll(() => consumer.placements.map(({ at }) => at)).toEqual([at]);
    await gateway.close();
  });
});

test("MOE-20: what a gateway has confirmed when it is told to end is made, also behind another modulator, and reaches the consumers", async () => {
  const gateway = await createGateway({ ...PATIENT_GATEWAY, modulating: startPatient, drainMs: 60_000 });
  await using producing = connect(gateway.address, { ...QUICK, modulators: { most: 0 } });
  await using session = connect(gateway.address, QUICK);
  const producer = await producing.channel("a", Tick).produce();
  const first = new Inbox<number>();
  const second = new Inbox<number>();
  const channel = session.channel("a", Tick);
  await channel.subscribe(({ n }) => first.put(n), { modulator: numbered, as: "evens" });
  // It takes its time.
  const slow: Modulator = moe(
    "enqueue(event) { for (let i = 0; i < 1e4; i++) Math.sqrt(i); super.enqueue(event); }",
  );
  const consumer = await session
    .channel("a#evens", Tick)
    .subscribe(({ n }) => second.put(n), { modulator: slow });
  expect(consumer.placements.map(({ at }) => at)).toEqual(["gateway"]);
  for (let n = 0; n < 2000; n++) producer.publish({ n, note: "" });
  await producing.flush();
  await gateway.close();
  expect(await first.take(1000)).toEqual(EVENS);
  expect(await second.take(1000)).toEqual(EVENS);
});

test("MOE-18: where the gateway's process for modulators ends, they go on with the consumers, who are told", async () => {
  const told: { address: string; token: string }[] = [];
  await using rig = await startRig({
    modulating: (address, token) => {
      told.push({ address, token });
      return { ready: Promise.resolve(), close: () => Promise.resolve() };
    },
  });
  const [{ token } = { token: "" }] = told;
  const beside = rig.session({ modulating: token });
  await beside.ready();
  const producer = await rig
    .session({ modulators: { most: 0 } })
    .channel("a", Tick)
    .produce();
  const inbox = new Inbox<number>();
  const placed = new Inbox<readonly Placement[]>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n), { modulator: numbered });
  consumer.onPlacements(placed.put);
  expect(consumer.placements).toMatchObject([{ at: "gateway" }]);
  producer.publish({ n: 2, note: "" });
  await inbox.take(1);
  await beside.close();
  expect(await placed.take(1)).toMatchObject([[{ at: "consumer", code: "MODULATORS_NOT_SERVED" }]]);
  expect(await producer.publishSync({ n: 4, note: "" })).toBe(1);
  expect(inbox.all).toEqual([2, 4]);
});

test("DEL-7, MOE-18: a producer that comes back finds its modulators with the consumers, though the gateway has a process for them by then", async () => {
  let token = "";
  await using rig = await startRig({
    modulating: (_, told) => {
      token = told;
      return { ready: Promise.resolve(), close: () => Promise.resolve() };
    },
  });
  await using way = await startCutter(rig.gateway.address);
  await using session = connect(way.address, { ...QUICK, modulators: { most: 0 } });
  const producer = await session.channel("a", Tick).produce();
  const inbox = new Inbox<string>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n, note }) => inbox.put(`${n} ${note}`), { modulator: numbered });
  expect(consumer.placements).toMatchObject([{ at: "consumer" }]);
  producer.publish({ n: 0, note: "" });
  await inbox.take(1);
  await rig.session({ modulating: token }).ready();
  const again = whenState(session, "reconnecting").then(() => whenState(session, "live"));
  way.cut();
  await again;
  for (let n = 1; n < 2000; n++) producer.publish({ n, note: "" });
  expect(await inbox.take(1000)).toEqual(EVENS.map((n, i) => `${n} ${i + 1}`));
  expect(await producer.publishSync({ n: 2000, note: "" })).toBe(1);
  expect(inbox.all).toHaveLength(1001);
  expect(consumer.placements).toMatchObject([{ at: "consumer" }]);
});

test("DEL-7, MOE-18: a modulator that is asked for again, as its producer comes back, just when its feed is refused is installed", async () => {
  await using rig = await startRig();
  await using there = await startCutter(rig.gateway.address);
  await using here = await startCutter(rig.gateway.address);
  await using producing = connect(there.address, { ...QUICK, modulators: { most: 0 } });
  await using viewing = connect(here.address, { ...QUICK, name: "viewing" });
  const inbox = new Inbox<number>();
  const consumer = await viewing
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n), { modulator: numbered });
  const through = new Inbox<number>();
  await rig
    .session()
    .channel("through", Tick)
    .subscribe(({ n }) => through.put(n));
  const mark = await viewing.channel("through", Tick).produce();
  // The consumer's process installs it, and asks for its feed.
  here.hold();
  const opening = producing.channel("a", Tick).produce();
  await expect.poll(() => here.heldBytes).toBeGreaterThan(0);
  there.part();
  const looks = rig.session();
  const producers = async (): Promise<unknown> => (await looks.overview("a")).of[0]?.producers;
  await expect.poll(producers).toBe(0);
  // The refusal and the next request come together.
  here.stall();
  mark.publish({ n: 1, note: "" });
  here.release();
  await through.take(1);
  there.join();
  await expect.poll(producers).toBe(1);
  here.flow();
  const producer = await opening;
  producer.publish({ n: 2, note: "" });
  expect(await inbox.take(1)).toEqual([2]);
  expect(consumer.placements).toMatchObject([{ at: "consumer" }]);
  expect(consumer.stats.missed).toBe(0);
});

test("DEL-6: a consumer whose own process runs its modulator has not recovered all where a producer began while it was away", async () => {
  await using rig = await rigAt("consumer");
  await using way = await startCutter(rig.gateway.address);
  await using session = connect(way.address, QUICK);
  const even = { modulator: EVEN };
  // The derived channel stays, for there is another consumer of it.
  const there = await numbersOf(rig, "a", Tick, even);
  const consumer = await session.channel("a", Tick).subscribe(() => {}, even);
  const broken = whenState(consumer, "reconnecting");
  way.part();
  await broken;
  const producer = await rig.session(rig.producing).channel("a", Tick).produce();
  for (let n = 0; n < 20; n++) producer.publish({ n, note: "" });
  await there.take(10);
  way.join();
  await whenState(consumer, "live");
  expect(consumer.status.recovered).toBeUndefined();
  await expect.poll(() => consumer.stats.missed).toBe(20);
});

test("MOE-18, MOE-21: nobody else may run modulators for others", async () => {
  await using rig = await startRig();
  const liar = rig.session({ modulating: "let me" });
  await expect(liar.ready()).rejects.toMatchObject({ code: "MODULATORS_NOT_SERVED" });
});
