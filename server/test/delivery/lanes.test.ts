import { EventsFrame, type Position } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { GatewayLanes } from "../../src/delivery/lanes.ts";
import { encodedRun } from "../raw-client.ts";

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
  agoMs: 0,
  by: "",
});

const NONE = (): ReadonlySet<bigint> => new Set();

test("DEL-4: of a producer that says ever new sources those are forgotten that it left longest ago, and no other's", () => {
  const lanes = new GatewayLanes();
  lanes.place(position(1_000_000, 5, 2), 0, "");
  for (let source = 1; source <= 10_000; source++) lanes.place(position(source, 5), 0, "");
  expect([...lanes.positions(0, NONE)].map(({ source }) => source)).toEqual([1_000_000n, 10_000n]);
  const known = (source: number) => Number(lanes.place(position(source, 0, 3), 0, "").raised);
  expect(known(1)).toBe(0);
  expect(known(9_999)).toBe(5);
  expect(known(10_000 - 4_000)).toBe(5);
  expect(known(1_000_000)).toBe(5);
});

test("DEL-4: a source whose producer came back before its former connection was given up stays with that", () => {
  const lanes = new GatewayLanes();
  lanes.place(position(7, 5, 1), 0, "");
  lanes.place(position(7, 5, 2), 0, "");
  lanes.leave(1, 1);
  expect([...lanes.positions(0, NONE)]).toMatchObject([{ source: 7n, producer: 2 }]);
});

test("PROV-6, DEL-4: what a modulator elsewhere makes of a producer's last events is of its source after that has gone, too", () => {
  const lanes = new GatewayLanes();
  lanes.place({ ...position(7, 0), origin: 9n }, 0, "");
  lanes.leave(1, 1);
  const run = EventsFrame.at(encodedRun({ channel: 1, producer: 1, raised: 1, after: 0, through: 5 }));
  expect(lanes.take(run, 1)).toMatchObject({ source: 7n, origin: 9n });
  expect(lanes.take(run, 2)).toBeUndefined();
});

test("PROV-6: the last position of what a modulator made before it began anew takes no number from what it makes now of a producer that has gone", () => {
  const lanes = new GatewayLanes();
  lanes.place({ ...position(7, 3), origin: 9n, through: 3n }, 3, "");
  lanes.leave(1, 1);
  lanes.place({ ...position(8, 0), origin: 9n, after: 3n, through: 3n }, 3, "");
  expect([...lanes.positions(3, NONE)]).toMatchObject([{ source: 8n, producer: 1 }]);
  expect([...lanes.ends(2)]).toMatchObject([{ seq: 3, position: { source: 7n, raised: 3n, producer: 0 } }]);
  lanes.leave(1, 1);
  expect([...lanes.ends(2)]).toMatchObject([
    { position: { source: 7n, producer: 1 } },
    { position: { source: 8n, producer: 1 } },
  ]);
});

test("PROV-6: a modulator that comes again and says where it was is told of as far as the gateway knows it", () => {
  const lanes = new GatewayLanes();
  const made = (raised: number, through: number): Position => ({
    ...position(7, raised),
    origin: 9n,
    after: BigInt(through),
    through: BigInt(through),
  });
  lanes.place(made(5, 50), 0, "");
  lanes.place(made(7, 70), 0, "");
  // Whoever had the first five events only is to see that more is accounted for than it has had.
  expect(lanes.place(made(5, 50), 0, "")).toMatchObject({ raised: 7n, through: 70n });
});

test("PROV-5: of a raw source whose modulator rests or has gone, who begins to listen is told by the gateway", () => {
  const [raw, derived] = [new GatewayLanes(), new GatewayLanes()];
  raw.place(position(9, 5), 0, "");
  derived.place({ ...position(7, 0), origin: 9n }, 0, "");
  const unheard = () => derived.unheard(raw.counting());
  expect(unheard()).toEqual([]);
  derived.rest(() => true);
  expect([...derived.positions(0, NONE)]).toEqual([]);
  expect(unheard()).toMatchObject([{ source: 9n, raised: 5 }]);
});

test("PROV-6: of a source whose producer is back, who begins to listen is not told where it was when that was cut off", () => {
  const lanes = new GatewayLanes();
  lanes.place({ ...position(7, 0), origin: 9n, after: 4n, through: 4n }, 0, "");
  lanes.leave(1, 1);
  expect([...lanes.positions(0, NONE)]).toMatchObject([{ source: 7n, through: 4n }]);
  expect([...lanes.positions(0, () => new Set([9n]))]).toEqual([]);
});

test("HIST-7: a derived channel lacks what was raised behind a place where neither present output nor kept output goes on there", () => {
  const [raw, derived] = [new GatewayLanes(), new GatewayLanes()];
  const lacks = (through: number) => derived.lacks(new Map([["9 false", through]]), raw);
  expect(lacks(60)).toBe(true);
  // A producer that is there has not said yet where its modulator goes on.
  raw.place(position(9, 100), 0, "");
  expect(lacks(60)).toBe(false);
  // A modulator that has gone made what was raised up to 60, and the present one goes on behind 80.
  derived.place({ ...position(7, 5), origin: 9n, through: 60n }, 0, "");
  derived.leave(1, 1);
  derived.place({ ...position(8, 0, 2), origin: 9n, after: 80n, through: 80n }, 0, "");
  expect([60, 61, 79, 80, 90].map(lacks)).toEqual([false, true, true, false, false]);
  // Output that was made while nobody wanted it was not sent.
  derived.rest(() => true);
  expect(derived.areResting).toBe(true);
  expect([79, 80].map(lacks)).toEqual([true, true]);
});

test("SLOW-1: whoever names a source often is told its last position once, and none that goes on or that it has", () => {
  const lanes = new GatewayLanes();
  for (const [source, raised] of [
    [7, 5],
    [8, 5],
    [9, 5],
  ] as const)
    lanes.place(position(source, raised, source), 3, "");
  lanes.leave(7, 1);
  lanes.leave(8, 1);
  const place = { urgent: false, origin: 0n, through: 0n };
  const behind = { ...place, source: 7n, raised: 2n };
  const places = [behind, behind, { ...place, source: 8n, raised: 5n }, { ...place, source: 9n, raised: 2n }];
  expect([...lanes.endsDropped(places, 3)]).toMatchObject([{ source: 7n, raised: 5n }]);
});

test("DEL-12: a source whose events nobody wanted was as far as output says when its producer leaves", () => {
  const lanes = new GatewayLanes();
  lanes.place(position(9, 5), 0, "");
  const made = { source: 9n, urgent: false, producer: 1, raised: 8 };
  // Its events come themselves.
  lanes.accounted(made, 3, "");
  expect(lanes.raisedOf(9n, false)).toBe(5);
  lanes.rest(() => true);
  // Another subject's source.
  lanes.accounted({ ...made, raised: 10 }, 3, "ana");
  lanes.accounted(made, 3, "");
  // One of which nothing has ever come.
  lanes.accounted({ ...made, urgent: true, raised: 2 }, 3, "");
  expect(lanes.leave(1, 1, true)).toMatchObject([{ raised: 8 }, { urgent: true, raised: 2 }]);
  expect([...lanes.positions(3, NONE)]).toMatchObject([{ raised: 8n }, { raised: 2n }]);
});
