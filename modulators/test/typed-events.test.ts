import { Type } from "@jecho/shared";
import { encodeRun } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { BASE, modulator, Rig, runOf } from "./rig.ts";

/** GridData as it was when the modulator was written, and as it is now. */
const VERSIONS = [
  "table GridData { step: uint; layer: short; values: [float]; }",
  `enum Quality : byte { Unknown, Measured }
   struct Place { latitude: double; longitude: double; }
   table GridData { origin: Place; values: [float]; quality: Quality; run: string; layer: int; step: ulong; more: [float]; }`,
].map(text => Type.fromFbs<Record<string, unknown>>(`${text} root_type GridData;`));

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
  const bytes = type.encode(event);
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
