import { EventsFrame, encodeRun, type Position } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { AWAY } from "../../../src/concentrator/endpoints/endpoint-states.ts";
import { EndedSources } from "../../../src/concentrator/incoming/ended-sources.ts";
import type { TrackedSource } from "../../../src/concentrator/incoming/tracked-source.ts";
import { Coverage, Lanes } from "../../../src/concentrator/outgoing/lane.ts";
import { askedConsumer, at } from "./asked-consumer.ts";

/** The gateway's word that nothing is made of a source, of which so many were raised. */
function endAt({ id }: TrackedSource, raised: number): Position {
  const counts = { raised: BigInt(raised), after: BigInt(raised), through: BigInt(raised) };
  const names = { channel: 3, producer: 5, urgent: false, source: id, origin: id, process: 0, by: "" };
  return { kind: "Position", ...names, ...counts, agoMs: 0 };
}

test.each([
  ["all of them, none is missing", 10, 0],
  ["some of them, the others are", 7, 3],
])(
  "PROV-5: of a source that has ended, modulators here finish what they have first: where that is %s",
  async (_, through, missing) => {
    const finished = Promise.withResolvers<void>();
    const { routes, reception, consumer, received, missed } = askedConsumer();
    const ended = new EndedSources(routes, reception, () => finished.promise);
    consumer.become({ is: "live", ...at });
    const [raw, lane] = [new Lanes().usual.source, new Lanes().usual];
    expect(ended.takes(endAt(raw, 0))).toBe(false);
    reception.position(endAt(raw, 0), false);
    expect(ended.takes(endAt(raw, 10))).toBe(true);
    const coverage = new Coverage(raw, 0);
    lane.coverage = coverage;
    coverage.seen(0, through);
    const header = { channel: 3, producer: 1, raised: 1, token: 0n, parameters: 0, flags: 0 };
    const event = { bytes: new Uint8Array(8), start: 0, end: 8 };
    const run = EventsFrame.at(encodeRun(header, [event]));
    coverage.accountIn(run, true);
    reception.raised(run, lane);
    expect(missed()).toBe(0);
    finished.resolve();
    await finished.promise;
    expect(missed()).toBe(missing);
    expect(received).toHaveLength(1);
  },
);

test.each(["before", "after"])(
  "PROV-5: a consumer whose connection breaks while modulators here still finish is told, too: it is back %s that",
  async when => {
    const finished = Promise.withResolvers<void>();
    const { routes, reception, consumer, missed } = askedConsumer();
    const ended = new EndedSources(routes, reception, () => finished.promise);
    consumer.become({ is: "live", ...at });
    const raw = new Lanes().usual.source;
    reception.position(endAt(raw, 0), false);
    expect(ended.takes(endAt(raw, 10))).toBe(true);
    consumer.become(AWAY);
    const comesBack = (): void => {
      consumer.become({ is: "asked", awaits: { request: 2 }, after: AWAY });
      consumer.become({ is: "live", ...at, number: 4, channelNumber: 5 });
      consumer.waiting.hand();
    };
    if (when === "before") comesBack();
    expect(missed()).toBe(0);
    finished.resolve();
    await finished.promise;
    if (when === "after") comesBack();
    expect(missed()).toBe(10);
  },
);
