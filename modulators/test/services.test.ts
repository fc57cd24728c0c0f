import type { Delegate, Value } from "@jecho/modulators";
import { offersOf } from "@jecho/modulators/internal";
import { expect, test, vi } from "vitest";
import { BASE } from "./grid.ts";
import { neighbourIn } from "./hostile-rig.ts";
import { modulator, Rig } from "./rig.ts";

const SAID = `static output = { name: "Said", description: { text: "string" } };`;

function saying(needs: string[], expression: string, more = "") {
  return modulator(
    `static needs = ${JSON.stringify(needs)}; ${SAID} ${more} enqueue(event) { super.enqueue({ text: String(${expression}) }); }`,
  );
}

function texts(rig: Rig, derived: number): string[] {
  return rig.received<{ text: string }>(derived).map(({ event }) => event.text);
}

async function once(rig: Rig, derived: number): Promise<string | undefined> {
  rig.step(1);
  await rig.settled();
  if (rig.removed.has(derived)) throw rig.removed.get(derived);
  return texts(rig, derived).at(-1);
}

const DELEGATE: Delegate = {
  context: { temperature: () => 281.5, winds: () => new Float64Array([1, 2]), place: () => "Atlanta" },
  services: {
    celsius: (kelvin: number) => kelvin - 273.15,
    mean(values: Float64Array) {
      return values.reduce((sum, value) => sum + value, 0) / values.length;
    },
    shout: function loud(text: string) {
      return text.toUpperCase();
    },
  },
  controls: { warm: () => {}, name: () => {} },
};

test("MOE-10: views, services of every form, and both together", async () => {
  await using rig = new Rig();
  const context = {
    "context.temperature": 281.5,
    "context.winds": new Float64Array([1, 2]),
    "context.place": "Atlanta",
  };
  const derived = await rig.install(
    saying(
      [
        "context.temperature",
        "context.winds",
        "context.place",
        "services.celsius",
        "services.mean",
        "services.shout",
      ],
      "this.all(this.moe)",
      `all({ services, context }) {
        return [services.celsius(context.temperature).toFixed(2), services.mean(context.winds), services.shout(context.place)];
      }`,
    ),
    { delegate: DELEGATE, context },
  );
  expect(await once(rig, derived)).toBe("8.35,1.5,ATLANTA");
});

test("MOE-10: what is not offered is named, and so is what is not granted", async () => {
  await using rig = new Rig();
  const delegate = {
    ...DELEGATE,
    requires: { controls: "steer", "context.place": "insider", clock: "time" },
  };
  const install = (needs: string[], capabilities: string[] = []) =>
    rig.install(saying(needs, "1"), { delegate, capabilities });
  await expect(install(["context.temperature", "context.nothing"])).rejects.toMatchObject({
    code: "SERVICE_MISSING",
    message: expect.stringContaining('"context.nothing"'),
  });
  // What there is comes with it, the producer's own first.
  await expect(install(["database"])).rejects.toMatchObject({
    code: "SERVICE_MISSING",
    message: expect.stringMatching(
      /"database", which is not offered here; what is: context\.temperature, .*controls\.name, (clock, )?entropy, log, random, statistics/,
    ),
  });
  for (const [need, capability] of [
    ["controls.warm", "steer"],
    ["context.place", "insider"],
    ["clock", "time"],
  ] as const) {
    await expect(install([need], ["other"])).rejects.toMatchObject({
      code: "SERVICE_NOT_GRANTED",
      message: expect.stringMatching(new RegExp(`"${need}".*"${capability}"`)),
    });
  }
  expect(await once(rig, await install(["controls.warm", "context.place"], ["insider", "steer"]))).toBe("1");
});

test("MOE-10: what is listed twice, as by a class and its parent, is there once", async () => {
  await using rig = new Rig();
  const parent = `class Parent extends FifoModulator { static needs = ["context.place", "controls.warm", "services.celsius", "clock"]; }`;
  const source = `import { FifoModulator } from "jecho:moe"; ${parent}
    export default class extends Parent {
      static needs = [...super.needs, ...super.needs]; ${SAID}
      enqueue() { super.enqueue({ text: this.moe.context.place + Object.keys(this.moe.services) }); }
    }`;
  const context = { "context.place": "Atlanta" };
  expect(await once(rig, await rig.install({ source }, { delegate: DELEGATE, context }))).toBe(
    "Atlantacelsius",
  );
});

