// Well-behaved consumers of a producer that raises some events a second, and how long these take.
import { connect, type Producer, type Session } from "@jecho/client";
import { serve } from "../worker.ts";

const CHANNEL = "neighbours/ticks";

export interface OpenNeighbours {
  readonly port: number;
  readonly consumers: number;
  readonly token?: string | undefined;
}

export interface Latencies {
  readonly events: number;
  /** Events that a consumer was not given. */
  readonly missing: number;
  readonly p99Ms: number;
}

const sessions: Session[] = [];
let producer: Producer<Uint8Array>;
let consumers = 0;
let raised = 0;
let latencies: number[] = [];

serve({
  async open({ port, consumers: count, token }: OpenNeighbours) {
    // A name of its own gives each a connection of its own.
    const session = (name: string): Session => {
      const one = connect(`127.0.0.1:${port}`, {
        name,
        place: "here",
        ...(token !== undefined && { token }),
      });
      sessions.push(one);
      return one;
    };
    consumers = count;
    for (let i = 0; i < count; i++)
      await session(`consumer ${i}`)
        .channel(CHANNEL)
        .subscribe(event => latencies.push(performance.now() - new Float64Array(event.slice().buffer)[0]!));
    producer = await session("producer").channel(CHANNEL).produce();
  },
  /** Raises so many events, one each `everyMs`, and tells how long they took to all consumers. */
  async tick({ events, everyMs }: { events: number; everyMs: number }): Promise<Latencies> {
    latencies = [];
    raised = 0;
    await new Promise<void>(resolve => {
      const timer = setInterval(() => {
        producer.publish(new Uint8Array(new Float64Array([performance.now()]).buffer));
        if (++raised < events) return;
        clearInterval(timer);
        resolve();
      }, everyMs);
    });
    await producer.publishSync(new Uint8Array(new Float64Array([performance.now()]).buffer));
    const expected = (events + 1) * consumers;
    const sorted = Float64Array.from(latencies).sort();
    return {
      events,
      missing: expected - sorted.length,
      p99Ms: sorted[Math.floor(0.99 * sorted.length)] ?? 0,
    };
  },
  /** Raises events as fast as all consumers take them, for so long. @returns how many */
  async rush(ms: number): Promise<number> {
    let events = 0;
    for (const until = performance.now() + ms; performance.now() < until; ) {
      for (let i = 1; i < 500; i++) producer.publish(new Uint8Array(128));
      await producer.publishSync(new Uint8Array(128));
      events += 500;
    }
    latencies = [];
    return events;
  },
});
