import { EventsFrame, encodeRun, NumberTable } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import {
  ConsumerEndpoint,
  type Endpoint,
  type PortEnd,
} from "../../../src/concentrator/endpoints/endpoint.ts";
import { EndpointIndex } from "../../../src/concentrator/endpoints/endpoint-index.ts";
import { NEW } from "../../../src/concentrator/endpoints/endpoint-states.ts";
import { Reception } from "../../../src/concentrator/incoming/reception.ts";
import { Routes } from "../../../src/concentrator/incoming/routes.ts";
import type { SynchronousEvents } from "../../../src/concentrator/incoming/synchronous.ts";
import { Lanes } from "../../../src/concentrator/outgoing/lane.ts";

const MEBIBYTE = 1 << 20;
const never = () => expect.unreachable();

test("HIST-2: what is raised here while a consumer is sent the past waits within a bound, however unequal the runs are", () => {
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
  const at = { number: 2, channelNumber: 3, epoch: 1, change: undefined };
  consumer.become({ is: "replaying", replay: 4, comesBack: false, ...at });
  const lane = new Lanes().usual;
  consumer.tracker.place(lane.source, 0);
  const sizes = [...Array(100).fill(1000), ...Array(40).fill(MEBIBYTE)];
  for (const [i, size] of sizes.entries()) {
    const header = { channel: 3, producer: 1, raised: i + 1, token: 0n, parameters: 0, flags: 0 };
    const event = { bytes: new Uint8Array(size), start: 0, end: size };
    reception.raised(EventsFrame.at(encodeRun(header, [event])), lane);
  }
  consumer.become({ is: "live", ...at });
  consumer.handWaiting();
  expect(received.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(16 * MEBIBYTE);
  expect(received).toHaveLength(15);
  expect(missing).toBe(sizes.length - 15);
});
