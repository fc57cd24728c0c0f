import { EventsFrame, encodeRun } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { TrackedSource } from "../../../src/concentrator/incoming/tracked-source.ts";
import { Coverage } from "../../../src/concentrator/outgoing/lane.ts";

const RAW = new TrackedSource(9n, false);

function run(): EventsFrame {
  const event = { bytes: new Uint8Array(8), start: 0, end: 8 };
  const header = {
    channel: 1,
    producer: 1,
    raised: 1,
    token: 0n,
    parameters: 0,
    flags: 0,
    after: 0,
    through: 0,
  };
  return EventsFrame.at(encodeRun(header, [event]));
}

test("PROV-4: the modulators behind one are passed each stretch once, so that what they lack of it shows", () => {
  const coverage = new Coverage(RAW, 10);
  coverage.seen(10, 15);
  expect(coverage.passOn()).toMatchObject({ after: 10, through: 15 });
  coverage.seen(15, 20);
  const made = run();
  coverage.accountIn(made, true);
  // A run accounts for what was passed before it, too.
  expect([made.after, made.through]).toEqual([10, 20]);
  coverage.seen(20, 25);
  expect(coverage.passOn()).toMatchObject({ after: 20, through: 25 });
  expect(coverage.passOn()).toMatchObject({ after: 25, through: 25 });
  // Others are told the whole stretch: they find a missing run by its count.
  expect([coverage.start, coverage.through]).toEqual([10, 25]);
});

test("PROV-2: what a modulator has missed itself is passed to none behind it", () => {
  const coverage = new Coverage(RAW, 0);
  coverage.seen(0, 5);
  coverage.passOn();
  coverage.seen(8, 9);
  expect(coverage.passOn()).toMatchObject({ after: 8, through: 9 });
});
