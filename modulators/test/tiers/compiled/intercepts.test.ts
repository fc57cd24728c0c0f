import { modulatorFrom, rateLimit } from "@jecho/modulators";
import { ModulatorBench } from "@jecho/modulators/testing";
import { expect, test } from "vitest";
import { Bench, DERIVED, Reading, readings } from "./compiled-bench.ts";

const ofClass = (body: string): string =>
  `import { FifoModulator, urgent } from "jecho:moe";\nexport default class extends FifoModulator {\n${body}\n}`;

test("MOE-27: an event that is kept leaves later, as it came and with its mark, and waits with the others", async () => {
  const text = ofClass(`
    static periodMs = 50;
    late;
    enqueue(event) { if (event.station === 1) super.enqueue(event); else this.late = urgent(event); }
    period() { if (this.late !== undefined) super.enqueue(this.late); this.late = undefined; }
  `);
  const outcomes = [];
  for (const place of ["compiled", "isolated-vm"] as const) {
    await using bench = await ModulatorBench.open(modulatorFrom(text), { type: Reading, place });
    const stations = (all: readonly { station: number }[]) => all.map(({ station }) => station);
    const out = [stations(await bench.push(...readings(3, 4, 1)))];
    out.push(stations(await bench.pass(49)), stations(await bench.pass(1)));
    await bench.ready(false);
    await bench.push(...readings(1, 5));
    await bench.pass(50);
    out.push(stations(await bench.ready(true)), stations(await bench.pass(100)));
    expect(bench.placement?.tier).toBe(place === "compiled" ? "compiled" : "hosted");
    outcomes.push([out, bench.made.map(({ urgent }) => urgent)]);
  }
  expect(outcomes[0]).toEqual([
    [[1], [], [4], [1, 5], []],
    [false, true, false, true],
  ]);
  expect(outcomes[1]).toEqual(outcomes[0]);
});

test("MOE-27: what it says of its rate is told as in a host", async () => {
  const { modulator } = rateLimit(2000);
  const unknown = { ...modulator, source: `${modulator.source}\n// Another one.` };
  const rates = [];
  for (const local of [true, false]) {
    await using bench = new Bench({ local });
    await bench.install(unknown);
    bench.enqueue(Reading, readings(1));
    await bench.environment.settled();
    expect(bench.placement?.tier).toBe(local ? "compiled" : "hosted");
    rates.push(bench.environment.mostPerSecond(DERIVED));
  }
  expect(rates).toEqual([0.5, 0.5]);
});

test("MOE-27: one that keeps events of more bytes than are compiled goes on in the host, which is told", async () => {
  const large = (station: number) => ({ station, celsius: new Float32Array(700_000) });
  await using bench = new Bench({ mostPerEvent: 1_000_000 });
  const text = ofClass(
    "late; other; enqueue(event) { if (event.station > 5) this.late = event; else this.other = event; }",
  );
  await bench.install(modulatorFrom(text));
  bench.enqueue(Reading, [large(6)]);
  expect(bench.placement?.tier).toBe("compiled");
  bench.enqueue(Reading, [large(7)]);
  expect(bench.placement?.tier).toBe("compiled");
  bench.enqueue(Reading, [large(1)]);
  await bench.environment.settled();
  expect(bench.placement?.why).toContain("of more bytes than are compiled");
  expect(bench.impaired.map(({ code }) => code)).toEqual(["MODULATOR_RESTARTED"]);
});

test("MOE-27: a period that is no number of milliseconds fails as in a host", async () => {
  const text = ofClass(
    "n = 0; enqueue(event) { if (event.station > 1) this.periodMs = -event.station; super.enqueue(event); }",
  );
  const outcomes = [];
  for (const local of [true, false]) {
    await using bench = new Bench({ local });
    await bench.install(modulatorFrom(text));
    bench.enqueue(Reading, readings(1));
    await bench.environment.settled();
    expect(bench.placement?.tier).toBe(local ? "compiled" : "hosted");
    bench.enqueue(Reading, readings(2));
    await bench.environment.settled();
    outcomes.push([bench.stations, bench.removed.map(({ code }) => code)]);
  }
  expect(outcomes[1]).toEqual([[1], ["MODULATOR_FAILED"]]);
  expect(outcomes[0]).toEqual(outcomes[1]);
});

