import { type Modulator, modulatorFrom, rateLimit } from "@jecho/client";
import { expect, test } from "vitest";
import { numbered, rigAt } from "./placement-rig.ts";
import { startRig, Tick } from "./rig.ts";

/** Passes every event, and says that it wants as many a second as a shared object does. */
const following = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  get mostPerSecond() { return this.objects.wanted.perSecond; }
}`;

test("MOE-23: a producer is told the rate that is wanted of it: the greatest, and every event where anybody wants that", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  expect(producer.demand.mostPerSecond).toBe(0);
  const watching = rig.session().channel("a", Tick);
  const slow = await watching.subscribe(() => {}, rateLimit(2000));
  await expect.poll(() => producer.demand).toMatchObject({ total: 1, mostPerSecond: 0.5 });
  const faster = await watching.subscribe(() => {}, rateLimit(100));
  await expect.poll(() => producer.demand).toMatchObject({ total: 2, mostPerSecond: 10 });
  expect(producer.demand.derived.map(({ mostPerSecond }) => mostPerSecond)).toEqual([0.5, 10]);
  const all = await watching.subscribe(() => {});
  await expect.poll(() => producer.demand.mostPerSecond).toBe(Number.POSITIVE_INFINITY);
  await all.close();
  await expect.poll(() => producer.demand.mostPerSecond).toBe(10);
  const any = await watching.subscribe(() => {}, { modulator: numbered });
  await expect.poll(() => producer.demand.mostPerSecond).toBe(Number.POSITIVE_INFINITY);
  await any.close();
  await faster.close();
  await expect.poll(() => producer.demand.mostPerSecond).toBe(0.5);
  await slow.close();
  await expect.poll(() => producer.demand).toMatchObject({ total: 0, mostPerSecond: 0 });
});

test("MOE-23: the rate follows a shared object, without an event", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const told: number[] = [];
  producer.onDemand(({ mostPerSecond }) => {
    if (told.at(-1) !== mostPerSecond) told.push(mostPerSecond);
  });
  const session = rig.session();
  const wanted = session.share({ perSecond: 0.01 });
  const modulator: Modulator = { source: following, objects: { wanted } };
  await session.channel("a", Tick).subscribe(() => {}, { modulator });
  await expect.poll(() => told.at(-1)).toBe(0.01);
  wanted.update({ perSecond: 25 });
  await expect.poll(() => told.at(-1)).toBe(25);
  wanted.update({ perSecond: 0 });
  await expect.poll(() => told.at(-1)).toBe(Number.POSITIVE_INFINITY);
});

test("MOE-23: of a modulator behind another, what the first one wants counts", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const watching = rig.session();
  const rates = (): number[] => producer.demand.derived.map(({ mostPerSecond }) => mostPerSecond);
  await watching.channel("a", Tick).subscribe(() => {}, { modulator: numbered, as: "all" });
  await watching.channel("a#all", Tick).subscribe(() => {}, rateLimit(1000));
  await expect.poll(rates).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
  const seldom = await watching.channel("b", Tick).produce();
  await watching.channel("b", Tick).subscribe(() => {}, { ...rateLimit(500), as: "seldom" });
  await watching.channel("b#seldom", Tick).subscribe(() => {}, { modulator: numbered });
  await expect.poll(() => seldom.demand.derived.map(({ mostPerSecond }) => mostPerSecond)).toEqual([2, 2]);
  await expect.poll(() => seldom.demand.mostPerSecond).toBe(2);
});

test.each(["gateway", "consumer"] as const)(
  "MOE-23: of what runs at the %s, every event is wanted",
  async at => {
    await using rig = await rigAt(at);
    const producer = await rig.session(rig.producing).channel("a", Tick).produce();
    const consumer = await rig
      .session()
      .channel("a", Tick)
      .subscribe(() => {}, rateLimit(2000));
    expect(consumer.placements.map(placement => placement.at)).toEqual([at]);
    await expect
      .poll(() => producer.demand)
      .toMatchObject({ consumers: 1, derived: [], mostPerSecond: Number.POSITIVE_INFINITY });
  },
);

test("of the demand through very many modulators, which is told once in a while, a producer knows all in the end", async () => {
  await using rig = await startRig({ modulatorsPerConnection: 200 });
  const producer = await rig
    .session({ modulators: { most: 150 } })
    .channel("a", Tick)
    .produce();
  const watching = rig.session().channel("a", Tick);
  const consumers = await Promise.all(
    Array.from({ length: 150 }, (_, wanted) => {
      const modulator = modulatorFrom(
        (event: typeof Tick.event, { parameters }) => event.n === parameters.wanted,
        { parameters: { wanted } },
      );
      return watching.subscribe(() => {}, { modulator });
    }),
  );
  await expect.poll(() => producer.demand).toMatchObject({ total: 150, derived: { length: 150 } });
  await Promise.all(consumers.map(consumer => consumer.close()));
  await expect.poll(() => producer.demand).toMatchObject({ total: 0, derived: { length: 0 } });
});
