import { FLAG_URGENT } from "@jecho/shared/internal";
import { expect, test, vi } from "vitest";
import { modulator, openBench, Rig } from "./rig.ts";

const TEXT = `static output = { name: "Said", description: { text: "string" } };`;
const IMPORTS = `import { Modulator, urgent } from "jecho:moe";`;

function texts(rig: Rig, derived: number): string[] {
  return rig.received<{ text: string }>(derived).map(({ event }) => event.text);
}

/** @returns whether this time is over, by a timer: those that begin in one turn of a loop count from its beginning */
function whenOver(ms: number): () => boolean {
  let isOver = false;
  setTimeout(() => {
    isOver = true;
  }, ms);
  return () => isOver;
}

test("MOE-12: a modulator discards, passes, transforms, splits and merges", async () => {
  await using rig = new Rig();
  const discards = await rig.install(
    modulator("enqueue(event) { if (event.step % 2 === 0) super.enqueue(event); }"),
  );
  const transforms = await rig.install(
    modulator(`${TEXT} enqueue({ step }) { super.enqueue({ text: "step " + step }); }`),
  );
  const splits = await rig.install(
    modulator(
      `${TEXT} enqueue({ values }) { for (const value of values.subarray(0, 2)) super.enqueue({ text: String(value) }); }`,
    ),
  );
  const merges = await rig.install(
    modulator(`${TEXT} waiting = [];
      enqueue({ step }) {
        this.waiting.push(step);
        if (this.waiting.length === 2) super.enqueue({ text: this.waiting.splice(0).join("+") });
      }`),
  );
  for (let i = 0; i < 4; i++) rig.step(1);
  await rig.settled();
  expect(rig.received(discards).map(({ event }) => event.step)).toEqual([2, 4]);
  expect(texts(rig, transforms)).toEqual(["step 1", "step 2", "step 3", "step 4"]);
  expect(texts(rig, splits)).toEqual(["1", "2", "2", "3", "3", "4", "4", "5"]);
  expect(texts(rig, merges)).toEqual(["1+2", "3+4"]);
});

test("MOE-12: what passes, is made, comes twice, late or urgent leaves in the modulator's order", async () => {
  await using rig = new Rig();
  const mixes = await rig.install({
    source: `import { Modulator, urgent, unpack } from "jecho:moe";
      export default class extends Modulator {
        out = [];
        enqueue(event) {
          const { step, layer } = event;
          if (layer === 0) this.first = event;
          if (layer === 2) this.out.push({ ...unpack(event), step: 100 });
          else if (layer === 4) this.out.push(event, event);
          else if (layer === 5) this.out.push(urgent(event));
          else if (layer === 7) this.out.push(this.first, event);
          else if (layer !== 1) this.out.push(event);
        }
        dequeue() { return this.out.shift(); }
      }`,
  });
  for (let i = 0; i < 2; i++) rig.step(9);
  await rig.settled();
  const seen = rig.received(mixes).map(({ event: { step, layer } }) => `${step}/${layer}`);
  const layers = (step: number): string[] =>
    ["0", "3", "4", "4", "5", "6", "0", "7", "8"].map(layer => `${step}/${layer}`);
  expect(seen).toEqual([1, 2].flatMap(step => layers(step).toSpliced(1, 0, "100/2")));
  const urgent = rig.frames(mixes).filter(({ isUrgent }) => isUrgent);
  expect(urgent.map(({ count }) => count)).toEqual([1, 1]);
});

test("MOE-12: a queue counts what waits in it, whether that passes as it came, is made, or comes twice", async () => {
  await using rig = new Rig();
  const counts = await rig.install(
    modulator(
      `enqueue(event) {
        const { layer } = event;
        super.enqueue(event);
        if (layer !== 1) super.enqueue(layer === 0 ? event : { ...unpack(event), layer: 10 * this.length });
        super.enqueue({ ...unpack(event), layer: 100 * this.length });
      }`,
      'import { unpack } from "jecho:moe";',
    ),
  );
  const first = await rig.install(
    modulator(`enqueue(event) {
      super.enqueue(event);
      const [own] = [super.dequeue()];
      if (own === event && this.length === 0) super.enqueue(own);
    }`),
  );
  rig.step(3);
  await rig.settled();
  const layers = (derived: number): number[] => rig.received(derived).map(({ event }) => event.layer);
  expect(layers(counts)).toEqual([0, 0, 200, 1, 100, 2, 10, 200]);
  expect(layers(first)).toEqual([0, 1, 2]);
});

test("MOE-12: a modulator holds events and gives them in another order", async () => {
  await using rig = new Rig();
  const reverses = await rig.install({
    source: `${IMPORTS}
      export default class extends Modulator {
        held = [];
        ready = [];
        enqueue(event) {
          this.held.push(event);
          if (this.held.length === 3) this.ready = this.held.splice(0);
        }
        dequeue() { return this.ready.pop(); }
      }`,
  });
  for (let i = 0; i < 7; i++) rig.step(1);
  await rig.settled();
  expect(rig.received(reverses).map(({ event }) => event.step)).toEqual([3, 2, 1, 6, 5, 4]);
});

