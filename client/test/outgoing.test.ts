import { EventsFrame } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import type { ProducerEntry } from "../src/concentrator/entry.ts";
import { Lanes } from "../src/concentrator/lane.ts";
import { gatherRuns, type OutgoingMessage } from "../src/concentrator/outgoing.ts";
import { Ring } from "../src/ring.ts";

test("CHAN-7: the counts of a run's events follow one another; where events are missing, a new run begins", () => {
  const lanes = new Lanes();
  const producer: ProducerEntry = {
    is: "producer",
    endpoint: 7,
    channel: "a",
    schema: new Uint8Array(0),
    token: 0n,
    offers: undefined,
    context: new Map(),
    channelNumber: 3,
    number: 4,
    history: { events: 0, seconds: 0, latest: false, onDemand: false },
    key: "",
    lanes,
    usual: lanes.usual,
    elsewhere: 1,
    open: true,
    wasOpen: true,
  };
  const ring = Ring.ofBytes(1024);
  for (const raised of [1, 2, 3, 6, 7, 9]) {
    const at = ring.reserve(8);
    ring.bytes.fill(raised, at, at + 8);
    ring.commit(7, raised, at + 8);
  }
  ring.drain(records => {
    const messages: OutgoingMessage[] = [];
    gatherRuns(records, () => producer, {
      send: message => messages.push(message),
      keep: () => expect.fail("somebody elsewhere wants it"),
    });
    const runs = messages.map(({ bytes, view, runs }) =>
      runs.map(({ start }) => {
        const { raised, count } = EventsFrame.at(bytes, start, view);
        return [raised, count];
      }),
    );
    expect(runs).toEqual([
      [
        [1, 3],
        [6, 2],
        [9, 1],
      ],
    ]);
    return records.length;
  });
  expect(producer.lanes.usual.raised).toBe(9);
});
