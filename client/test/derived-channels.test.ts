import { fifo, type Modulator, type } from "@jecho/client";
import { expect, test } from "vitest";
import { EVEN, Inbox, moe, startRig, Tick, whenState } from "./rig.ts";

const THIRDS = moe("enqueue(event) { if (event.n % 3 === 0) super.enqueue(event); }");
const OTHER = type("Alarm", { level: "float64", note: "string" });
const ALARMS: Modulator =
  moe(`static output = { name: "Alarm", description: { level: "float64", note: "string" } };
  enqueue(event) { if (event.n > 5) super.enqueue({ level: event.n / 10, note: "high" }); }`);

const upTo = (end: number, every: number): number[] =>
  Array.from({ length: Math.ceil(end / every) }, (_, i) => every * i);

test("CHAN-8: others subscribe by its name to what a modulator makes, without bringing one", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const [own, named] = [new Inbox<number>(), new Inbox<number>()];
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => own.put(n), { modulator: EVEN, as: "evens" });
  await rig
    .session()
    .channel("a#evens", Tick)
    .subscribe(({ n }) => named.put(n));
  await expect.poll(() => producer.demand.derived.map(({ consumers }) => consumers)).toEqual([2]);
  for (let n = 0; n < 100; n++) producer.publish({ n, note: "" });
  expect(await own.take(50)).toEqual(upTo(100, 2));
  expect(await named.take(50)).toEqual(upTo(100, 2));
});

test("CHAN-5: its consumers in the producer's own process get its events without the wire, those elsewhere once", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const producer = await session.channel("a", Tick).produce();
  const [here, elsewhere] = [
    new Inbox<{ n: number; seq: number }>(),
    new Inbox<{ n: number; seq: number }>(),
  ];
  await session.channel("a", Tick).subscribe(({ n }, { seq }) => here.put({ n, seq }), { modulator: EVEN });
  expect(await producer.publishSync({ n: 2, note: "" })).toBe(1);
  const other = rig.session().channel("a", Tick);
  const twins = await Promise.all(
    [1, 2].map(() => other.subscribe(({ n }, { seq }) => elsewhere.put({ n, seq }), { modulator: EVEN })),
  );
  expect(await producer.publishSync({ n: 4, note: "" })).toBe(3);
  // A number is what the gateway gives: the first event never came there.
  expect(elsewhere.all).toEqual([
    { n: 4, seq: 1 },
    { n: 4, seq: 1 },
  ]);
  expect(here.all).toEqual([
    { n: 2, seq: 0 },
    { n: 4, seq: 0 },
  ]);
  expect(twins.map(({ stats }) => stats.events)).toEqual([1, 1]);
});

test("CHAN-8: it has its own type, which a named subscriber is checked against", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator: ALARMS, as: "alarms" });
  const inbox = new Inbox<number>();
  const session = rig.session();
  const channel = session.channel("a#alarms", OTHER);
  expect((await channel.types()).map(({ name }) => name)).toEqual(["Alarm"]);
  await channel.subscribe(({ level }) => inbox.put(level));
  const wrong = type("Alarm", { level: "string" });
  await expect(session.channel("a#alarms", wrong).subscribe(() => {})).rejects.toMatchObject({
    code: "TYPE_MISMATCH",
  });
  for (const n of [5, 6]) producer.publish({ n, note: "" });
  expect(await inbox.take(1)).toEqual([0.6]);
});

test("CHAN-8: it outlives who named it, goes with its last consumer, and is back within one step when one returns", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const bring = (inbox: Inbox<number>) =>
    rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n }) => inbox.put(n), { modulator: EVEN, as: "evens" });
  const first = await bring(new Inbox());
  const inbox = new Inbox<number>();
  const named = await rig
    .session()
    .channel("a#evens", Tick)
    .subscribe(({ n }) => inbox.put(n));
  await first.close();
  producer.publish({ n: 2, note: "" });
  expect(await inbox.take(1)).toEqual([2]);
  await named.close();
  await expect.poll(() => producer.demand.derived).toEqual([]);
  const gone = rig
    .session()
    .channel("a#evens", Tick)
    .subscribe(() => {});
  await expect(gone).rejects.toMatchObject({ code: "DERIVED_UNKNOWN" });
  const again = new Inbox<number>();
  await bring(again);
  producer.publish({ n: 4, note: "" });
  expect(await again.take(1)).toEqual([4]);
});

test.each([
  ["a name that another modulator's channel has", "evens", "DERIVED_TAKEN"],
  ["what is no name", "no name", "CHANNEL_NAME_INVALID"],
])("CHAN-8: %s is refused", async (_, as, code) => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const session = rig.session();
  await session.channel("a", Tick).subscribe(() => {}, { modulator: EVEN, as: "evens" });
  const refused = session.channel("a", Tick).subscribe(() => {}, { modulator: THIRDS, as });
  await expect(refused).rejects.toMatchObject({ code });
  await expect.poll(() => producer.demand.derived).toHaveLength(1);
});

