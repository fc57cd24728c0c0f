import { modulatorFrom, type } from "@jecho/client";
import { expect, test } from "vitest";
import { Inbox, startRig, Tick } from "./rig.ts";

/** A gateway whose queues take all that is raised here: whether the consumer keeps up is no matter of these tests. */
const ROOMY = { consumerQueueBytes: 256 << 20, connectionQueueBytes: 256 << 20 };
const EVENTS = 16_000;
const note = "x".repeat(1000);

/* More than a connection takes at once, raised in one turn, and less than a queue of the producer's own holds. */

test.each([
  ["compiled", modulatorFrom<typeof Tick.event>(({ n }) => n >= 0)],
  ["hosted", modulatorFrom<typeof Tick.event>(({ n }) => JSON.stringify(n) !== "")],
])("MOE-12: a burst goes whole and in order through a modulator that is %s", async (tier, modulator) => {
  await using rig = await startRig(ROOMY);
  const session = rig.session();
  const producer = await session.channel("a", Tick).produce({ queue: { bytes: 64 << 20 } });
  const got = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => got.put(n), { modulator });
  expect(consumer.placements).toMatchObject([{ tier }]);
  await expect.poll(() => producer.demand.total).toBe(1);
  for (let n = 0; n < EVENTS; n++) producer.publish({ n, note });
  await session.flush();
  await expect.poll(() => got.all.length + consumer.stats.missed).toBe(EVENTS);
  expect(got.all).toEqual(Array.from({ length: EVENTS }, (_, n) => n));
});

const Field = type("Field", { n: "uint32", values: "float32[]" });
const values = new Float32Array(1 << 19);

/* 80 MiB: more than a gateway keeps of one connection. */
test("DEL-3: a burst of large events goes at the gateway's pace, and no connection ends for it", async () => {
  await using rig = await startRig(ROOMY);
  const session = rig.session();
  const states: string[] = [];
  const producer = await session.channel("a", Field).produce({ queue: { bytes: 256 << 20 } });
  session.onStatus(({ state }) => states.push(state));
  const got = new Inbox<number>();
  let waiting = 0;
  await rig
    .session()
    .channel("a", Field)
    .subscribe(({ n }) => {
      if (n === 0) waiting = producer.bufferedEvents;
      got.put(n);
    });
  await expect.poll(() => producer.demand.total).toBe(1);
  const all = Array.from({ length: 40 }, (_, n) => n);
  for (const n of all) producer.publish({ n, values });
  await session.close();
  expect(await got.take(all.length)).toEqual(all);
  expect(states).toEqual(["closed"]);
  expect(waiting).toBeGreaterThan(0);
});

test("one producer's burst does not keep another's events from their turns", async () => {
  await using rig = await startRig(ROOMY);
  const session = rig.session();
  const got = new Inbox<string>();
  const names = ["a", "b", "c"];
  const consumers = rig.session();
  for (const name of names) await consumers.channel(name, Field).subscribe(() => got.put(name));
  const produce = (of: typeof session, name: string) =>
    of.channel(name, Field).produce({ queue: { bytes: 256 << 20 } });
  const [a, b, c] = [
    await produce(session, "a"),
    await produce(session, "b"),
    await produce(rig.session({ name: "session 0" }), "c"),
  ];
  for (const producer of [a, b, c]) await expect.poll(() => producer.demand.total).toBe(1);
  for (let n = 0; n < 40; n++) a.publish({ n, values });
  for (const other of [b, c]) other.publish({ n: 0, values: new Float32Array(1) });
  const all = await got.take(42);
  for (const name of ["b", "c"]) expect(all.indexOf(name)).toBeLessThan(20);
});
