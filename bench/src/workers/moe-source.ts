// A producer whose events pass filters: in its own process, or in the modulator host.
import { connect, type Producer, type Session } from "@jecho/client";
import { RANGE_SOURCE, Record } from "../echo-filters.ts";
import { serve } from "../worker.ts";

export interface Stream {
  readonly channel: string;
  readonly tier: "local" | "compiled" | "hosted";
  readonly eventBytes: number;
  readonly events: number;
}

/** About what the other fields and the table take. */
const REST_BYTES = 28;
/** Raised in one turn. */
const BURST_BYTES = 256 << 10;
/** Bursts that may be under way. */
const BURSTS = 3;

let session: Session | undefined;
const producers = new Map<string, Producer<typeof Record.event>>();

serve({
  /** Holds the concentrators' thread, which ends with its last session: starting it takes longer than a stream. */
  keep(port: number) {
    connect(`127.0.0.1:${port}`, { name: "kept" });
  },
  async open({ port, channels, tier }: { port: number; channels: readonly string[]; tier: Stream["tier"] }) {
    const options = { local: { trusted: [RANGE_SOURCE] }, compiled: {}, hosted: { local: false } };
    session = connect(`127.0.0.1:${port}`, { modulators: options[tier] });
    for (const channel of channels) producers.set(channel, await session.channel(channel, Record).produce());
  },
  /** Answers when the last event is handled. */
  async stream({ channel, eventBytes, events }: Stream) {
    const producer = producers.get(channel) as Producer<typeof Record.event>;
    const filler = new Uint8Array(Math.max(0, eventBytes - REST_BYTES));
    const burst = Math.max(1, Math.floor(BURST_BYTES / eventBytes));
    const under: Promise<unknown>[] = [];
    for (let sent = 0; sent < events; ) {
      const end = Math.min(events, sent + burst);
      for (; sent < end - 1; sent++) producer.publish({ price: sent % 100, time: sent, filler });
      under.push(producer.publishSync({ price: sent % 100, time: sent, filler }, { timeoutMs: 50_000 }));
      sent++;
      if (under.length >= BURSTS) await under.shift();
    }
    await Promise.all(under);
  },
  async close() {
    await session?.close();
    producers.clear();
  },
});
