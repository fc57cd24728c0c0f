import { encodeEvent, type Type, unpack } from "@jecho/shared";
import { typeFromFbs } from "@jecho/shared/fbs";
import { type EventBytes, encodeRun } from "@jecho/shared/internal";
import { expect, inject, test } from "vitest";
import { BASE, runOf } from "./grid.ts";
import { modulator, Rig, USUAL } from "./rig.ts";

type Event = Record<string, unknown>;
type Version = Type<Event>;

const typeOf = (text: string): Version => typeFromFbs<Event>(`${text} root_type GridData;`);

/** The input type that the modulators of these tests were written for. */
const INPUT = `table Place { latitude: double; longitude: double; }
table GridData { step: int; layer: int; mean: double; run: string; values: [float]; origin: Place; }
root_type GridData;`;
const Input = typeFromFbs<Event>(INPUT);

/** Narrower fields in other slots, and some that were not there yet. */
const Older = typeOf("table GridData { values: [float]; step: short; layer: byte; mean: float; }");
/** Fields more, a struct where a table was. */
const Newer = typeOf(`struct Place { altitude: float; longitude: float; latitude: float; }
  table GridData { origin: Place; more: [float]; run: string; mean: double; values: [float]; layer: int; step: int; }`);
/** An int that grew beyond what the modulator was written for. */
const Grown = typeOf("table GridData { step: long; layer: int; values: [float]; }");
/** A field that is something else. */
const Other = typeOf("table GridData { step: int; layer: int; values: string; }");

const VALUES = Float32Array.of(1, 2, 3);
const EVENTS = new Map<Version, Event>([
  [Older, { step: 5, layer: 1, mean: 0.5, values: VALUES }],
  [
    Newer,
    {
      step: 7,
      layer: 2,
      mean: 0.25,
      run: "x",
      values: VALUES,
      more: VALUES,
      origin: { altitude: 3, latitude: 1, longitude: 2 },
    },
  ],
  [Grown, { step: 9n, layer: 3, values: VALUES }],
  [Other, { step: 9, layer: 4, values: "1, 2, 3" }],
]);

function publish(rig: Rig, producer: number, token: bigint, event: EventBytes): void {
  const header = { channel: BASE, producer, raised: 0, token, parameters: 0, flags: 0 };
  rig.host.enqueue(runOf(encodeRun(header, [event])));
}

/** One event of each of these versions, by producers of their own. */
function publishAll(rig: Rig, versions: readonly Version[]): void {
  for (const version of versions) {
    const bytes = encodeEvent(version, EVENTS.get(version) as Event);
    publish(rig, [...EVENTS.keys()].indexOf(version) + 1, version.token, {
      bytes,
      start: 0,
      end: bytes.byteLength,
    });
  }
}

function tell(rig: Rig, ...versions: readonly Version[]): void {
  for (const { schema } of versions) rig.host.addType(BASE, schema);
}

const FBS = `import { schemaFromFbs } from "jecho:fbs";`;
/** Says of each event what it sees of it. */
const SEEN = `static input = schemaFromFbs(${JSON.stringify(INPUT)});
  static output = { name: "Seen", description: { text: "string" } };
  enqueue({ step, layer, mean, run, values, origin }) {
    super.enqueue({ text: JSON.stringify([step, layer, mean, run, [...values], origin === undefined ? null : unpack(origin)]) });
  }`;
const seeing = modulator(SEEN, `${FBS} import { unpack } from "jecho:moe";`);

const textsOf = (rig: Rig, derived: number): unknown[] =>
  rig.received<{ text: string }>(derived).map(({ event }) => JSON.parse(event.text));

const OLDER_SEEN = [5, 1, 0.5, "", [1, 2, 3], null];
const NEWER_SEEN = [7, 2, 0.25, "x", [1, 2, 3], { latitude: 1, longitude: 2 }];

test("TYPE-10: a modulator reads by the names of the type that it was written for, whatever is written: wider, defaults, other slots and nesting", async () => {
  await using rig = new Rig();
  const derived = await rig.install(seeing, { schema: Older.schema });
  tell(rig, Newer);
  publishAll(rig, [Older, Newer, Older, Newer]);
  await rig.settled();
  expect(rig.impaired).toEqual([]);
  expect(textsOf(rig, derived)).toEqual([OLDER_SEEN, NEWER_SEEN, OLDER_SEEN, NEWER_SEEN]);
});

