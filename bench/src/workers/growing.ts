// Many of one kind: filters of one channel, consumers, producers or channels. A process that produces, and another one that consumes.
import { setTimeout as delay } from "node:timers/promises";
import { connect, type EagerHandler, type Producer, type Session } from "@jecho/client";
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
  /** The first one's number, and how many more there are to be. */
  readonly first: number;
  readonly count: number;
  /** Each has a filter of its own, or a connection of its own; or there is one of each channel. */
  readonly by: "filters" | "connections" | "channels";
}

export interface Stream {
  readonly perSecond: number;
  readonly ms: number;
  /** Filters that the events are for. */
  readonly filters: number;
}

const TICK_MS = 5;
const AT_ONCE = 64;

let session: Session | undefined;
const producers: Producer<typeof Tick.event>[] = [];
let consuming: Session | undefined;

serve({
  async produce({ port, channels, each, tier }: Produce): Promise<void> {
    const known = { trusted: [filterOf(0).source, filterOf(1).source] };
    const modulators = { known, compiled: {}, hosted: { local: false } }[tier];
    session ??= connect(`127.0.0.1:${port}`, { modulators: { most: 100_000, ...modulators } });
    for (const name of channels)
      for (let i = 0; i < each; i++) producers.push(await session.channel(name, Tick).produce());
  },
  /** @returns the milliseconds that it took */
  async consume({ port, channels, first, count, by }: Consume): Promise<number> {
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
    for (let at = first; at < first + count; at += AT_ONCE)
      await Promise.all(
        Array.from({ length: Math.min(AT_ONCE, first + count - at) }, (_, i) => open(at + i)),
      );
    return performance.now() - start;
  },
  /** Publishes for a while, by all producers in turn. @returns the number of events */
  async stream({ perSecond, ms, filters }: Stream): Promise<number> {
    const start = performance.now();
    let sent = 0;
    for (let now = 0; now < ms; now = performance.now() - start) {
      for (const due = (perSecond * now) / 1000; sent < due; sent++)
        producers[sent % producers.length]?.publish(tickOf(sent, filters));
      await delay(TICK_MS);
    }
    return sent;
  },
});
