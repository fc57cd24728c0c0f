// Many of one kind: strangers' filters of one channel, consumers, producers or channels. A process that produces, and another one that consumes.
import { setTimeout as delay } from "node:timers/promises";
import { connect, type EagerHandler, type Producer, type Session } from "@jecho/client";
import { inBatches } from "../batches.ts";
import { filterOf, Tick, tickOf } from "../keys-and-ranges.ts";
import { serve } from "../worker.ts";

export type GrowingTier = "known" | "compiled" | "hosted";

export interface Produce {
  readonly port: number;
  readonly channels: readonly string[];
  /** Producers of each. */
  readonly each: number;
  readonly tier: GrowingTier;
}

export interface Consume {
  readonly port: number;
  readonly channels: readonly string[];
  readonly count: number;
  /** Each has a filter of its own, or a connection of its own; or there is one of each channel. */
  readonly by: "filters" | "connections" | "channels";
}

export interface Stream {
  /** Default: all that were opened. */
  readonly channel?: string;
  readonly perSecond: number;
  readonly ms: number;
  /** Filters that the events are for. */
  readonly filters: number;
}

const TICK_MS = 5;
const AT_ONCE = 64;

let session: Session | undefined;
const producers: { readonly channel: string; readonly producer: Producer<typeof Tick.event> }[] = [];
let consuming: Session | undefined;

serve({
  async produce({ port, channels, each, tier }: Produce): Promise<void> {
    const known = { trusted: [filterOf(0).source, filterOf(1).source] };
    const modulators = { known, compiled: {}, hosted: { local: false } }[tier];
    session ??= connect(`127.0.0.1:${port}`, { modulators: { most: 100_000, ...modulators } });
    for (const channel of channels)
      for (let i = 0; i < each; i++)
        producers.push({ channel, producer: await session.channel(channel, Tick).produce() });
  },
  /** @returns the milliseconds that it took */
  async consume({ port, channels, count, by }: Consume): Promise<number> {
    const start = performance.now();
    consuming ??= connect(`127.0.0.1:${port}`);
    const ofAll = consuming;
    const open = async (i: number): Promise<void> => {
      const isApart = by === "connections";
      const own = isApart ? connect(`127.0.0.1:${port}`, { name: `${i}`, place: "here" }) : ofAll;
      const channel = own.channel((by === "channels" ? channels[i] : channels[0]) as string, Tick);
      const handler: EagerHandler = by === "filters" ? { modulator: filterOf(i) } : {};
      await channel.subscribe(() => {}, handler);
    };
    await inBatches(
      Array.from({ length: count }, (_, i) => i),
      open,
      AT_ONCE,
    );
    return performance.now() - start;
  },
  /** Bytes of this process, all of its threads'. */
  memory(): number {
    globalThis.gc?.();
    return process.memoryUsage.rss();
  },
  /** Publishes for a while, by all producers in turn. @returns the number of events */
  async stream({ channel, perSecond, ms, filters }: Stream): Promise<number> {
    const some = producers.filter(one => channel === undefined || one.channel === channel);
    const start = performance.now();
    let sent = 0;
    for (let now = 0; now < ms; now = performance.now() - start) {
      for (const due = (perSecond * now) / 1000; sent < due; sent++)
        some[sent % some.length]?.producer.publish(tickOf(sent, filters));
      await delay(TICK_MS);
    }
    return sent;
  },
});
