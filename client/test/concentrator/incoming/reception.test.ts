import { EventsFrame, encodeRun, FROM } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { Lanes } from "../../../src/concentrator/outgoing/lane.ts";
import { askedConsumer, at } from "./asked-consumer.ts";

const MEBIBYTE = 1 << 20;

test("HIST-2: what is raised here while a consumer is sent the past waits within a bound, however unequal the runs are", () => {
  const { reception, consumer, received, missed } = askedConsumer();
  consumer.become({ is: "replaying", replay: 4, comesBack: false, ...at });
  const lane = new Lanes().usual;
  consumer.tracker.place(lane.source, 0);
  const sizes = [...Array(100).fill(1000), ...Array(80).fill(MEBIBYTE)];
  for (const [i, size] of sizes.entries()) {
    const header = { channel: 3, producer: 1, raised: i + 1, token: 0n, parameters: 0, flags: 0 };
    const event = { bytes: new Uint8Array(size), start: 0, end: size };
    reception.raised(EventsFrame.at(encodeRun(header, [event])), lane);
  }
  consumer.become({ is: "live", ...at });
  consumer.waiting.hand();
  expect(received.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(64 * MEBIBYTE);
  expect(received).toHaveLength(63);
  expect(missed()).toBe(sizes.length - 63);
});

test("DEL-4: what found no room while a consumer was sent the past is told also where its source raises nothing more", () => {
  const { reception, consumer, received, missed } = askedConsumer();
  consumer.become({ is: "replaying", replay: 4, comesBack: false, ...at });
  const lanes = [new Lanes().usual, new Lanes().usual];
  for (const [i, lane] of lanes.entries()) {
    consumer.tracker.place(lane.source, 0);
    for (let raised = 1; raised <= 40; raised++) {
      const header = { channel: 3, producer: 1 + i, raised, token: 0n, parameters: 0, flags: 0 };
      const event = { bytes: new Uint8Array(MEBIBYTE), start: 0, end: MEBIBYTE };
      reception.raised(EventsFrame.at(encodeRun(header, [event])), lane);
    }
  }
  consumer.become({ is: "live", ...at });
  consumer.waiting.hand();
  expect(received.length).toBeGreaterThan(0);
  expect(missed()).toBeGreaterThan(0);
  expect(received.length + missed()).toBe(80);
});

const position = {
  kind: "Position",
  channel: 3,
  producer: 7,
  urgent: false,
  process: 5,
  by: "",
  agoMs: 0,
} as const;

test("PROV-5: the gateway's word that a source goes on moves no consumer's place beyond what was made for it", () => {
  const { reception, consumer, places, missed } = askedConsumer();
  consumer.become({ is: "live", ...at });
  const goesOn = (through: bigint): void =>
    reception.position({ ...position, source: 9n, origin: 9n, raised: 0n, after: through, through }, false);
  goesOn(10n);
  reception.position({ ...position, source: 8n, origin: 9n, raised: 0n, after: 10n, through: 12n }, false);
  // The consumer is back, and the output of these events is still to come: who goes on at its place is to have it.
  goesOn(20n);
  expect(places).toEqual([10, 12, 12]);
  expect(missed()).toBe(0);
});

test("PROV-5: that word does not tell who asked for the past that it has had what is still to be made of it", () => {
  const { reception, consumer, places, missed } = askedConsumer({
    from: FROM.seq,
    epoch: 0,
    seq: 1n,
    at: 0,
    speed: 0,
  });
  consumer.become({ is: "live", ...at });
  const known = { ...position, origin: 9n, raised: 0n };
  reception.position({ ...known, source: 9n, raised: 3n, after: 3n, through: 3n }, false);
  expect(places).toEqual([]);
  reception.position({ ...known, source: 8n, after: 0n, through: 2n }, false);
  expect(places).toEqual([2]);
  expect(missed()).toBe(0);
});
