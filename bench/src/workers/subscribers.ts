// Half of the load generator: some hundred subscribers of each server, which count what they get.
import { connect, type Socket } from "node:net";
import { DeliveryCounter } from "../delivery-counter.ts";
import { DIALECTS, type Kind } from "../dialects.ts";
import { openSubscriber } from "../subscriber.ts";
import { serve } from "../worker.ts";

export interface OpenSubscribers {
  /** Names this crowd in later calls. */
  readonly crowd: string;
  readonly kind: Kind;
  readonly port: number;
  readonly subscribers: number;
  readonly eventBytes: number;
  /** Where its producer hears how far the crowd has come. */
  readonly progressPort: number;
}

const CONNECT_AT_ONCE = 50;

class Crowd {
  events = 0;
  bytes = 0;
  failure: Error | undefined;
  readonly #subscribers: number;
  readonly #progress: Socket;
  #told = 0;
  #telling = false;

  constructor(subscribers: number, progress: Socket) {
    this.#subscribers = subscribers;
    this.#progress = progress;
  }

  /** @param events of one subscriber that have just come */
  add(events: number, bytes: number): void {
    this.events += events;
    this.bytes += bytes;
    if (this.#telling || events === 0) return;
    this.#telling = true;
    setImmediate(() => {
      this.#telling = false;
      const reached = Math.floor(this.events / this.#subscribers);
      if (reached === this.#told) return;
      this.#told = reached;
      const message = Buffer.alloc(8);
      message.writeDoubleLE(reached);
      this.#progress.write(message);
    });
  }
}

const crowds = new Map<string, Crowd>();

async function subscribe(crowd: Crowd, { kind, port, eventBytes }: OpenSubscribers): Promise<void> {
  const raw = await openSubscriber(kind, port);
  const { socket } = raw;
  const counter = new DeliveryCounter(DIALECTS[kind].counting(eventBytes), bytes => socket.write(bytes));
  raw.take = (bytes, from, to) => {
    try {
      crowd.add(counter.take(bytes, from, to), to - from);
    } catch (error) {
      crowd.failure ??= error as Error;
    }
  };
  socket.once("close", () => {
    crowd.failure ??= new Error("a subscriber's connection broke");
  });
}

serve({
  async open(options: OpenSubscribers) {
    const progress = connect({ port: options.progressPort, host: "127.0.0.1", noDelay: true });
    await new Promise((resolve, reject) => progress.once("connect", resolve).once("error", reject));
    const crowd = new Crowd(options.subscribers, progress);
    crowds.set(options.crowd, crowd);
    for (let open = 0; open < options.subscribers; open += CONNECT_AT_ONCE) {
      const some = Math.min(CONNECT_AT_ONCE, options.subscribers - open);
      await Promise.all(Array.from({ length: some }, () => subscribe(crowd, options)));
    }
  },
  count(name: string) {
    const crowd = crowds.get(name) as Crowd;
    if (crowd.failure !== undefined) throw crowd.failure;
    return { events: crowd.events, bytes: crowd.bytes };
  },
});
