import { fifo, priority } from "@jecho/modulators";
import { expect, test, vi } from "vitest";
import { BASE, encodeEvents, layerOf, runOf } from "./grid.ts";
import { neighbourIn } from "./hostile-rig.ts";
import { modulator, Rig } from "./rig.ts";

/* What a modulator may rely on wherever it runs: this suite runs in the local tier and on each engine. */

test("MOE-12: events wait in the modulator while the transport is not ready; where they are too many, all leave nevertheless", async () => {
  await using rig = new Rig({ limits: { queueEvents: 10 } });
  const derived = await rig.install(fifo().modulator);
  const steps = (): unknown[] => rig.received(derived).map(({ event }) => event.step);
  rig.host.flow(derived, false);
  for (let i = 0; i < 3; i++) rig.step();
  await rig.settled();
  expect(steps()).toEqual([]);
  for (let i = 0; i < 2; i++) rig.step();
  await rig.settled();
  expect(steps().length).toBeGreaterThanOrEqual(10);
  rig.host.flow(derived, true);
  await vi.waitUntil(() => steps().length === 15, { interval: 2, timeout: 60_000 });
  expect(steps()).toEqual([1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5]);
  expect(rig.host.stats.modulators.get(derived)).toMatchObject({ dropped: 0, eventsIn: 15, eventsOut: 15 });
});

test.each([
  ["passes", modulator("")],
  ["makes", modulator("enqueue({ step, layer }) { super.enqueue({ step, layer }); }")],
])(
  "MOE-12: urgent events wait for no transport: what a modulator %s of them is urgent, and what is made of others is not",
  async (_, written) => {
    await using rig = new Rig();
    const derived = await rig.install(written);
    const urgent = { id: 1n, urgent: true };
    const made = (): unknown[] =>
      rig.frames(derived).flatMap(({ count, isUrgent }) => new Array<boolean>(count).fill(isUrgent));
    rig.host.flow(derived, false);
    rig.publish([layerOf(1, 1)]);
    rig.publish([layerOf(2, 1), layerOf(2, 2)], undefined, urgent);
    rig.publish([layerOf(3, 1)]);
    await rig.settled();
    expect(made()).toEqual([false, true, true]);
    rig.host.flow(derived, true);
    await vi.waitUntil(() => made().length === 4, { interval: 2, timeout: 60_000 });
    expect(made()).toEqual([false, true, true, false]);
    expect(rig.received(derived).map(({ event }) => event.step)).toEqual([1, 2, 2, 3]);
  },
);

test("MOE-12: what waits for the transport leaves before another producer's events, as its own producer's", async () => {
  await using rig = new Rig();
  const derived = await rig.install(modulator(""));
  rig.host.flow(derived, false);
  for (const [i, producer] of [7, 7, 8, 7].entries()) {
    const run = runOf(encodeEvents([layerOf(i, 1)]));
    run.readdress(BASE, producer);
    rig.host.enqueue(run);
  }
  await rig.settled();
  rig.host.flow(derived, true);
  await vi.waitUntil(() => rig.received(derived).length === 4, { interval: 2, timeout: 60_000 });
  const made = rig.frames(derived).flatMap(({ producer, count }) => new Array<number>(count).fill(producer));
  expect(made).toEqual([7, 7, 8, 7]);
  expect(rig.received(derived).map(({ event }) => event.step)).toEqual([0, 1, 2, 3]);
});

test("MOE-12: of a run with many more events than its queue may hold, none is lost while the transport is not ready", async () => {
  await using rig = new Rig({ limits: { queueEvents: 10 } });
  const derived = await rig.install(
    modulator("enqueue(event) { super.enqueue({ step: event.step }); super.enqueue(event); }"),
  );
  rig.host.flow(derived, false);
  const layers = Array.from({ length: 3000 }, (_, layer) => layer);
  rig.publish(layers.map(layer => layerOf(layer, 1)));
  await rig.settled();
  rig.host.flow(derived, true);
  const twice = layers.flatMap(layer => [layer, layer]);
  await vi.waitUntil(() => rig.received(derived).length === twice.length, { interval: 2, timeout: 60_000 });
  expect(rig.received(derived).map(({ event }) => event.step)).toEqual(twice);
});