test("MOE-10: what is not listed is not there", async () => {
  await using rig = new Rig();
  const seen = await rig.install(
    saying(
      ["services.celsius"],
      "[Object.keys(this.moe), Object.keys(this.moe.context), Object.keys(this.moe.services), Object.keys(this.moe.controls)].join('|')",
    ),
    { delegate: DELEGATE, context: { "context.temperature": 1 } },
  );
  expect(await once(rig, seen)).toBe("objects,isStale,pull,context,services,controls,queueEvents||celsius|");
});

test.each(["clock", "log", "statistics", "context.temperature", "services.celsius", "controls.warm"])(
  "MOE-10: who uses %s without having listed it is told to list it",
  async need => {
    await using rig = new Rig();
    const derived = await rig.install(saying(["random"], `this.moe.${need}`), {
      delegate: DELEGATE,
      context: { "context.temperature": 1 },
    });
    await expect(once(rig, derived)).rejects.toMatchObject({
      code: "MODULATOR_FAILED",
      message: expect.stringContaining(
        `it uses "${need}", which the class does not list: static needs = ["${need}"]`,
      ),
    });
  },
);

test.each([
  ["no list", `static needs = "clock";`],
  ["not names", "static needs = [5];"],
  ["too many", "static needs = Array(1000).fill('clock');"],
  ["a name with a comma", `static needs = ["a,b"];`],
])("MOE-10: needs that are none are refused: %s", async (_, body) => {
  await using rig = new Rig();
  await expect(rig.install(modulator(body))).rejects.toMatchObject({ code: "MODULATOR_INVALID" });
});

test("MOE-14: a view is as it was before the events of the call, also in a new host", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    saying(["context.temperature"], "[event.step, this.moe.context.temperature]"),
    {
      delegate: DELEGATE,
      context: { "context.temperature": 0 },
    },
  );
  for (let i = 1; i <= 50; i++) {
    rig.host.setContext(BASE, "context.temperature", i);
    rig.step(1);
  }
  await rig.settled();
  expect(texts(rig, derived)).toEqual(Array.from({ length: 50 }, (_, i) => `${i + 1},${i + 1}`));
  // Only a process can be killed from outside.
  if (rig.place !== "isolated-vm") return;
  process.kill(rig.host.stats.pid as number, "SIGKILL");
  await vi.waitUntil(() => rig.restarts === 1, { interval: 2, timeout: 60_000 });
  expect(await once(rig, derived)).toBe("51,50");
});

test("MOE-14: a modulator has its own copy of a view, and cannot change another's", async () => {
  await using rig = new Rig();
  const options = { delegate: DELEGATE, context: { "context.winds": new Float64Array([1, 2]) } };
  const spoils = await rig.install(saying(["context.winds"], "this.moe.context.winds.fill(9)"), options);
  const reads = await rig.install(saying(["context.winds"], "this.moe.context.winds"), options);
  expect(await once(rig, spoils)).toBe("9,9");
  expect(await once(rig, reads)).toBe("1,2");
});

test("MOE-14: calls arrive in order, with every kind of value", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    saying(
      ["controls.warm", "log"],
      `this.call(event)`,
      `call(event) {
        const { controls, log } = this.moe;
        controls.warm(event.step, "two", true, NaN);
        log("warmed");
        controls.warm(event.values.subarray(0, 2), new BigInt64Array([-5n]), new Uint8Array(0));
        return "called";
      }`,
    ),
    { delegate: DELEGATE },
  );
  await once(rig, derived);
  expect(rig.calls).toEqual([
    { name: "controls.warm", values: [1, "two", true, Number.NaN] },
    { name: "log", values: ["warmed"] },
    {
      name: "controls.warm",
      values: [new Float32Array([1, 2]), new BigInt64Array([-5n]), new Uint8Array(0)],
    },
  ]);
});

