import { expect, test, vi } from "vitest";
import { besideNeighbour, inEnqueue, neighbourIn } from "./hostile-rig.ts";
import { modulator, Rig, USUAL } from "./rig.ts";

/* Hostile modulators that take the time of others. */

/** Events of one run: the longest one that a host is given at once. */
const EVENTS = 256;

const { fateOf, rig } = await besideNeighbour();

test.each([
  ["enqueue", modulator("enqueue() { for (;;); }")],
  ["dequeue", modulator("dequeue() { for (;;); }")],
  ["the constructor", modulator("constructor(...all) { super(...all); for (;;); }")],
  ["check", modulator("static check() { for (;;); }")],
  ["a field", modulator("static output = (() => { for (;;); })()")],
  ["the module", modulator("", "for (;;);")],
])("1 a loop without end in %s: killed by its deadline", async (_, hostile) => {
  const before = rig.restarts;
  expect(await fateOf(hostile)).toMatchObject({ code: "MODULATOR_TIMED_OUT" });
  expect(rig.restarts).toBe(before);
});

test("1 a loop without end in period, or when it is removed: killed", async () => {
  const leaving = await rig.install(modulator("removed() { for (;;); }"));
  const looping = await rig.install(modulator("static periodMs = 10; period() { for (;;); }"));
  rig.host.remove(leaving);
  await vi.waitUntil(() => rig.removed.has(looping), { interval: 5, timeout: 60_000 });
  expect(rig.removed.get(looping)).toMatchObject({ code: "MODULATOR_TIMED_OUT" });
  expect(rig.removed.has(leaving)).toBe(false);
});

test("2 endless microtasks: killed", async () => {
  const hostile = inEnqueue("const again = () => Promise.resolve().then(again); again();");
  // Each round leaves a promise behind: whichever comes first, the end of its time or of its memory.
  const either = expect.stringMatching(/^MODULATOR_(TIMED_OUT|OUT_OF_MEMORY)$/);
  expect(await fateOf(hostile)).toMatchObject({ code: either });
});

test("4 a call, and then a loop: killed, and what it called does not count", async () => {
  const calls = inEnqueue("this.moe.controls.warm(1); this.moe.log('x'); for (;;);");
  const source = calls.source.replace(
    "enqueue(event)",
    'static needs = ["controls.warm", "log"]; enqueue(event)',
  );
  const derived = await rig.install({ source }, { delegate: { controls: { warm: () => {} } } });
  rig.step();
  await rig.settled();
  expect(rig.removed.get(derived)).toMatchObject({ code: "MODULATOR_TIMED_OUT" });
  expect(rig.calls).toEqual([]);
});

test("5 catastrophic backtracking: killed", async () => {
  const hostile = inEnqueue(`/^(a+)+$/.test("a".repeat(40) + "b");`);
  expect(await fateOf(hostile)).toMatchObject({ code: "MODULATOR_TIMED_OUT" });
});

test("6 BigInt squaring without end: the host is replaced, or the engine has a limit of its own", async () => {
  const before = rig.restarts;
  const { code, message } = await fateOf(inEnqueue("let x = 3n; for (;;) x *= x;"));
  if (rig.restarts > before) expect(code).toBe("MODULATOR_TIMED_OUT");
  else expect([code, message]).toEqual(["MODULATOR_FAILED", expect.stringContaining("BigInt is too large")]);
});

test("7 a huge sort with a hostile comparator: killed", async () => {
  const hostile = inEnqueue(
    "for (;;) Array.from({ length: 1e5 }, Math.random).sort(() => Math.random() - 0.5);",
  );
  expect(await fateOf(hostile)).toMatchObject({ code: "MODULATOR_TIMED_OUT" });
});

test("11 much of the deadline again and again: removed by its share of time", async () => {
  // A share that it exceeds even where others have most of the processor.
  await using strict = new Rig({ limits: { timeShare: 0.005, callMs: 2000 } });
  const neighbourHasSeenAll = await neighbourIn(strict);
  const spin = "const then = Date.now(); while (event.layer === 0 && Date.now() - then < 100);";
  const derived = await strict.install(inEnqueue(spin));
  await vi.waitUntil(
    async () => {
      strict.step();
      await strict.settled();
      return strict.removed.has(derived);
    },
    { interval: 1, timeout: 60_000 },
  );
  expect(strict.removed.get(derived)).toMatchObject({
    code: "MODULATOR_TIMED_OUT",
    message: expect.stringContaining("0.5 %"),
  });
  neighbourHasSeenAll();
});

test("28 a message that does not end: killed", async () => {
  expect(await fateOf(inEnqueue("throw { get message() { for (;;); } };"))).toMatchObject({
    code: "MODULATOR_TIMED_OUT",
  });
  expect((await fateOf(modulator("", "throw { get message() { for (;;); } };"))).code).toMatch(/^MODULATOR_/);
});

test("MOE-11: a filter that takes half a millisecond for an event is not ended where many come at once", async () => {
  await using usual = new Rig({ limits: USUAL });
  const spin = "if (event.layer % 4 === 0) for (const then = Date.now(); Date.now() - then < 2;);";
  const derived = await usual.install(inEnqueue(`${spin} super.enqueue(event);`));
  usual.step(EVENTS);
  await usual.settled();
  expect(usual.removed.get(derived)).toBeUndefined();
  expect(usual.received(derived)).toHaveLength(EVENTS);
});