test("MOE-12: one call makes more events than the modulator's queue may hold, and all leave, also where it gives them itself", async () => {
  await using rig = new Rig({ limits: { queueEvents: 10 } });
  const many = "enqueue(event) { for (let i = 0; i < 25; i++) super.enqueue({ step: i }); }";
  const own = `${many} dequeue() { return super.dequeue(); }`;
  const all = Array.from({ length: 25 }, (_, i) => i);
  for (const body of [many, own])
    for (const ready of [true, false]) {
      const derived = await rig.install(modulator(body));
      rig.host.flow(derived, ready);
      rig.publish([layerOf(1, 1)]);
      await rig.settled();
      expect(rig.received(derived).map(({ event }) => event.step)).toEqual(all);
      rig.host.remove(derived);
    }
});

test("MOE-12: what a modulator holds back beyond its queue falls out, oldest first, and is counted", async () => {
  await using rig = new Rig({ limits: { queueEvents: 10 } });
  const holds =
    "enqueue(event) { super.enqueue(event); } dequeue() { return this.length > 12 || this.gone ? ((this.gone = this.length > 1), super.dequeue()) : undefined; }";
  const derived = await rig.install(modulator(holds));
  for (let step = 1; step <= 12; step++) rig.publish([layerOf(step, 1)]);
  await rig.settled();
  expect(rig.received(derived)).toEqual([]);
  expect(rig.host.stats.modulators.get(derived)).toMatchObject({ dropped: 2, eventsIn: 12, eventsOut: 0 });
});

test("a modulator that looks at each event, and makes one of each, runs on and on in its memory", async () => {
  await using rig = new Rig({ limits: { memoryMiB: 8 } });
  const makes = modulator(
    "enqueue(event) { super.enqueue({ step: event.step, layer: event.values.length }); }",
  );
  const derived = await rig.install(makes);
  const events = Array.from({ length: 200 }, (_, layer) => layerOf(1, layer));
  // Many times what its memory holds.
  for (let i = 0; i < 300; i++) {
    rig.publish(events);
    await rig.settled();
  }
  expect(rig.removed.get(derived)).toBeUndefined();
  expect(rig.host.stats.modulators.get(derived)?.eventsOut).toBe(60_000);
});

test("an event that is held stays as it was", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator("enqueue(event) { super.enqueue(this.last ?? event); this.last = event; }"),
  );
  for (let i = 0; i < 3; i++) rig.step(1);
  await rig.settled();
  expect(rig.received(derived).map(({ event }) => [event.step, event.values[3]])).toEqual([
    [1, 4],
    [1, 4],
    [2, 5],
  ]);
});

test("parameters and states are frozen, and change between calls only", async () => {
  await using rig = new Rig();
  const watched = `
    static output = { name: "Seen", description: { text: "string" } };
    enqueue(event) {
      super.enqueue({ text: [this.objects.o.n, this.parameters.list.length, Object.isFrozen(this.parameters.list), Object.isFrozen(this.objects.o)].join() });
    }`;
  const objects = { o: { id: "o", version: 1, state: { n: 1 } } };
  const derived = await rig.install({ ...modulator(watched), parameters: { list: [1, 2] }, objects });
  rig.step(1);
  rig.host.update({ object: "o", version: 2, state: `{"n":2}` });
  rig.step(1);
  await rig.settled();
  const seen = rig.received<{ text: string }>(derived);
  expect(seen.map(({ event, parameters }) => [event.text, parameters])).toEqual([
    ["1,2,true,true", 1],
    ["2,2,true,true", 2],
  ]);
});