test.each([
  ["a Proxy", "new Proxy({}, { get() { throw 1; } })"],
  ["a Proxy of an array", "new Proxy(new Uint8Array(2), {})"],
  ["an object with getters", "({ get length() { throw 1; } })"],
  ["a function", "() => {}"],
  ["a symbol", "Symbol('x')"],
  ["a BigInt", "5n"],
  ["null", "null"],
  ["undefined", "undefined"],
  ["an array", "[1, 2]"],
  ["an object that says it is a typed array", "({ __proto__: Uint8Array.prototype })"],
  [
    "an object of a poisoned class",
    "Object.defineProperty({}, Symbol.toStringTag, { get() { return 'Uint8Array'; } })",
  ],
])(
  "hostile 22: %s as an argument is an error that names it, and nothing of it runs outside",
  async (_, argument) => {
    await using rig = new Rig();
    const neighbourHasSeenAll = await neighbourIn(rig);
    const derived = await rig.install(saying(["controls.warm"], `this.moe.controls.warm(${argument})`), {
      delegate: DELEGATE,
    });
    rig.step(1);
    await rig.settled();
    expect(rig.removed.get(derived)).toMatchObject({
      code: "MODULATOR_FAILED",
      message: expect.stringContaining("a number, boolean, string or typed array is wanted"),
    });
    expect(rig.calls).toEqual([]);
    neighbourHasSeenAll();
  },
);

test("a service that uses what is not its argument fails in its modulator, by name", async () => {
  await using rig = new Rig();
  // Nothing that a bundler could put into the function in its place.
  const factor = Number("2");
  const delegate = { services: { twice: (value: number) => value * factor } };
  const derived = await rig.install(saying(["services.twice"], "this.moe.services.twice(3)"), { delegate });
  rig.step(1);
  await rig.settled();
  expect(rig.removed.get(derived)).toMatchObject({
    code: "MODULATOR_FAILED",
    message: expect.stringContaining("factor"),
  });
});

test.each([
  ["a function without text", { services: { round: Math.round } }],
  ["no function", { context: { temperature: 5 as unknown as () => Value } }],
  ["a bad name", { controls: { "a.b": () => {} } }],
  ["a capability for nothing", { requires: { "controls.nothing": "steer" } }],
])("a delegate is refused at once: %s", (_, delegate) => {
  expect(() => offersOf(delegate)).toThrowError(expect.objectContaining({ code: "ARGUMENT_INVALID" }));
});

test("the clock is the producer's, and stands during a call", async () => {
  let now = 1_000_000;
  await using rig = new Rig({ clock: { now: () => now, after: () => () => {} } });
  const derived = await rig.install(saying(["clock"], "this.moe.clock()"));
  const times: (string | undefined)[] = [];
  for (const time of [1_000_000, 1_000_250, 1_000_250, 2_000_000]) {
    now = time;
    times.push(await once(rig, derived));
  }
  expect(times).toEqual(["1000000", "1000250", "1000250", "2000000"]);
});

test("random is the same for the same seed, entropy is another in each sandbox, statistics count", async () => {
  await using rig = new Rig();
  const rolls = saying(
    ["random"],
    "[this.dice(), this.dice()]",
    "installed() { this.dice = this.moe.random(7); }",
  );
  const [one, two] = [await rig.install(rolls), await rig.install(rolls)];
  const secret = saying(
    ["entropy"],
    "[this.moe.entropy(), this.moe.entropy().join() === this.moe.entropy().join()]",
  );
  const [a, b] = [await rig.install(secret), await rig.install(secret)];
  const counts = await rig.install(saying(["statistics"], "JSON.stringify(this.moe.statistics())"));
  rig.step(1);
  rig.step(1);
  await rig.settled();
  expect(texts(rig, one)).toEqual(texts(rig, two));
  expect(new Set(texts(rig, one)).size).toBe(2);
  expect(texts(rig, a)[0]?.split(",").length).toBe(33);
  expect(texts(rig, a)[0]).toBe(texts(rig, a)[1]);
  expect(texts(rig, a)[0]).not.toBe(texts(rig, b)[0]);
  expect(texts(rig, counts).at(-1)).toBe(JSON.stringify({ enqueued: 2, dequeued: 1, dropped: 0 }));
});

test("statistics count in the middle of a run, too: what was given, and what has left", async () => {
  await using rig = new Rig();
  await rig.install(
    modulator(`static needs = ["log", "statistics"];
      enqueue(event) {
        if (event.layer !== 2) super.enqueue(event);
        const { enqueued, dequeued } = this.moe.statistics();
        this.moe.log(enqueued + "/" + dequeued + "/" + this.length);
      }`),
  );
  rig.step(5);
  rig.step(2);
  await rig.settled();
  // The one that it is at has been given and has not left.
  expect(rig.calls.map(({ values: [line] }) => line)).toEqual([
    "1/0/1",
    "2/1/1",
    "3/2/0",
    "4/2/1",
    "5/3/1",
    "6/4/1",
    "7/5/1",
  ]);
});