test("MOE-12: period is called at its interval, without any event", async () => {
  await using rig = new Rig();
  const isTime = whenOver(80);
  const every = await rig.install(
    modulator(`${TEXT} static periodMs = 30; n = 0; period() { super.enqueue({ text: String(++this.n) }); }`),
  );
  const never = await rig.install(modulator(`${TEXT} period() { super.enqueue({ text: "never" }); }`));
  await vi.waitUntil(() => texts(rig, every).length >= 3, { interval: 5, timeout: 60_000 });
  expect(isTime()).toBe(true);
  expect(texts(rig, every).slice(0, 3)).toEqual(["1", "2", "3"]);
  expect(texts(rig, never)).toEqual([]);
});

test("MOE-12: what a modulator calls does not change how often its period is over", async () => {
  await using rig = new Rig();
  const isTime = whenOver(190);
  const logging = await rig.install(
    modulator(`${TEXT} static needs = ["log"]; static periodMs = 50; n = 0;
      period() {
        this.moe.log("a line");
        super.enqueue({ text: String(++this.n) });
      }`),
  );
  await vi.waitUntil(() => texts(rig, logging).length >= 4, { interval: 5, timeout: 60_000 });
  expect(isTime()).toBe(true);
});

test("MOE-12: a period is changed by the modulator itself, is at least 10 ms, and 0 ends it", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(`${TEXT} periodMs = 0; n = 0;
      enqueue() { this.periodMs = 1; }
      period() {
        super.enqueue({ text: String(++this.n) });
        if (this.n === 5) this.periodMs = 0;
      }`),
  );
  const all = await rig.install(
    modulator(`${TEXT} static periodMs = 20; enqueue() {} period() { super.enqueue({ text: "tick" }); }`),
  );
  await vi.waitUntil(() => texts(rig, all).length >= 2, { interval: 5, timeout: 60_000 });
  expect(texts(rig, derived)).toEqual([]);
  const isTime = whenOver(45);
  rig.step(1);
  await vi.waitUntil(() => texts(rig, derived).length === 5, { interval: 5, timeout: 60_000 });
  expect(isTime()).toBe(true);
  const ticks = texts(rig, all).length;
  await vi.waitUntil(() => texts(rig, all).length >= ticks + 3, { interval: 5, timeout: 60_000 });
  expect(texts(rig, derived).length).toBe(5);
});

test("MOE-12: what a period makes waits while the transport is not ready", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(`${TEXT} static periodMs = 10; n = 0;
      enqueue() {}
      period() { super.enqueue({ text: String(++this.n) }); }`),
  );
  const beside = await rig.install(
    modulator(`${TEXT} static periodMs = 20; enqueue() {} period() { super.enqueue({ text: "" }); }`),
  );
  rig.host.flow(derived, false);
  // An event behind that has been through: so is what was under way before.
  rig.step(1);
  await rig.settled();
  const before = texts(rig, derived).length;
  const ticks = texts(rig, beside).length;
  await vi.waitUntil(() => texts(rig, beside).length >= ticks + 3, { interval: 5, timeout: 60_000 });
  expect(texts(rig, derived).length).toBe(before);
  rig.host.flow(derived, true);
  await vi.waitUntil(() => texts(rig, derived).length >= before + 3, { interval: 5, timeout: 60_000 });
  const numbers = texts(rig, derived).map(Number);
  expect(numbers).toEqual(numbers.map((_, i) => i + 1));
});

test("MOE-12: a period may be a getter of the class, and in a bench time may pass before any event", async () => {
  const modulatorOf = modulator(
    `${TEXT} get periodMs() { return this.parameters.ms; } enqueue() {} period() { super.enqueue({ text: "tick" }); }`,
  );
  await using bench = await openBench({ ...modulatorOf, parameters: { ms: 20 } });
  expect((await bench.pass(100)).length).toBe(5);
});

test.each([
  ["no number", `periodMs = "soon";`],
  ["a negative one", "periodMs = -1;"],
  ["not a number", "static periodMs = NaN;"],
])("MOE-12: a period that is none is refused: %s", async (_, body) => {
  await using rig = new Rig();
  await expect(rig.install(modulator(body))).rejects.toMatchObject({
    code: "MODULATOR_FAILED",
    message: expect.stringContaining("periodMs"),
  });
});

test("MOE-12: installed comes before the first event, and what it throws fails the installation", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(
      `${TEXT} installed() { super.enqueue({ text: "installed" }); } enqueue({ step }) { super.enqueue({ text: String(step) }); }`,
    ),
  );
  rig.step(1);
  await rig.settled();
  expect(texts(rig, derived)).toEqual(["installed", "1"]);
  await expect(rig.install(modulator(`installed() { throw new Error("not here"); }`))).rejects.toMatchObject({
    code: "MODULATOR_FAILED",
    message: expect.stringMatching(/^not here \(line \d+, column \d+ of its source\)$/),
  });
});

