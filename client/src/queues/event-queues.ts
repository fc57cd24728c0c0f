import type { JechoError } from "@jecho/shared";
import type { Port } from "../places/port.ts";
import { EventQueue, type EventQueueEvents } from "./event-queue.ts";
import type { EventQueueOptions } from "./queue-options.ts";

/** Size of the urgent queue. Urgent events are seldom and small: half of this is the largest event. */
const URGENT_BYTES = 1 << 20;

/** A session's queues of events: one that its producers share, one for urgent events, and those of single producers. */
export class EventQueues {
  readonly #port: Port;
  readonly #options: EventQueueOptions;
  readonly #events: EventQueueEvents;
  readonly #queues = new Map<number, EventQueue>();
  #common: EventQueue | undefined;
  #urgent: EventQueue | undefined;
  #next = 1;

  /** @param options of the common queue */
  constructor(port: Port, options: EventQueueOptions, events: EventQueueEvents) {
    this.#port = port;
    this.#options = options;
    this.#events = events;
  }

  get common(): EventQueue {
    this.#common ??= this.open(this.#options);
    return this.#common;
  }

  /** The queue of urgent events, which go before everything else. */
  get urgent(): EventQueue {
    this.#urgent ??= this.open({ bytes: URGENT_BYTES }, true);
    return this.#urgent;
  }

  /** @throws JechoError `ARGUMENT_INVALID` where the options are none; the port must be settled */
  open(options: EventQueueOptions, urgent = false): EventQueue {
    const queue = new EventQueue(this.#next++, this.#port, options, this.#events, urgent);
    this.#queues.set(queue.number, queue);
    return queue;
  }

  /** Called when there is room in a queue that asked for it. */
  room(queue: number): void {
    this.#queues.get(queue)?.room();
  }

  /** The other side has handed on this many of the bytes that were sent. */
  taken(queue: number, bytes: number): void {
    this.#queues.get(queue)?.taken(bytes);
  }

  /** Hands over the records of all queues. */
  finish(): void {
    for (const queue of this.#queues.values()) queue.finish();
  }

  /** A producer has gone, and with it a queue of its own. @returns whether it had one */
  leave(queue: EventQueue): boolean {
    if (queue === this.#common) return false;
    this.#queues.delete(queue.number);
    return true;
  }

  /** Ends all waiting for room. */
  close(error: JechoError): void {
    for (const queue of this.#queues.values()) queue.close(error);
  }
}
