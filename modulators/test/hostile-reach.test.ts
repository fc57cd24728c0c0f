import { fifo } from "@jecho/modulators";
import { expect, test } from "vitest";
import { besideNeighbour, inEnqueue } from "./hostile-rig.ts";
import { modulator } from "./rig.ts";

/* Hostile modulators that reach for what is not theirs. */

// None of these is about time, and an interpreter takes long for a walk through all that is in reach.
const { found, fateOf, rig } = await besideNeighbour({});

test("14 WebAssembly: not there", async () => {
  expect(await found("typeof WebAssembly")).toBe("undefined");
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

test("20 Symbol.species and patched promises: nothing of another realm comes by", async () => {
  const patches = `
    const foreign = [];
    let seen = 0;
    const look = one => {
      seen++;
      if ((typeof one !== "object" && typeof one !== "function") || one === null) return;
      let last = one;
      for (let next = one; next !== null; next = Object.getPrototypeOf(next)) last = next;
      if (last !== Object.prototype) foreign.push(Object.prototype.toString.call(one));
    };
    for (const of of [Array, Promise, ArrayBuffer, RegExp, Object.getPrototypeOf(Uint8Array)]) {
      Object.defineProperty(of, Symbol.species, { get() { look(this); return this; } });
    }
    const { then } = Promise.prototype;
    Promise.prototype.then = function (...all) { [this, ...all].forEach(look); return Reflect.apply(then, this, all); };
    Object.defineProperty(Promise.prototype, "constructor", { get() { look(this); return Promise; } });`;
  const derived = await rig.install(
    modulator(
      `static output = { name: "Finding", description: { text: "string" } };
      async wait(event) { await event; await { then(...all) { all.forEach(look); } }; }
      enqueue(event) {
        event.values.slice(1);
        this.wait(event);
        super.enqueue({ text: String([seen > 0, ...foreign]) });
      }`,
      patches,
    ),
  );
  // What waited is gone on with when a call has ended.
  for (let i = 0; i < 2; i++) {
    rig.step();
    await rig.settled();
  }
  const found = rig.received<{ text: string }>(derived).map(({ event }) => event.text);
  expect(found).toEqual(Array.from({ length: 6 }, () => "true"));
  rig.host.remove(derived);
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

test("26, MOE-25: writes into an event: the next modulator sees the original, and it leaves as it was raised", async () => {
  const vandal = await rig.install(inEnqueue("event.values.fill(-1); super.enqueue(event);"));
  const after = await rig.install(fifo().modulator);
  rig.step();
  await rig.settled();
  expect(rig.received(vandal)[0]?.event.values[5]).toBe(5 + rig.steps);
  expect(rig.received(after)[0]?.event.values[5]).toBe(5 + rig.steps);
  rig.host.remove(vandal);
  rig.host.remove(after);
});

test("27 Atomics and SharedArrayBuffer: not there, nor behind an event", async () => {
  expect(
    await found("[typeof Atomics, typeof SharedArrayBuffer, event.values.buffer.constructor.name]"),
  ).toBe("undefined,undefined,ArrayBuffer");
});

test("29 clocks are no finer than a millisecond", async () => {
  const clocks =
    "[typeof performance, Number.isInteger(Date.now()), Number.isInteger(+new Date()), typeof setTimeout]";
  expect(await found(clocks)).toBe("undefined,true,true,undefined");
});

test("30 another modulator's globals, parameters and events: none to be seen", async () => {
  const secretive = await rig.install({
    ...inEnqueue(
      "super.enqueue({ step: event.step, values: secret });",
      "globalThis.secret = 'told'; Array.prototype.secret = 'told'; const secret = new Float32Array(64).fill(31337.5);",
    ),
    parameters: { secret: "told by parameters" },
  });
  rig.step();
  await rig.settled();
  expect(rig.received(secretive)[0]?.event.values[0]).toBe(31337.5);
  expect(await found("[globalThis.secret, [].secret]")).toBe(",");
  const blocks =
    "[event.values.buffer, ...Array.from({ length: 100 }, (_, i) => new ArrayBuffer(256 << (i % 12)))]";
  const holds =
    "const holds = buffer => new Float32Array(buffer, 0, buffer.byteLength >> 2).includes(31337.5);";
  expect(await found(`${blocks}.filter(holds).length`, holds)).toBe("0");
  const walk = `
    function told(...queue) {
      const seen = new Set();
      const texts = [];
      while (queue.length > 0) {
        const at = queue.pop();
        if (typeof at === "string" && at.includes(["told", "by"].join(" "))) texts.push(at);
        if ((typeof at !== "object" && typeof at !== "function") || at === null || seen.has(at)) continue;
        seen.add(at);
        queue.push(Object.getPrototypeOf(at));
        for (const key of Reflect.ownKeys(at)) {
          const { value, get } = Object.getOwnPropertyDescriptor(at, key);
          queue.push(key, value, get);
        }
      }
      return [seen.size > 100, texts.length];
    }`;
  expect(await found("event.layer > 0 || told(globalThis, this, event)", walk)).toBe("true,0");
  rig.host.remove(secretive);
});
