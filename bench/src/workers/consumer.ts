// A consumer with JEcho's client, in a process of its own.
import { connect } from "@jecho/client";
import { inBatches } from "../batches.ts";
import { serve } from "../worker.ts";

export interface OpenConsumers {
  readonly port: number;
  readonly channels: readonly string[];
  readonly place?: "here";
}

serve({
  /** @param place where the connection is; more than one may be opened */
  async open({ port, channels, place }: OpenConsumers) {
    const session = connect(`127.0.0.1:${port}`, place === undefined ? {} : { place });
    await inBatches(channels, channel =>
      // Nothing is lost: who raises more than is handled here is to wait.
      session.channel(channel).subscribe(() => {}, { queue: { whenFull: "block" } }),
    );
  },
});
