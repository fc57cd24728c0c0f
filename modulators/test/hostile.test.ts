import { fifo, type GridData } from "@jecho/modulators";
import { JechoError } from "@jecho/shared";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { modulator, Rig } from "./rig.ts";

/* Named after the rows of the hostile modulators that the sandbox must withstand. One well-behaved modulator stands beside. */

const rig = new Rig();
const neighbour = await rig.install(fifo().modulator);
afterAll(() => rig.host.close());

afterEach(async () => {
  // Whatever happened, the neighbour has seen everything once and in order.
  rig.step();
  await rig.settled();
  const seen = rig.received(neighbour);
  expect(seen.map(({ event }) => [event.step, event.layer])).toEqual(
    Array.from({ length: 3 * rig.steps }, (_, i) => [1 + Math.floor(i / 3), i % 3]),
  );
  expect(seen.map(({ raised }) => raised)).toEqual(seen.map((_, i) => i));
  expect(rig.removed.has(neighbour)).toBe(false);
});

type Outcome = { readonly code: string; readonly message: string; readonly derived?: number };

/** Installs it, raises a step of three events, and tells how it ended. */
async function fateOf(hostile: ReturnType<typeof modulator>): Promise<Outcome> {
  let derived: number;
  try {
    derived = await rig.install(hostile);
  } catch (error) {
    expect(error).toBeInstanceOf(JechoError);
    return error as JechoError;
  }
  rig.step();
  await rig.settled();
  const removed = rig.removed.get(derived);
  if (removed !== undefined) return removed;
  rig.host.remove(derived);
  return { code: "alive", message: "", derived };
}

const finding = `static output = { name: "Finding", description: { text: "string" } };`;

/** What an expression in the modulator's world gives, as text. */
async function found(expression: string, before = ""): Promise<string> {
  const { derived, code, message } = await fateOf(
    modulator(`${finding} enqueue(event) { super.enqueue({ text: String(${expression}) }); }`, before),
  );
  if (derived === undefined) return `${code}: ${message}`;
  return rig.received<{ text: string }>(derived)[0]?.event.text ?? "nothing";
}

const inEnqueue = (code: string, before = "") => modulator(`enqueue(event) { ${code} }`, before);

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
  await vi.waitUntil(() => rig.removed.has(looping), { interval: 5, timeout: 15_000 });
  expect(rig.removed.get(looping)).toMatchObject({ code: "MODULATOR_TIMED_OUT" });
  expect(rig.removed.has(leaving)).toBe(false);
});

test("2 endless microtasks: killed", async () => {
  const hostile = inEnqueue("const again = () => Promise.resolve().then(again); again();");
  // Each round leaves a promise behind: whichever comes first, the end of its time or of its memory.
  const either = expect.stringMatching(/^MODULATOR_(TIMED_OUT|OUT_OF_MEMORY)$/);
  expect(await fateOf(hostile)).toMatchObject({ code: either });
});

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

