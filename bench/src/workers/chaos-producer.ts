// A producer that raises events without a pause, in each of the ways there are, until it is killed or told to stop.
import { connect, type JechoError, type Producer } from "@jecho/client";
import { CHANNEL, ChaosEvent } from "../chaos/event.ts";
import { serve } from "../worker.ts";

const BATCH = 20;

let running = true;
let confirmed = 0;
let ended: Promise<void> = Promise.resolve();

async function raise(
  producer: Producer<typeof ChaosEvent.event>,
  id: number,
  life: number,
  flush: () => Promise<void>,
) {
  let n = 0;
  while (running) {
    for (let i = 0; i < BATCH; i++) {
      try {
        producer.publish({ producer: id, life, n });
        n++;
      } catch (error) {
        // The queue is full while there is no connection: the same event again, later.
        if ((error as JechoError).code !== "QUEUE_FULL") throw error;
        break;
      }
    }
    // A synchronous one in their midst; where the connection breaks it fails and still counts.
    const raised = producer.stats.events;
    await producer.publishSync({ producer: id, life, n }, { timeoutMs: 500 }).catch(() => {});
    if (producer.stats.events > raised) n++;
    const upTo = n;
    void flush().then(
      () => {
        confirmed = Math.max(confirmed, upTo);
      },
      () => {},
    );
    await new Promise(resolve => setTimeout(resolve, 2));
  }
  await flush();
  confirmed = n;
}

serve({
  async start({ port, id, life }: { port: number; id: number; life: number }) {
    const session = connect(`127.0.0.1:${port}`, { backoff: { firstMs: 20, mostMs: 200 } });
    const producer = await session.channel(CHANNEL, ChaosEvent).produce({ history: { events: 200_000 } });
    ended = raise(producer, id, life, () => session.flush());
  },
  confirmed: () => confirmed,
  async stop() {
    running = false;
    await ended;
    return confirmed;
  },
});