test("hostile 31: an object that changes a hundred thousand times in a turn: the newest state counts, and few are told", async () => {
  await using rig = new Rig();
  const neighbourHasSeenAll = await neighbourIn(rig);
  const counting = `
    static told = 0;
    static check() { this.told++; }
    enqueue(event) { super.enqueue({ step: this.objects.o.n, layer: this.constructor.told }); }`;
  const objects = { o: { id: "o", version: 1, state: { n: 1 } } };
  const derived = await rig.install({ ...modulator(counting), objects });
  for (let version = 2; version <= 100_000; version++)
    rig.host.update({ object: "o", version, state: `{"n":${version}}` });
  rig.step(1);
  await rig.settled();
  const [seen] = rig.received(derived);
  expect(seen).toMatchObject({ parameters: 100_000, event: { step: 100_000 } });
  expect(seen?.event.layer).toBeLessThan(10);
  neighbourHasSeenAll();
});

test("hostile 32: states that change while calls run: one version for the whole of an event, and the event says which", async () => {
  await using rig = new Rig();
  const neighbourHasSeenAll = await neighbourIn(rig);
  const slow = `
    enqueue(event) {
      const before = this.objects.o.n;
      for (let i = 0; i < 2e4; i++) Math.sqrt(i);
      super.enqueue({ step: before, layer: this.objects.o.n });
    }`;
  const objects = { o: { id: "o", version: 1, state: { n: 1 } } };
  const derived = await rig.install({ ...modulator(slow), objects });
  for (let version = 2; version <= 100; version++) {
    rig.step(2);
    rig.host.update({ object: "o", version, state: `{"n":${version}}` });
    // A page knows no setImmediate.
    if (version % 7 === 0) await new Promise(resolve => setTimeout(resolve));
  }
  await rig.settled();
  const seen = rig.received(derived).map(({ event, parameters }) => [event.step, event.layer, parameters]);
  expect(seen.length).toBe(198);
  for (const [before, after, version] of seen) {
    expect(after).toBe(before);
    expect(version).toBe(before);
  }
  neighbourHasSeenAll();
});

