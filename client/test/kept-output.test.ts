import { connect, type EventPlace, type Session, type SubscribeOptions } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, inject, test } from "vitest";
import { EVEN, Inbox, moe, numbersOf, PATIENT, type Rig, startRig, Tick, whenState } from "./rig.ts";

const QUICK = { place: inject("place"), backoff: { firstMs: 10, mostMs: 50 } };

/** Passes events whose `n` leaves this remainder, slowly: most of its output is made after the connection has gone. */
const every = (remainder: number) =>
  moe(`enqueue(event) {
    for (const begin = Date.now(); Date.now() - begin < 20;);
    if (event.n % 2 === ${remainder}) super.enqueue(event);
  }`);

test("DEL-3, MOE-18: output made while its consumers are away reaches those alone that had its modulator, over several gateways", async () => {
  await using rig = await startRig();
  await using near = await startCutter(rig.gateway.address);
  await using far = await startCutter(rig.gateway.address);
  await using producing = connect(far.address, { ...QUICK, name: "producing", modulators: { most: 0 } });
  await using consuming = connect(near.address, { ...QUICK, name: "consuming", modulators: PATIENT });
  const producer = await producing.channel("a", Tick).produce();
  const [even, odd] = [new Inbox<number>(), new Inbox<number>()];
  const channel = consuming.channel("a", Tick);
  const consumers = [
    await channel.subscribe(({ n }) => even.put(n), { modulator: every(0) }),
    await channel.subscribe(({ n }) => odd.put(n), { modulator: every(1) }),
  ];
  await expect.poll(() => producer.demand.total).toBeGreaterThan(0);
  for (let n = 1; n <= 20; n++) producer.publish({ n, note: "" });
  await even.take(1);
  far.part();
  near.part();
  await Promise.all(consumers.map(consumer => whenState(consumer, "reconnecting")));

  // At the next gateway, which the producer never sees, their channels have each other's numbers.
  await rig.gateway.close();
  await rig.again();
  const other = rig.session().channel("a", Tick);
  for (const remainder of [1, 0]) await other.subscribe(() => {}, { modulator: every(remainder) });
  near.join();
  await Promise.all(consumers.map(consumer => whenState(consumer, "live")));
  near.part();
  await Promise.all(consumers.map(consumer => whenState(consumer, "reconnecting")));

  await rig.gateway.close();
  await rig.again();
  near.join();
  await Promise.all(consumers.map(consumer => whenState(consumer, "live")));
  far.join();
  await whenState(producing, "live");
  for (const n of [21, 22]) producer.publish({ n, note: "" });
  const all = Array.from({ length: 22 }, (_, i) => i + 1);
  expect(await even.take(11)).toEqual(all.filter(n => n % 2 === 0));
  expect(await odd.take(11)).toEqual(all.filter(n => n % 2 === 1));
});

/** Says of each event how many it has been given. */
const COUNTING = moe(`count = 0;
  enqueue() { super.enqueue({ n: ++this.count, note: "" }); }`);

test("DEL-7, MOE-20: a modulator that runs with its consumers has its state at a gateway that was started again, under other numbers", async () => {
  await using rig = await startRig();
  await using near = await startCutter(rig.gateway.address);
  await using far = await startCutter(rig.gateway.address);
  await using producing = connect(far.address, { ...QUICK, name: "producing", modulators: { most: 0 } });
  await using consuming = connect(near.address, { ...QUICK, name: "consuming", modulators: PATIENT });
  const producers = [
    await producing.channel("a", Tick).produce(),
    await producing.channel("b", Tick).produce(),
  ] as const;
  let restarts = 0;
  const counts = [new Inbox<number>(), new Inbox<number>()] as const;
  const consumers = await Promise.all(
    ["a", "b"].map((name, i) =>
      consuming.channel(name, Tick).subscribe(({ n }) => counts[i]?.put(n), {
        modulator: COUNTING,
        onRestart: () => void restarts++,
      }),
    ),
  );
  for (const producer of producers) await expect.poll(() => producer.demand.total).toBeGreaterThan(0);
  for (let n = 1; n <= 3; n++) await producers[0].publishSync({ n, note: "" });
  await producers[1].publishSync({ n: 1, note: "" });
  far.part();
  near.part();
  await Promise.all(consumers.map(consumer => whenState(consumer, "reconnecting")));

  // At the next gateway the channels have each other's numbers.
  await rig.gateway.close();
  await rig.again();
  for (const name of ["b", "a"])
    await rig
      .session()
      .channel(name, Tick)
      .subscribe(() => {});
  far.join();
  near.join();
  await Promise.all(consumers.map(consumer => whenState(consumer, "live")));
  for (const producer of producers) producer.publish({ n: 4, note: "" });
  expect(await counts[0].take(4)).toEqual([1, 2, 3, 4]);
  expect(await counts[1].take(2)).toEqual([1, 2]);
  expect([restarts, ...consumers.map(({ stats }) => stats.missed)]).toEqual([0, 0, 0]);
});

