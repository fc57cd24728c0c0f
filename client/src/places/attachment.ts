import { NumberTable } from "@jecho/shared/internal";
import type { ConsumerEndpoint, Endpoint, PortEnd } from "../concentrator/endpoints/endpoint.ts";
import type { TakeRecords } from "../concentrator/outgoing/outgoing.ts";
import { QueueReader } from "../queues/queue-reader.ts";
import type { Hub } from "./hub.ts";
import type { PlacePort, PortListener, PortRequest } from "./port.ts";

interface Queue {
  readonly reader: QueueReader;
  readonly batchDelayMs: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

const SILENT: PortListener = { notify: () => {}, receive: () => {} };

/** One port's place at a hub. */
export class Attachment implements PortEnd, PlacePort {
  readonly endpoints = new NumberTable<Endpoint>();
  listener: PortListener;
  readonly #hub: Hub;
  readonly #queues = new Map<number, Queue>();
  /** Readers of the queues, those of urgent events first. */
  #readers: readonly QueueReader[] = [];
  readonly #leavingQueues = new Set<number>();
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

  /** Sends everything that the concentrator sends on account of these requests in one message. */
  together(handle: () => void): void {
    this.#hub.together(handle);
  }

  post(request: PortRequest): void {
    this.#act(request);
    this.#handled++;
    // Events may have come over shared memory before what they follow.
    if (this.#isHeld) this.#hub.drainSoon();
  }

  #act(request: PortRequest): void {
    switch (request.is) {
      case "openQueue": {
        const { queue, memory, drops, batchDelayMs, urgent } = request;
        const reader = new QueueReader(
          this,
          { memory, drops, urgent },
          {
            hasHandled: requests => {
              const is = ((this.#handled - requests) | 0) >= 0;
              if (!is) this.#isHeld = true;
              return is;
            },
            room: () => this.listener.notify({ is: "room", queue }),
            taken: bytes => this.listener.notify({ is: "recordsTaken", queue, bytes }),
          },
        );
        this.#queues.set(queue, { reader, batchDelayMs, timer: undefined });
        this.#sortReaders();
        this.#hub.drainSoon();
        return;
      }
      case "wake":
        this.#wake(request.queue, request.now);
        return;
      case "records":
        this.#queues.get(request.queue)?.reader.put(request.bytes);
        this.#wake(request.queue, false);
        return;
      case "closeQueue":
        this.#leavingQueues.add(request.queue);
        this.#hub.drainSoon();
        return;
      case "close":
        void this.close();
        return;
      default:
        this.#hub.handle(request, this);
    }
  }

  /** For the place: stops reading the connection, or begins again. @returns false where that cannot be had */
  pause(isPaused: boolean): boolean {
    return this.#hub.pause(this, isPaused);
  }

  /** For the place: the application's thread does not take these consumers' events. */
  stall(numbers: Iterable<number>): void {
    this.#stall(Array.from(numbers, number => this.endpoints.get(number)));
  }

  /** For the place: the application's thread takes nothing at all, or takes events again. */
  freeze(isFrozen: boolean): void {
    if (isFrozen) this.#stall(Array.from(this.endpoints, ([, endpoint]) => endpoint));
    else this.resume();
  }

  #stall(endpoints: readonly (Endpoint | undefined)[]): void {
    this.#hub.stall(
      endpoints.filter(it => it?.is === "consumer").filter(({ isStalled }) => !isStalled),
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
    for (const { timer } of this.#queues.values()) clearTimeout(timer);
    return this.#hub.detach(this);
  }

  /** For the hub: the session is over, and nobody hears of its producers whose last events are still to go out. */
  silence(): void {
    this.listener = SILENT;
  }

  get isEmpty(): boolean {
    for (const reader of this.#readers) if (!reader.isEmpty) return false;
    return true;
  }

  #sortReaders(): void {
    const readers = [...this.#queues.values()].map(({ reader }) => reader);
    this.#readers = [...readers.filter(isUrgent), ...readers.filter(reader => !isUrgent(reader))];
  }

  /** For the hub: drains the port's queues. @returns false where there is more by now */
  drain(take: TakeRecords): boolean {
    let rests = true;
    this.#isHeld = false;
    for (const reader of this.#readers) {
      // What the concentrator leaves there it asks for itself.
      if (reader.drain(take) && !reader.sleep()) rests = false;
    }
    if (this.isEmpty) this.#tidy();
    return rests;
  }

  /** Queues that have gone are forgotten only when no event of theirs is left. */
  #tidy(): void {
    if (this.#leavingQueues.size === 0) return;
    for (const number of this.#leavingQueues) {
      clearTimeout(this.#queues.get(number)?.timer);
      this.#queues.delete(number);
    }
    this.#sortReaders();
    this.#leavingQueues.clear();
  }

  #wake(number: number, now: boolean): void {
    const queue = this.#queues.get(number);
    if (queue === undefined) return;
    if (now || queue.batchDelayMs === 0) {
      this.#hub.drainSoon();
      return;
    }
    queue.timer ??= setTimeout(() => {
      queue.timer = undefined;
      this.#hub.drain();
    }, queue.batchDelayMs);
  }

  /** For the place: ends one of this port's endpoints. */
  closeEndpoint(endpoint: number): void {
    this.#hub.handle({ is: "closeEndpoint", endpoint }, this);
  }
}

function isUrgent({ isUrgent }: QueueReader): boolean {
  return isUrgent;
}
