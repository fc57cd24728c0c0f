import { EventsFrame, NumberTable, type Stretch } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import {
  type Endpoint,
  type PortEnd,
  ProducerEndpoint,
} from "../../../src/concentrator/endpoints/endpoint.ts";
import { EndpointIndex } from "../../../src/concentrator/endpoints/endpoint-index.ts";
import { NEW } from "../../../src/concentrator/endpoints/endpoint-states.ts";
import { Lanes } from "../../../src/concentrator/outgoing/lane.ts";
import {
  gatherRuns,
  type OutgoingMessage,
  type RunTaker,
} from "../../../src/concentrator/outgoing/outgoing.ts";
import { RaisedEvents } from "../../queues/raised-events.ts";

const ENDPOINT = 7;

function producerAt(elsewhere: number): ProducerEndpoint {
  const request = {
    endpoint: ENDPOINT,
    channel: "a",
    schema: new Uint8Array(0),
    token: 0n,
    offers: undefined,
    context: new Map(),
    history: { events: 0, seconds: 0, latest: false, onDemand: false, durable: false },
    key: "",
  };
  const port: PortEnd = {
    endpoints: new NumberTable<Endpoint>(),
    listener: { notify: () => {}, receive: () => {} },
  };
  const producer = new ProducerEndpoint(request, port, new Lanes(), new EndpointIndex());
  port.endpoints.set(ENDPOINT, producer);
  producer.become({ is: "asked", awaits: { request: 1 }, after: NEW });
  producer.become({ is: "installing", number: 4, channelNumber: 3, after: NEW });
  producer.elsewhere = elsewhere;
  return producer;
}

/** Takes runs that consumers elsewhere want, and nothing else. */
function sending(send: RunTaker["send"], own: Partial<RunTaker> = {}): RunTaker {
  return {
    mostBytes: Number.POSITIVE_INFINITY,
    hasRoom: () => true,
    room: bytes => new Uint8Array(bytes),
    send,
    keep: () => expect.fail("somebody elsewhere wants it"),
    refuse: () => expect.fail("nothing was too large"),
    skip: () => expect.fail("nothing was dropped"),
    ...own,
  };
}

test("CHAN-7: the counts of a run's events follow one another; where events are missing, a new run begins", () => {
  const producer = producerAt(1);
  const waiting = new RaisedEvents(1024);
  for (const raised of [1, 2, 3, 6, 7, 9]) waiting.raise(ENDPOINT, raised, new Uint8Array(8).fill(raised));
  waiting.drain(records => {
    const messages: OutgoingMessage[] = [];
    gatherRuns(
      records,
      { port: producer.port, isUrgent: false },
      sending(message => messages.push(message)),
    );
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

test.each([0, 1])(
  "each run is its own events and no others, of whatever runs were gathered before (%i elsewhere)",
  elsewhere => {
    const producer = producerAt(elsewhere);
    const waiting = new RaisedEvents(1 << 14);
    const raised: number[] = [];
    const gathered: number[] = [];
    let next = 1;
    // Long runs, then short ones after gaps, then none but single ones, then long ones again.
    for (const runs of [[100], [3, 50, 1], [1, 1, 1, 1, 1, 1, 1, 1], [200], [40, 40]]) {
      for (const events of runs) {
        next += 10;
        for (let i = 0; i < events; i++, next++) {
          waiting.raise(ENDPOINT, next, new Uint8Array(Uint32Array.of(next).buffer));
          raised.push(next);
        }
      }
      const counts: number[] = [];
      const read = ({ bytes, bounds, first, end }: Stretch): void => {
        const view = new DataView(bytes.buffer, bytes.byteOffset);
        for (let i = first; i < end; i++) gathered.push(view.getUint32(bounds[2 * i] as number, true));
        counts.push(end - first);
      };
      waiting.drain(records => {
        gatherRuns(
          records,
          { port: producer.port, isUrgent: false },
          {
            mostBytes: Number.POSITIVE_INFINITY,
            hasRoom: () => true,
            room: bytes => new Uint8Array(bytes),
            send: ({ bytes, view, runs }) => {
              for (const { start } of runs) read(EventsFrame.at(bytes, start, view).stretch());
            },
            keep: read,
            refuse: () => expect.fail("nothing was too large"),
            skip: () => expect.fail("nothing was dropped"),
          },
        );
        return records.length;
      });
      expect(counts).toEqual(runs);
    }
    expect(gathered).toEqual(raised);
  },
);

test("whatever was in the memory of a message, nothing of that is in it", () => {
  const messages: Uint8Array[] = [];
  for (const rest of [0, 0xaa]) {
    const producer = producerAt(1);
    const waiting = new RaisedEvents(1 << 14);
    // Of all lengths, of which many need to be filled up; urgent ones apart.
    for (let raised = 1; raised <= 90; raised++)
      waiting.raise(ENDPOINT, raised % 7 === 0 ? raised + 1 : raised, new Uint8Array(raised).fill(raised));
    waiting.drain(records => {
      gatherRuns(
        records,
        { port: producer.port, isUrgent: false },
        sending(({ bytes }) => messages.push(bytes), { room: bytes => new Uint8Array(bytes).fill(rest) }),
      );
      return records.length;
    });
  }
  expect(messages).toHaveLength(2);
  expect(messages[1]).toEqual(messages[0]);
});

test("a message that leaves no room for another one is the last, and what was not taken waits in the ring", () => {
  const producer = producerAt(1);
  const waiting = new RaisedEvents(1 << 22);
  for (let raised = 1; raised <= 10; raised++) waiting.raise(ENDPOINT, raised, new Uint8Array(100_000));
  const messages: OutgoingMessage[] = [];
  const take = (hasRoom: boolean): void =>
    waiting.drain(records =>
      gatherRuns(
        records,
        { port: producer.port, isUrgent: false },
        sending(message => messages.push(message), { hasRoom: () => hasRoom }),
      ),
    );
  const counts = (): number[][] =>
    messages.splice(0).map(({ runs }) => runs.map(({ raised, end }) => raised + end - 1));
  take(false);
  expect(counts()).toEqual([[3]]);
  take(true);
  expect(counts()).toEqual([[6], [9], [10]]);
});
