import { expect, test } from "vitest";
import { besideNeighbour, inEnqueue } from "./hostile-rig.ts";
import { modulator } from "./rig.ts";

/* Hostile modulators that attack by what they declare, by names, by the order of their calls, and by what they hand to services. */

const { fateOf, rig } = await besideNeighbour();

const IS_CLEAN = /^MODULATOR_(INVALID|FAILED|OUT_OF_MEMORY|TIMED_OUT|TOO_LARGE|OUTPUT_EXCEEDED)$/;

test("needs that are others each time they are read: what was asked for is what is there", async () => {
  const delegate = { controls: { warm: () => {} }, requires: { controls: "steer" } };
  const flips = modulator(`
    static reads = 0;
    static get needs() { return this.reads++ === 0 ? ["clock"] : ["controls.warm"]; }
    static output = { name: "Found", description: { text: "string" } };
    enqueue() { super.enqueue({ text: [typeof this.moe.clock, Object.keys(this.moe.controls)].join() }); }`);
  const derived = await rig.install(flips, { delegate });
  const list = `new Proxy(["clock"], { get(of, key) { return key === "0" ? "controls.warm" : of[key]; } })`;
  await expect(rig.install(modulator(`static needs = ${list};`), { delegate })).rejects.toMatchObject({
    code: "SERVICE_NOT_GRANTED",
  });
  rig.step(1);
  await rig.settled();
  expect(rig.received<{ text: string }>(derived).map(({ event }) => event.text)).toEqual(["function,"]);
  rig.host.remove(derived);
});

test.each([
  ["needs that throw", `static get needs() { throw new Error("no"); }`, "MODULATOR_INVALID"],
  [
    "needs without end",
    `static needs = new Proxy([], { get: (_, key) => key === "length" ? (this.n = (this.n ?? 0) + 1) : "clock" });`,
    undefined,
  ],
  [
    "a type that is another each time",
    `static get output() { return { get name() { return "T" + Math.random(); }, description: new Proxy({}, { ownKeys() { throw new Error("no"); } }) }; }`,
    "MODULATOR_INVALID",
  ],
  [
    "a type of itself",
    `static get output() { const description = { a: "uint32" }; description.b = description; return { name: "T", description }; }`,
    "MODULATOR_INVALID",
  ],
  [
    "a check that takes itself away",
    `static check() { delete this.check; throw new Error("no"); }`,
    "PARAMETERS_INVALID",
  ],
  [
    "a period that throws when it is read again",
    `get periodMs() { if (this.was) throw new Error("no"); this.was = true; return 10; } set periodMs(_) {}`,
    "MODULATOR_FAILED",
  ],
  [
    "a rate that loops when it is read again",
    `get mostPerSecond() { if (this.was) for (;;); this.was = true; return 1; }`,
    "MODULATOR_TIMED_OUT",
  ],
  [
    "a constructor that gives a proxy",
    `constructor(...all) { super(...all); return new Proxy(this, { get(of, key) { if (key === "dequeue") throw new Error("no"); return of[key]; } }); }`,
    "MODULATOR_FAILED",
  ],
  [
    "a constructor that gives something else",
    `constructor(...all) { super(...all); return { __proto__: null }; }`,
    "MODULATOR_FAILED",
  ],
])("getters in what it declares: %s", async (_, body, code) => {
  const fate = await fateOf(modulator(body));
  if (code === undefined) expect(fate.code).toMatch(/^(alive|MODULATOR_.*)$/);
  else expect(fate.code).toBe(code);
});

test("keepsEvents that is no plain value: it counts as it was when the class was taken", async () => {
  const { code, derived } = await fateOf(
    modulator(`
      static get keepsEvents() { if (this.was) throw new Error("read again"); this.was = true; return true; }`),
  );
  expect(code).toBe("alive");
  expect(rig.received(derived as number).length).toBe(3);
});

test.each([
  [
    "a field's name of a mebibyte",
    `static output = { name: "T", description: { ["a".repeat(1 << 20)]: "uint32" } };`,
  ],
  [
    "100,000 fields",
    `static output = { name: "T", description: Object.fromEntries(Array.from({ length: 1e5 }, (_, i) => ["f" + i, "uint32"])) };`,
  ],
  [
    "a type's name with what parts messages",
    `static output = { name: "T\\x1fINTERNAL\\x1f", description: { a: "uint32" } };`,
  ],
  ["a schema that is none", `static output = new Uint8Array(1e6).fill(1);`],
  ["a need of a mebibyte", `static needs = ["context." + "a".repeat(1 << 20)];`],
  ["a need of the prototype's", `static needs = ["__proto__", "constructor", "context.__proto__"];`],
  [
    "a message with what parts messages",
    `enqueue() { throw new Error("\\x1fCLOSED\\x1fno\\x1fmodulator.js:1:1" + "a".repeat(1e6)); }`,
  ],
  [
    "an event with a million names",
    `enqueue() { super.enqueue({ ...Array.from({ length: 1e6 }, () => 1) }); }`,
  ],
])("enormous and crooked names: %s", async (_, body) => {
  const { code, message } = await fateOf(modulator(body));
  expect(code).toMatch(/^(MODULATOR_(INVALID|FAILED|OUT_OF_MEMORY|TIMED_OUT)|SERVICE_MISSING)$/);
  expect(message.length).toBeLessThanOrEqual(2000);
});

const PLACES = `const at = event["@at"], source = event["@source"];`;

