import { encodeEvent, type Type, unpack } from "@jecho/shared";
import { typeFromFbs } from "@jecho/shared/fbs";
import { encodeRun } from "@jecho/shared/internal";
import { expect, inject, test } from "vitest";
import { BASE, runOf } from "./grid.ts";
import { modulator, Rig } from "./rig.ts";

/** GridData as it was when the modulator was written, and as it is now. */
const VERSIONS = [
  "table GridData { step: uint; layer: short; values: [float]; }",
  `enum Quality : byte { Unknown, Measured }
   struct Place { latitude: double; longitude: double; }
   table GridData { origin: Place; values: [float]; quality: Quality; run: string; layer: int; step: ulong; more: [float]; }`,
].map(text => typeFromFbs<Record<string, unknown>>(`${text} root_type GridData;`));

const [Old, New] = VERSIONS as [Type<Record<string, unknown>>, Type<Record<string, unknown>>];
const VALUES = Float32Array.of(1, 2, 3);
const EVENTS = new Map([
  [Old, { step: 5, layer: 1, values: VALUES }],
  [
    New,
    {
      step: 5n,
      layer: 1,
      values: VALUES,
      more: VALUES,
      quality: 1,
      run: "x",
      origin: { latitude: 1, longitude: 2 },
    },
  ],
]);

function publish(rig: Rig, type: Type<Record<string, unknown>>, event: Record<string, unknown>): void {
  const bytes = encodeEvent(type, event);
  const header = { channel: BASE, producer: 7, raised: 0, token: type.token, parameters: 0, flags: 0 };
  rig.host.enqueue(runOf(encodeRun(header, [{ bytes, start: 0, end: bytes.byteLength }])));
}

test.each(VERSIONS)("a modulator written for an older type works on the newer one: %#", async version => {
  await using rig = new Rig();
  // It builds events of a type of its own out of fields that both versions have.
  const derived = await rig.install(
    modulator(`
      static output = { name: "Mean", description: { step: "float64", layer: "int32", mean: "float32" } };
      enqueue({ step, layer, values }) {
        const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
        super.enqueue({ step: Number(step), layer, mean });
      }`),
    { schema: version.schema },
  );
  publish(rig, version, EVENTS.get(version) as Record<string, unknown>);
  await rig.settled();
  expect(rig.removed.get(derived)).toBeUndefined();
  expect(JSON.parse(JSON.stringify(rig.received(derived)[0]?.event))).toEqual({ step: 5, layer: 1, mean: 2 });
});

test("TYPE-5: events of several types come to one modulator, which reads each by its writer's type and passes each on as it came", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(`
      #seen = 0;
      enqueue(event) {
        this.#seen++;
        if (event.layer === 1) super.enqueue(event);
        // What it makes itself is of the type that came last.
        if (this.#seen === 3) super.enqueue({ step: event.step, layer: 7, values: event.values });
      }`),
    { schema: Old.schema },
  );
  rig.host.addType(BASE, New.schema);
  for (const version of [Old, New, Old, New])
    publish(rig, version, EVENTS.get(version) as Record<string, unknown>);
  await rig.settled();
  expect(rig.removed.get(derived)).toBeUndefined();
  const tokens = rig.frames(derived).map(({ token }) => token);
  expect(tokens).toEqual([Old.token, New.token, Old.token, New.token]);
  const events = rig
    .frames(derived)
    .flatMap(frame =>
      Array.from({ length: frame.count }, (_, i) =>
        unpack(
          (frame.token === Old.token ? Old : New).decode(
            frame.bytes.slice(frame.eventStart(i), frame.eventEnd(i)),
          ),
        ),
      ),
    );
  const [old, grown] = [EVENTS.get(Old), EVENTS.get(New)];
  expect(events).toEqual([old, grown, old, { ...old, layer: 7 }, grown]);
});

test("TYPE-5: events of several types that wait in one modulator leave each with its own type", async () => {
  await using rig = new Rig();
  const derived = await rig.install(modulator(""), { schema: Old.schema });
  rig.host.addType(BASE, New.schema);
  rig.host.flow(derived, false);
  for (const version of [Old, New, New, Old])
    publish(rig, version, EVENTS.get(version) as Record<string, unknown>);
  await rig.settled();
  expect(rig.frames(derived)).toHaveLength(0);
  rig.host.flow(derived, true);
  await rig.settled();
  expect(rig.frames(derived).map(({ token, count }) => [token, count])).toEqual([
    [Old.token, 1],
    [New.token, 2],
    [Old.token, 1],
  ]);
});

test("TYPE-5: what it declares is the type of all that it makes, whatever comes in", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(`
      static output = { name: "Mean", description: { step: "float64", mean: "float32" } };
      enqueue({ step, values }) {
        super.enqueue({ step: Number(step), mean: values.reduce((sum, value) => sum + value, 0) / values.length });
      }`),
    { schema: New.schema },
  );
  rig.host.addType(BASE, Old.schema);
  for (const version of [Old, New, Old])
    publish(rig, version, EVENTS.get(version) as Record<string, unknown>);
  await rig.settled();
  const made = rig.received(derived).map(({ event }) => JSON.parse(JSON.stringify(event)));
  expect(made).toEqual(Array.from({ length: 3 }, () => ({ step: 5, mean: 2 })));
});

// Only a process can be killed from outside.
test.skipIf(["local", "compiled", "quickjs"].includes(inject("modulatorPlace") ?? ""))(
  "TYPE-5: a host that takes the place of one that died knows all types",
  async () => {
    await using rig = new Rig();
    const derived = await rig.install(modulator(""), { schema: Old.schema });
    rig.host.addType(BASE, New.schema);
    publish(rig, New, EVENTS.get(New) as Record<string, unknown>);
    await rig.settled();
    process.kill(rig.host.stats.pid as number, "SIGKILL");
    await expect.poll(() => rig.restarts).toBe(1);
    for (const version of [New, Old]) publish(rig, version, EVENTS.get(version) as Record<string, unknown>);
    await rig.settled();
    expect(rig.removed.get(derived)).toBeUndefined();
    expect(rig.frames(derived).map(({ token }) => token)).toEqual([New.token, New.token, Old.token]);
  },
);

test("events of a type that nobody has told of end the modulator, naming that", async () => {
  await using rig = new Rig();
  const derived = await rig.install(modulator(""), { schema: Old.schema });
  publish(rig, New, EVENTS.get(New) as Record<string, unknown>);
  await rig.settled();
  expect(rig.removed.get(derived)).toMatchObject({ code: "TYPE_UNKNOWN" });
});

test("typed arrays in a modulator are views on its event's bytes, nested fields and enums are read by name", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(`
      static output = { name: "Seen", description: { text: "string" } };
      enqueue({ values, more, origin, quality }) {
        const isView = values.buffer === more.buffer && values.byteOffset !== more.byteOffset && values.byteOffset % 4 === 0;
        super.enqueue({ text: [values.constructor.name, isView, origin.longitude, quality].join() });
      }`),
    { schema: New.schema },
  );
  publish(rig, New, EVENTS.get(New) as Record<string, unknown>);
  await rig.settled();
  expect(rig.removed.get(derived)).toBeUndefined();
  expect(rig.received<{ text: string }>(derived)[0]?.event.text).toBe("Float32Array,true,2,1");
});