test("TYPE-10: the bytes of an event are of its writer's type, those of what it makes of the one that it was written for, and each token says which", async () => {
  await using rig = new Rig();
  const packing = modulator(
    `static input = schemaFromFbs(${JSON.stringify(INPUT)});
  static output = { name: "Packed", description: { token: "uint64", bytes: "uint8[]" } };
  enqueue(event) {
    const made = { step: event.step + 70000, run: "made" };
    // The one before, of another writer, and this one's.
    for (const one of [this.before ?? event, event, made])
      super.enqueue({ token: typeToken(one), bytes: bytesOf(one) });
    this.before = event;
  }`,
    `${FBS} import { bytesOf, typeToken } from "jecho:moe";`,
  );
  const derived = await rig.install(packing, { schema: Older.schema });
  tell(rig, Newer);
  publishAll(rig, [Older, Newer]);
  await rig.settled();
  const versions = [Older, Newer, Input];
  const made = rig.received<{ token: bigint; bytes: Uint8Array }>(derived).map(({ event }) => {
    const version = versions.find(({ token }) => token === event.token) as Version;
    const { step, run } = version.decode(event.bytes.slice());
    return [versions.indexOf(version), step, run];
  });
  expect(made).toEqual([
    [0, 5, undefined],
    [0, 5, undefined],
    [2, 70005, "made"],
    [0, 5, undefined],
    [1, 7, "x"],
    [2, 70007, "made"],
  ]);
});

test("TYPE-10: a writer that cannot be matched is told once, with the field and both sides; the modulator goes on with the others", async () => {
  await using rig = new Rig();
  const derived = await rig.install(seeing, { schema: Older.schema });
  tell(rig, Newer, Grown, Other);
  publishAll(rig, [Grown, Older, Other, Newer, Grown, Other, Older]);
  await rig.settled();
  expect(rig.removed.get(derived)).toBeUndefined();
  expect(textsOf(rig, derived)).toEqual([OLDER_SEEN, NEWER_SEEN, OLDER_SEEN]);
  expect(rig.impaired.map(({ derived, why: { code, message } }) => [derived, code, message])).toEqual([
    [
      derived,
      "TYPE_MISMATCH",
      `field "step" of the writer's GridData and the reader's GridData: the writer's int64 does not fit the reader's int32 (producer 3 writes ${Grown}, the modulator reads ${Input}); its events are dropped`,
    ],
    [
      derived,
      "TYPE_MISMATCH",
      `field "values" of the writer's GridData and the reader's GridData: the writer has a string and the reader a vector of float32 (producer 4 writes ${Other}, the modulator reads ${Input}); its events are dropped`,
    ],
  ]);
  expect(rig.host.modulators.get(derived)).toMatchObject({ dropped: 4, restarts: 0 });
});

test("TYPE-10: what a present producer writes may be what it cannot read: it waits for others", async () => {
  await using rig = new Rig();
  const derived = await rig.install(seeing, { schema: Grown.schema });
  tell(rig, Newer);
  publishAll(rig, [Grown, Newer]);
  await rig.settled();
  expect(textsOf(rig, derived)).toEqual([NEWER_SEEN]);
  expect(rig.impaired).toHaveLength(1);
});

test("TYPE-10: a field that it cannot do without, and a channel without a type, are told as well", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(
      `static input = schemaFromFbs("table GridData { step: int; run: string (required); }", "GridData");
      enqueue(event) { super.enqueue(event); }`,
      FBS,
    ),
    { schema: Newer.schema },
  );
  tell(rig, Older);
  publishAll(rig, [Older, Newer]);
  publish(rig, 9, 0n, { bytes: new Uint8Array(16), start: 0, end: 16 });
  await rig.settled();
  expect(rig.frames(derived).map(({ token }) => token)).toEqual([Newer.token]);
  expect(rig.impaired.map(({ why }) => why.message)).toEqual([
    expect.stringContaining('"run"'),
    expect.stringContaining("producer 9 writes bytes"),
  ]);
});

