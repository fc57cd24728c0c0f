// A part of the load generator: some hundred subscribers of each server, which count what they get.
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
  /** How many come; to those that are already there, where the crowd is not new. */
  readonly subscribers: number;
  readonly eventBytes: number;
  /** Port at which its producer hears how far the crowd has come. */
  readonly progressPort: number;
}

const CONNECT_AT_ONCE = 50;

class Crowd {
  events = 0;
  bytes = 0;
  failure: Error | undefined;
  #subscribers = 0;
  readonly #progress: Socket;
  #told = 0;
  #telling = false;
  /** How far all were, and what had come, when the crowd last grew. */
  #reachedBefore = 0;
  #eventsBefore = 0;

  constructor(progress: Socket) {
    this.#progress = progress;
  }

  /** While nothing is under way. */
  grow(subscribers: number): void {
    this.#reachedBefore = this.#told;
    this.#eventsBefore = this.events;
    this.#subscribers += subscribers;
  }

  /** @param events of one subscriber that have just come */
  add(events: number, bytes: number): void {
    this.events += events;
    this.bytes += bytes;
    if (this.#telling || events === 0) return;
    this.#telling = true;
    setImmediate(() => {
      this.#telling = false;
      const since = Math.floor((this.events - this.#eventsBefore) / this.#subscribers);
      const reached = this.#reachedBefore + since;
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

async function newCrowd(progressPort: number): Promise<Crowd> {
  const progress = connect({ port: progressPort, host: "127.0.0.1", noDelay: true });
  await new Promise((resolve, reject) => progress.once("connect", resolve).once("error", reject));
  return new Crowd(progress);
}

serve({
  async open(options: OpenSubscribers) {
    const crowd = crowds.get(options.crowd) ?? (await newCrowd(options.progressPort));
    crowds.set(options.crowd, crowd);
    crowd.grow(options.subscribers);
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
