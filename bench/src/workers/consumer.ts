// A consumer with JEcho's client, in a process of its own.
import { connect } from "@jecho/client";
import { inBatches } from "../batches.ts";
import { serve } from "../worker.ts";

export interface OpenConsumers {
  readonly port: number;
  readonly channels: readonly string[];
  readonly place?: "here";
}

let events = 0;

serve({
  /** @param place where the connection is; more than one may be opened */
  async open({ port, channels, place }: OpenConsumers) {
    const session = connect(`127.0.0.1:${port}`, place === undefined ? {} : { place });
    await inBatches(channels, channel =>
      session.channel(channel).subscribe(
        () => {
          events++;
        },
        // Nothing is lost: who raises more than is handled here is to wait.
        { queue: { whenFull: "block" } },
      ),
    );
  },
  /** Events that were handled here so far. */
  count: () => events,
});
