// Events round robin over many subjects of nats-server, by its own client for Node: a producer's process or a consumer's.
import { connect, type NatsConnection } from "@nats-io/transport-node";
import type { Published } from "../window.ts";
import { serve } from "../worker.ts";
import type { RoundRobin } from "./publisher.ts";

export interface OpenSubjects {
  readonly port: number;
  readonly subjects: readonly string[];
}

/** Events that the client may hold before the server has taken them. */
const EVENTS_PER_FLUSH = 4096;

let connection: NatsConnection;
let names: readonly string[] = [];
/** Events that came in, and what resolves when so many have. */
let heard = 0;
let waiting: { readonly events: number; resolve(): void } | undefined;

async function open({ port, subjects }: OpenSubjects): Promise<void> {
  connection = await connect({ servers: `127.0.0.1:${port}` });
  names = subjects;
}

serve({
  open,
  /** Subscribes to each subject; answers when the server knows all of them. */
  async subscribe(options: OpenSubjects) {
    await open(options);
    const callback = (error: Error | null): void => {
      if (error) throw error;
      heard++;
      if (heard === waiting?.events) waiting.resolve();
    };
    for (const subject of names) connection.subscribe(subject, { callback });
    await connection.flush();
  },
  /** Answers when so many events have come since the last call. */
  async heard(events: number) {
    if (heard < events)
      await new Promise<void>(resolve => {
        waiting = { events, resolve };
      });
    waiting = undefined;
    heard -= events;
  },
  /** As fast as the server takes them. */
  async publish({ channels, eventBytes, events }: RoundRobin): Promise<Published> {
    const event = new Uint8Array(eventBytes);
    const start = performance.now();
    for (let i = 0; i < events; i++) {
      connection.publish(names[i % channels] as string, event);
      if (i % EVENTS_PER_FLUSH === 0) await connection.flush();
    }
    await connection.flush();
    return { events, usPerEvent: (1000 * (performance.now() - start)) / events };
  },
});
