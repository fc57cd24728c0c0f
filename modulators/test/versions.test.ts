import { encodeEvent } from "@jecho/shared";
import { EventsFrame, encodeRun } from "@jecho/shared/internal";
import { expect, test, vi } from "vitest";
import { BASE, encodeEvents, grid, layerOf, runOf } from "./grid.ts";
import { modulator, Rig } from "./rig.ts";

/* Which versions of shared objects events are made with, and when a modulator's copy is newer: in every place. */

const TEXT = `static output = { name: "Said", description: { text: "string" } };`;
const object = (id: string, n: number, version = 1) => ({ id, version, state: { n } });
const state = (n: number): string => JSON.stringify({ n });

function texts(rig: Rig, derived: number): [string, number][] {
  const list = rig.received<{ text: string }>(derived);
  return list.map(({ event, parameters }) => [event.text, parameters]);
}

/** The versions that each event says. */
function versions(rig: Rig, derived: number): (readonly number[])[] {
  return rig.frames(derived).flatMap(frame => Array.from({ length: frame.count }, () => frame.versions));
}

/** A run that modulators before this one made with such versions. */
function behind(versions: readonly number[], ...steps: number[]): EventsFrame {
  const parts = steps.map(step => {
    const bytes = encodeEvent(grid, layerOf(step, 0));
    return { bytes, start: 0, end: bytes.byteLength };
  });
  const header = { channel: BASE, producer: 7, raised: 0, token: grid.token, parameters: 0, flags: 0 };
  return EventsFrame.at(encodeRun({ ...header, versions }, parts));
}

const LAZY = `${TEXT}
  enqueue({ step }) {
    if (step === 2 || step === 3) this.moe.pull("o");
    super.enqueue({ text: [step, this.objects.o.n, this.moe.isStale("o")].join() });
  }`;

test("OBJ-8: a modulator's lazy copy hears of newer versions, and has the newest state when it has pulled it", async () => {
  await using rig = new Rig();
  const objects = { o: object("o", 1), p: object("p", 1) };
  const derived = await rig.install({ ...modulator(LAZY), objects, lazy: ["o"] });
  rig.step(1);
  await rig.settled();
  rig.host.update({ object: "o", version: 2, state: "" });
  rig.host.update({ object: "o", version: 3, state: state(3) });
  rig.step(1);
  rig.step(1);
  await rig.settled();
  // It pulls once, however often it asks.
  expect(rig.calls).toEqual([{ name: "pull", values: ["o"] }]);
  rig.host.update({ object: "o", version: 4, state: state(4), derived: derived + 1 });
  rig.host.update({ object: "o", version: 3, state: state(3), derived });
  rig.step(1);
  await rig.settled();
  rig.host.update({ object: "p", version: 8, state: state(8) });
  rig.step(1);
  await rig.settled();
  expect(texts(rig, derived)).toEqual([
    ["1,1,false", 1],
    ["2,1,true", 1],
    ["3,1,true", 1],
    ["4,3,false", 3],
    ["5,3,false", 8],
  ]);
  expect(versions(rig, derived)).toEqual([
    [1, 1],
    [1, 1],
    [1, 1],
    [3, 1],
    [3, 8],
  ]);
});

test("OBJ-8: of a prompt copy nothing is newer, and what is no object of the modulator's is refused", async () => {
  await using rig = new Rig();
  const prompt = `${TEXT} enqueue() { this.moe.pull("o"); super.enqueue({ text: String(this.moe.isStale("o")) }); }`;
  const objects = { o: object("o", 1) };
  const derived = await rig.install({ ...modulator(prompt), objects });
  const wrong = await rig.install({
    ...modulator(`enqueue() { this.moe.pull("__proto__"); }`),
    objects,
    lazy: ["o"],
  });
  rig.host.update({ object: "o", version: 2, state: state(2) });
  rig.step(1);
  await rig.settled();
  expect(texts(rig, derived)).toEqual([["false", 2]]);
  expect(rig.calls).toEqual([]);
  expect(rig.removed.get(wrong)).toMatchObject({ code: "MODULATOR_FAILED" });
  await expect(rig.install({ ...modulator(LAZY), objects, lazy: ["q"] })).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
  });
});

