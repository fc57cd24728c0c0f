import type { Position } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { Lanes } from "../src/delivery/lanes.ts";

const position = (source: number, raised: number, producer = 1): Position => ({
  kind: "Position",
  channel: 1,
  producer,
  urgent: false,
  source: BigInt(source),
  origin: 0n,
  raised: BigInt(raised),
  after: 0n,
  through: 0n,
  process: 0,
});

test("DEL-4: of a producer that says ever new sources those are forgotten that it left longest ago, and no other's", () => {
  const lanes = new Lanes();
  lanes.place(position(1_000_000, 5, 2));
  for (let source = 1; source <= 10_000; source++) lanes.place(position(source, 5));
  expect([...lanes.positions(1)].map(({ source }) => source)).toEqual([1_000_000n, 10_000n]);
  const known = (source: number) => Number(lanes.place(position(source, 0, 3)).raised);
  expect(known(1)).toBe(0);
  expect(known(9_999)).toBe(5);
  expect(known(10_000 - 4_000)).toBe(5);
  expect(known(1_000_000)).toBe(5);
});

test("DEL-4: a source whose producer came back before its former connection was given up stays with that", () => {
  const lanes = new Lanes();
  lanes.place(position(7, 5, 1));
  lanes.place(position(7, 5, 2));
  lanes.leave(1);
  expect([...lanes.positions(1)]).toMatchObject([{ source: 7n, producer: 2 }]);
});
