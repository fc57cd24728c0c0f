import { modulatorFrom } from "@jecho/modulators";
import { encodeEvent, type Type, type } from "@jecho/shared";
import { expect, test, vi } from "vitest";
import { Bench, CHANNEL, DERIVED, Reading, readings, sharedObject } from "./compiled-bench.ts";
import { functionSource } from "./function-source.ts";

const odd = modulatorFrom(event => event.station % 2 === 1);
const counting = modulatorFrom(
  `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator { n = 0; enqueue(event) { if (this.n++ % 3 === 0) super.enqueue(event); } }`,
);

test("MOE-12: what is compiled passes events at once, urgent ones apart, and is accounted for", async () => {
  await using bench = new Bench();
  await bench.install(
    modulatorFrom((event, { urgent }) => event.station > 1 && (event.station !== 3 || urgent(event))),
  );
  expect(bench.placement).toEqual({ tier: "compiled", why: "" });
  bench.enqueue(Reading, readings(1, 2, 3, 4), "tag");
  expect(bench.stations).toEqual([2, -3, 4]);
  expect(bench.done).toEqual(["tag"]);
  expect(bench.seen).toEqual([4]);
});

test("MOE-12: while the transport is not ready, what passes waits, and all leaves where the queue is full", async () => {
  await using bench = new Bench({ limits: { queueEvents: 4 } });
  await bench.install(odd);
  bench.environment.flow(DERIVED, false);
  bench.enqueue(Reading, readings(1, 2, 3));
  expect([bench.stations, bench.seen]).toEqual([[], []]);
  bench.enqueue(Reading, readings(4, 5, 6, 7));
  expect(bench.stations).toEqual([1, 3, 5, 7]);
  expect(bench.seen).toEqual([3, 7]);
  bench.enqueue(Reading, readings(8, 9));
  expect([bench.stations.length, bench.seen]).toEqual([4, [3, 7]]);
  bench.environment.flow(DERIVED, true);
  expect(bench.stations).toEqual([1, 3, 5, 7, 9]);
  expect(bench.seen).toEqual([3, 7, 9]);
  expect(bench.environment.modulators.get(DERIVED)?.dropped).toBe(0);
});

test("a type with the same fields elsewhere is compiled anew, and fields of the modulator stay as they were", async () => {
  await using bench = new Bench();
  const More = type("Reading", { celsius: "float32[]", note: "string", station: "int32" });
  await bench.install(counting);
  bench.enqueue(Reading, readings(0, 1));
  bench.environment.addType(CHANNEL, More.schema);
  const [bytes] = [encodeEvent(More, { celsius: new Float32Array(0), note: "", station: 9 })];
  bench.raise(More, [bytes, bytes]);
  expect(bench.placement?.tier).toBe("compiled");
  const { eventsIn, eventsOut } = bench.environment.modulators.get(DERIVED) ?? {};
  // The first and the fourth.
  expect([eventsIn, eventsOut]).toEqual([4, 2]);
});

test("MOE-27: a type without a field that it reads: it goes on in the host, with the run that has it", async () => {
  await using bench = new Bench();
  const Less = type("Less", { celsius: "float32[]" });
  await bench.install(odd);
  bench.enqueue(Reading, readings(1, 2), "a");
  bench.environment.addType(CHANNEL, Less.schema);
  expect(bench.placement).toEqual({ tier: "hosted", why: expect.stringContaining('no field "station"') });
  bench.enqueue(Less, [{ celsius: new Float32Array(1) }], "b");
  bench.enqueue(Reading, readings(3), "c");
  await bench.environment.settled();
  expect(bench.stations).toEqual([1, 3]);
  expect(bench.done).toEqual(["a", "b", "c"]);
  expect(bench.seen).toEqual([2, 3, 4]);
  expect([bench.impaired, bench.removed]).toEqual([[], []]);
});

test("MOE-27: one that goes on in the host knows the types there that its events have got since it was installed", async () => {
  await using bench = new Bench();
  const More = type("More", { celsius: "float32[]", note: "string", station: "int32" });
  const Less = type("Less", { celsius: "float32[]" });
  await bench.install(odd);
  bench.environment.addType(CHANNEL, More.schema);
  const events = [1, 2, 3].map(station => ({ celsius: new Float32Array(0), note: "", station }));
  bench.enqueue(More, events);
  bench.environment.addType(CHANNEL, Less.schema);
  expect(bench.placement?.tier).toBe("hosted");
  bench.enqueue(More, events);
  await bench.environment.settled();
  const { eventsIn, eventsOut } = bench.environment.modulators.get(DERIVED) ?? {};
  expect([eventsIn, eventsOut]).toEqual([3, 2]);
  expect([bench.impaired, bench.removed]).toEqual([[], []]);
});

