import type { GridData } from "@jecho/modulators";
import { expect, test } from "vitest";
import { besideNeighbour, inEnqueue } from "./hostile-rig.ts";
import { modulator } from "./rig.ts";

/* Hostile modulators that give what is no event, no error or no number. */

const { fateOf, rig } = await besideNeighbour();

test("3 a promise that never settles: refused, for intercepts are synchronous", async () => {
  const hostile = modulator("async enqueue(event) { await new Promise(() => {}); }");
  expect(await fateOf(hostile)).toMatchObject({
    code: "MODULATOR_FAILED",
    message: expect.stringContaining("enqueue returned a promise"),
  });
  expect(await fateOf(modulator("", "await new Promise(() => {});"))).toMatchObject({
    code: expect.stringMatching(/MODULATOR_(INVALID|TIMED_OUT)/),
  });
});

test.each([
  [
    "a proxy",
    "new Proxy({}, { get() { throw new Error('from the trap'); }, has() { return true; } })",
    "FAILED",
  ],
  ["a getter that throws", "{ get step() { throw new Error('from the getter'); } }", "FAILED"],
  ["a function", "() => 1", "FAILED"],
  ["a symbol", "Symbol('x')", "FAILED"],
  ["a BigInt", "10n", "FAILED"],
  ["null", "null", "FAILED"],
  ["text", "'event'", "FAILED"],
  ["a field of the wrong kind", "{ values: { length: 1e9 } }", "FAILED"],
  ["a number out of range", "{ rows: -1 }", "FAILED"],
])("22 dequeue returns %s: a clean error", async (_, expression, code) => {
  const fate = await fateOf(modulator(`dequeue() { return ${expression}; }`));
  expect(fate.code).toBe(`MODULATOR_${code}`);
  expect(fate.message).not.toBe("");
});

test("22 __proto__ among the keys is a field that the type does not have", async () => {
  const fate = await fateOf(
    modulator(`enqueue() { super.enqueue(JSON.parse('{"step": 5, "__proto__": {"layer": 3}}')); }`),
  );
  expect(rig.received(fate.derived as number)[0]?.event).toMatchObject({ step: 5, layer: 0 });
});

test("23 an event whose bytes it broke: refused where it would leave", async () => {
  const hostile = inEnqueue(
    "const bytes = new Uint8Array(event.values.buffer); bytes.fill(255, 0); super.enqueue(event);",
  );
  expect(await fateOf(hostile)).toMatchObject({ code: "MODULATOR_FAILED" });
});

test.each([
  ["what came in is detached", "event.values.buffer.transfer(); super.enqueue(event);"],
  [
    "what it made is detached",
    "const made = urgent({ step: 1, values: [1, 2, 3] }); made.values.buffer.transfer(); super.enqueue(made);",
  ],
  [
    "what it made is detached, and it goes on",
    "urgent({ step: 1, values: [1] }).values.buffer.transfer(); super.enqueue({ step: 1, values: [2] });",
  ],
  [
    "a buffer shrinks while it is encoded",
    "const buffer = new ArrayBuffer(64, { maxByteLength: 1024 }); const values = new Float32Array(buffer);" +
      "let n = 0; super.enqueue({ get step() { buffer.resize(n++ % 2 === 0 ? 64 : 4); return 1; }, values });",
  ],
  [
    "a buffer grows while it is encoded",
    "const buffer = new ArrayBuffer(4, { maxByteLength: 1e6 }); const values = new Float32Array(buffer);" +
      "let n = 0; super.enqueue({ get step() { buffer.resize(n++ % 2 === 0 ? 4 : 1e6); return 1; }, values });",
  ],
  [
    "a buffer is detached while it is encoded",
    "const values = new Float32Array(16); super.enqueue({ get step() { values.buffer.transfer(); return 1; }, values });",
  ],
])("23 %s: refused, or whole events", async (_, code) => {
  const { code: fate, derived } = await fateOf(inEnqueue(code, 'import { urgent } from "jecho:moe";'));
  // What left was copied first and checked then: an event that can be read to its end, or none.
  if (derived === undefined) expect(fate).toBe("MODULATOR_FAILED");
  else
    for (const { event } of rig.received<GridData>(derived))
      expect(event.values.every(value => Number.isFinite(value))).toBe(true);
});