test("TYPE-11: whom its class refuses is told once, and it goes on with the others; it sees each type's fields once, in the words of descriptions", async () => {
  await using rig = new Rig();
  const picky = modulator(`
    static output = { name: "Seen", description: { text: "string" } };
    static seen = [];
    static checkInput(fields, { field, kind }) {
      this.seen.push(fields === undefined ? "bytes" : { ...fields });
      if (fields?.[field] !== kind) throw new Error(field + " is no " + kind);
    }
    enqueue(event) {
      super.enqueue({ text: JSON.stringify([event.step, this.constructor.seen]) });
    }`);
  const parameters = { field: "step", kind: "int32" };
  const derived = await rig.install({ ...picky, parameters }, { schema: Older.schema });
  tell(rig, Newer, Grown);
  publishAll(rig, [Older, Newer, Grown, Older, Newer, Grown]);
  publish(rig, 9, 0n, { bytes: new Uint8Array(16), start: 0, end: 16 });
  publishAll(rig, [Newer]);
  await rig.settled();
  expect(rig.removed.get(derived)).toBeUndefined();
  const older = { values: "float32[]", step: "int16", layer: "int8", mean: "float32" };
  const newer = {
    origin: "Place",
    more: "float32[]",
    run: "string",
    mean: "float64",
    values: "float32[]",
    layer: "int32",
    step: "int32",
  };
  const grown = { step: "int64", layer: "int32", values: "float32[]" };
  expect(textsOf(rig, derived)).toEqual([
    [7, [older, newer]],
    [7, [older, newer, grown]],
    [7, [older, newer, grown, "bytes"]],
  ]);
  expect(rig.impaired.map(({ why: { code, message } }) => [code, message])).toEqual([
    [
      "TYPE_MISMATCH",
      expect.stringMatching(/^step is no int32 .*\(producer 1 writes GridData.*; its events are dropped$/),
    ],
    ["TYPE_MISMATCH", expect.stringMatching(/^step is no int32 .*\(producer 3 writes GridData/)],
    ["TYPE_MISMATCH", expect.stringMatching(/^step is no int32 .*\(producer 9 writes bytes/)],
  ]);
  expect(rig.host.modulators.get(derived)).toMatchObject({ dropped: 5, restarts: 0 });
});

// Without a wall nothing ends it: what runs so is trusted.
test.skipIf(inject("modulatorPlace") === "local")(
  "TYPE-11, MOE-5: a class that looks at a type for ever is removed, as one that does so with an event",
  async () => {
    await using rig = new Rig({ limits: USUAL });
    const derived = await rig.install(modulator("static checkInput() { for (;;); }"), {
      schema: Older.schema,
    });
    publishAll(rig, [Older]);
    await expect.poll(() => rig.removed.get(derived)?.code).toBe("MODULATOR_TIMED_OUT");
  },
);

test("TYPE-10: what it passes on stays of its writer's type, and what it makes is of the type that it was written for", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(
      `static input = schemaFromFbs(${JSON.stringify(INPUT)});
      enqueue(event) {
        super.enqueue(event);
        super.enqueue({ ...unpack(event), layer: -event.layer });
      }`,
      `${FBS} import { unpack } from "jecho:moe";`,
    ),
    { schema: Older.schema },
  );
  tell(rig, Newer);
  publishAll(rig, [Older, Newer]);
  await rig.settled();
  expect(rig.removed.get(derived)).toBeUndefined();
  const frames = rig.frames(derived);
  expect(frames.map(({ token }) => token)).toEqual([Older.token, Input.token, Newer.token, Input.token]);
  const events = frames.map((frame, i) =>
    unpack(
      ([Older, Input, Newer, Input][i] as Version).decode(
        frame.bytes.slice(frame.eventStart(0), frame.eventEnd(0)),
      ),
    ),
  );
  expect(events).toEqual([
    EVENTS.get(Older),
    { step: 5, layer: -1, mean: 0.5, run: "", values: VALUES, origin: undefined },
    EVENTS.get(Newer),
    { step: 7, layer: -2, mean: 0.25, run: "x", values: VALUES, origin: { latitude: 1, longitude: 2 } },
  ]);
});

test("what it was written for may be a description, too, and what it makes the text of a schema", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(
      `static input = { name: "GridData", description: { step: "int64", values: "float32[]" } };
      static output = schemaFromFbs("table Sum { step: long; sum: float; } root_type Sum;");
      enqueue({ step, values }) { super.enqueue({ step: step + 1n, sum: values.reduce((a, b) => a + b, 0) }); }`,
      FBS,
    ),
    { schema: Older.schema },
  );
  tell(rig, Grown);
  publishAll(rig, [Older, Grown]);
  await rig.settled();
  expect(rig.impaired).toEqual([]);
  expect(rig.received(derived).map(({ event }) => unpack(event))).toEqual([
    { step: 6n, sum: 6 },
    { step: 10n, sum: 6 },
  ]);
});

test.each([
  ["7", /static input is \{ name, description \}/],
  ["new Uint8Array(64)", /schema/],
  ['"table T { a: int; } root_type T;"', /static input is \{ name, description \}/],
  ["{ name: 'A', description: { a: 'int33' } }", /A\.a/],
])("what is no type is not installed, and the cause is named: %s", async (input, cause) => {
  await using rig = new Rig();
  await expect(rig.install(modulator(`static input = ${input};`))).rejects.toMatchObject({
    code: "MODULATOR_INVALID",
    message: expect.stringMatching(cause),
  });
});

test("a schema's text that is none is not installed, and the place of its fault is named", async () => {
  await using rig = new Rig();
  const installed = rig.install(modulator(`static input = schemaFromFbs("table {");`, FBS));
  await expect(installed).rejects.toThrow("line 1, column 7");
});

// Only a process can be killed from outside.
test.skipIf(["local", "quickjs"].includes(inject("modulatorPlace") ?? ""))(
  "TYPE-10: in a host that takes the place of one that died it reads as before",
  async () => {
    await using rig = new Rig();
    const derived = await rig.install(seeing, { schema: Older.schema });
    tell(rig, Newer, Grown);
    publishAll(rig, [Grown, Newer]);
    await rig.settled();
    process.kill(rig.host.stats.pid as number, "SIGKILL");
    await expect.poll(() => rig.restarts).toBe(1);
    publishAll(rig, [Newer, Older, Grown]);
    await rig.settled();
    expect(textsOf(rig, derived)).toEqual([NEWER_SEEN, NEWER_SEEN, OLDER_SEEN]);
    expect(rig.impaired.map(({ why }) => why.code)).toEqual([
      "TYPE_MISMATCH",
      "MODULATOR_RESTARTED",
      "TYPE_MISMATCH",
    ]);
  },
);