test("MOE-27: the steps of a period, and of what makes its fields, are bounded, too", async () => {
  const long = "let n = 0; for (let i = 0; i < 60000; i++) n += i;";
  for (const body of [
    `static periodMs = 20; n = 0; period() { ${long} this.n = n; }`,
    `n = 0; constructor(parameters, moe) { super(parameters, moe); ${long} this.n = n; }`,
    `count = n => { ${long} return n; }; n = this.count(3);`
      .replace("count = n =>", "count(m)")
      .replace("};", "}"),
  ]) {
    await using bench = new Bench();
    await bench.install(modulatorFrom(ofClass(body))).catch(() => {});
    expect(bench.placement?.why, body).toContain("its producer allows");
  }
});

test("MOE-27: a period that counts more steps than its producer allows goes on in the host", async () => {
  const text = ofClass(
    "static periodMs = 20; n = 1; enqueue(event) { this.n = event.station; super.enqueue(event); } period() { let n = this.n; while (n > 0) n--; }",
  );
  await using bench = await ModulatorBench.open(modulatorFrom(text), { type: Reading, place: "compiled" });
  await bench.push(...readings(3));
  await bench.pass(20);
  expect(bench.placement?.tier).toBe("compiled");
  await bench.push(...readings(1_000_000));
  await bench.pass(20);
  expect(bench.placement?.why).toContain("more steps than its producer allows");
});

const ofModulator = (body: string): string =>
  `import { Modulator } from "jecho:moe";\nexport default class extends Modulator {\n${body}\n}`;

test("MOE-27: events that wait in a list or map, the compiled tier gives back in their order, as a host does", async () => {
  const text = ofModulator(`
    list = [];
    map = new Map();
    enqueue(event) { if (event.station < 10) this.list.push(event); else this.map.set(event.station % 10, event); }
    dequeue() {
      const [first] = this.map;
      if (first === undefined) return this.list.shift();
      this.map.delete(first[0]);
      return first[1];
    }
  `);
  const outcomes = [];
  for (const local of [true, false]) {
    await using bench = new Bench({ local });
    await bench.install(modulatorFrom(text));
    bench.enqueue(Reading, readings(1, 12));
    await bench.environment.settled();
    bench.environment.flow(DERIVED, false);
    bench.enqueue(Reading, readings(2, 13, 3, 14, 23));
    await bench.environment.settled();
    bench.environment.flow(DERIVED, true);
    await bench.environment.settled();
    expect(bench.placement?.tier).toBe(local ? "compiled" : "hosted");
    outcomes.push([bench.stations, bench.bytes, bench.versions]);
  }
  expect(outcomes[0]?.[0]).toEqual([1, 12, 23, 14, 2, 3]);
  expect(outcomes[0]).toEqual(outcomes[1]);
});

test("MOE-27: without an enqueue of its own a Modulator takes nothing in, as in a host", async () => {
  for (const fields of ["list = [];", ""]) {
    const first = fields === "" ? "undefined" : "this.list.shift()";
    const text = ofModulator(`${fields} dequeue() { return ${first}; }`);
    await using bench = new Bench();
    await bench.install(modulatorFrom(text));
    bench.enqueue(Reading, readings(1, 2));
    expect([bench.placement?.tier, bench.stations]).toEqual(["compiled", []]);
  }
});

test("MOE-27: one that stops where it is made is installed in the host, which says why it fails", async () => {
  const text = ofClass("static periodMs = -5; enqueue(event) { super.enqueue(event); }");
  const failures = [];
  for (const local of [true, false]) {
    await using bench = new Bench({ local });
    failures.push(
      await bench.install(modulatorFrom(text)).then(
        () => "",
        (error: Error) => error.message,
      ),
    );
    expect(bench.placement?.tier).toBe("hosted");
  }
  expect(failures[0]).not.toBe("");
  expect(failures[0]).toBe(failures[1]);
});

