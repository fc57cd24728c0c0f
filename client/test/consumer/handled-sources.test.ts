import { EventsFrame, encodeRun } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { HandledSources } from "../../src/consumer/handled-sources.ts";

const EVENT = { bytes: new Uint8Array(8), start: 0, end: 8 };

test("a consumer's place stays bounded where ever more producers come and go, and keeps those that go on", () => {
  const sources = new HandledSources();
  const name = (producer: number): void =>
    sources.name({ producer, urgent: false, source: BigInt(producer), origin: 0n, raised: 0, through: 0 });
  const receive = (producer: number, raised: number): void => {
    const header = { channel: 1, producer, raised, token: 0n, parameters: 0, flags: 0 };
    const run = EventsFrame.at(encodeRun(header, [EVENT]));
    const source = sources.of(run);
    source?.begin(run);
    source?.handled(0);
  };
  for (let producer = 1; producer <= 200_000; producer++) {
    name(producer);
    receive(producer, 1);
    if (producer % 1000 === 0) receive(1, producer);
  }
  const places = sources.places();
  expect(places.length).toBeLessThanOrEqual(65_536);
  expect(places.map(({ source }) => Number.parseInt(source, 16))).toEqual(
    expect.arrayContaining([1, 200_000]),
  );
  expect(places.find(({ source }) => source === "1")?.raised).toBe(200_000);
});

test("a consumer's place keeps a silent source, however often another one is told where it is", () => {
  const sources = new HandledSources();
  const name = (source: bigint, through: number): void =>
    sources.name({ producer: 1, urgent: false, source, origin: source, raised: 0, through });
  name(1n, 7);
  for (let through = 1; through <= 100_000; through++) name(2n, through);
  expect(sources.places().map(({ source, through }) => [source, through])).toEqual([
    ["2", 100_000],
    ["1", 7],
  ]);
});
