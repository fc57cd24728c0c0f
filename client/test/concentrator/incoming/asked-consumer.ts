import { NumberTable, type Place } from "@jecho/shared/internal";
import { expect } from "vitest";
import {
  ConsumerEndpoint,
  type Endpoint,
  type PortEnd,
  RAW,
} from "../../../src/concentrator/endpoints/endpoint.ts";
import { EndpointIndex } from "../../../src/concentrator/endpoints/endpoint-index.ts";
import { NEW } from "../../../src/concentrator/endpoints/endpoint-states.ts";
import { Reception } from "../../../src/concentrator/incoming/reception.ts";
import { Routes } from "../../../src/concentrator/incoming/routes.ts";
import type { SynchronousEvents } from "../../../src/concentrator/incoming/synchronous.ts";

const never = () => expect.unreachable();

/** The consumer's place at the gateway, once that has opened it. */
export const at = { number: 2, channelNumber: 3, epoch: 1, change: undefined };

/** A consumer that was asked for, with the bytes of each run, the number of missing events, and the positions in raw sources that its port was told. */
export function askedConsumer(from?: Place) {
  const received: number[] = [];
  const places: number[] = [];
  let missing = 0;
  const port: PortEnd = {
    endpoints: new NumberTable<Endpoint>(),
    listener: {
      receive: (_, frame) => received.push(frame.end - frame.start),
      notify: notice => {
        if (notice.is === "missing") missing += notice.events;
        else if (notice.is === "source") places.push(notice.through);
      },
    },
  };
  const routes = new Routes();
  const reception = new Reception(routes, {} as SynchronousEvents, {
    onNamed: () => {},
    onHandled: never,
  });
  const request = { ...RAW, endpoint: 1, channel: "a", from };
  const consumer = new ConsumerEndpoint(request, port, new EndpointIndex(routes));
  consumer.become({ is: "asked", awaits: { request: 1 }, after: NEW });
  return { routes, reception, consumer, received, places, missed: () => missing };
}
