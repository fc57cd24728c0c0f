// Consumers that have a connection each.
import { connect, type Session } from "@jecho/client";
import { Record, rangeFilter } from "../echo-filters.ts";
import { serve } from "../worker.ts";

const REJECTED = { plain: undefined, none: 0, all: 100 } as const;

const sessions: Session[] = [];
let sum = 0;

serve({
  /** Holds the concentrators' thread, which ends with its last session: starting it takes longer than a stream. */
  keep(port: number) {
    connect(`127.0.0.1:${port}`, { name: "kept" });
  },
  async open(options: { port: number; channel: string; consumers: number; scenario: keyof typeof REJECTED }) {
    const { port, channel, consumers, scenario } = options;
    const rejected = REJECTED[scenario];
    for (let i = 0; i < consumers; i++) {
      const session = connect(`127.0.0.1:${port}`, { name: `consumer ${i}` });
      sessions.push(session);
      await session.channel(channel, Record).subscribe(
        ({ price }) => {
          sum += price;
        },
        rejected === undefined ? {} : rangeFilter(rejected),
      );
    }
  },
  async close() {
    await Promise.all(sessions.splice(0).map(session => session.close()));
    return sum;
  },
});