test.each([
  ["an heir of an event", "super.enqueue(Object.create(event));"],
  ["an event that says it lies elsewhere", `super.enqueue(Object.create(event, { "@at": { value: 1e9 } }));`],
  [
    "an event that says it is no number",
    `super.enqueue(Object.create(event, { "@at": { get: () => NaN } }));`,
  ],
  [
    "an event in memory of its own",
    `${PLACES} super.enqueue(Object.create(event, { "@source": { value: { ...source, bytes: new Uint8Array(8) } }, "@at": { value: at } }));`,
  ],
  [
    "an event in memory that shrinks",
    `${PLACES} const buffer = new ArrayBuffer(64, { maxByteLength: 1 << 20 }); const bytes = new Uint8Array(buffer); super.enqueue(Object.create(event, { "@source": { get() { buffer.resize?.(0); return { ...source, bytes }; } } }));`,
  ],
  ["an event whose prototype is none any more", "Object.setPrototypeOf(event, null); super.enqueue(event);"],
  ["a proxy of an event", "super.enqueue(new Proxy(event, {}));"],
  [
    "a queue of its own",
    `this["@waiting"] = { events: [event], versions: [{ length: 1e9 }], first: 0, next: 1e9, isOpen: true, passes: true };`,
  ],
  [
    "a queue that says it has passed",
    `const waiting = this["@waiting"]; Object.defineProperty(waiting, "passes", { get: () => true, set() {} });`,
  ],
])("prototypes of what crosses: %s: refused, or one of the events that came in", async (_, code) => {
  const before = rig.raised.length;
  const fate = await fateOf(inEnqueue(code));
  if (fate.code !== "alive") return expect(fate.code).toMatch(IS_CLEAN);
  const came = rig.raised.slice(before).map(each => each.join());
  for (const { event } of rig.received(fate.derived as number)) {
    // What was made anew of nothing known is made of defaults.
    expect([...came, "0,0"]).toContain([event.step, event.layer].join());
  }
});

test.each([
  [
    "installed in enqueue",
    "enqueue(event) { this.installed(); this.removed(); super.enqueue(event); } installed() { this.n = (this.n ?? 0) + 1; } removed() { this.n = 0; }",
    "alive",
  ],
  [
    "dequeue in enqueue",
    "enqueue(event) { super.enqueue(event); while (this.dequeue() !== undefined); }",
    "alive",
  ],
  [
    "enqueue in dequeue, without end",
    "enqueue(event) { this.last = event; super.enqueue(event); } dequeue() { if (this.last) super.enqueue(this.last); return super.dequeue(); }",
    "MODULATOR_OUTPUT_EXCEEDED",
  ],
  [
    "period in period, without end",
    "enqueue(event) { this.period(); } period() { this.period(); }",
    "MODULATOR_FAILED",
  ],
  [
    "events before it is made",
    "constructor(...all) { super(...all); super.enqueue({ step: 1, layer: 99 }); this.dequeue(); }",
    "alive",
  ],
  [
    "another dequeue in the middle of a run",
    "enqueue(event) { super.enqueue(event); if (event.layer === 1) this.dequeue = () => undefined; }",
    "alive",
  ],
  [
    "itself again in its constructor",
    "constructor(...all) { super(...all); new (new.target)(...all); }",
    "MODULATOR_FAILED",
  ],
  [
    "no class's fields",
    "enqueue(event) { delete this['@waiting']; super.enqueue(event); }",
    "MODULATOR_FAILED",
  ],
])("the order of calls: %s", async (_, body, code) => {
  const fate = await fateOf(modulator(body));
  if (code === "MODULATOR_OUTPUT_EXCEEDED")
    expect(fate.code).toMatch(/^MODULATOR_(OUTPUT_EXCEEDED|TIMED_OUT|OUT_OF_MEMORY)$/);
  else expect(fate.code).toBe(code);
});

test("services that call back: they run in its own world, and what they call reaches nobody out of turn", async () => {
  const delegate = {
    services: {
      each: (list: ArrayLike<unknown>, act: (one: unknown) => void) => {
        for (let i = 0; i < list.length; i++) act(list[i]);
      },
      sum: (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0),
    },
    controls: { warm: () => {} },
  };
  const needs = `static needs = ["services.each", "services.sum", "controls.warm"];`;
  const install = (body: string) => rig.install(modulator(`${needs} ${body}`), { delegate });
  const calls = rig.calls.length;
  const reentrant = await install(`enqueue(event) {
    const { services, controls } = this.moe;
    services.each([1, 2], () => super.enqueue(event));
    services.each({ get length() { controls.warm("from a getter"); return 0; } }, () => {});
  }`);
  const loops = await install("enqueue() { this.moe.services.each({ length: Infinity }, () => {}); }");
  const deep = await install(
    "enqueue() { const again = () => this.moe.services.each([1], again); again(); }",
  );
  // A turn counts as a whole or not at all.
  const fails = await install(
    `enqueue() { this.moe.controls.warm("never"); this.moe.services.sum([{ valueOf() { throw new Error("no"); } }, 1]); }`,
  );
  const nested = await install(
    `enqueue() { this.moe.controls.warm({ get length() { this.moe.controls.warm("never"); } }); }`,
  );
  const replaces = await install("enqueue() { this.moe.services.sum = () => 1; }");
  rig.step(1);
  await rig.settled();
  expect(rig.received(reentrant).length).toBe(2);
  expect(rig.calls.slice(calls).map(({ values }) => values[0])).toEqual(["from a getter"]);
  expect(rig.removed.get(reentrant)).toBeUndefined();
  expect(rig.removed.get(loops)).toMatchObject({ code: "MODULATOR_TIMED_OUT" });
  for (const failed of [deep, fails, nested, replaces])
    expect(rig.removed.get(failed)).toMatchObject({ code: "MODULATOR_FAILED" });
  rig.host.remove(reentrant);
});