test("PROV-5: a consumer that goes on at a place is told at once what its process had made meanwhile for another one", async () => {
  await using rig = await startRig();
  await using producing = connect(rig.gateway.address, { ...QUICK, modulators: { most: 0 } });
  await using consuming = connect(rig.gateway.address, { ...QUICK, modulators: PATIENT });
  const producer = await producing.channel("a", Tick).produce();
  const channel = consuming.channel("a", Tick);
  const [first, second, missed] = [new Inbox<number>(), new Inbox<number>(), new Inbox<number>()];
  const consumer = await channel.subscribe(({ n }) => first.put(n), { modulator: COUNTING });
  await channel.subscribe(({ n }) => second.put(n), { modulator: COUNTING });
  await producer.publishSync({ n: 1, note: "" });
  const { place } = consumer;
  await consumer.close();
  for (const n of [2, 3]) await producer.publishSync({ n, note: "" });
  expect(await second.take(3)).toEqual([1, 2, 3]);
  await channel.subscribe(({ n }) => first.put(n), {
    modulator: COUNTING,
    from: place as EventPlace,
    onMissed: ({ events }) => missed.put(events),
  });
  // No further event is raised.
  expect(await missed.take(1)).toEqual([2]);
  expect(first.all).toEqual([1]);
});

test("HIST-7: a consumer that goes on at a place gets what was made meanwhile for another one of its process, as far as it is kept", async () => {
  await using rig = await startRig();
  await using producing = connect(rig.gateway.address, { ...QUICK, modulators: { most: 0 } });
  await using consuming = connect(rig.gateway.address, { ...QUICK, modulators: PATIENT });
  const producer = await producing.channel("a", Tick).produce({ history: { events: 100 } });
  const channel = consuming.channel("a", Tick);
  const [first, second] = [new Inbox<number>(), new Inbox<number>()];
  const modulator = {
    source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { enqueue(event) { if (event.n % 2 === 0) super.enqueue(event); } }`,
  };
  const consumer = await channel.subscribe(({ n }) => first.put(n), { modulator });
  await channel.subscribe(({ n }) => second.put(n), { modulator });
  for (const n of [1, 2, 3]) await producer.publishSync({ n, note: "" });
  const { place } = consumer;
  await consumer.close();
  for (const n of [4, 5, 6, 7]) await producer.publishSync({ n, note: "" });
  expect(await second.take(3)).toEqual([2, 4, 6]);
  let restarts = 0;
  const again = await channel.subscribe(({ n }) => first.put(n), {
    modulator,
    from: place as EventPlace,
    onRestart: () => void restarts++,
  });
  for (const n of [8, 9, 10]) await producer.publishSync({ n, note: "" });
  expect(await first.take(5)).toEqual([2, 4, 6, 8, 10]);
  expect(await second.take(5)).toEqual([2, 4, 6, 8, 10]);
  expect([again.stats.missed, restarts]).toEqual([0, 2]);
});

/** A channel with history, and a consumer of its even events that is away until its modulator has left the producer. */
async function startAway(rig: Rig, queue?: SubscribeOptions["queue"]) {
  const cutter = await startCutter(rig.gateway.address);
  const producer = await rig
    .session()
    .channel("a", Tick)
    .produce({ history: { events: 1000 } });
  const session = connect(cutter.address, { ...QUICK, name: "away", modulators: PATIENT });
  const [inbox, missed] = [new Inbox<number>(), new Inbox<number>()];
  const raise = (first: number, last: number): void => {
    for (let n = first; n <= last; n++) producer.publish({ n, note: "" });
  };
  const subscribe = (at: Session, from?: EventPlace) =>
    at.channel("a", Tick).subscribe(({ n }) => inbox.put(n), {
      modulator: EVEN,
      onMissed: ({ events }) => missed.put(events),
      ...(from && { from }),
      ...(queue && { queue }),
    });
  const consumer = await subscribe(session);
  raise(1, 10);
  await inbox.take(5);
  cutter.part();
  await expect.poll(() => producer.demand.derived.length).toBe(0);
  return {
    consumer,
    inbox,
    missed,
    raise,
    subscribe,
    join: () => cutter.join(),
    async [Symbol.asyncDispose]() {
      await session.close();
      await cutter[Symbol.asyncDispose]();
    },
  };
}

test.each([
  ["the same consumer", false],
  ["another session", true],
])(
  "HIST-7: %s that goes on when its modulator has long left the producer gets what came meanwhile",
  async (_, isOther) => {
    await using rig = await startRig({ resumeWindowMs: 50 });
    await using away = await startAway(rig);
    const { inbox, consumer } = away;
    away.raise(11, 30);
    if (isOther) await away.subscribe(rig.session(), consumer.place);
    else away.join();
    await inbox.take(15);
    away.raise(31, 40);
    expect(await inbox.take(20)).toEqual(Array.from({ length: 20 }, (_, i) => 2 * (i + 1)));
    expect(away.missed.all).toEqual([]);
  },
);

test("HIST-7: who goes on at a place gets what its modulator made for nobody, as it went on for one behind it alone", async () => {
  await using rig = await startRig();
  const producer = await rig
    .session()
    .channel("a", Tick)
    .produce({ history: { events: 1000 } });
  const [inbox, missed] = [new Inbox<number>(), new Inbox<number>()];
  const subscribe = (from?: EventPlace) =>
    rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n }) => inbox.put(n), {
        modulator: EVEN,
        as: "even",
        onMissed: ({ events }) => missed.put(events),
        ...(from && { from }),
      });
  const raise = (first: number, last: number): void => {
    for (let n = first; n <= last; n++) producer.publish({ n, note: "" });
  };
  const first = await subscribe();
  const fourth = { source: EVEN.source.replace("% 2", "% 4") };
  const behind = await numbersOf(rig, "a#even", Tick, { modulator: fourth });
  raise(1, 10);
  await inbox.take(5);
  await behind.take(2);
  const { place } = first;
  await first.close();
  await expect.poll(() => producer.demand.derived[0]?.consumers).toBe(0);
  raise(11, 20);
  await behind.take(5);
  await subscribe(place);
  raise(21, 30);
  expect(await inbox.take(15)).toEqual(Array.from({ length: 15 }, (_, i) => 2 * (i + 1)));
  expect(missed.all).toEqual([]);
});

test("HIST-7: the next modulator of a consumer that was away comes behind what came meanwhile", async () => {
  await using rig = await startRig({ resumeWindowMs: 50 });
  await using away = await startAway(rig);
  const { inbox, consumer } = away;
  away.raise(11, 30);
  const next = { source: EVEN.source.replace("=== 0", "=== 1") };
  const reset = consumer.reset({ modulator: next });
  away.join();
  await reset;
  away.raise(31, 40);
  const all = await inbox.take(20);
  expect(all.slice(0, 15)).toEqual(Array.from({ length: 15 }, (_, i) => 2 * (i + 1)));
  expect(all.slice(15)).toEqual([31, 33, 35, 37, 39]);
  expect(away.missed.all).toEqual([]);
});

test("HIST-7: what came meanwhile is told where it is more than the consumer's queue takes", async () => {
  await using rig = await startRig({ resumeWindowMs: 50 });
  await using away = await startAway(rig, { limitBytes: 256 });
  away.raise(11, 30);
  away.join();
  expect(await away.missed.take(1)).toEqual([20]);
  away.raise(31, 40);
  expect((await away.inbox.take(10)).slice(5)).toEqual([32, 34, 36, 38, 40]);
});

test("HIST-7: a producer that began while a consumer was away is a part of what came meanwhile", async () => {
  await using rig = await startRig({ resumeWindowMs: 50 });
  await using away = await startAway(rig);
  const second = await rig
    .session()
    .channel("a", Tick)
    .produce({ history: { events: 1000 } });
  for (let n = 101; n <= 120; n++) second.publish({ n, note: "" });
  away.join();
  const all = await away.inbox.take(15);
  expect(all.slice(5)).toEqual(Array.from({ length: 10 }, (_, i) => 102 + 2 * i));
  expect(away.missed.all).toEqual([]);
});
