import { type Modulator, modulatorFrom } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { type } from "@jecho/shared";
import { expect, test, vi } from "vitest";
import { CompileThread } from "../../../src/tiers/compiled/compile-thread.ts";
import {
  answerTo,
  type CompileAnswer,
  type CompileRequest,
  compileText,
  isKnown,
  take,
} from "../../../src/tiers/compiled/compiler.ts";
import { GivenData } from "../../../src/tiers/compiled/given-data.ts";
import { Bench, CHANNEL, DERIVED, Reading, readings, sharedObject } from "./compiled-bench.ts";
import { functionSource } from "./function-source.ts";
import { exampleModulators, standardModulators } from "./shipped.ts";

function requestFor(modulator: Modulator, schema: Uint8Array): CompileRequest {
  const { source, parameters, objects } = modulatorTable(modulator);
  return { source, schemas: [schema], parameters, objects };
}

/** Installs what was prepared. */
async function install(bench: Bench, modulator: Modulator, schema = Reading.schema): Promise<void> {
  const request = { derived: DERIVED, channel: CHANNEL, schema, modulator: modulatorTable(modulator) };
  const prepared = bench.environment.prepare(request);
  expect(prepared).toBeInstanceOf(Promise);
  await prepared;
  expect(bench.environment.prepare(request)).toBeUndefined();
  await bench.environment.install(request);
}

test("the thread's answers are those of this one, for all modulators that come with the project", async () => {
  const thread = new CompileThread();
  for (const { modulator, type } of [...standardModulators(), ...exampleModulators()]) {
    const request = requestFor(modulator, type.schema);
    const answer = await thread.answerTo(request);
    const own = structuredClone(answerTo(request));
    // Two modules are alike in what they offer and want.
    const offers = (one: typeof own | undefined) =>
      one?.verdicts.map(verdict =>
        verdict && "module" in verdict.made
          ? [WebAssembly.Module.exports(verdict.made.module), WebAssembly.Module.imports(verdict.made.module)]
          : [],
      );
    expect(offers(answer)).toEqual(offers(own));
    const plain = (one: typeof own | undefined) => JSON.parse(JSON.stringify(one, textOf));
    expect(plain(answer)).toEqual(plain(own));
  }
});

/** Maps and numbers of 64 bits, which JSON does not know. */
function textOf(_: string, value: unknown): unknown {
  if (value instanceof Map) return [...value];
  return typeof value === "bigint" ? `${value}` : value;
}

test("MOE-27: what another thread has compiled runs in this one: checks, values of parameters, states and fields", async () => {
  await using bench = new Bench();
  const modulator = modulatorFrom(
    `import { FifoModulator } from "jecho:moe";
const most = 4;
export default class extends FifoModulator {
  static check({ field }) { if (field.length > most + 20) throw new Error("no such field"); }
  n = 0;
  enqueue(event) { if (event[this.parameters.field] >= this.objects.wanted.station && this.n++ < most) super.enqueue(event); }
}`,
    { parameters: { field: "station" }, objects: { wanted: sharedObject({ station: 2 }) } },
  );
  await install(bench, modulator);
  expect(bench.placement).toEqual({ tier: "compiled", why: "" });
  bench.enqueue(Reading, readings(1, 2, 3));
  bench.environment.update({ object: "wanted", version: 2, state: JSON.stringify({ station: 5 }) });
  bench.enqueue(Reading, readings(4, 5, 6, 7));
  expect(bench.stations).toEqual([2, 3, 5, 6]);
  const other = { ...modulator, parameters: { field: "a field with a very long name" } };
  await bench.install(other, Reading.schema, DERIVED + 1).catch(() => {});
  expect(bench.environment.placementOf(DERIVED + 1)?.why).toContain("static check");
});

test("MOE-27: a type that comes later is compiled for what another thread has read, and its own input is read by", async () => {
  await using bench = new Bench();
  const Own = type("Own", { station: "int32" });
  await install(
    bench,
    modulatorFrom(({ station }) => station % 3 === 0, { input: Own }),
  );
  const More = type("Reading", { note: "string", celsius: "float32[]", station: "int32" });
  bench.environment.addType(CHANNEL, More.schema);
  bench.enqueue(
    More,
    [3, 4, 6].map(station => ({ station, note: "", celsius: new Float32Array(1) })),
  );
  bench.enqueue(Reading, readings(9, 10));
  expect(bench.placement?.tier).toBe("compiled");
  expect(bench.environment.modulators.get(DERIVED)).toMatchObject({ eventsIn: 5, eventsOut: 3 });
});

test("MOE-27: a text that the thread refuses is hosted, with the line that it is refused for", async () => {
  await using bench = new Bench();
  const text = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  async enqueue(event) { super.enqueue(event); }
}`;
  await install(bench, { source: text });
  expect(bench.placement).toMatchObject({ tier: "hosted", why: expect.stringMatching(/line 3/) });
});

test.each([
  ["a text that is new", false],
  ["another type of a text that is known", true],
])(
  "MOE-27: %s, at which the thread has failed, is not compiled in this one, and asked for again later",
  async (_, isRead) => {
    const modulator = { source: functionSource(`event => event.x > ${isRead ? 12301 : 12302}`) };
    const [Was, Is] = [type("Point", { x: "int32" }), type("Point", { x: "int32", y: "int32" })];
    const { source } = modulator;
    const none = GivenData.of(null);
    if (isRead) compileText(source, Was, none);
    const request = requestFor(modulator, Is.schema);
    const face = { why: "it is not compiled within 10 s", line: 0, column: 0 };
    take(request, { face, verdicts: [], hasFailed: true });
    expect(isKnown(source, [Is], none)).toBe(true);
    expect(compileText(source, Is, none)).toMatchObject({ why: face.why });
    if (isRead) expect(compileText(source, Was, none)).toMatchObject({ reads: ["x"] });
    const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 3_600_000);
    expect(isKnown(source, [Is], none)).toBe(false);
    expect(compileText(source, Is, none)).toMatchObject({ why: face.why });
    clock.mockRestore();
    take(request, (await new CompileThread().answerTo(request)) as CompileAnswer);
    expect(isKnown(source, [Is], none)).toBe(true);
    expect(compileText(source, Is, none)).toMatchObject({ reads: ["x"] });
  },
);

test("a request that ends the thread is refused, and those behind it have their answers from another one", async () => {
  const thread = new CompileThread();
  const { source, ...rest } = requestFor(
    modulatorFrom(event => event.station > 77),
    Reading.schema,
  );
  const lying = { source, ...rest, schemas: [new Uint8Array([1, 2, 3])] };
  const [first, second, third] = await Promise.all([
    thread.answerTo({ source, ...rest }),
    thread.answerTo(lying),
    thread.answerTo({ source, ...rest }),
  ]);
  expect(second).toMatchObject({
    face: { why: expect.stringContaining("cannot be compiled") },
    verdicts: [],
    hasFailed: true,
  });
  for (const answer of [first, third]) expect(answer?.verdicts).toHaveLength(1);
});
