import { modulatorFrom } from "@jecho/modulators";
import { expect, test } from "vitest";
import { Bench, DERIVED, Reading, readings, sharedObject } from "./compiled-bench.ts";
import { functionSource } from "./function-source.ts";
import { outcomes } from "./outcomes.ts";

const ofClass = (body: string, before = ""): string =>
  `import { FifoModulator } from "jecho:moe";\n${before}\nexport default class extends FifoModulator {\n${body}\n}`;

test("MOE-27: a field tells whether a shared object has changed since it was kept, as in a host", async () => {
  const text = ofClass(
    "kept; enqueue(event) { const { wanted } = this.objects; if (wanted !== this.kept) super.enqueue(event); this.kept = wanted; if (event.station === 9) this.kept = undefined; }",
  );
  for (const local of [true, false]) {
    await using bench = new Bench({ local });
    await bench.install(modulatorFrom(text, { objects: { wanted: sharedObject({ station: 1 }) } }));
    bench.enqueue(Reading, readings(1, 2));
    await bench.environment.settled();
    // The same values again are another object.
    bench.environment.update({ object: "wanted", version: 2, state: JSON.stringify({ station: 1 }) });
    bench.enqueue(Reading, readings(3, 9, 4, 5));
    await bench.environment.settled();
    expect(bench.stations).toEqual([1, 3, 4]);
    expect(bench.placement?.tier).toBe(local ? "compiled" : "hosted");
  }
});

test("MOE-27: fields that may hold no more numbers make it go on in the host, which is told", async () => {
  const names = Array.from({ length: 20 }, (_, i) => `a${i}`);
  const text = ofClass(
    `${names.map(name => `${name} = new Float64Array(0);`).join(" ")}
     enqueue(event) {
       ${names.map((name, i) => `if (event.station === ${i}) this.${name} = new Float64Array(32000);`).join("\n")}
       if (this.a0.length === 0 || event.station < 20) super.enqueue(event);
     }`,
  );
  const stations = Array.from({ length: 20 }, (_, i) => i);
  await using bench = new Bench();
  await bench.install(modulatorFrom(text));
  // Each event has the whole room for what it makes.
  for (const station of stations.slice(0, 10)) bench.enqueue(Reading, readings(station));
  expect(bench.placement?.tier).toBe("compiled");
  for (const station of stations.slice(10)) bench.enqueue(Reading, readings(station));
  await bench.environment.settled();
  expect(bench.placement?.why).toContain("arrays of more numbers than are compiled");
  expect(bench.impaired.map(({ code }) => code)).toEqual(["MODULATOR_RESTARTED"]);
  expect(bench.stations).toEqual(stations);
});

test("MOE-27: the array of a field is nobody else's, and begins as zeros where another one was", async () => {
  const marked = (id: number) =>
    modulatorFrom(
      ofClass(
        `all = new Uint32Array(2000);
         enqueue(event) {
           const before = this.all[event.station];
           if (before > 0 && before !== ${id}) super.enqueue(event);
           const all = new Uint32Array(2000 - event.station);
           for (let i = 0; i < all.length; i++) all[i] = ${id};
           this.all = all;
         }`,
      ),
    );
  await using bench = new Bench();
  for (let round = 0; round < 3; round++) {
    await bench.install(marked(1), Reading.schema, DERIVED);
    await bench.install(marked(2), Reading.schema, DERIVED + 1);
    bench.enqueue(Reading, readings(1, 700, 1999, 3));
    bench.enqueue(Reading, readings(5, 1500, 0));
    expect(bench.placement?.tier).toBe("compiled");
    for (const derived of [DERIVED, DERIVED + 1]) bench.environment.remove(derived);
  }
  expect(bench.stations).toEqual([]);
});

