import { modulatorFrom } from "@jecho/modulators";
import { encodeEvent, type } from "@jecho/shared";
import { expect, test } from "vitest";
import { Bench, CHANNEL, DERIVED, Reading, readings, sharedObject } from "./compiled-bench.ts";
import { ofText, outcomes } from "./outcomes.ts";

const ofClass = (body: string): string =>
  `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator { ${body} }`;

test.each([
  [
    "a boolean is no finite number",
    "event => Number.isFinite(event.station > 3) || Number.isNaN(event.station > 3)",
  ],
  [
    "a part that one branch of the answer assigns is none in the other",
    "event => { const far = o => { o.station = 99; return o; }; const o = { station: event.station }; return event.station > 3 ? far(o) : o; }",
  ],
  [
    "what goes out is what the field held then, whatever it and others hold behind that",
    ofClass(
      `a = new Float32Array(4); b = new Float32Array(4);
       enqueue(event) {
         this.a[0] = event.station;
         super.enqueue({ celsius: this.a });
         const x = new Float32Array(4); x[0] = 100; this.a = x;
         const y = new Float32Array(4); y[0] = 200; this.b = y;
       }`,
    ),
  ],
  [
    "the buffer of what a field holds begins where the whole did",
    ofClass(
      `a = new Float32Array(4);
       enqueue(event) {
         const x = new Float32Array(4);
         for (let i = 0; i < 4; i++) x[i] = event.station + i;
         this.a = x.subarray(1, 3);
         const all = new Uint32Array(this.a.buffer, 0, 2);
         if (all[0] === 1065353216) super.enqueue(event);
       }`,
    ),
  ],
  [
    "a map of numbers tells undefined from NaN, and finds -0 as 0",
    ofClass(
      `m = new Map();
       enqueue(event) {
         const key = -(event.station % 2);
         const before = this.m.get(key);
         if (before === undefined) this.m.set(key, NaN);
         else if (before !== before) this.m.set(key, event.station);
         else this.m.delete(key);
         super.enqueue({ station: before > 0 ? 1 : before === undefined ? 2 : 3, celsius: Float32Array.of(this.m.size, this.m.get(-key) ?? -1) });
       }`,
    ),
  ],
  [
    "a map whose first key goes has the next one first, and a key that is set again stays where it is",
    ofClass(
      `m = new Map(); met = new Set();
       enqueue(event) {
         this.m.set(event.station, event.station); this.met.add(event.station % 3);
         if (this.m.size > 2) this.m.delete(this.m.keys().next().value);
         const x = this.m.get(1) ?? 0;
         if (this.met.size > 2) { this.met.clear(); super.enqueue({ station: x }); } else super.enqueue({ station: x + 100 });
       }`,
    ),
  ],
  [
    "bytes are the event's own, those of a copy are of the type that the class knows, and the token is the event's",
    `import { bytesOf, FifoModulator, typeToken, unpack } from "jecho:moe"; export default class extends FifoModulator {
       static input = { name: "Reading", description: { station: "int32" } };
       static output = { name: "Sealed", description: { token: "uint64", own: "uint8[]", other: "uint8[]" } };
       enqueue(event) {
         const own = bytesOf(event).slice();
         own[0] ^= own.length;
         super.enqueue({ token: typeToken(), own, other: bytesOf({ ...unpack(event), station: event.station + 1 }) });
       }
     }`,
  ],
  [
    "what is set into an array may be a part of it",
    ofClass(
      `enqueue(event) {
         const a = new Float32Array(4);
         a.set(event.celsius);
         a[0] = event.station;
         a.set(a.subarray(0, 3), 1);
         a.set(a.subarray(2));
         super.enqueue({ celsius: a });
       }`,
    ),
  ],
  [
    "what is set behind an array's end throws",
    ofClass(
      "enqueue(event) { const a = new Float32Array(4); a.set(event.celsius, event.station % 3); super.enqueue({ celsius: a }); }",
    ),
  ],
  [
    "a field holds the bytes of an array of other numbers",
    ofClass(
      `last = new Uint8Array(0);
       enqueue(event) {
         const words = new Uint32Array(2);
         words[0] = event.station; words[1] = this.last.length;
         const bytes = new Uint8Array(words.buffer);
         words[1] += 256;
         this.last = bytes;
         const out = new Float32Array(this.last.length);
         for (let i = 0; i < out.length; i++) out[i] = this.last[i];
         super.enqueue({ celsius: out });
       }`,
    ),
  ],
  [
    "zeros are told apart, and NaN is NaN",
    "event => Object.is(-(event.station % 2), -0) && Object.is(event.celsius[event.station] / 0, NaN)",
  ],
  [
    "random numbers are from 0 to below 1, and no two of them the same",
    ofClass(
      `met = new Set(); first = Math.random();
       enqueue(event) {
         for (let i = 0; i < 2000; i++) { const n = Math.random(); if (n >= 0 && n < 1) this.met.add(n); }
         if (this.met.size % 2000 === 0 && this.first < 1) super.enqueue(event);
       }`,
    ),
  ],
  [
    "an element at an index that is not there is none",
    "event => event.celsius[event.celsius[event.station]] === undefined",
  ],
  [
    "what is made a number is never undefined",
    "event => +event.celsius[event.station] !== undefined && (Number(event.celsius[event.station]) ?? 0) !== 0",
  ],
  [
    "a number that may be undefined by now is not the same as NaN",
    "event => { let a = event.celsius[event.station]; if (event.station > 4) a = 1; return Object.is(a, NaN); }",
  ],
  [
    "a part up to an element that is not there is all that follows",
    "event => event.celsius.subarray(0, event.celsius[event.station]).length === 3",
  ],
  [
    "a name with a line break is one name",
    '(event, { parameters }) => event.station === parameters["a\\nb"]',
  ],
])("MOE-27: as in a host, %s", async (_, text) => {
  const parameters = { "a\nb": 1, a: { b: 2 } };
  const [compiled, hosted] = await outcomes(async bench => {
    await bench.install(ofText(text, { parameters }));
    bench.enqueue(Reading, readings(1, 5, 2, 0, 1, 2, 4, 3, 1, 1));
  });
  expect(compiled).toEqual(hosted);
});

