import { connect } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, inject, test } from "vitest";
import { Inbox, moe, PATIENT, startRig, Tick, whenState } from "./rig.ts";

/** A modulator may take all the time that it needs. */
const MODULATORS = { limits: { ...PATIENT.limits, timeShare: 1, shareWindowMs: 60_000 } };
const QUICK = { place: inject("place"), backoff: { firstMs: 10, mostMs: 50 } };

/** Hosted, and slow: most of its output is made after the connection has gone. */
const SLOW = moe(`enqueue(event) {
    for (const begin = Date.now(); Date.now() - begin < 20;);
    if (event.n % 2 === 0) super.enqueue(event);
  }`);

const EVERYTHING = {
  source: `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator {}`,
};

test.for([
  { elsewhere: true, restarts: true, keeps: false },
  { elsewhere: false, restarts: true, keeps: false },
  { elsewhere: true, restarts: false, keeps: false },
  { elsewhere: false, restarts: false, keeps: false },
  { elsewhere: false, restarts: true, keeps: true },
])(
  "DEL-8: consumers in the producer's own process get what it raises and its modulators make while the gateway is away: elsewhere $elsewhere, restarts $restarts, keeps $keeps",
  async ({ elsewhere, restarts, keeps }) => {
    await using rig = await startRig();
    await using way = await startCutter(rig.gateway.address);
    await using session = connect(way.address, { ...QUICK, name: "both", modulators: MODULATORS });
    const channel = session.channel("a", Tick);
    // For a history alone all is wanted at once.
    const producer = await channel.produce(keeps ? { history: { events: 1000 } } : {});
    const [here, there, plain] = [new Inbox<number>(), new Inbox<number>(), new Inbox<number>()];
    const reading = await channel.subscribe(({ n }) => plain.put(n));
    const consumer = await channel.subscribe(({ n }) => here.put(n), { modulator: SLOW });
    const other = rig.session().channel("a", Tick);
    const remote = elsewhere
      ? await other.subscribe(({ n }) => there.put(n), { modulator: SLOW })
      : undefined;
    const derived = () => producer.demand.derived.reduce((sum, { consumers }) => sum + consumers, 0);
    await expect.poll(derived).toBe(elsewhere ? 2 : 1);
    producer.publish({ n: 2, note: "" });
    await here.take(1);
    for (let n = 3; n <= 40; n++) producer.publish({ n, note: "" });
    // The modulator has these.
    await new Promise(resolve => setImmediate(resolve));
    way.part();
    await whenState(consumer, "reconnecting");
    if (restarts) {
      await rig.gateway.close();
      await rig.again();
    }
    way.join();
    await producer.publishWhenReady({ n: 42, note: "" });
    const evens = Array.from({ length: 21 }, (_, i) => 2 * (i + 1)).filter(n => n !== 42 && n <= 40);
    const all = [...evens, 42];
    await expect.poll(() => here.all.at(-1)).toBe(42);
    expect({ here: here.all, missed: consumer.stats.missed }).toEqual({ here: all, missed: 0 });
    const raised = [...Array.from({ length: 39 }, (_, i) => i + 2), 42];
    await expect.poll(() => plain.all.at(-1)).toBe(42);
    expect({ plain: plain.all, missed: reading.stats.missed }).toEqual({ plain: raised, missed: 0 });
    if (remote === undefined) return;
    await expect.poll(() => there.all.at(-1)).toBe(42);
    expect({ there: there.all, missed: remote.stats.missed }).toEqual({ there: all, missed: 0 });
  },
);

test("DEL-8, CHAN-5: a consumer in the process of a busy producer that begins in the past misses nothing of what follows", async () => {
  await using rig = await startRig();
  const channel = rig.session().channel("a", Tick);
  const producer = await channel.produce({ history: { events: 100_000 } });
  let [n, isOver] = [0, false];
  const raising = (async () => {
    for (; !isOver; await new Promise(resolve => setImmediate(resolve)))
      await producer.publishWhenReady({ n: ++n, note: "" });
  })();
  const heard = [];
  for (let i = 0; i < 10; i++) {
    const inbox = new Inbox<number>();
    const consumer = await channel.subscribe(one => inbox.put(one.n), { from: 1 });
    heard.push({ inbox, consumer });
  }
  isOver = true;
  await raising;
  const all = Array.from({ length: n }, (_, i) => i + 1);
  for (const { inbox, consumer } of heard) {
    await expect.poll(() => inbox.all.at(-1)).toBe(n);
    expect({ heard: inbox.all, missed: consumer.stats.missed }).toEqual({ heard: all, missed: 0 });
  }
});

test("PROV-5: a consumer whose past is made here is not told to miss what its modulator drops meanwhile", async () => {
  await using rig = await startRig();
  const session = rig.session({ modulators: MODULATORS });
  const channel = session.channel("a", Tick);
  const producer = await channel.produce({ history: { events: 1000 } });
  const raise = (from: number, to: number): void => {
    for (let n = from; n <= to; n++) producer.publish({ n, note: "" });
  };
  raise(1, 60);
  const [live, late] = [new Inbox<number>(), new Inbox<number>()];
  await channel.subscribe(({ n }) => live.put(n), { modulator: SLOW });
  raise(61, 62);
  await live.take(1);
  const consumer = await channel.subscribe(({ n }) => late.put(n), { modulator: SLOW, from: 1 });
  raise(63, 63);
  // Then the modulator has said that this does not pass.
  await session.flush();
  await late.take(31);
  raise(64, 64);
  expect(await late.take(32)).toEqual(Array.from({ length: 32 }, (_, i) => 2 * (i + 1)));
  expect(consumer.stats.missed).toBe(0);
});

test.each([false, true])(
  "DEL-8, CHAN-5: a consumer in its producer's process that begins in the past misses nothing that a broken connection has lost (modulated: %s)",
  async isModulated => {
    await using rig = await startRig();
    await using way = await startCutter(rig.gateway.address);
    await using session = connect(way.address, { ...QUICK, modulators: MODULATORS });
    const channel = session.channel("a", Tick);
    const producer = await channel.produce({ history: { events: 1000 } });
    const [live, late] = [new Inbox<number>(), new Inbox<number>()];
    await channel.subscribe(({ n }) => live.put(n));
    const raise = (from: number, to: number): void => {
      for (let n = from; n <= to; n++) producer.publish({ n, note: "" });
    };
    raise(1, 20);
    await session.flush();
    way.hold();
    raise(21, 40);
    await live.take(40);
    const isBroken = whenState(session, "reconnecting");
    way.cut();
    await isBroken;
    const opening = channel.subscribe(({ n }) => late.put(n), {
      from: 1,
      ...(isModulated && { modulator: EVERYTHING }),
    });
    way.release();
    const consumer = await opening;
    raise(41, 60);
    await expect.poll(() => late.all.at(-1)).toBe(60);
    const all = Array.from({ length: 60 }, (_, i) => i + 1);
    expect({ late: late.all, missed: consumer.stats.missed }).toEqual({ late: all, missed: 0 });
  },
);
