import { connect, type Json, type Modulator } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, test } from "vitest";
import { Inbox, startRig, Tick, whenState } from "./rig.ts";

const EVERY = `import { FifoModulator } from "jecho:moe";
  export default class extends FifoModulator {
    enqueue(event) { if (event.n % this.parameters.n === 0) super.enqueue(event); }
  }`;

/** Every so many events; what differs by no more than `slack` is as good. Says what it was compared with. */
function every(n: number, slack: number, seen: number[] = []): Modulator {
  const equals = ({ parameters }: { parameters: Json }): boolean => {
    const other = (parameters as { n: number }).n;
    seen.push(other);
    return Math.abs(other - n) <= slack;
  };
  return { source: EVERY, parameters: { n }, equals };
}

test("MOE-22: modulators that their users find equal share a derived channel, whoever installed it, with the first one's parameters", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const [first, second, third] = [new Inbox<number>(), new Inbox<number>(), new Inbox<number>()];
  const seen: number[] = [];
  const subscribe = (inbox: Inbox<number>, modulator: Modulator) =>
    rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n }) => inbox.put(n), { modulator });
  const one = await subscribe(first, every(10, 1));
  await subscribe(second, every(11, 1, seen));
  await subscribe(third, every(30, 1, seen));
  expect(seen).toEqual([10, 10]);
  const wanted = () =>
    producer.demand.derived.map(({ parameters, consumers }) => [(parameters as { n: number }).n, consumers]);
  await expect.poll(wanted).toEqual([
    [10, 2],
    [30, 1],
  ]);
  for (let n = 1; n <= 30; n++) producer.publish({ n, note: "" });
  expect(await second.take(3)).toEqual([10, 20, 30]);
  expect(await third.take(1)).toEqual([30]);
  // It stays, as it is, when who installed it goes; who comes then finds it still.
  await one.close();
  const later = new Inbox<number>();
  await subscribe(later, every(9, 1));
  await expect.poll(wanted).toEqual([
    [10, 2],
    [30, 1],
  ]);
});

test("MOE-22: whoever opens at the same time ends with one, if they are equal", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const sessions = Array.from({ length: 8 }, () => rig.session());
  await Promise.all(sessions.map(session => session.ready()));
  await Promise.all(
    sessions.map((session, i) =>
      session.channel("a", Tick).subscribe(() => {}, { modulator: every(100 + i, 50) }),
    ),
  );
  await expect.poll(() => producer.demand.derived.map(({ consumers }) => consumers)).toEqual([8]);
});

test("MOE-22: only modulators are compared that are compared themselves, read the same objects and may use the same, of the same channel", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const session = rig.session();
  const [limit, other] = [session.share({ n: 1 }), session.share({ n: 1 })];
  const channel = session.channel("a", Tick);
  const open = (modulator: Modulator, capabilities?: readonly string[]) =>
    channel.subscribe(() => {}, { modulator, capabilities });
  await open({ source: EVERY, parameters: { n: 1 } });
  await open({ ...every(2, 0), source: `${EVERY}\n` });
  await open({ ...every(3, 0), objects: { limit: other } });
  await open({ ...every(4, 0), objects: { limit }, lazy: ["limit"] });
  await open({ ...every(5, 0), objects: { limit } }, ["more"]);
  await channel.subscribe(() => {}, { modulator: { ...every(6, 0), objects: { limit } }, as: "sixes" });
  await session
    .channel("a#sixes", Tick)
    .subscribe(() => {}, { modulator: { ...every(7, 0), objects: { limit } } });
  const seen: number[] = [];
  await open({ ...every(8, 9, seen), objects: { limit } });
  expect(seen).toEqual([6]);
  await expect.poll(() => producer.demand.derived).toHaveLength(7);
});

test("MOE-22: a modulator whose equals throws is not installed, and says why", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const channel = rig.session().channel("a", Tick);
  const throwing: Modulator = {
    ...every(2, 0),
    equals: () => {
      throw new Error("no idea");
    },
  };
  // There is nothing to compare it with yet.
  const alone = await channel.subscribe(() => {}, { modulator: throwing });
  const failed = { code: "MODULATOR_FAILED", message: expect.stringContaining("no idea") };
  const second = rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator: { ...throwing, parameters: { n: 3 } } });
  await expect(second).rejects.toMatchObject(failed);
  await expect(alone.reset({ modulator: { ...throwing, parameters: { n: 3 } } })).rejects.toMatchObject(
    failed,
  );
  await expect.poll(() => producer.demand.derived.map(({ parameters }) => parameters)).toEqual([{ n: 2 }]);
});

test("MOE-22: a reset goes over to an equal one, and what is asked for later holds", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator: every(10, 1) });
  const inbox = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n), { modulator: every(2, 0) });
  await consumer.reset({ modulator: every(11, 1) });
  await expect
    .poll(() => producer.demand.derived.map(({ parameters, consumers }) => [parameters, consumers]))
    .toEqual([[{ n: 10 }, 2]]);
  await Promise.all([
    consumer.reset({ modulator: every(11, 1) }),
    consumer.reset({ modulator: every(5, 0) }),
  ]);
  for (let n = 1; n <= 10; n++) producer.publish({ n, note: "" });
  expect(await inbox.take(2)).toEqual([5, 10]);
});

test("MOE-22: after a broken connection, and after a restart of the gateway, they share one again", async () => {
  await using first = await startRig();
  const producer = await first.session().channel("a", Tick).produce();
  await using way = await startCutter(first.gateway.address);
  const inbox = new Inbox<number>();
  const one = await first
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator: every(10, 1) });
  const session = connect(way.address, { backoff: { firstMs: 20, mostMs: 100 } });
  const two = await session
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n), { modulator: every(11, 1) });
  const wanted = () => producer.demand.derived.map(({ parameters, consumers }) => [parameters, consumers]);
  await expect.poll(wanted).toEqual([[{ n: 10 }, 2]]);
  let away = whenState(two, "reconnecting");
  way.cut();
  await away;
  await whenState(two, "live");
  await expect.poll(wanted).toEqual([[{ n: 10 }, 2]]);
  away = Promise.all([whenState(one, "reconnecting"), whenState(two, "reconnecting")]).then(() => {});
  await first.gateway.close();
  await away;
  await first.again();
  await Promise.all([whenState(one, "live"), whenState(two, "live")]);
  await expect.poll(wanted).toEqual([[{ n: 10 }, 2]]);
  producer.publish({ n: 20, note: "" });
  expect(await inbox.take(1)).toEqual([20]);
  await session.close();
});
