import { expect, test } from "vitest";
import { layerOf } from "./grid.ts";
import { modulator, Rig } from "./rig.ts";

const THROUGH = (rig: Rig, derived: number): number[] =>
  rig.seen.filter(one => one.derived === derived).map(({ of }) => of.through);

test("PROV-1: each run that is given is accounted for, in order, whatever is made of it", async () => {
  await using rig = new Rig();
  const all = await rig.install(modulator(""));
  const none = await rig.install(modulator("enqueue() {}"));
  const odd = await rig.install(
    modulator("enqueue(event) { if (event.step % 2 === 1) super.enqueue(event); }"),
  );
  for (let i = 0; i < 4; i++) {
    rig.step();
    await rig.settled();
  }
  for (const derived of [all, none, odd]) expect(THROUGH(rig, derived)).toEqual([3, 6, 9, 12]);
  expect(rig.seen.map(({ of }) => of.through - of.after)).toEqual(new Array(12).fill(3));
});

test("PROV-1: a stretch is accounted for before the runs of its turn are handed out, the last of which is said to be that", async () => {
  await using rig = new Rig();
  // What is urgent is a run of its own.
  const derived = await rig.install(
    modulator("enqueue(event) { super.enqueue(urgent(event)); }", 'import { urgent } from "jecho:moe";'),
  );
  rig.step(3);
  await rig.settled();
  rig.step(2);
  await rig.settled();
  expect(rig.frames(derived)).toHaveLength(5);
  expect(rig.seen.filter(one => one.derived === derived).map(({ runs }) => runs)).toEqual([0, 3]);
  expect(rig.isLast).toEqual([false, false, true, false, true]);
});

test.each(["local", "isolated-vm"] as const)(
  "PROV-1, WIRE-4: no run has more events than a gateway takes, and the last one accounts for the turn (%s)",
  async place => {
    await using rig = new Rig({ place });
    const derived = await rig.install(
      modulator("enqueue(event) { for (let i = 0; i < 1000; i++) super.enqueue(event); }"),
    );
    rig.step(5);
    await rig.settled();
    const counts = rig.frames(derived).map(({ count }) => count);
    expect(counts).toEqual([4096, 904]);
    expect(rig.received(derived).map(({ raised }) => raised)).toEqual(
      Array.from({ length: 5000 }, (_, i) => i),
    );
    expect(rig.isLast).toEqual([false, true]);
  },
);

test("PROV-1: each of several urgent events that come at once is accounted for by itself, as it leaves by itself", async () => {
  await using rig = new Rig();
  const all = await rig.install(modulator(""));
  const none = await rig.install(modulator("enqueue() {}"));
  const events = Array.from({ length: 4 }, (_, layer) => layerOf(1, layer));
  rig.publish(events, "urgent ones", { id: 2n, urgent: true });
  await rig.settled();
  for (const derived of [all, none]) expect(THROUGH(rig, derived)).toEqual([1, 2, 3, 4]);
  expect(rig.received(all).map(({ event }) => event.layer)).toEqual([0, 1, 2, 3]);
  expect(rig.seen.filter(one => one.derived === all).map(({ runs }) => runs)).toEqual([0, 1, 2, 3]);
  expect(rig.done).toEqual(["urgent ones"]);
});

test("PROV-4: a stretch without events takes its turn, behind the runs of the turn before it", async () => {
  await using rig = new Rig();
  await rig.install(modulator(""));
  rig.step();
  rig.host.pass(1, { source: { id: 2n, urgent: false }, after: 5, through: 8 });
  rig.step();
  await rig.settled();
  expect(rig.seen.map(({ of, runs }) => [of.through, runs])).toEqual([
    [3, 0],
    [8, 1],
    [6, 1],
  ]);
});

test("PROV-3: what waits in a modulator's queue is not accounted for until it has left", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator("enqueue(event) { if (event.step !== 2) super.enqueue(event); }"),
  );
  rig.step();
  await rig.settled();
  rig.host.flow(derived, false);
  for (let i = 0; i < 3; i++) {
    rig.step();
    await rig.settled();
  }
  // The second step was rejected, and nothing waits of it.
  expect(THROUGH(rig, derived)).toEqual([3, 6]);
  rig.host.flow(derived, true);
  await rig.settled();
  expect(THROUGH(rig, derived)).toEqual([3, 6, 9, 12]);
  expect(rig.received(derived)).toHaveLength(9);
});

test("PROV-3: a modulator that always keeps one event back accounts for all before it", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator("dequeue() { return this.length > 1 ? super.dequeue() : undefined; }"),
  );
  for (let i = 0; i < 5; i++) {
    rig.step(1);
    await rig.settled();
  }
  expect(THROUGH(rig, derived)).toEqual([1, 2, 3, 4]);
});
