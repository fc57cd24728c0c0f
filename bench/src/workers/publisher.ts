// A producer with JEcho's client, timed on its own clock.
import { connect, type Producer } from "@jecho/client";
import { inBatches } from "../batches.ts";
import { publishAcknowledged, publishFlatOut, publishInTurn } from "../window.ts";
import { serve } from "../worker.ts";

export interface Publish {
  readonly channel: string;
  readonly eventBytes: number;
  readonly ms: number;
}

export interface PublishFlatOut {
  readonly channel: string;
  readonly eventBytes: number;
  readonly events: number;
}

export interface RoundRobin {
  /** The first so many of the channels that were opened. */
  readonly channels: number;
  readonly eventBytes: number;
  readonly events: number;
}

export interface AcknowledgedRoundRobin {
  /** As above. */
  readonly channels: number;
  readonly eventBytes: number;
  readonly ms: number;
}

const producers = new Map<string, Producer<Uint8Array>>();

serve({
  async open({ port, channels }: { port: number; channels: readonly string[] }) {
    const session = connect(`127.0.0.1:${port}`);
    const opened = await inBatches(channels, channel => session.channel(channel).produce());
    for (const [i, channel] of channels.entries()) producers.set(channel, opened[i] as Producer<Uint8Array>);
  },
  /** Answers when the gateway has told of so many consumers of a channel. */
  async demand({ channel, consumers }: { channel: string; consumers: number }) {
    const producer = producers.get(channel) as Producer<Uint8Array>;
    while (producer.demand.total !== consumers)
      await new Promise<void>(resolve => {
        const stop = producer.onDemand(() => {
          stop();
          resolve();
        });
      });
  },
  /** One event after the other, each handled by every consumer. */
  sync: ({ channel, eventBytes, ms }: Publish) =>
    publishInTurn(producers.get(channel) as Producer<Uint8Array>, new Uint8Array(eventBytes), ms),
  /** As fast as the library takes them, until the last is handled by every consumer. */
  async({ channel, eventBytes, events }: PublishFlatOut) {
    const producer = producers.get(channel) as Producer<Uint8Array>;
    const event = new Uint8Array(eventBytes);
    return publishFlatOut(() => producer, event, event, events);
  },
  /** As fast as acknowledgements allow, one of every 1,024 events. */
  acknowledged({ channel, eventBytes, ms }: Publish) {
    const producer = producers.get(channel) as Producer<Uint8Array>;
    const event = new Uint8Array(eventBytes);
    return publishAcknowledged(() => producer, event, event, ms);
  },
  /** The same two, each event to the next of some channels. */
  async roundRobin({ channels, eventBytes, events }: RoundRobin) {
    const event = new Uint8Array(eventBytes);
    return publishFlatOut(inTurn(channels), event, event, events);
  },
  acknowledgedRoundRobin({ channels, eventBytes, ms }: AcknowledgedRoundRobin) {
    const event = new Uint8Array(eventBytes);
    return publishAcknowledged(inTurn(channels), event, event, ms);
  },
});

/** Gives the next of the first so many producers each time. */
function inTurn(channels: number): () => Producer<Uint8Array> {
  const some = [...producers.values()].slice(0, channels);
  let at = 0;
  return () => {
    at = at + 1 < some.length ? at + 1 : 0;
    return some[at] as Producer<Uint8Array>;
  };
}
