// A consumer with JEcho's client, in a process of its own.
import { connect } from "@jecho/client";
import { inBatches } from "../batches.ts";
import { serve } from "../worker.ts";

let events = 0;

serve({
  async open({ port, channels }: { port: number; channels: readonly string[] }) {
    const session = connect(`127.0.0.1:${port}`);
    await inBatches(channels, channel =>
      session.channel(channel).subscribe(() => {
        events++;
      }),
    );
  },
  /** Events that were handled here so far. */
  count: () => events,
});
