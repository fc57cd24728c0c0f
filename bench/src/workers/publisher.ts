// A producer with JEcho's client, timed on its own clock.
import { connect, type Producer } from "@jecho/client";
import { serve } from "../worker.ts";

export interface Publish {
  readonly channel: string;
  readonly eventBytes: number;
  readonly ms: number;
}

export interface Published {
  readonly events: number;
  readonly usPerEvent: number;
}

/** Asynchronous events between two synchronous ones, which keep the producer from running ahead. */
const BURST = 1023;
/** Bursts that may be under way. */
const BURSTS = 3;

const producers = new Map<string, Producer<Uint8Array>>();

function published(events: number, start: number): Published {
  return { events, usPerEvent: (1000 * (performance.now() - start)) / events };
}

serve({
  async open({ port, channels }: { port: number; channels: readonly string[] }) {
    const session = connect(`127.0.0.1:${port}`);
    for (const channel of channels) producers.set(channel, await session.channel(channel).produce());
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
  async sync({ channel, eventBytes, ms }: Publish): Promise<Published> {
    const producer = producers.get(channel) as Producer<Uint8Array>;
    const event = new Uint8Array(eventBytes);
    const start = performance.now();
    let events = 0;
    while (performance.now() - start < ms) {
      await producer.publishSync(event);
      events++;
    }
    return published(events, start);
  },
  /** As fast as they go, until the last is handled by every consumer. */
  async async({ channel, eventBytes, ms }: Publish): Promise<Published> {
    const producer = producers.get(channel) as Producer<Uint8Array>;
    const event = new Uint8Array(eventBytes);
    const start = performance.now();
    let events = 0;
    const under: Promise<unknown>[] = [];
    while (performance.now() - start < ms) {
      for (let i = 0; i < BURST; i++) producer.publish(event);
      under.push(producer.publishSync(event));
      events += BURST + 1;
      if (under.length >= BURSTS) await under.shift();
    }
    await Promise.all(under);
    return published(events, start);
  },
});
