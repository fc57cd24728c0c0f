// A piece of wire that counts: stands between a client and the gateway, passes bytes on, and knows how many.
import { connect, createServer } from "node:net";
import { listening } from "../listening.ts";
import { serve } from "../worker.ts";

let bytes = 0;

serve({
  /** Answers with the port that leads to the gateway's. */
  open(port: number) {
    const server = createServer({ noDelay: true }, near => {
      const far = connect({ port, host: "127.0.0.1", noDelay: true });
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        from.on("data", chunk => {
          bytes += chunk.byteLength;
        });
        from.on("error", () => to.destroy());
        // Holds back the side that sends, where the other one does not keep up.
        from.pipe(to);
      }
    });
    return listening(server);
  },
  /** Both ways, so far. */
  count: () => bytes,
});