test("MOE-12: removed comes last: what it makes goes nowhere, and what it calls reaches the delegate, unless it fails", async () => {
  await using rig = new Rig();
  const delegate = { controls: { stop: () => {} } };
  const leaving = (name: string, fails = "") =>
    rig.install(
      modulator(`static needs = ["controls.stop"];
        seen = 0;
        enqueue() { this.seen++; this.moe.controls.stop("${name}", this.seen); }
        removed() { this.moe.controls.stop("${name}", -this.seen); super.enqueue({ step: 9 }); ${fails} }`),
      { delegate },
    );
  const well = await leaving("well");
  const failing = await leaving("failing", "throw new Error('no');");
  const stays = await rig.install(modulator(""));
  rig.step(1);
  rig.step(1);
  await rig.settled();
  rig.host.remove(well);
  rig.host.remove(failing);
  rig.step(1);
  await rig.settled();
  const called = (name: string): unknown[] =>
    rig.calls.filter(({ values }) => values[0] === name).map(({ values }) => values[1]);
  expect(called("well")).toEqual([1, 2, -2]);
  expect(called("failing")).toEqual([1, 2]);
  expect([rig.received(well), rig.received(failing)]).toEqual([[], []]);
  expect(rig.received(stays)).toHaveLength(3);
  expect(rig.removed.size).toBe(0);
});

test("MOE-13: an urgent event is a run of its own, flagged, and keeps its place in the modulator", async () => {
  await using rig = new Rig();
  const derived = await rig.install({
    source: `import { FifoModulator, urgent } from "jecho:moe";
      export default class extends FifoModulator {
        enqueue(event) { super.enqueue(event.step === 2 ? urgent(event) : event); }
      }`,
  });
  rig.host.flow(derived, false);
  for (let i = 0; i < 4; i++) rig.step(1);
  await rig.settled();
  rig.host.flow(derived, true);
  await vi.waitUntil(() => rig.received(derived).length === 4, { interval: 2, timeout: 60_000 });
  const frames = rig.frames(derived).map(({ count, flags }) => [count, flags]);
  expect(frames).toEqual([
    [1, 0],
    [1, FLAG_URGENT],
    [2, 0],
  ]);
  expect(rig.received(derived).map(({ event }) => event.step)).toEqual([1, 2, 3, 4]);
});

test("MOE-13: an event that is made can be urgent as well", async () => {
  await using rig = new Rig();
  const derived = await rig.install({
    source: `${IMPORTS}
      export default class extends Modulator {
        ${TEXT}
        enqueue({ step }) { this.next = urgent({ text: "step " + step }); }
        dequeue() { const next = this.next; this.next = undefined; return next; }
      }`,
  });
  rig.step(1);
  await rig.settled();
  expect(texts(rig, derived)).toEqual(["step 1"]);
  expect(rig.frames(derived)[0]?.flags).toBe(FLAG_URGENT);
});

test("an output type of its own, nested and with vectors, is read by it", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(`static output = { name: "Summary", description: { step: "uint32", ranges: [{ low: "float32", high: "float32" }], names: "string[]" } };
      enqueue({ step, values }) {
        super.enqueue({ step, ranges: [{ low: Math.min(...values), high: Math.max(...values) }], names: ["a", "b"] });
      }`),
  );
  rig.step(1);
  await rig.settled();
  const [got] = rig.received<{ step: number; ranges: { low: number; high: number }[]; names: string[] }>(
    derived,
  );
  expect(got?.event.step).toBe(1);
  expect([...(got?.event.ranges ?? [])].map(({ low, high }) => [low, high])).toEqual([[1, 144]]);
  expect([...(got?.event.names ?? [])]).toEqual(["a", "b"]);
});

test("MOE-12: each sandbox of a source begins like the first, at its own time", async () => {
  let now = 0;
  await using rig = new Rig({ clock: { now: () => now, after: () => () => {} } });
  const { source } = modulator(`static needs = ["clock", "log", "statistics"];
    installed() {
      const { clock, log, statistics } = this.moe;
      log(JSON.stringify([clock(), this.parameters, Object.keys(this.objects), statistics(), this.length]));
    }`);
  // Of what was made ready for it, and of those before it, nothing is left.
  for (now = 1000; now <= 3000; now += 1000) await rig.install({ source });
  await rig.settled();
  const none = { enqueued: 0, dequeued: 0, dropped: 0 };
  expect(rig.calls.map(({ values: [line] }) => JSON.parse(String(line)))).toEqual(
    [1000, 2000, 3000].map(time => [time, null, [], none, 0]),
  );
});

test("an event that is let through and held back in the same call waits like any other", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(`enqueue(event) {
      super.enqueue(event);
      if (event.layer === 1) this.dequeue = () => (this.isOpen ? super.dequeue() : undefined);
      if (event.layer === 3) this.isOpen = true;
    }`),
  );
  rig.step(5);
  await rig.settled();
  expect(rig.received<{ layer: number }>(derived).map(({ event }) => event.layer)).toEqual([0, 1, 2, 3, 4]);
});