test("23 a buffer that is resized, detached or changed after it was given away: the copy stays", async () => {
  const detach = "typeof values.buffer.transfer === 'function' ? values.buffer.transfer() : values.fill(9)";
  const { derived } = await fateOf(
    inEnqueue(`
    const values = new Float32Array([1, 2, 3]);
    super.enqueue({ step: 1, values });
    values.fill(-1);
    ${detach};`),
  );
  expect([...(rig.received<GridData>(derived as number)[0]?.event.values ?? [])]).toEqual([1, 2, 3]);
  const steering = await rig.install(
    modulator(`static needs = ["controls.warm"];
    enqueue() {
      const values = new Float64Array([1, 2, 3]);
      this.moe.controls.warm(values);
      values.fill(-1);
      ${detach};
    }`),
    { delegate: { controls: { warm: () => {} } } },
  );
  rig.calls.length = 0;
  rig.step();
  await rig.settled();
  expect(rig.calls.map(({ values: [value] }) => [...(value as Float64Array)])).toEqual(
    [1, 2, 3].map(() => [1, 2, 3]),
  );
  rig.host.remove(steering);
  rig.calls.length = 0;
});

test.each(["NaN", "-1", "2 ** 53", "Infinity", "-Infinity", "10n"])(
  "24 %s where a count is wanted: a clean error that names the field",
  async number => {
    expect(await fateOf(inEnqueue(`super.enqueue({ step: ${number} });`))).toMatchObject({
      code: "MODULATOR_FAILED",
      message: expect.stringContaining("step"),
    });
  },
);

test("24 minus zero is zero", async () => {
  const { derived } = await fateOf(inEnqueue("super.enqueue({ step: -0, time: -0 });"));
  expect(rig.received(derived as number)[0]?.event).toMatchObject({ step: 0, time: -0 });
});

const SPOILED = [
  ["an offset that leads nowhere", "words[root] = 0x7ffffff0;"],
  ["a negative offset", "words[root] = 0xfffffff0;"],
  ["a length beyond the event", "words[length] = 0x20000000;"],
  ["parts that overlap", "words.copyWithin(root, root + 1, root + 9);"],
] as const;

/** Spoils an event whose bytes begin at that word. */
const spoilt = (event: string, root: string, spoil: string): string => `
    const words = new Uint32Array(${event}.values.buffer);
    const root = ${root};
    const length = ${event}.values.byteOffset / 4 - 1;
    ${spoil}`;

test.each(SPOILED)("24 an event with %s: refused where it would leave", async (_, spoil) => {
  // Events that a modulator makes lie one behind the other, the first one at the start of their memory.
  const hostile = inEnqueue(
    `if (this.made !== undefined) return;
    this.made = urgent({ values: new Float32Array(8) });
    ${spoilt("this.made", "0", spoil)}
    super.enqueue(this.made);`,
    'import { urgent } from "jecho:moe";',
  );
  expect(await fateOf(hostile)).toMatchObject({ code: "MODULATOR_FAILED" });
});

// The events of a call lie behind a table of where they begin and end: 8 bytes for each of the three.
const ROOT_OF_FIRST = "6";

test.each(SPOILED)("24 an event that it held, with %s: refused where it would leave", async (_, spoil) => {
  const derived = await rig.install(
    inEnqueue(`
    if (event.layer > 0) return;
    const { held } = this;
    this.held = event;
    if (held === undefined) return;
    ${spoilt("held", ROOT_OF_FIRST, spoil)}
    super.enqueue(held);`),
  );
  rig.step();
  rig.step();
  await rig.settled();
  expect(rig.removed.get(derived)).toMatchObject({ code: "MODULATOR_FAILED" });
});

test.each(SPOILED)("MOE-25: an event that is given %s leaves as it was raised", async (_, spoil) => {
  const { code, derived } = await fateOf(
    inEnqueue(`
    if (event.layer === 0) { ${spoilt("event", ROOT_OF_FIRST, spoil)} }
    super.enqueue(event);`),
  );
  expect(code).toBe("alive");
  const seen = rig.received(derived as number);
  expect(seen.map(({ event }) => [event.step, event.layer])).toEqual(rig.raised.slice(-3));
});

test.each([
  ["null", "throw null"],
  ["undefined", "throw undefined"],
  ["a symbol", "throw Symbol('x')"],
  ["50 MB of message", "throw new Error('x'.repeat(5e7))"],
  ["a message that throws", "throw { get message() { throw 1; } }"],
  ["a hostile toString", "throw { toString() { throw 1; }, [Symbol.toPrimitive]() { throw 2; } }"],
  ["a proxy", "throw new Proxy({}, { get() { throw 3; }, getPrototypeOf() { throw 4; } })"],
])("28 throws %s: a clean error, cut short", async (_, code) => {
  const fate = await fateOf(inEnqueue(code));
  expect(fate.code).toMatch(/^MODULATOR_(FAILED|OUT_OF_MEMORY|TIMED_OUT)$/);
  expect(fate.message.length).toBeLessThanOrEqual(2000);
  expect((await fateOf(modulator("", `${code};`))).code).toMatch(
    /^MODULATOR_(FAILED|INVALID|OUT_OF_MEMORY)$/,
  );
});
