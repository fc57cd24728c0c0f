import type { PortEnd } from "../concentrator/endpoints/endpoint.ts";
import type { TakeRecords } from "../concentrator/outgoing/outgoing.ts";
import type { QueueRequest } from "../places/port.ts";
import { QueueReader } from "./queue-reader.ts";

interface Queue {
  readonly reader: QueueReader;
  readonly batchDelayMs: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

export interface QueueReadersEvents {
  /** Whether so many of the session's requests have been handled. */
  hasHandled(requests: number): boolean;
  /** There may be something to be taken: at the end of the turn, or now. */
  drainSoon(): void;
  drain(): void;
}

/** The concentrator's ends of a session's queues of events. A page loads them with its first producer. */
export class QueueReaders {
  readonly #port: PortEnd;
  readonly #events: QueueReadersEvents;
  readonly #queues = new Map<number, Queue>();
  /** Readers of the queues, those of urgent events first. */
  #readers: readonly QueueReader[] = [];
  readonly #leaving = new Set<number>();

  constructor(port: PortEnd, events: QueueReadersEvents) {
    this.#port = port;
    this.#events = events;
  }

  act(request: QueueRequest): void {
    const { queue } = request;
    switch (request.is) {
      case "openQueue":
        this.#open(request);
        return this.#events.drainSoon();
      case "wake":
        return this.#wake(queue, request.now);
      case "records":
        this.#queues.get(queue)?.reader.put(request.bytes);
        return this.#wake(queue, false);
      case "closeQueue":
        this.#leaving.add(queue);
        return this.#events.drainSoon();
    }
  }

  get isEmpty(): boolean {
    for (const reader of this.#readers) if (!reader.isEmpty) return false;
    return true;
  }

  /** @returns false where there is more by now */
  drain(take: TakeRecords): boolean {
    let rests = true;
    let left: QueueReader | undefined;
    for (const reader of this.#readers) {
      // What the concentrator leaves there it asks for itself.
      if (!reader.drain(take)) left ??= reader;
      else if (!reader.sleep()) rests = false;
    }
    // Whoever had all the room is last the next time.
    if (left !== undefined) this.#sort([...this.#readers.filter(reader => reader !== left), left]);
    if (this.isEmpty) this.#tidy();
    return rests;
  }

  /** Nothing is waited for any longer. */
  stop(): void {
    for (const { timer } of this.#queues.values()) clearTimeout(timer);
  }

  #open({ queue, memory, drops, batchDelayMs, urgent }: Extract<QueueRequest, { is: "openQueue" }>): void {
    const port = this.#port;
    const reader = new QueueReader(
      port,
      { memory, drops, urgent },
      {
        hasHandled: this.#events.hasHandled,
        room: () => port.listener.notify({ is: "room", queue }),
        taken: bytes => port.listener.notify({ is: "recordsTaken", queue, bytes }),
      },
    );
    this.#queues.set(queue, { reader, batchDelayMs, timer: undefined });
    this.#sort();
  }

  #sort(readers = Array.from(this.#queues.values(), ({ reader }) => reader)): void {
    this.#readers = readers.sort((a, b) => Number(b.isUrgent) - Number(a.isUrgent));
  }

  /** Queues that have gone are forgotten only when no event of theirs is left. */
  #tidy(): void {
    if (this.#leaving.size === 0) return;
    for (const number of this.#leaving) {
      clearTimeout(this.#queues.get(number)?.timer);
      this.#queues.delete(number);
    }
    this.#sort();
    this.#leaving.clear();
  }

  #wake(number: number, now: boolean): void {
    const queue = this.#queues.get(number);
    if (queue === undefined) return;
    if (now || queue.batchDelayMs === 0) return this.#events.drainSoon();
    queue.timer ??= setTimeout(() => {
      queue.timer = undefined;
      this.#events.drain();
    }, queue.batchDelayMs);
  }
}