test("MOE-1: errors name the place in the modulator's source, and what has no class is no modulator", async () => {
  await using rig = new Rig();
  const source = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) {
    event.nothing.more();
  }
}`;
  const derived = await rig.install({ source });
  rig.step();
  await rig.settled();
  // Engines do not agree on the column of a member that is missing.
  expect(rig.removed.get(derived)?.message).toMatch(/\(line 4, column \d+ of its source\)/);
  await expect(rig.install({ source: "export default 5;" })).rejects.toMatchObject({
    code: "MODULATOR_INVALID",
  });
  await expect(
    rig.install(modulator("static output = { name: 'X', description: { a: 'number' } };")),
  ).rejects.toMatchObject({
    code: "MODULATOR_INVALID",
    message: expect.stringContaining("X.a"),
  });
});

test("an event that is made while another one is read is an error with its place, and spoils nothing", async () => {
  await using rig = new Rig();
  const numbers = `static output = { name: "Two", description: { a: "uint32", b: "uint32" } };`;
  const getter = modulator(`${numbers}
    enqueue() {
      const enqueue = event => super.enqueue(event);
      enqueue({ a: 1, get b() { enqueue({ a: 7, b: 8 }); return 2; } });
    }`);
  const derived = await rig.install(getter);
  const forgiving = await rig.install(
    modulator(`${numbers}
    enqueue() {
      const enqueue = event => super.enqueue(event);
      enqueue({ a: 1, get b() { try { enqueue({ a: 7, b: 8 }); } catch {} return 2; } });
      enqueue({ a: 3, get b() { return 4; } });
    }`),
  );
  const vector = await rig.install(
    modulator(`enqueue() {
      const enqueue = event => super.enqueue(event);
      enqueue({ step: 1, get values() { enqueue({ step: 2 }); return new Float32Array(4); } });
    }`),
  );
  rig.step(1);
  await rig.settled();
  for (const refused of [derived, vector])
    expect(rig.removed.get(refused)).toMatchObject({
      code: "MODULATOR_FAILED",
      message: expect.stringMatching(
        /made while another one was read \(line \d+, column \d+ of its source\)/,
      ),
    });
  expect(rig.received<{ a: number; b: number }>(forgiving).map(({ event: { a, b } }) => [a, b])).toEqual([
    [1, 2],
    [3, 4],
  ]);
});

test("what a modulator says of memory itself is its own error; what the engine says is the limit", async () => {
  await using rig = new Rig();
  const says = await rig.install(
    modulator(`enqueue() { throw new Error("sensor 5 is out of memory range"); }`),
  );
  rig.step(1);
  await rig.settled();
  expect(rig.removed.get(says)).toMatchObject({ code: "MODULATOR_FAILED" });
});

test("MOE-12: an event that was rejected while the transport was ready leaves no trace on those that come while it is not", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator("enqueue(event) { if (event.layer !== 0) super.enqueue(event); }"),
  );
  rig.publish([layerOf(1, 1), layerOf(1, 0)]);
  await rig.settled();
  rig.host.flow(derived, false);
  rig.publish([layerOf(2, 1), layerOf(2, 2), layerOf(2, 3)]);
  await rig.settled();
  rig.host.flow(derived, true);
  await vi.waitUntil(() => rig.received(derived).length >= 4, { interval: 2, timeout: 60_000 });
  expect(rig.received(derived).map(({ event: { step, layer } }) => [step, layer])).toEqual([
    [1, 1],
    [2, 1],
    [2, 2],
    [2, 3],
  ]);
});

test("MOE-12: what waits in the queue of a modulator that keeps no events otherwise is still those events, runs later", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(`static keepsEvents = false;
    enqueue(event) { if (event.layer !== 1) super.enqueue(event); }
    dequeue() {
      const event = super.dequeue();
      return event?.layer === 4 ? { step: event.step, layer: 40 } : event;
    }`),
  );
  rig.host.flow(derived, false);
  for (let step = 1; step <= 3; step++) rig.publish([0, 1, 2].map(layer => layerOf(step, layer)));
  await rig.settled();
  rig.host.flow(derived, true);
  rig.publish([3, 1, 4].map(layer => layerOf(4, layer)));
  await vi.waitUntil(() => rig.received(derived).length >= 8, { interval: 2, timeout: 60_000 });
  expect(rig.received(derived).map(({ event: { step, layer } }) => 10 * step + layer)).toEqual([
    10, 12, 20, 22, 30, 32, 43, 80,
  ]);
  expect([...(rig.received(derived)[5]?.event.values ?? [])]).toEqual([...layerOf(3, 2).values]);
});

test("MOE-12: events wait in queues of a modulator's own, too, and none falls out of them", async () => {
  await using rig = new Rig({ limits: { queueEvents: 10 } });
  const derived = await rig.install(priority("layer", [4]).modulator);
  rig.host.flow(derived, false);
  const layers = Array.from({ length: 45 }, (_, layer) => layer % 5);
  const steps = layers.map((_, step) => step);
  for (const step of steps) rig.publish([layerOf(step, layers[step] as number)]);
  await rig.settled();
  expect(rig.received(derived).length).toBeGreaterThanOrEqual(40);
  rig.host.flow(derived, true);
  await vi.waitUntil(() => rig.received(derived).length === 45, { interval: 2, timeout: 60_000 });
  const seen = rig.received(derived).map(({ event }) => Number(event.step));
  expect(seen.sort((a, b) => a - b)).toEqual(steps);
});

test("MOE-12, MOE-28: large events wait for the transport up to a mebibyte, and nobody is removed for what leaves at once then", async () => {
  await using rig = new Rig({ limits: { memoryMiB: 16, outputBytes: 4 << 20 } });
  const filtered = await rig.install(modulator("enqueue(event) { super.enqueue(event); }"));
  const made = await rig.install(
    modulator("enqueue(event) { super.enqueue({ step: event.step, values: event.values }); }"),
  );
  for (const derived of [filtered, made]) rig.host.flow(derived, false);
  const steps = Array.from({ length: 40 }, (_, step) => step);
  for (const step of steps) {
    rig.publish([layerOf(step, 0, 250, 400)]);
    await rig.settled();
  }
  for (const derived of [filtered, made]) rig.host.flow(derived, true);
  for (const derived of [filtered, made]) {
    await vi.waitUntil(() => rig.received(derived).length === 40, { interval: 2, timeout: 60_000 });
    expect(rig.received(derived).map(({ event }) => event.step)).toEqual(steps);
    expect(rig.removed.get(derived)).toBeUndefined();
  }
});
