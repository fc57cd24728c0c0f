import { recordedEvents } from "@jecho/modulators/testing";
import { typeFromFbs } from "@jecho/shared/fbs";
import { expect, test } from "vitest";

const Station = typeFromFbs(`
  table Place { height: long; }
  table Mast { metres: double; }
  union Site { Place, Mast }
  table Station { id: ulong; celsius: [float]; at: Place; sites: [Place]; on: Site; counts: [long]; name: string; }
  root_type Station;`);

test("recorded events are what they were, 64-bit integers and NaN, too", () => {
  const line = {
    id: "18446744073709551615",
    celsius: [1.5, null],
    at: { height: 7 },
    sites: [{ height: "-9007199254740993" }],
    on: { kind: "Mast", metres: null },
    counts: [1, "9007199254740993"],
    name: "Uto",
  };
  const text = `${JSON.stringify({ seq: 1, event: line })}\n\n${JSON.stringify({ seq: 2, event: { name: "Kalbådagrund" } })}\n`;
  const [first, second, ...more] = recordedEvents(text, Station);
  expect(first).toEqual({
    id: 2n ** 64n - 1n,
    celsius: Float32Array.of(1.5, Number.NaN),
    at: { height: 7n },
    sites: [{ height: -9007199254740993n }],
    on: { kind: "Mast", metres: Number.NaN },
    counts: BigInt64Array.of(1n, 9007199254740993n),
    name: "Uto",
  });
  expect(second).toMatchObject({ id: 0n, celsius: new Float32Array(), name: "Kalbådagrund" });
  expect(more).toEqual([]);
});

test("recorded events of an untyped channel are bytes; a line without an event of the type is named", () => {
  expect(recordedEvents('{"event":[1,2]}')).toEqual([Uint8Array.of(1, 2)]);
  expect(() => recordedEvents('{"event":{"id":1}}\n{"event":{"name":5}}', Station)).toThrow(
    expect.objectContaining({ code: "EVENT_INVALID", message: expect.stringMatching(/^line 2: .*name/) }),
  );
});
