import { NumberTable } from "@jecho/shared/internal";
import type { PortListener, PortRequest } from "../port.ts";
import type { Visit } from "../ring.ts";
import type { Hub } from "./hub.ts";
import { QueueReader } from "./queue-reader.ts";

interface Queue {
  readonly reader: QueueReader;
  readonly batchDelayMs: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** One port's place at a hub. */
export class Attachment {
  readonly listener: PortListener;
  readonly #hub: Hub;
  readonly #queues = new Map<number, Queue>();
  /** Those of urgent events first. */
  #readers: readonly QueueReader[] = [];
  /** The concentrator's numbers of this port's endpoints by its own. */
  readonly #endpoints = new NumberTable<number>();
  readonly #leavingEndpoints = new Set<number>();
  readonly #leavingQueues = new Set<number>();
  /** Consumers whose events its thread does not take. */
  readonly #stalled = new Set<number>();
  #handled = 0;
  /** Is there an event that waits for a request which was posted before it? */
  #isHeld = false;

  /** Made by `Hub.attach`. */
  constructor(hub: Hub, listener: PortListener) {
    this.#hub = hub;
    this.listener = listener;
  }

  /** What the concentrator sends on account of these requests goes out in one message. */
  together(handle: () => void): void {
    this.#hub.together(handle);
  }

  handle(request: PortRequest): void {
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
          { memory, drops, urgent },
          {
            hasHandled: requests => {
              const is = ((this.#handled - requests) | 0) >= 0;
              if (!is) this.#isHeld = true;
              return is;
            },
            endpointOf: endpoint => this.#endpoints.get(endpoint) ?? 0,
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
      case "openProducer":
      case "openConsumer":
      case "openObject": {
        const endpoint = this.#hub.own(this, request.endpoint);
        this.#endpoints.set(request.endpoint, endpoint);
        this.#hub.handle({ ...request, endpoint });
        return;
      }
      case "closeEndpoint":
        this.closeEndpoint(request.endpoint);
        return;
      case "ask":
        this.#hub.handle({ ...request, question: this.#hub.ask(this, request.question) });
        return;
      case "flush":
        this.#hub.handle({ ...request, flush: this.#hub.ask(this, request.flush) });
        return;
      case "close":
        void this.detach();
        return;
      case "handled": {
        const { channel, producer, raised, outcome } = request;
        const endpoint = this.#endpoints.get(request.endpoint);
        if (endpoint !== undefined)
          this.#hub.handle({ is: "handled", endpoint, channel, producer, raised, outcome });
        return;
      }
      default:
        if (!("endpoint" in request)) this.#hub.handle(request);
        else {
          const endpoint = this.#endpoints.get(request.endpoint);
          if (endpoint !== undefined) this.#hub.handle({ ...request, endpoint });
        }
    }
  }

  /** For the place: nothing more is read for now, or again. @returns false where that cannot be had */
  pause(isPaused: boolean): boolean {
    return this.#hub.pause(this, isPaused);
  }

  /** For the place: the application's thread does not take these consumers' events. */
  stall(numbers: Iterable<number>): void {
    const endpoints: number[] = [];
    for (const number of numbers) {
      const endpoint = this.#endpoints.get(number);
      if (endpoint === undefined || this.#stalled.has(number)) continue;
      this.#stalled.add(number);
      endpoints.push(endpoint);
    }
    this.#setStalled(endpoints, true);
  }

  /** For the place: the application's thread takes nothing at all, or takes events again. */
  freeze(isFrozen: boolean): void {
    if (isFrozen) this.stall(Array.from(this.#endpoints, ([number]) => number));
    else this.resume();
  }

  /** For the place: it takes them again. */
  resume(): void {
    const endpoints = Array.from(this.#stalled, number => this.#endpoints.get(number));
    this.#stalled.clear();
    this.#setStalled(
      endpoints.filter(endpoint => endpoint !== undefined),
      false,
    );
  }

  #setStalled(endpoints: readonly number[], stalled: boolean): void {
    this.together(() => this.#hub.handle({ is: "stall", endpoints, stalled }));
  }

  /** Ends all of this port: its endpoints leave their channels. Resolves when what it raised has been taken, or after 30 s. */
  detach(): Promise<void> {
    for (const [number] of [...this.#endpoints]) this.closeEndpoint(number);
    for (const { timer } of this.#queues.values()) clearTimeout(timer);
    return this.#hub.detach(this);
  }

  /** The concentrator's numbers of this port's endpoints. */
  get endpoints(): number[] {
    return Array.from(this.#endpoints, ([, endpoint]) => endpoint);
  }

  get isEmpty(): boolean {
    for (const reader of this.#readers) if (!reader.isEmpty) return false;
    return true;
  }

  #sortReaders(): void {
    const readers = [...this.#queues.values()].map(({ reader }) => reader);
    this.#readers = [...readers.filter(isUrgent), ...readers.filter(reader => !isUrgent(reader))];
  }

  /** For the hub. @returns false where there is more by now */
  drain(visit: Visit): boolean {
    let rests = true;
    this.#isHeld = false;
    for (const reader of this.#readers) {
      // What the concentrator leaves there it asks for itself.
      if (reader.drain(visit) && !reader.sleep()) rests = false;
    }
    if (this.isEmpty) this.#tidy();
    return rests;
  }

  /** What has gone is forgotten only when no event of it is left. */
  #tidy(): void {
    if (this.#leavingEndpoints.size + this.#leavingQueues.size === 0) return;
    for (const number of this.#leavingEndpoints) this.#endpoints.delete(number);
    this.#leavingEndpoints.clear();
    for (const number of this.#leavingQueues) {
      clearTimeout(this.#queues.get(number)?.timer);
      this.#queues.delete(number);
    }
    if (this.#leavingQueues.size > 0) this.#sortReaders();
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

  /** For the place, too: ends one of this port's endpoints. */
  closeEndpoint(number: number): void {
    const endpoint = this.#endpoints.get(number);
    if (endpoint === undefined) return;
    this.#stalled.delete(number);
    this.#hub.handle({ is: "closeEndpoint", endpoint });
    this.#hub.disown(endpoint);
    this.#leavingEndpoints.add(number);
    if (this.isEmpty) this.#tidy();
  }
}

function isUrgent({ isUrgent }: QueueReader): boolean {
  return isUrgent;
}