test("CHAN-8: a consumer of a name comes back after a restart of the gateway, as soon as it is derived again", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const inbox = new Inbox<number>();
  const bringing = await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator: EVEN, as: "evens" });
  const named = await rig
    .session()
    .channel("a#evens", Tick)
    .subscribe(({ n }) => inbox.put(n));
  const interrupted = Promise.all([whenState(named, "reconnecting"), whenState(bringing, "reconnecting")]);
  await rig.gateway.close();
  await interrupted;
  await rig.again();
  await whenState(named, "live");
  await expect.poll(() => producer.demand.derived.map(({ consumers }) => consumers)).toEqual([2]);
  producer.publish({ n: 2, note: "" });
  expect(await inbox.take(1)).toEqual([2]);
});

test("MOE-17: a derived channel is derived from again, in the same producers, in order and by type", async () => {
  await using rig = await startRig();
  const producers = await Promise.all([1, 2].map(() => rig.session().channel("a", Tick).produce()));
  const viewer = rig.session();
  const [evens, sixths, alarms] = [new Inbox<number>(), new Inbox<number>(), new Inbox<number>()];
  await viewer.channel("a", Tick).subscribe(({ n }) => evens.put(n), { modulator: EVEN, as: "evens" });
  await viewer
    .channel("a#evens", Tick)
    .subscribe(({ n }) => sixths.put(n), { modulator: THIRDS, as: "sixths" });
  await viewer
    .channel("a#sixths", Tick)
    .subscribe(event => alarms.put((event as unknown as { level: number }).level), {
      modulator: ALARMS,
    });
  for (let n = 0; n < 60; n++) producers[0]?.publish({ n, note: "" });
  expect(await evens.take(30)).toEqual(upTo(60, 2));
  expect(await sixths.take(10)).toEqual(upTo(60, 6));
  expect(await alarms.take(9)).toEqual(
    upTo(60, 6)
      .slice(1)
      .map(n => n / 10),
  );
  producers[1]?.publish({ n: 600, note: "" });
  await expect.poll(() => alarms.all.at(-1)).toBe(60);
  // A producer that comes later has all three.
  const late = await rig.session().channel("a", Tick).produce();
  expect(late.demand.derived).toHaveLength(3);
  late.publish({ n: 1200, note: "" });
  await expect.poll(() => alarms.all.at(-1)).toBe(120);
});

test("MOE-17: the channel in between stays as long as one is derived from it, and both go together", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const viewer = rig.session();
  const inbox = new Inbox<number>();
  const between = await viewer.channel("a", Tick).subscribe(() => {}, { modulator: EVEN, as: "evens" });
  const last = await viewer
    .channel("a#evens", Tick)
    .subscribe(({ n }) => inbox.put(n), { modulator: THIRDS });
  await between.close();
  for (const n of [2, 3, 6]) producer.publish({ n, note: "" });
  expect(await inbox.take(1)).toEqual([6]);
  await last.close();
  await expect.poll(() => producer.demand.derived).toEqual([]);
});

test("SYNC-5: a synchronous event waits for consumers behind two modulators", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const viewer = rig.session();
  let handled = 0;
  await viewer.channel("a", Tick).subscribe(() => {}, { modulator: EVEN, as: "evens" });
  const slow = () =>
    new Promise<void>(resolve =>
      setImmediate(() => {
        handled++;
        resolve();
      }),
    );
  await viewer.channel("a#evens", Tick).subscribe(slow, { modulator: THIRDS });
  await expect.poll(() => producer.demand.total).toBe(2);
  for (const [n, consumers, count] of [
    [1, 0, 0],
    [2, 1, 0],
    [6, 2, 1],
    [12, 2, 2],
  ] as const) {
    expect(await producer.publishSync({ n, note: "" })).toBe(consumers);
    expect(handled).toBe(count);
  }
});

test("MOE-5: where the modulator in between fails, the consumers of both are told why", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const viewer = rig.session();
  const failing = moe(
    "enqueue(event) { if (event.n === 3) throw new Error('threes'); super.enqueue(event); }",
  );
  const between = await viewer.channel("a", Tick).subscribe(() => {}, { modulator: failing, as: "x" });
  const last = await viewer.channel("a#x", Tick).subscribe(() => {}, fifo());
  const both = [between, last];
  const ended = Promise.all(both.map(consumer => whenState(consumer, "refused")));
  producer.publish({ n: 3, note: "" });
  await ended;
  for (const consumer of both) {
    expect(consumer.status.error).toMatchObject({ code: "MODULATOR_FAILED" });
  }
  await expect.poll(() => producer.demand.derived).toEqual([]);
});

test("HAND-1: a consumer behind two modulators is handed over with both as they are", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const first = rig.session();
  await first.channel("a", Tick).subscribe(() => {}, { modulator: EVEN, as: "evens" });
  await first.channel("a#evens", Tick).subscribe(() => {}, { modulator: THIRDS, label: "sixths" });
  await expect.poll(() => producer.demand.total).toBe(2);
  const installed = producer.demand.derived.map(({ id }) => id);
  const { token } = await first.handover();
  const second = rig.session({ handover: token });
  const { subscriptions } = await second.inheritance();
  const inbox = new Inbox<number>();
  for (const subscription of subscriptions) {
    const isLast = subscription.label === "sixths";
    await subscription.takeOver<{ n: number }>(({ n }) => void (isLast && inbox.put(n)));
  }
  for (const n of [2, 3, 6]) producer.publish({ n, note: "" });
  expect(await inbox.take(1)).toEqual([6]);
  expect(producer.demand.derived.map(({ id }) => id)).toEqual(installed);
});