test("MOE-27: one that has fields of its own says that it began anew when it goes on in the host", async () => {
  await using bench = new Bench();
  const wanted = modulatorFrom(
    `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator { n = 0; enqueue(event) { this.n++; if (event.station === this.objects.wanted.station) super.enqueue(event); } }`,
    { objects: { wanted: sharedObject({ station: 1 }) } },
  );
  await bench.install(wanted);
  bench.enqueue(Reading, readings(1, 2));
  bench.environment.update({ object: "wanted", version: 2, state: JSON.stringify({ station: 2 }) });
  bench.enqueue(Reading, readings(1, 2));
  expect([bench.stations, bench.versions, bench.placement?.tier]).toEqual([[1, 2], [[1], [2]], "compiled"]);
  bench.environment.update({ object: "wanted", version: 3, state: JSON.stringify({ station: "3" }) });
  expect(bench.placement?.tier).toBe("hosted");
  bench.enqueue(Reading, readings(3));
  bench.environment.update({ object: "wanted", version: 4, state: JSON.stringify({ station: 4 }) });
  bench.enqueue(Reading, readings(4));
  await bench.environment.settled();
  expect([bench.stations, bench.versions]).toEqual([
    [1, 2, 4],
    [[1], [2], [4]],
  ]);
  expect(bench.impaired.map(({ code }) => code)).toEqual(["MODULATOR_RESTARTED"]);
});