test("11 much of the deadline again and again: removed by its share of time", async () => {
  // A share that it exceeds even where others have most of the processor.
  await using strict = new Rig({ limits: { timeShare: 0.05, callMs: 500 } });
  const good = await strict.install(fifo().modulator);
  const spin = "const then = Date.now(); while (event.layer === 0 && Date.now() - then < 20);";
  const derived = await strict.install(inEnqueue(spin));
  await vi.waitUntil(
    async () => {
      strict.step();
      await strict.settled();
      return strict.removed.has(derived);
    },
    { interval: 1, timeout: 15_000 },
  );
  expect(strict.removed.get(derived)).toMatchObject({
    code: "MODULATOR_TIMED_OUT",
    message: expect.stringContaining("5 %"),
  });
  expect(strict.received(good).length).toBe(3 * strict.steps);
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

test("13 an array far past the limit in one step: killed, or the host is replaced", async () => {
  const fate = await fateOf(inEnqueue("new Array(6e7).fill(0);"));
  expect(fate.code).toMatch(/^MODULATOR_(OUT_OF_MEMORY|TIMED_OUT)$/);
});

test("14 WebAssembly: not there", async () => {
  expect(await found("typeof WebAssembly")).toBe("undefined");
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

test.each([
  ["constructor.constructor", `this.constructor.constructor("return process")()`, "EvalError"],
  ["an arrow's constructor", `(() => {}).constructor("return 1")()`, "EvalError"],
  ["an async constructor", `(async () => {}).constructor("return 1")()`, "EvalError"],
  ["a generator's constructor", `(function* () {}).constructor("yield 1")()`, "EvalError"],
  ["an async generator's", `(async function* () {}).constructor("yield 1")()`, "EvalError"],
  ["by Reflect", `Reflect.construct(Object.getPrototypeOf(Object).constructor, ["return 1"])()`, "EvalError"],
  ["eval", `eval("1")`, "ReferenceError"],
  ["Function", `Function("return 1")()`, "ReferenceError"],
  ["process", "process.exit()", "ReferenceError"],
  ["require", `require("fs")`, "ReferenceError"],
])("18 code from text by %s: not there", async (_, expression, error) => {
  const text = await found(
    `(() => { try { return ${expression}; } catch (thrown) { return thrown.name; } }).call(this)`,
  );
  expect(text).toBe(error);
});

test("18 import of anything else: refused with its name; import() leads nowhere", async () => {
  expect(await fateOf({ source: `import fs from "node:fs"; export default fs;` })).toMatchObject({
    code: "MODULATOR_INVALID",
    message: expect.stringContaining("node:fs"),
  });
  expect(
    await found(
      "seen",
      `let seen = "nothing"; import("node:fs").then(() => (seen = "fs"), () => (seen = "refused"));`,
    ),
  ).toBe("refused");
});

test("19 a walk through everything in reach: no host object", async () => {
  const walk = `
    function walk() {
      const names = new Set();
      const seen = new Set();
      const queue = [globalThis, (async function* () {})(), [][Symbol.iterator](), /a/, new Error("x")];
      while (queue.length > 0) {
        const at = queue.pop();
        if ((typeof at !== "object" && typeof at !== "function") || at === null || seen.has(at)) continue;
        seen.add(at);
        queue.push(Object.getPrototypeOf(at));
        for (const key of Reflect.ownKeys(at)) {
          if (typeof key === "string" && /^[A-Za-z]+$/.test(key)) names.add(key);
          const { value, get } = Object.getOwnPropertyDescriptor(at, key);
          queue.push(value, get);
        }
      }
      return [...names];
    }`;
  const names = (await found(`walk().join(",")`, walk)).split(",");
  expect(names).toContain("Promise");
  const foreign =
    /^(process|require|module|fetch|setTimeout|WebAssembly|SharedArrayBuffer|Atomics|Buffer|applySync|Isolate|jechoWorld)$/;
  expect(names.filter(name => foreign.test(name))).toEqual([]);
});

test("20 prepareStackTrace sees no frame of the host", async () => {
  const text = await found(
    "(() => { Error.prepareStackTrace = (_, sites) => sites.map(s => s.getFileName() + ':' + typeof s.getThis() + ':' + typeof s.getFunction()).join(); return new Error('x').stack; })()",
  );
  // One engine calls the function, for each place in the stack; the other has never heard of it.
  const places = text.split(/,|\n/).filter(place => place !== "");
  expect(places.length).toBeGreaterThan(0);
  for (const place of places)
    expect(place).toMatch(
      /^(modulator|world)\.js:undefined:undefined$|^ +at \S+ \((modulator\.js|world|jecho:world)\S*\)$/,
    );
});

test("21 patched prototypes: hurt only itself, and reach no shared memory", async () => {
  const patches = `
    const { apply } = Reflect;
    const { getOwnPropertyNames, getOwnPropertyDescriptor, getPrototypeOf } = Object;
    const { toString } = Object.prototype;
    const { includes } = String.prototype;
    for (const of of [Array, Object, ArrayBuffer, DataView, Map, WeakMap, Uint8Array, getPrototypeOf(Uint8Array), String, Promise]) {
      for (const key of getOwnPropertyNames(of.prototype)) {
        const { value } = getOwnPropertyDescriptor(of.prototype, key);
        if (typeof value !== "function" || key === "constructor") continue;
        try {
          of.prototype[key] = function (...all) {
            for (let i = -1; i < all.length; i++) {
              const one = i < 0 ? this : all[i];
              const buffer = one?.buffer ?? one;
              if (typeof buffer === "object" && buffer !== null && apply(includes, apply(toString, buffer, []), ["Shared"])) throw new Error("reached");
            }
            return apply(value, this, all);
          };
        } catch {}
      }
    }`;
  expect(await fateOf(modulator("", patches))).toMatchObject({ code: "alive" });
  const broken =
    "Array.prototype.push = () => { throw 1; }; Object.freeze = JSON.parse = Reflect.apply = null;";
  expect((await fateOf(modulator("", broken))).code).toMatch(/^(alive|MODULATOR_(INVALID|FAILED))$/);
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

test.each([
  ["an offset that leads nowhere", "words[root] = 0x7ffffff0;"],
  ["a negative offset", "words[root] = 0xfffffff0;"],
  ["a length beyond the event", "words[length] = 0x20000000;"],
  ["parts that overlap", "words.copyWithin(root, root + 1, root + 9);"],
])("24 an event with %s: refused where it would leave", async (_, spoil) => {
  // The events of a call lie behind a table of where they begin and end: 8 bytes for each of the three.
  const hostile = inEnqueue(`
    const words = new Uint32Array(event.values.buffer);
    const root = 6;
    const length = event.values.byteOffset / 4 - 1;
    if (event.layer === 0) { ${spoil} }
    super.enqueue(event);`);
  expect(await fateOf(hostile)).toMatchObject({ code: "MODULATOR_FAILED" });
});

test("25 more output than a batch may make: removed; more than its queue holds: dropped and counted", async () => {
  const flood = inEnqueue(
    "for (let i = 0; i < 60; i++) super.enqueue({ values: big });",
    "const big = new Float32Array(1e5);",
  );
  expect((await fateOf(flood)).code).toMatch(/^MODULATOR_(OUTPUT_EXCEEDED|OUT_OF_MEMORY|TIMED_OUT)$/);
  // An interpreter takes its time for so many.
  await using patient = new Rig({ limits: { callMs: 1000 } });
  const derived = await patient.install(inEnqueue("for (let i = 0; i < 2000; i++) super.enqueue(event);"));
  patient.step();
  await patient.settled();
  const { dropped, eventsOut } = patient.host.stats.modulators.get(derived) ?? {};
  expect({ dropped, eventsOut }).toEqual({ dropped: 3 * (2000 - 1024), eventsOut: 3 * 1024 });
});

test("26 writes into an event: the next modulator sees the original", async () => {
  const vandal = await rig.install(inEnqueue("event.values.fill(-1); super.enqueue(event);"));
  const after = await rig.install(fifo().modulator);
  rig.step();
  await rig.settled();
  expect(rig.received(vandal)[0]?.event.values[5]).toBe(-1);
  expect(rig.received(after)[0]?.event.values[5]).toBe(5 + rig.steps);
  rig.host.remove(vandal);
  rig.host.remove(after);
});

test("27 Atomics and SharedArrayBuffer: not there, nor behind an event", async () => {
  expect(
    await found("[typeof Atomics, typeof SharedArrayBuffer, event.values.buffer.constructor.name]"),
  ).toBe("undefined,undefined,ArrayBuffer");
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

test("28 a message that does not end: killed", async () => {
  expect(await fateOf(inEnqueue("throw { get message() { for (;;); } };"))).toMatchObject({
    code: "MODULATOR_TIMED_OUT",
  });
  expect((await fateOf(modulator("", "throw { get message() { for (;;); } };"))).code).toMatch(/^MODULATOR_/);
});

test("29 clocks are no finer than a millisecond", async () => {
  const clocks =
    "[typeof performance, Number.isInteger(Date.now()), Number.isInteger(+new Date()), typeof setTimeout]";
  expect(await found(clocks)).toBe("undefined,true,true,undefined");
});

test("30 another modulator's globals: none to be seen", async () => {
  const secretive = await rig.install(
    inEnqueue("", "globalThis.secret = 'told'; Array.prototype.secret = 'told';"),
  );
  expect(await found("[globalThis.secret, [].secret]")).toBe(",");
  rig.host.remove(secretive);
});