test("MOE-29: a shared object of another shape has other events concern a modulator, and makes them cost more", async () => {
  const text =
    "(event, { objects: { wanted } }) => typeof wanted.key === 'string' ? event.station === 1 : event.station === 2 && event.celsius.every(v => Math.sin(v) === 0)";
  const [compiled, hosted] = await outcomes(async bench => {
    await bench.install(ofText(text, { objects: { wanted: sharedObject({ key: "a" }) } }));
    bench.enqueue(Reading, readings(1, 2));
    await bench.environment.settled();
    bench.environment.update({ object: "wanted", version: 2, state: '{"key":3}' });
    bench.enqueue(Reading, readings(1, 2));
  });
  expect(compiled).toHaveLength(2);
  expect(compiled).toEqual(hosted);

  await using bench = new Bench({ mostPerEvent: 1000 });
  await bench.install(ofText(text, { objects: { wanted: sharedObject({ key: "a" }) } }));
  const large = { station: 2, celsius: new Float32Array(1000) };
  bench.enqueue(Reading, [large]);
  expect(bench.placement?.tier).toBe("compiled");
  bench.environment.update({ object: "wanted", version: 2, state: '{"key":3}' });
  bench.enqueue(Reading, [large]);
  expect(bench.placement?.why).toContain("its producer allows 1000");
});

test("MOE-27: a field that events of another type make something else of is one field, in a host", async () => {
  const Was = type("Reading", { station: "int32", celsius: "float32[]", now: "bool" });
  const Is = type("Reading", { station: "int32", celsius: "float32[]", now: "int32" });
  const text = ofClass(
    "last; enqueue(event) { if (this.last === undefined) super.enqueue(event); this.last = { now: event.now }; }",
  );
  const raise = (bench: Bench): void => {
    bench.environment.addType(CHANNEL, Is.schema);
    bench.raise(Is, [encodeEvent(Is, { ...readings(2)[0], now: 1 } as never)]);
  };
  await using bench = new Bench();
  await bench.install(modulatorFrom(text), Was.schema);
  bench.raise(Was, [encodeEvent(Was, { ...readings(1)[0], now: true } as never)]);
  raise(bench);
  expect(bench.placement?.why).toContain("make a field of several kinds");
});

