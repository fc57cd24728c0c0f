import { NumberTable } from "@jecho/shared/internal";
import type { ConsumerEndpoint, Endpoint, PortEnd } from "../concentrator/endpoints/endpoint.ts";
import type { TakeRecords } from "../concentrator/outgoing/outgoing.ts";
import type { QueueReaders } from "../queues/queue-readers.ts";
import type { Hub } from "./hub.ts";
import type { PlacePort, PortListener, PortRequest, QueueRequest } from "./port.ts";

const SILENT: PortListener = { notify: () => {}, receive: () => {} };

/** One port's place at a hub. */
export class Attachment implements PortEnd, PlacePort {
  readonly endpoints = new NumberTable<Endpoint>();
  listener: PortListener;
  readonly #hub: Hub;
  /** The reader of the port's queues; undefined until it is loaded, for which requests about queues wait. */
  #queues: QueueReaders | undefined;
  #waiting: QueueRequest[] = [];
  #handled = 0;
  /** Whether there is an event that waits for a request which was posted before it. */
  #isHeld = false;

  /** Made by `Hub.attach`. */
  constructor(hub: Hub, listener: PortListener) {
    this.#hub = hub;
    this.listener = listener;
  }

  memory(bytes: number): ArrayBuffer {
    return new ArrayBuffer(bytes);
  }

  drainHere(): void {
    this.#hub.drain();
  }

  /** Has everything that these requests cause sent in one message. */
  together(handle: () => void): void {
    this.#hub.concentrator.together(handle);
  }

  post(request: PortRequest): void {
    this.#act(request);
    this.#handled++;
    // Events may have come over shared memory before the requests that they follow.
    if (this.#isHeld) this.#hub.drainSoon();
  }

  #act(request: PortRequest): void {
    switch (request.is) {
      case "openQueue":
      case "wake":
      case "records":
      case "closeQueue": {
        const queues = this.#openQueues();
        if (queues === undefined) this.#waiting.push(request);
        else queues.act(request);
        return;
      }
      case "close":
        void this.close();
        return;
      default:
        this.#hub.concentrator.handle(request, this);
    }
  }

  #openQueues(): QueueReaders | undefined {
    if (this.#queues !== undefined) return this.#queues;
    this.#queues = this.#hub.concentrator.queuesOf(this, {
      hasHandled: requests => {
        const is = ((this.#handled - requests) | 0) >= 0;
        if (!is) this.#isHeld = true;
        return is;
      },
      drainSoon: () => this.#hub.drainSoon(),
      drain: () => this.#hub.drain(),
    });
    if (this.#queues === undefined) return undefined;
    for (const request of this.#waiting) this.#queues.act(request);
    this.#waiting = [];
    return this.#queues;
  }

  /** For the place: stops reading the connection, or begins again. @returns false where that cannot be had */
  pause(isPaused: boolean): boolean {
    return this.#hub.pause(this, isPaused);
  }

  /** For the place: the application's thread does not take these consumers' events; by default nothing at all. */
  stall(numbers: Iterable<number> = Array.from(this.endpoints, ([number]) => number)): void {
    const consumers = Array.from(numbers, number => this.endpoints.get(number)).filter(
      it => it?.is === "consumer",
    );
    this.#hub.stall(
      consumers.filter(({ isStalled }) => !isStalled),
      true,
    );
  }

  /** For the place: the application's thread takes events again. */
  resume(): void {
    const consumers: ConsumerEndpoint[] = [];
    for (const [, endpoint] of this.endpoints)
      if (endpoint.is === "consumer" && endpoint.isStalled) consumers.push(endpoint);
    this.#hub.stall(consumers, false);
  }

  /** Ends all of this port: its endpoints leave their channels. Resolves when what it raised has been taken, or after 30 s. */
  close(): Promise<void> {
    this.#queues?.stop();
    return this.#hub.detach(this);
  }

  /** For the hub: the session is over, and nobody hears of its producers whose last events are still to go out. */
  silence(): void {
    this.listener = SILENT;
  }

  get isEmpty(): boolean {
    return this.#queues?.isEmpty ?? this.#waiting.length === 0;
  }

  /** For the hub: drains the port's queues. @returns false where there is more by now */
  drain(take: TakeRecords): boolean {
    this.#isHeld = false;
    return this.#openQueues()?.drain(take) ?? true;
  }

  /** For the place: ends one of this port's endpoints. */
  closeEndpoint(endpoint: number): void {
    this.#hub.concentrator.handle({ is: "closeEndpoint", endpoint }, this);
  }
}
