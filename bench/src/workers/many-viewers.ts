// Many strangers' filters of one channel, over a gateway: a producer in one such process, its viewers in another.
import { setTimeout as delay } from "node:timers/promises";
import { connect, type EagerHandler, type Producer, type Session } from "@jecho/client";
import { filterOf, Tick, tickOf } from "../keys-and-ranges.ts";
import { serve } from "../worker.ts";

const EVENTS_PER_SECOND = 5000;
const TICK_MS = 5;
const AT_ONCE = 64;

const sessions = new Map<number, Session>();
const producers = new Map<string, Producer<typeof Tick.event>>();

function sessionAt(port: number): Session {
  const session = sessions.get(port) ?? connect(`127.0.0.1:${port}`, { modulators: { most: 100_000 } });
  sessions.set(port, session);
  return session;
}

serve({
  async produce({ port, channel }: { port: number; channel: string }): Promise<void> {
    producers.set(channel, await sessionAt(port).channel(channel, Tick).produce());
  },
  /** Opens so many filters. @returns the time that it took, in milliseconds */
  async view({
    port,
    channel,
    filters,
  }: {
    port: number;
    channel: string;
    filters: number;
  }): Promise<number> {
    const start = performance.now();
    const viewed = sessionAt(port).channel(channel, Tick);
    for (let first = 0; first < filters; first += AT_ONCE)
      await Promise.all(
        Array.from({ length: Math.min(AT_ONCE, filters - first) }, (_, i) =>
          viewed.subscribe(() => {}, { modulator: filterOf(first + i) } as EagerHandler),
        ),
      );
    return performance.now() - start;
  },
  /** Bytes of this process, all of its threads'. */
  memory(): number {
    globalThis.gc?.();
    return process.memoryUsage.rss();
  },
  /** Publishes for a while, of `filters` filters at two. @returns the number of events */
  async stream({ channel, filters, ms }: { channel: string; filters: number; ms: number }): Promise<number> {
    const producer = producers.get(channel) as Producer<typeof Tick.event>;
    const start = performance.now();
    let sent = 0;
    for (let now = 0; now < ms; now = performance.now() - start) {
      for (const due = (EVENTS_PER_SECOND * now) / 1000; sent < due; sent++)
        producer.publish(tickOf(sent, filters));
      await delay(TICK_MS);
    }
    return sent;
  },
});