test.each([
  ["8,000 numbers of a field's", "8000", "compiled"],
  ["as many as the language may fail at", "20000", "hosted"],
])("MOE-27: %s are spread into arguments where that is sure to end", async (_, length, tier) => {
  const text = ofClass(
    `a = new Int8Array(1); enqueue(event) { const a = new Int8Array(${length}); this.a = a; if (Math.max(...this.a) === 0) super.enqueue(event); }`,
  );
  await using bench = new Bench();
  await bench.install(modulatorFrom(text));
  bench.enqueue(Reading, readings(1));
  await bench.environment.settled();
  expect([bench.placement?.tier, bench.stations]).toEqual([tier, [1]]);
});

test.each([
  ["a part of its vector", "event.celsius.subarray(0, 9999)"],
  ["its vector's bytes", "new Uint8Array(event.celsius.buffer, event.celsius.byteOffset, 9999)"],
])(
  "MOE-27: an event that a loop over %s in another loop holds too long stops before that",
  async (_, part) => {
    const text = `event => { let sum = 0; const n = event.station; for (let i = 0; i < n; i++) { const part = ${part}; for (const v of part) sum += v; } return sum === 0; }`;
    await using bench = new Bench({ mostPerEvent: 50_000 });
    await bench.install(ofText(text));
    const event = (station: number) => ({ station, celsius: new Float32Array(9999) });
    bench.enqueue(Reading, [event(0)]);
    expect([bench.placement?.tier, bench.stations]).toEqual(["compiled", [0]]);
    bench.enqueue(Reading, [event(3)]);
    expect(bench.placement?.why).toContain("more steps than its producer allows");
    await bench.environment.settled();
    expect(bench.stations).toEqual([0, 3]);
  },
);

test("MOE-27: an array that goes out costs what it takes to write it", async () => {
  const text = ofClass(
    "a = new Float32Array(8000); enqueue(event) { super.enqueue({ station: event.station, celsius: this.a }); }",
  );
  await using bench = new Bench();
  await bench.install(modulatorFrom(text));
  const many = readings(...Array.from({ length: 200 }, (_, i) => i));
  bench.enqueue(Reading, many);
  expect([bench.placement?.tier, bench.stations.length]).toEqual(["compiled", 200]);
  bench.enqueue(Reading, Array.from({ length: 1000 }, (_, i) => readings(i)).flat());
  expect(bench.placement?.why).toContain("more steps than its producer allows");
});

test("MOE-27: an array in an event within an event costs what it takes to write it, as often as it is there", async () => {
  const source = (times: number): string =>
    `import { bytesOf, FifoModulator, unpack } from "jecho:moe"; export default class extends FifoModulator {
       static output = { name: "Many", description: { ${Array.from({ length: times }, (_, i) => `b${i}: "uint8[]"`).join()} } };
       enqueue(event) { const b = bytesOf({ ...unpack(event), celsius: new Float32Array(10_000) }); super.enqueue({ ${Array.from({ length: times }, (_, i) => `b${i}: b`).join()} }); }
     }`;
  for (const [times, tier] of [
    [2, "compiled"],
    [30, "hosted"],
  ] as const) {
    await using bench = new Bench();
    await bench.install({ source: source(times) });
    bench.enqueue(Reading, readings(1));
    await bench.environment.settled();
    expect([bench.placement?.tier, bench.bytes.length]).toEqual([tier, 1]);
    expect(bench.bytes[0]?.length).toBeGreaterThan(times * 80_000);
  }
});

test("MOE-28: events that wait have no more bytes than a modulator's memory: beyond that they leave", async () => {
  await using bench = new Bench({ limits: { memoryMiB: 1 } });
  await bench.install(modulatorFrom(() => true));
  bench.environment.flow(DERIVED, false);
  for (const station of [1, 2, 3, 4, 5, 6])
    bench.enqueue(Reading, [{ station, celsius: new Float32Array(65_000) }]);
  expect(bench.stations).toEqual([1, 2, 3, 4, 5]);
  bench.environment.flow(DERIVED, true);
  expect(bench.stations).toEqual([1, 2, 3, 4, 5, 6]);
  expect(bench.environment.modulators.get(DERIVED)?.dropped).toBe(0);
});