test("OBJ-13: an event says the version of each object of its modulator, one for the whole of an event", async () => {
  await using rig = new Rig();
  const objects = { a: object("a", 5, 5), b: object("b", 1) };
  const both = modulator(
    `${TEXT} enqueue() { super.enqueue({ text: [this.objects.a.n, this.objects.b.n].join() }); }`,
  );
  const derived = await rig.install({ ...both, objects });
  rig.step(1);
  await rig.settled();
  rig.host.update({ object: "b", version: 2, state: state(2) });
  rig.step(2);
  await rig.settled();
  rig.host.update({ object: "a", version: 6, state: state(6) });
  rig.host.update({ object: "b", version: 3, state: state(3) });
  rig.step(1);
  await rig.settled();
  const said = texts(rig, derived).map(([text]) => text.split(",").map(Number));
  expect(said).toEqual([
    [5, 1],
    [5, 2],
    [5, 2],
    [6, 3],
  ]);
  expect(versions(rig, derived)).toEqual(said);
});

test("OBJ-13: behind other modulators an event says their versions first: those of the event that it was made of, while it waits, too", async () => {
  await using rig = new Rig();
  const derived = await rig.install({ ...modulator(""), objects: { o: object("o", 1) } }, { behind: 2 });
  const without = await rig.install(
    modulator("enqueue(event) { if (event.step > 1) super.enqueue(event); }"),
    {
      behind: 2,
    },
  );
  rig.publish([layerOf(0, 0)]);
  await rig.settled();
  rig.host.flow(derived, false);
  rig.host.enqueue(behind([3, 4], 1, 2));
  await rig.settled();
  rig.host.update({ object: "o", version: 2, state: state(2) });
  rig.host.enqueue(behind([3, 5], 3));
  await rig.settled();
  rig.host.flow(derived, true);
  await vi.waitUntil(() => rig.received(derived).length === 4, { interval: 2, timeout: 60_000 });
  // What was not made with any version, such as what a producer raises there itself, says 0.
  const made = rig
    .received(derived)
    .map(({ event }, i) => [event.step, ...(versions(rig, derived)[i] ?? [])]);
  expect(made).toEqual([
    [0, 0, 0, 1],
    [1, 3, 4, 1],
    [2, 3, 4, 1],
    [3, 3, 5, 2],
  ]);
  expect(rig.frames(derived).map(({ parameters }) => parameters)).toEqual([1, 1, 2]);
  expect(versions(rig, without)).toEqual([
    [3, 4],
    [3, 5],
  ]);
});

test("OBJ-13: what is made of events in more than one call is told apart, though it goes through memory that is short", async () => {
  await using rig = new Rig();
  const objects = { a: object("a", 1), b: object("b", 1) };
  const large = modulator(
    `static output = { name: "Large", description: { n: "uint32", bytes: "uint8[]" } };
     enqueue({ step }) { super.enqueue({ n: this.objects.b.n, bytes: new Uint8Array(step % 2 === 0 ? 300_000 : 70_000) }); }`,
  );
  const derived = await rig.install({ ...large, objects });
  for (let version = 2; version <= 9; version++) {
    rig.publish([layerOf(version, 0), layerOf(version + 1, 1), layerOf(version, 2)]);
    await rig.settled();
    rig.host.update({ object: "b", version, state: state(version) });
  }
  await rig.settled();
  const made = rig.received<{ n: number }>(derived).map(({ event }) => event.n);
  expect(made).toEqual([1, 2, 3, 4, 5, 6, 7, 8].flatMap(n => [n, n, n]));
  expect(versions(rig, derived)).toEqual(made.map(n => [1, n]));
});

test("OBJ-13: a run of a producer says no versions, and one of a single object says it by its header alone", async () => {
  await using rig = new Rig();
  const derived = await rig.install({ ...modulator(""), objects: { o: object("o", 1, 7) } });
  rig.step(1);
  await rig.settled();
  expect(runOf(encodeEvents([layerOf(1, 1)])).versions).toEqual([]);
  const [frame] = rig.frames(derived);
  expect(frame).toMatchObject({ parameters: 7, versions: [7], versionsAt: 0 });
});
