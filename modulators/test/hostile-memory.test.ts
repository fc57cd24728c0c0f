import { expect, test } from "vitest";
import { besideNeighbour, inEnqueue, neighbourIn } from "./hostile-rig.ts";
import { modulator, Rig } from "./rig.ts";

/* Hostile modulators that take memory: in leaps, in small pieces, by depth, by what they are made of and by what they make. */

const { fateOf, rig } = await besideNeighbour();

test("8 a huge string split: killed or a clean error", async () => {
  expect((await fateOf(inEnqueue(`"x".repeat(5e8).split("");`))).code).toMatch(/^MODULATOR_/);
});

test("9 a million nested arrays parsed: a clean error or a new host", async () => {
  const hostile = inEnqueue(`JSON.parse("[".repeat(1e6) + "]".repeat(1e6)); throw new Error("parsed");`);
  expect((await fateOf(hostile)).code).toMatch(/^MODULATOR_/);
});

test("source that is none: refused with the place in it", async () => {
  expect(await fateOf({ source: "export default class {" })).toMatchObject({
    code: "MODULATOR_INVALID",
    message: expect.stringContaining("line 1"),
  });
});

test("10 source text of 20 MB, and source nested 100,000 deep: refused", async () => {
  expect(await fateOf({ source: " ".repeat(20e6) })).toMatchObject({ code: "MODULATOR_TOO_LARGE" });
  const deep = modulator(`enqueue() { ${"(".repeat(1e5)}1${")".repeat(1e5)} }`);
  expect(await fateOf(deep)).toMatchObject({ code: "MODULATOR_INVALID" });
});

const LEAK = "let kept = [];";
test.each([
  ["objects for ever", inEnqueue("for (;;) kept.push({});", LEAK)],
  ["a doubled string", inEnqueue(`let s = "x"; for (;;) { s += s; kept.push(s + 1); }`, LEAK)],
  ["buffers", inEnqueue("for (;;) kept.push(new ArrayBuffer(1e6));", LEAK)],
  ["buffers written to", inEnqueue("for (;;) kept.push(new Uint8Array(1e6).fill(1));", LEAK)],
])("12 %s: ended at the cap", async (_, hostile) => {
  expect((await fateOf(hostile)).code).toMatch(/^MODULATOR_(OUT_OF_MEMORY|TIMED_OUT|FAILED)$/);
});

test("12 a little leaked with each event: ended at the cap", async () => {
  const derived = await rig.install(inEnqueue("kept.push(new Uint8Array(1e6).fill(1));", LEAK));
  for (let i = 0; i < 60 && !rig.removed.has(derived); i++) {
    rig.step();
    await rig.settled();
  }
  expect(rig.removed.get(derived)).toMatchObject({ code: "MODULATOR_OUT_OF_MEMORY" });
});

test("12 memory that ends in a promise's job, where nobody hears of it: ended at the cap", async () => {
  // Time enough for the memory to be the end of it.
  await using patient = new Rig({ limits: { memoryMiB: 8, timeShare: 1 } });
  const neighbourHasSeenAll = await neighbourIn(patient);
  const hostile = inEnqueue("const again = () => Promise.resolve().then(again); again();");
  const derived = await patient.install(hostile);
  patient.step();
  await patient.settled();
  expect(patient.removed.get(derived)).toMatchObject({ code: "MODULATOR_OUT_OF_MEMORY" });
  neighbourHasSeenAll();
});

test("13 an array far past the limit in one step: killed, or the host is replaced", async () => {
  const fate = await fateOf(inEnqueue("new Array(6e7).fill(0);"));
  expect(fate.code).toMatch(/^MODULATOR_(OUT_OF_MEMORY|TIMED_OUT)$/);
});

test("15 a tiny slice that pins a big buffer: counted against its memory", async () => {
  const derived = await rig.install(
    inEnqueue("kept.push(new Uint8Array(4e6).fill(1).subarray(0, 1));", LEAK),
  );
  for (let i = 0; i < 20 && !rig.removed.has(derived); i++) {
    rig.step();
    await rig.settled();
  }
  expect(rig.removed.get(derived)).toMatchObject({ code: "MODULATOR_OUT_OF_MEMORY" });
});

test("17 endless recursion, plain and through getters and toString: a clean error", async () => {
  const deep = ["const f = () => f() + 1; f();", "const o = { get a() { return this.a; } }; o.a;"];
  deep.push("const o = { toString() { return String(this); } }; String(o);");
  for (const code of deep) {
    expect(await fateOf(inEnqueue(code))).toMatchObject({
      code: "MODULATOR_FAILED",
      message: expect.stringMatching(/Maximum call stack|stack overflow/),
    });
  }
});

test("25 more output than a batch may make: removed; more held back than its queue takes: dropped and counted", async () => {
  const flood = inEnqueue(
    "for (let i = 0; i < 60; i++) super.enqueue({ values: big });",
    "const big = new Float32Array(1e5);",
  );
  expect((await fateOf(flood)).code).toMatch(/^MODULATOR_(OUTPUT_EXCEEDED|OUT_OF_MEMORY|TIMED_OUT)$/);
  // An interpreter takes its time for so many.
  await using patient = new Rig();
  const neighbourHasSeenAll = await neighbourIn(patient);
  const many = "for (let i = 0; i < 2000; i++) super.enqueue(event);";
  const leaving = await patient.install(inEnqueue(many));
  const holding = await patient.install(modulator(`enqueue(event) { ${many} } dequeue() {}`));
  patient.step();
  await patient.settled();
  const outcome = (derived: number): unknown => {
    const { dropped, eventsOut } = patient.host.stats.modulators.get(derived) ?? {};
    return { dropped, eventsOut };
  };
  expect(outcome(leaving)).toEqual({ dropped: 0, eventsOut: 3 * 2000 });
  expect(outcome(holding)).toEqual({ dropped: 3 * 2000 - 1024, eventsOut: 0 });
  neighbourHasSeenAll();
});
