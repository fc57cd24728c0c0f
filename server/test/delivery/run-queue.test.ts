import { EventsFrame, FLAG_URGENT } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RunQueue, type WhenFull } from "../../src/delivery/run-queue.ts";
import { WaitingBytes, WaitingTotal } from "../../src/delivery/waiting.ts";
import { encodedRun } from "../raw-client.ts";

const KEYS = 3;

/** A run of one event of 1 KiB. */
function run(raised: number, flags = 0): EventsFrame {
  return EventsFrame.at(encodedRun({ channel: 1, producer: 1, raised, flags }, new Uint8Array(1024)));
}

function queue(whenFull: WhenFull, limitBytes: number): RunQueue {
  return new RunQueue(
    whenFull,
    limitBytes,
    new WaitingBytes(
      64 << 20,
      new WaitingTotal(64 << 20),
      () => {},
      () => {},
    ),
  );
}

function left(of: RunQueue): number[] {
  const raised: number[] = [];
  for (let bytes = of.shift(); bytes !== undefined; bytes = of.shift())
    raised.push(EventsFrame.at(new Uint8Array(bytes)).raised);
  return raised;
}

test.each(["block", "disconnect"] as const)(
  "SLOW-1: with the policy %s nothing is dropped for an urgent event either",
  whenFull => {
    const full = queue(whenFull, 4096);
    for (let n = 1; n <= 10; n++) expect(full.push(run(n), String)).toEqual([]);
    expect(full.push(run(11, FLAG_URGENT), String)).toEqual([]);
    expect(full.takeDropped()).toBe(0);
    expect(left(full)).toEqual([11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  },
);

test("SLOW-1: where nothing is taken out for long, the newest event of each key stays, in their order", () => {
  const waiting = queue("latest", 1 << 20);
  const once = 5;
  const keyOf = ({ raised }: EventsFrame): string => (raised === once ? "once" : String(raised % KEYS));
  for (let n = 1; n <= 10_000; n++) waiting.push(run(n), keyOf);
  expect(waiting.takeDropped()).toBe(10_000 - KEYS - 1);
  expect(left(waiting)).toEqual([once, 9998, 9999, 10_000]);
  expect(waiting.isEmpty).toBe(true);
});

test("SLOW-1: where nothing is taken out for long, the oldest go and the newest stay", () => {
  const waiting = queue("drop-oldest", 8192);
  for (let n = 1; n <= 10_000; n++) waiting.push(run(n), String);
  const stay = left(waiting);
  expect(stay).toEqual(Array.from(stay, (_, i) => 10_001 - stay.length + i));
  expect(stay.length + waiting.takeDropped()).toBe(10_000);
});

test.each(["drop-oldest", "latest"] as const)(
  "SLOW-1: with the policy %s urgent events count towards the bound, and go when all others but the newest have gone",
  whenFull => {
    const waiting = queue(whenFull, 8192);
    for (let n = 1; n <= 4; n++) waiting.push(run(n), ({ raised }) => String(raised));
    for (let n = 1; n <= 1000; n++) waiting.push(run(100 + n, FLAG_URGENT), String);
    const stay = left(waiting);
    expect(stay.at(-1)).toBe(4);
    const urgent = stay.slice(0, -1);
    expect(urgent).toEqual(Array.from(urgent, (_, i) => 1101 - urgent.length + i));
    expect(stay.length).toBeLessThanOrEqual(8);
    expect(stay.length + waiting.takeDropped()).toBe(1004);
    expect(waiting.isEmpty).toBe(true);
  },
);

test("SLOW-1: of urgent events and of others the newest stays whatever its size", () => {
  const waiting = queue("drop-oldest", 512);
  for (let n = 1; n <= 3; n++) {
    waiting.push(run(n), String);
    waiting.push(run(100 + n, FLAG_URGENT), String);
  }
  expect(left(waiting)).toEqual([103, 3]);
  expect(waiting.takeDropped()).toBe(4);
});

test("SLOW-1, PROV-1: a run of which the stretch's first events were dropped accounts for its own only", () => {
  const waiting = queue("latest", 1 << 20);
  const bytes = new Uint8Array(8);
  const output = (raised: number, count: number, after: number, through: number): EventsFrame => {
    const header = { channel: 1, producer: 1, raised };
    const made = EventsFrame.at(encodedRun(header, ...Array(count).fill(bytes)));
    made.account(after, through, false);
    return made;
  };
  waiting.push(output(21, 10, 20, 30), () => "");
  waiting.push(output(31, 10, 30, 50), () => "");
  const first = EventsFrame.at(new Uint8Array(waiting.shift() as Uint8Array));
  expect([first.raised, first.after, first.through]).toEqual([40, 49, 50]);
  waiting.push(output(41, 1, 50, 60), () => "");
  const next = EventsFrame.at(new Uint8Array(waiting.shift() as Uint8Array));
  expect([next.raised, next.after, next.through]).toEqual([41, 50, 60]);
});