test("MOE-27: an object that a field does not hold as yet throws where it is read, in the host", async () => {
  const text = ofClass(
    "last; enqueue(event) { if (event.station > 1 && this.last.station > 0) super.enqueue(event); if (event.station !== 7) this.last = { station: event.station }; else this.last = undefined; }",
  );
  const outcomes = [];
  for (const local of [true, false]) {
    await using bench = new Bench({ local });
    await bench.install(modulatorFrom(text));
    bench.enqueue(Reading, readings(1, 2, 7));
    await bench.environment.settled();
    expect(bench.placement?.tier).toBe(local ? "compiled" : "hosted");
    bench.enqueue(Reading, readings(8));
    await bench.environment.settled();
    outcomes.push([bench.stations, bench.removed.map(({ code }) => code)]);
  }
  expect(outcomes).toEqual([
    [[2, 7], ["MODULATOR_FAILED"]],
    [[2, 7], ["MODULATOR_FAILED"]],
  ]);
});

test.each([
  [
    "an object beside the class keeps what is assigned to its parts",
    "const T = { n: 0 };",
    "enqueue(event) { const before = T.n; T.n = before + 1; if (before === 1) super.enqueue(event); }",
    "in the block that makes it",
  ],
  [
    "an object beside the class tells one event of the one before",
    "const T = { n: 0 };",
    "enqueue(event) { const was = T.n; T.n = event.station; if (was === 2 && event.station === 1) super.enqueue(event); }",
    "in the block that makes it",
  ],
  [
    "an object beside the class has what a field's beginning assigns to it",
    "const T = { n: 0 };",
    "n = (T.n = 5); enqueue(event) { if (T.n === this.n) super.enqueue(event); }",
    "in the block that makes it",
  ],
  [
    "a random number beside the class stays the same",
    "const seed = Math.random();",
    "seed = seed; enqueue(event) { if (this.seed === seed) super.enqueue(event); }",
    "a random number beside the class",
  ],
  [
    "a field that begins as null is null",
    "",
    "held = null; enqueue(event) { if (this.held === null) { this.held = { a: 1 }; super.enqueue(event); } }",
    'the field "held" is compiled where it begins as',
  ],
  [
    "a field that begins as null is not undefined",
    "",
    "late = null; enqueue(event) { if (this.late === undefined) super.enqueue(event); }",
    'the field "late" is compiled where it begins as',
  ],
  [
    "a field without a value is no array before it becomes one",
    "",
    "last; enqueue(event) { const x = new Float32Array(2); if (this.last) super.enqueue(event); this.last = x; }",
    'the field "last" may be undefined here',
  ],
  [
    "a field without a value has no length before it becomes an array",
    "",
    "last; enqueue(event) { const x = new Float32Array(2); const n = this.last.length; this.last = x; if (n === 2) super.enqueue(event); }",
    'the field "last" may be undefined here',
  ],
])("MOE-27: %s, in the host", async (_, beside, body, why) => {
  const whys: (string | undefined)[] = [];
  const [compiled, hosted] = await outcomes(async bench => {
    await bench.install({ source: ofClass(body, beside) });
    bench.enqueue(Reading, readings(1, 2, 1));
    bench.enqueue(Reading, readings(2, 1));
    whys.push(bench.placement?.why);
  });
  expect(whys[0]).toContain(why);
  expect(compiled).toEqual(hosted);
});

test("MOE-27: names that objects have from elsewhere are no parts of the parameters, and own ones are", async () => {
  const parameters = JSON.parse('{ "__proto__": { "x": 3 }, "constructor": 4 }') as object;
  const texts = [
    "(event, { parameters }) => event.station === (parameters.x ?? 7)",
    "(event, { parameters }) => event.station === parameters.constructor",
    "(event, { parameters: { toString = 5 } }) => event.station === toString",
    "(event, { parameters }) => event.station === parameters.__proto__.x",
  ];
  for (const text of texts) {
    const outcomes = [];
    for (const local of [true, false]) {
      await using bench = new Bench({ local });
      await bench.install({ source: functionSource(text), parameters: parameters as never });
      bench.enqueue(Reading, readings(3, 4, 5, 7));
      await bench.environment.settled();
      outcomes.push(bench.stations);
    }
    expect(outcomes[0], text).toEqual(outcomes[1]);
  }
});