test("MOE-27: what no event can hold fails as in a host, also where only its bytes are wanted", async () => {
  const made = `import { bytesOf, FifoModulator, unpack } from "jecho:moe"; export default class extends FifoModulator {
    static output = { name: "Raw", description: { station: "int32", raw: "uint8[]" } };`;
  for (const enqueue of [
    "const raw = bytesOf({ ...unpack(event), station: event.station / 2 }); if (event.station > 2) super.enqueue({ raw });",
    "super.enqueue({ station: event.station / 2 });",
  ]) {
    const outcomes = [];
    for (const local of [true, false]) {
      await using bench = new Bench({ local });
      await bench.install(modulatorFrom(`${made} enqueue(event) { ${enqueue} } }`));
      bench.enqueue(Reading, readings(4, 2));
      await bench.environment.settled();
      expect(bench.placement?.tier).toBe(local ? "compiled" : "hosted");
      bench.enqueue(Reading, readings(1));
      await bench.environment.settled();
      outcomes.push([bench.bytes, bench.removed.map(({ message }) => message)]);
    }
    expect(outcomes[0]).toEqual(outcomes[1]);
    expect(outcomes[0]?.[1]).toEqual([expect.stringMatching(/not 0\.5 \(line 2/)]);
  }
});

test("MOE-27: a list that grows and grows makes its modulator go on in the host, which is told", async () => {
  const text = ofModulator(
    "list = []; enqueue(event) { this.list.push(event); } dequeue() { return undefined; }",
  );
  const large = (station: number) => ({ station, celsius: new Float32Array(10_000) });
  await using bench = new Bench();
  await bench.install(modulatorFrom(text));
  for (let i = 0; i < 100; i++) bench.enqueue(Reading, [large(i)]);
  expect(bench.placement?.tier).toBe("compiled");
  for (let i = 0; i < 10; i++) bench.enqueue(Reading, [large(i)]);
  await bench.environment.settled();
  expect(bench.placement?.why).toContain("of more bytes than are compiled");
  expect(bench.impaired.map(({ code }) => code)).toEqual(["MODULATOR_RESTARTED"]);
});

test("MOE-27: a map of numbers that grows and grows makes its modulator go on in the host, which is told", async () => {
  const text = ofClass(
    "last = new Map(); enqueue(event) { const last = this.last.get(event.station); this.last.set(event.station, event.station); if (last !== undefined) super.enqueue(event); }",
  );
  await using bench = new Bench();
  await bench.install(modulatorFrom(text));
  const stations = (from: number) => readings(...Array.from({ length: 2000 }, (_, i) => from + i));
  for (let i = 0; i < 10; i++) bench.enqueue(Reading, stations(2000 * i));
  bench.enqueue(Reading, readings(19_999, 20_000));
  expect([bench.placement?.tier, bench.stations]).toEqual(["compiled", [19_999]]);
  for (let i = 10; i < 20; i++) bench.enqueue(Reading, stations(2000 * i));
  await bench.environment.settled();
  expect(bench.placement?.why).toContain("of more bytes than are compiled");
  expect(bench.impaired.map(({ code }) => code)).toEqual(["MODULATOR_RESTARTED"]);
});

test("MOE-27: a dequeue that gives events without an end is ended, and its modulator removed by the host", async () => {
  const text = ofModulator("late; enqueue(event) { this.late = event; } dequeue() { return this.late; }");
  await using bench = new Bench({ limits: { outputEvents: 1000 } });
  await bench.install(modulatorFrom(text));
  bench.enqueue(Reading, readings(1));
  await bench.environment.settled();
  expect(bench.placement).toBeUndefined();
  expect(bench.removed.map(({ code }) => code)).toEqual(["MODULATOR_OUTPUT_EXCEEDED"]);
  expect(bench.stations.length).toBeLessThanOrEqual(1000);
});

test("MOE-27: a filter without fields compares with the size of its queue and with the time, as in a host", async () => {
  const text = ofClass(
    'static needs = ["clock"]; enqueue(event) { if (event.station < this.moe.queueEvents && event.station < this.moe.clock()) super.enqueue(event); }',
  );
  await using bench = new Bench({ limits: { queueEvents: 7 } });
  await bench.install(modulatorFrom(text));
  bench.enqueue(Reading, readings(6, 7, 1));
  expect(bench.placement?.tier).toBe("compiled");
  expect(bench.stations).toEqual([6, 1]);
});