test("MOE-27: events for which it may need more steps than its producer allows go to the host before it is run on them", async () => {
  await using bench = new Bench({ mostPerEvent: 1000 });
  await bench.install(modulatorFrom(event => event.celsius.some((value: number) => Math.sin(value) === 0)));
  bench.enqueue(Reading, [{ station: 1, celsius: new Float32Array(1) }]);
  expect([bench.placement?.tier, bench.stations]).toEqual(["compiled", [1]]);
  bench.enqueue(Reading, [
    { station: 2, celsius: new Float32Array(1) },
    { station: 3, celsius: new Float32Array(1000) },
  ]);
  expect(bench.placement).toEqual({
    tier: "hosted",
    why: expect.stringMatching(
      /^an event may take \d+ steps \(.*celsius.length\), and its producer allows 1000 \(line \d/,
    ),
  });
  await bench.environment.settled();
  expect(bench.stations).toEqual([1, 2, 3]);
  expect(bench.seen).toEqual([1, 3]);
});

test("MOE-27: texts are equal where the language says so: of every length, with broken bytes, and as they change", async () => {
  const Named = type("Named", { name: "string" });
  const texts = Array.from({ length: 257 }, (_, i) => "abcdefghijklm".repeat(20).slice(0, i));
  const long = texts.at(-1) as string;
  await using bench = new Bench({ mostPerEvent: 1e9 });
  const wanted = sharedObject({ name: "" });
  await bench.install(
    modulatorFrom(
      `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator { enqueue(event) { if (event.name === this.objects.wanted.name) super.enqueue(event); } }`,
      { objects: { wanted } },
    ),
    Named.schema,
  );
  const broken = encodeEvent(Named, { name: "ab" });
  broken[Buffer.from(broken).indexOf("ab")] = 0xff;
  for (const [i, name] of texts.entries()) {
    bench.environment.update({ object: "wanted", version: i + 2, state: JSON.stringify({ name }) });
    const last = name.slice(0, -1);
    const others = [`!${name.slice(1)}`, `${last}!`, `${name}!`, last, long];
    const middle = Math.floor(i / 2);
    others.push(`${name.slice(0, middle)}!${name.slice(middle + 1)}`);
    for (const other of others.filter(one => one !== name)) bench.enqueue(Named, [{ name: other }]);
    bench.raise(Named, [broken]);
    expect([i, bench.versions.length]).toEqual([i, i]);
    bench.enqueue(Named, [{ name }]);
    expect([i, bench.versions.length]).toEqual([i, i + 1]);
  }
  expect(bench.placement?.tier).toBe("compiled");
  // U+FFFD is what broken bytes read as.
  const state = JSON.stringify({ name: "\ufffdb" });
  bench.environment.update({ object: "wanted", version: 1000, state });
  expect(bench.placement).toEqual({ tier: "hosted", why: expect.stringContaining("U+FFFD") });
  bench.raise(Named, [broken]);
  await bench.environment.settled();
  expect(bench.versions.length).toBe(258);
});

test("parameters that are null, or become a text or another kind of number, are not taken for what they were", async () => {
  const equal = "(event, { objects }) => event.station === objects.wanted.station";
  const wanted = { wanted: sharedObject({ station: 0 }) };
  const nullish = { wanted: sharedObject({ station: null }) };
  for (const objects of [wanted, nullish]) {
    await using bench = new Bench();
    await bench.install({ source: functionSource(equal), objects });
    bench.enqueue(Reading, readings(0, 1));
    await bench.environment.settled();
    expect(bench.stations).toEqual(objects === wanted ? [0] : []);
  }
  await using bench = new Bench();
  const switched =
    "(event, { objects }) => objects.wanted.station ? event.station === 1 : event.station === 2";
  await bench.install({ source: functionSource(switched), objects: wanted });
  for (const [i, station] of [0, 3, false, true, "", "a"].entries()) {
    bench.environment.update({ object: "wanted", version: i + 2, state: JSON.stringify({ station }) });
    bench.enqueue(Reading, readings(1, 2));
  }
  expect(bench.stations).toEqual([2, 1, 2, 1, 2, 1]);
  expect(bench.placement?.tier).toBe("compiled");
});

test("a new state of a shared object is read once for all modulators that have it, whatever these do with it", async () => {
  await using bench = new Bench();
  const passing = "if (event.station === this.objects.wanted.stations[1]) super.enqueue(event);";
  const texts = [`enqueue(event) { ${passing} }`, `n = 0; enqueue(event) { this.n++; ${passing} }`].flatMap(
    body => [
      body,
      `static check(_, { wanted }) { if (wanted.stations[1] < 0) throw new Error("no"); } ${body}`,
    ],
  );
  const objects = { wanted: sharedObject({ stations: [0, 0] }) };
  for (const [i, body] of [...texts, ...texts].entries()) {
    const source = `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator { ${body} }`;
    await bench.install(modulatorFrom(source, { objects }), Reading.schema, DERIVED + i);
    expect(bench.environment.placementOf(DERIVED + i)?.tier).toBe("compiled");
  }
  const parse = vi.spyOn(JSON, "parse");
  // Of the second state the list is longer: another shape, another program.
  for (const [version, stations] of [[2, [0, 1]] as const, [3, [0, 2, 0]] as const]) {
    parse.mockClear();
    const state = JSON.stringify({ stations, version });
    bench.environment.update({ object: "wanted", version, state });
    bench.enqueue(Reading, readings(0, 1, 2));
    expect(parse.mock.calls).toEqual([[state]]);
  }
  parse.mockRestore();
  expect(bench.stations).toEqual([...texts, ...texts].map(() => 1).concat([...texts, ...texts].map(() => 2)));
});

test("MOE-27: a field of its own that would be of another kind makes it go on in the host", async () => {
  await using bench = new Bench();
  const text = `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator { from = this.objects.wanted.station; enqueue(event) { if (event.station && this.from) super.enqueue(event); } }`;
  await bench.install(modulatorFrom(text, { objects: { wanted: sharedObject({ station: 1 }) } }));
  expect(bench.placement?.tier).toBe("compiled");
  bench.environment.update({ object: "wanted", version: 2, state: JSON.stringify({ station: true }) });
  expect(bench.placement).toEqual({
    tier: "hosted",
    why: expect.stringContaining("a field of another kind"),
  });
});

test("what it makes goes out as a host writes it, byte by byte, in its order and with its urgency, and waits where it has to", async () => {
  const text = `import { FifoModulator, unpack, urgent } from "jecho:moe"; export default class extends FifoModulator { n = 0; enqueue(event) {
    const { station } = event;
    if (station === 1) super.enqueue(event);
    else if (station === 2) super.enqueue(urgent(event));
    else if (station === 3) super.enqueue({ ...unpack(event), station: 10 * ++this.n });
    else if (station === 4) super.enqueue({ celsius: event.celsius, station: station / 4 + this.n });
  } }`;
  const stations = [3, 1, 1, 3, 2, 4, 5, 1, 3, 3];
  const outcomes = [];
  for (const local of [true, false]) {
    await using bench = new Bench({ local, limits: { queueEvents: 3 } });
    await bench.install(modulatorFrom(text));
    expect(bench.placement?.tier).toBe(local ? "compiled" : "hosted");
    bench.enqueue(Reading, readings(...stations));
    await bench.environment.settled();
    bench.environment.flow(DERIVED, false);
    bench.enqueue(Reading, readings(...stations));
    await bench.environment.settled();
    bench.environment.flow(DERIVED, true);
    await bench.environment.settled();
    expect(bench.removed).toEqual([]);
    outcomes.push({ stations: bench.stations, bytes: bench.bytes, seen: bench.seen.at(-1) });
  }
  const [compiled, hosted] = outcomes;
  expect(compiled).toEqual(hosted);
  const [ready, not] = [
    [10, 1, 1, 20, -2, 3, 1, 30, 40],
    [50, 1, 1, 60, -2, 7, 1, 70, 80],
  ];
  expect(compiled?.stations).toEqual([...ready, ...not]);
});

test("MOE-27: a run in which it comes to what is not compiled goes to the host whole, and nothing of it has gone out before", async () => {
  await using bench = new Bench();
  await bench.install(
    modulatorFrom((event, { urgent }) => {
      if (event.station === 5) throw new RangeError("five");
      return event.station !== 2 || urgent(event);
    }),
  );
  bench.enqueue(Reading, readings(1, 2), "first");
  expect(bench.stations).toEqual([1, -2]);
  bench.enqueue(Reading, readings(3, 2, 5, 4), "second");
  expect(bench.stations).toEqual([1, -2]);
  expect(bench.placement).toEqual({ tier: "hosted", why: expect.stringContaining("it throws here (line") });
  await bench.environment.settled();
  // In the host it throws at the same event, and a turn that fails makes nothing.
  expect(bench.stations).toEqual([1, -2]);
  expect(bench.removed.map(({ message }) => message)).toEqual([expect.stringContaining("five")]);
  expect(bench.impaired).toEqual([]);
  expect(bench.done).toEqual(["first", "second"]);
});

test("MOE-27: one with fields that stops begins anew in the host, and says so", async () => {
  await using bench = new Bench();
  const text = `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator { n = 0; enqueue(event) { if (event.station === 3 && this.n > 1) throw new Error("three"); if (++this.n < 3) super.enqueue(event); } }`;
  await bench.install(modulatorFrom(text));
  bench.enqueue(Reading, readings(1, 2, 4));
  bench.enqueue(Reading, readings(3, 5));
  await bench.environment.settled();
  expect(bench.stations).toEqual([1, 2, 3, 5]);
  expect(bench.impaired.map(({ code }) => code)).toEqual(["MODULATOR_RESTARTED"]);
});

test("MOE-27: a loop of unknown length takes no more steps than its producer allows, for an event and for a run", async () => {
  const sum = modulatorFrom(event => {
    let sum = 0;
    for (let i = 0; i < event.station; i++) for (let j = 0; j < event.station; j++) sum += j;
    while (sum > 10) sum -= 10;
    return sum % 2 === 1;
  });
  const outcomes = [];
  for (const mostPerEvent of [0, 10_000]) {
    await using bench = new Bench({ mostPerEvent });
    await bench.install(sum);
    bench.enqueue(Reading, readings(3, 5, 6, -7));
    const early = bench.placement?.tier;
    bench.enqueue(Reading, readings(7, 300, 3));
    await bench.environment.settled();
    expect([early, bench.placement?.tier]).toEqual([mostPerEvent > 0 ? "compiled" : "hosted", "hosted"]);
    outcomes.push(bench.stations);
  }
  expect(outcomes[1]).toEqual(outcomes[0]);
  await using bench = new Bench({ mostPerEvent: 1e9 });
  await bench.install(sum);
  bench.enqueue(Reading, readings(...Array.from({ length: 4000 }, () => 20)));
  // Each alone would do.
  expect(bench.placement?.why).toContain("more steps than its producer allows");
});

test.each(["for (;;);", "while (true);", "do continue; while (1);", "for (let i = 0; i < 1; i);"])(
  "MOE-27: %s, of which a round computes nothing, ends",
  async loop => {
    await using bench = new Bench();
    await bench.install({
      source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) { if (event.station > 0) { ${loop} } else super.enqueue(event); }
}`,
    });
    bench.enqueue(Reading, readings(0, 7));
    expect(bench.placement?.why).toContain("more steps than its producer allows");
  },
);

test("arrays that it makes are those of a host, at every index and length, and one that finds no room stops", async () => {
  const array = modulatorFrom(({ station, celsius }) => {
    const all = new Float32Array(station);
    for (const at of celsius) {
      all[at] = (all[at] ?? 7) + at;
      all[-at] = 1;
    }
    all[0] = (all[0] as number) + 1;
    const few = new Int16Array(all.length / 2);
    for (let i = 0; i < few.length; i++) few[i] = (all[i] as number) * 40_000;
    return few.length > 2 ? { station: few[1] ?? 0, celsius: all } : { station, celsius: few };
  });
  const odd = [0, -0, 1, 2, 0.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 32, 4];
  const events = [0, 1, 5, 9, 70_000].map(station => ({ station, celsius: Float32Array.from(odd) }));
  const outcomes = [];
  for (const local of [true, false]) {
    await using bench = new Bench({ local, mostPerEvent: 1e6 });
    await bench.install(array);
    bench.enqueue(Reading, events.slice(0, 4));
    expect(bench.placement?.tier).toBe(local ? "compiled" : "hosted");
    bench.enqueue(Reading, events);
    await bench.environment.settled();
    if (local) expect(bench.placement?.why).toContain("a Float32Array of a length that is not compiled");
    bench.enqueue(Reading, [{ station: -1, celsius: Float32Array.from(odd) }]);
    await bench.environment.settled();
    expect(bench.removed.map(({ message }) => message)).toEqual([
      expect.stringMatching(/Invalid typed array length/),
    ]);
    outcomes.push(bench.bytes);
  }
  expect(outcomes[0]).toEqual(outcomes[1]);
  expect(outcomes[0]?.length).toBe(9);
});

test("a class that declares its output makes events of that type, and of what it was written for where it says that alone", async () => {
  const Made = type("Mean", { mean: "float64", ok: "bool", name: "string", all: "float32[]" });
  const output = `static output = ${JSON.stringify({ name: "Mean", description: { mean: "float64", ok: "bool", name: "string", all: "float32[]" } })};`;
  const Wanted = type("Wanted", { station: "float64", more: "int32" });
  const input = `static input = ${JSON.stringify({ name: "Wanted", description: { station: "float64", more: "int32" } })};`;
  const of = (statics: string, made: string): string =>
    `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator { ${statics} enqueue(event) { super.enqueue(${made}); } }`;
  const programs: [string, Type][] = [
    [
      of(output, '{ mean: event.celsius[0] / 3 || 7, ok: event.station > 1, name: "é", all: event.celsius }'),
      Made,
    ],
    [of(input, "{ station: event.station / 2, more: event.more + 1 }"), Wanted],
  ];
  for (const [text, made] of programs) {
    const both: string[][] = [];
    for (const local of [true, false]) {
      await using bench = new Bench({ local });
      await bench.install(modulatorFrom(text));
      expect(bench.placement?.tier).toBe(local ? "compiled" : "hosted");
      bench.enqueue(Reading, [...readings(1, 2), { station: 3, celsius: Float32Array.of(1, 2) }]);
      await bench.environment.settled();
      expect(bench.tokens).toEqual([made.token]);
      both.push(bench.bytes);
    }
    expect(both[0]).toEqual(both[1]);
    expect(both[0]?.length).toBe(3);
  }
});

test("an event that is broken is not copied into another one, and a number that does not fit ends the modulator", async () => {
  const sound = encodeEvent(Reading, { station: 1, celsius: Float32Array.of(1, 2, 3) });
  const broken = sound.slice();
  // The vector's length.
  new DataView(broken.buffer).setUint32(broken.byteLength - 16, 0x7fff_ffff, true);
  await using bench = new Bench();
  const doubled = "(event, { unpack }) => ({ ...unpack(event), station: event.station * 2 })";
  await bench.install({ source: functionSource(doubled) });
  bench.raise(Reading, [sound]);
  bench.raise(Reading, [broken, sound]);
  expect(bench.removed.map(({ code }) => code)).toEqual(["MODULATOR_FAILED"]);
  expect(bench.stations).toEqual([2]);
  await using other = new Bench();
  await other.install({ source: functionSource("event => ({ station: event.station / 2 })") });
  other.raise(Reading, [sound]);
  await other.environment.settled();
  expect(other.removed.map(({ message }) => message)).toEqual([
    expect.stringContaining("is wanted, not 0.5"),
  ]);
});

test("more events than there is room for the numbers of are made all the same", async () => {
  await using bench = new Bench({ mostPerEvent: 1e9 });
  const wide = Array.from({ length: 40 }, (_, i) => `x${i}: event.station + ${i}`).join(", ");
  await bench.install({ source: functionSource(`event => ({ station: event.station, ${wide} })`) });
  const stations = Array.from({ length: 1500 }, (_, i) => i);
  bench.enqueue(Reading, readings(...stations));
  expect(bench.placement?.tier).toBe("compiled");
  expect(bench.stations).toEqual(stations);
});

test("a producer that allows nothing has nothing compiled, and one without its own process' modulators neither", async () => {
  for (const options of [{ mostPerEvent: 0 }, { local: false }]) {
    await using bench = new Bench(options);
    await bench.install(odd);
    expect(bench.placement?.tier).toBe("hosted");
    bench.enqueue(Reading, readings(1, 2));
    await bench.environment.settled();
    expect(bench.stations).toEqual([1]);
  }
});

test("a text with its own input reads by the names of that, and events of no such type are left out as in the host", async () => {
  const Wanted = type("Wanted", { station: "float64", missing: "int32" });
  const Other = type("Other", { station: "string" });
  const filter = modulatorFrom((event: typeof Wanted.event) => event.station > event.missing, {
    input: Wanted,
  });
  for (const options of [{}, { local: false }]) {
    await using bench = new Bench(options);
    await bench.install(filter);
    bench.environment.addType(CHANNEL, Other.schema);
    bench.enqueue(Reading, readings(-1, 0, 1));
    bench.enqueue(Other, [{ station: "x" }]);
    bench.enqueue(Reading, readings(2));
    await bench.environment.settled();
    expect(bench.stations).toEqual([1, 2]);
    expect(bench.impaired.map(({ code }) => code)).toEqual(["TYPE_MISMATCH"]);
    expect(bench.placement?.tier).toBe(options.local === false ? "hosted" : "compiled");
  }
});

test("MOE-27: broken events end it: offsets, vtables and vectors that lead out of the event are not followed", async () => {
  const sound = encodeEvent(Reading, { station: 1, celsius: Float32Array.of(1, 2, 3) });
  const words = Math.floor(sound.byteLength / 4);
  let broken = 0;
  for (let word = 0; word < words; word++) {
    for (const value of [
      0xffffffff,
      0x7fffffff,
      0x80000000,
      0xfffffffc,
      0x10000,
      sound.byteLength,
      sound.byteLength - 3,
    ]) {
      const bytes = sound.slice();
      new DataView(bytes.buffer).setUint32(4 * word, value, true);
      await using bench = new Bench();
      await bench.install(
        modulatorFrom(event => event.celsius.some((v: number) => v > 2) || event.station < 0),
      );
      expect(bench.placement?.tier).toBe("compiled");
      // Neighbours, so that what lies behind an event is somebody else's.
      bench.raise(Reading, [sound, bytes, sound]);
      if (bench.removed.length > 0) {
        broken++;
        expect(bench.removed.map(({ code, message }) => [code, message])).toEqual([
          ["MODULATOR_FAILED", "an event that it was given is broken"],
        ]);
      } else expect(bench.seen).toEqual([3]);
    }
  }
  expect(broken).toBeGreaterThan(words);
});

test("events of every length from none on are sound or broken, never read beyond their end", async () => {
  const sound = encodeEvent(Reading, { station: 1, celsius: Float32Array.of(1, 2, 3) });
  for (let bytes = 0; bytes < sound.byteLength; bytes++) {
    await using bench = new Bench();
    await bench.install(modulatorFrom(event => event.celsius.length === 3 && event.station === 1));
    bench.raise(Reading, [sound.slice(0, bytes)]);
    expect(bench.stations).toEqual([]);
  }
});

test("runs of more events, and larger ones, than the window holds at once come through whole", async () => {
  await using bench = new Bench({ mostPerEvent: 1e9 });
  await bench.install(odd);
  const stations = Array.from({ length: 10_000 }, (_, i) => i);
  bench.enqueue(Reading, readings(...stations));
  expect(bench.stations).toEqual(stations.filter(station => station % 2 === 1));
  bench.enqueue(
    Reading,
    [1, 2, 3].map(station => ({ station, celsius: new Float32Array(200_000) })),
  );
  expect(bench.stations.slice(-2)).toEqual([1, 3]);
});
