import { EventsFrame, encodeRun, NumberTable, type Position } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import {
  ConsumerEndpoint,
  type Endpoint,
  type PortEnd,
} from "../../../src/concentrator/endpoints/endpoint.ts";
import { EndpointIndex } from "../../../src/concentrator/endpoints/endpoint-index.ts";
import { NEW } from "../../../src/concentrator/endpoints/endpoint-states.ts";
import { EndedSources } from "../../../src/concentrator/incoming/ended-sources.ts";
import { Reception } from "../../../src/concentrator/incoming/reception.ts";
import { Routes } from "../../../src/concentrator/incoming/routes.ts";
import type { SynchronousEvents } from "../../../src/concentrator/incoming/synchronous.ts";
import type { TrackedSource } from "../../../src/concentrator/incoming/tracking.ts";
import { Coverage, Lanes } from "../../../src/concentrator/outgoing/lane.ts";

const never = () => expect.unreachable();

const at = { number: 2, channelNumber: 3, epoch: 1, change: undefined };

/** A consumer that was asked for, and what it gets. @param finished when modulators here have been through what they have */
function asked(finished?: Promise<void>) {
  const received: number[] = [];
  let missing = 0;
  const port: PortEnd = {
    endpoints: new NumberTable<Endpoint>(),
    listener: {
      receive: (_, frame) => received.push(frame.end - frame.start),
      notify: notice => {
        if (notice.is === "missing") missing += notice.events;
      },
    },
  };
  const routes = new Routes();
  const reception = new Reception(routes, {} as SynchronousEvents, {
    onTaken: never,
    onDropped: never,
    onPlaced: never,
    onNamed: () => {},
    onHandled: never,
  });
  const request = {
    endpoint: 1,
    channel: "a",
    schema: new Uint8Array(0),
    modulator: undefined,
    queue: { whenFull: 0, limitBytes: 0 },
    label: "",
    as: "",
    from: undefined,
  };
  const consumer = new ConsumerEndpoint(request, port, new EndpointIndex(routes));
  consumer.become({ is: "asked", awaits: { request: 1 }, after: NEW });
  return {
    reception,
    consumer,
    received,
    missed: () => missing,
    ended: new EndedSources(routes, reception, () => finished),
  };
}

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
    const { reception, consumer, received, missed, ended } = asked(finished.promise);
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
