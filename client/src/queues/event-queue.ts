import { JechoError, type Type } from "@jecho/shared";
import { encodeInto, measure } from "@jecho/shared/internal";
import type { Port } from "../places/port.ts";
import { checkQueueOptions, DEFAULT_BYTES, type EventQueueOptions } from "./queue-options.ts";
import { POSITION_BYTES, Ring } from "./ring.ts";
import { Waiters } from "./waiters.ts";

/** Counts what an endpoint raises. */
export class Count {
  /** Count of the newest event; 0 before the first. */
  newest = 0;

  next(): number {
    return ++this.newest;
  }
}

/** An event on its way into a queue. */
export interface RaisedEvent<T> {
  readonly endpoint: number;
  /** Counts the event once it has been raised. */
  readonly count: Count;
  readonly type: Type<T> | undefined;
  readonly event: T;
  readonly sync: boolean;
}

export interface EventQueueEvents {
  /** An event was dropped to make room for a newer one. */
  onDropped(endpoint: number, raised: number): void;
}

/** Where no memory is shared: bytes of records that cross together, and most bytes on their way. */
const CHUNK_BYTES = 256 << 10;
const WINDOW_BYTES = 2 << 20;

/**
 * Whether an event is being read. That may run the application's code, which must not raise another event meanwhile, in any queue: whether two
 * producers share one is not theirs to know.
 */
let isReading = false;

/** The application's end of a queue of events: encodes each straight into a ring, and wakes the concentrator. */
export class EventQueue {
  readonly number: number;
  readonly #port: Port;
  readonly #ring: Ring;
  readonly #whenFull: EventQueueOptions["whenFull"];
  readonly #batchDelayMs: number;
  readonly #events: EventQueueEvents;
  /** Whether the other side reads this very ring. */
  readonly #isShared: boolean;
  /** Callers that wait for room: for an event, or to raise more. */
  readonly #waiters = new Waiters(() => this.#ring.wantRoom());
  readonly #pausing = new Waiters(() => this.#ring.wantRoom());
  /** Counts of the producers, by their endpoints, where events may be dropped. */
  readonly #counts: Map<number, Count> | undefined;
  /** Whether there will never be room again. */
  #isClosed = false;
  /** Bytes that were sent where no memory is shared, and not taken yet. */
  #underWayBytes = 0;
  #willSend = false;
  /** In a batch: whether the reader is to be woken at its end, and then at once. */
  #batch: { wakes: boolean; now: boolean } | undefined;

  /** @throws JechoError `ARGUMENT_INVALID` where the options are none; the port must be settled */
  constructor(
    number: number,
    port: Port,
    options: EventQueueOptions,
    events: EventQueueEvents,
    urgent = false,
  ) {
    checkQueueOptions(options);
    const { bytes = DEFAULT_BYTES, whenFull = "error", batchDelayMs = 0 } = options;
    this.number = number;
    this.#port = port;
    this.#whenFull = whenFull;
    this.#batchDelayMs = batchDelayMs;
    this.#events = events;
    const memory = port.memory(Ring.memoryBytes(bytes));
    this.#isShared = memory !== undefined;
    this.#ring = memory === undefined ? Ring.ofBytes(bytes) : new Ring(memory);
    // The reader begins asleep: the first record wakes it.
    this.#ring.sleep();
    const drops = whenFull === "drop-oldest";
    this.#counts = drops ? new Map() : undefined;
    port.post({ is: "openQueue", queue: number, memory, drops, batchDelayMs, urgent });
  }

  /**
   * Takes an event, or refuses it where there is no room.
   *
   * @returns the bytes that it was encoded to
   * @throws JechoError `QUEUE_FULL`, `EVENT_INVALID`
   */
  raise<T>({ endpoint, count, type, event, sync }: RaisedEvent<T>): number {
    const ring = this.#ring;
    if (isReading) throw new JechoError("EVENT_INVALID", "it was raised while another event was read");
    const bytes = bytesOf(type, event);
    if (bytes > ring.limitBytes) {
      throw new JechoError(
        "EVENT_INVALID",
        `an event of up to ${bytes} bytes; a queue takes one of half its size, ${ring.limitBytes} (queue: { bytes })`,
      );
    }
    // Callers that wait for room go first.
    if (this.#waiters.areBefore) throw queueFull();
    let at = ring.reserve(bytes);
    if (at < 0) at = this.#reserveFull(bytes);
    const end = write(type, event, ring, at, at + bytes);
    this.#counts?.set(endpoint, count);
    const sleeps = ring.commit(endpoint, count.next(), end, sync, this.#port.posted);
    if (sleeps || this.#batch?.wakes || (this.#batchDelayMs > 0 && (sync || this.#ring.isHalfFull))) {
      this.#wake(sync || this.#ring.isHalfFull);
    }
    return end - at;
  }

  /** Does `work`, and wakes the reader only when that has returned, or the queue is half full. */
  batch<R>(work: () => R): R {
    if (this.#batch !== undefined) return work();
    const batch = { wakes: false, now: false };
    this.#batch = batch;
    try {
      return work();
    } finally {
      this.#batch = undefined;
      if (batch.wakes) this.#wake(batch.now);
    }
  }

  /**
   * Calls `raise`, unless it would have to wait.
   *
   * @returns its result, or undefined where it has to wait: see `whenReady`
   * @throws whatever `raise` throws
   */
  ifReady<R>(raise: () => R): R | undefined {
    if (!this.#waiters.isEmpty) return undefined;
    try {
      return raise();
    } catch (error) {
      if (this.#hasToWait(error)) return undefined;
      throw error;
    }
  }

  /**
   * Calls `raise` as soon as there is room where the policy is to block. Callers that wait go in the order in which they asked.
   *
   * @param endpoint who waits
   * @throws whatever `raise` throws, the signal's reason, or what the queue was closed with, or its endpoint
   */
  whenReady<R>(endpoint: number, raise: () => R, signal?: AbortSignal): Promise<R> {
    const attempt = (): { readonly done: R } | undefined => {
      try {
        return { done: raise() };
      } catch (error) {
        if (this.#hasToWait(error)) return undefined;
        throw error;
      }
    };
    return this.#waiters.wait(endpoint, attempt, signal);
  }

  /** Whether there is ample room: half of the queue is free, and nobody waits. */
  get isReady(): boolean {
    return this.#waiters.isEmpty && !this.#ring.isHalfFull;
  }

  /**
   * Resolves when the queue is ready.
   *
   * @param endpoint who waits
   * @throws the signal's reason, or what the queue was closed with, or its endpoint
   */
  ready(endpoint: number, signal?: AbortSignal): Promise<void> {
    const attempt = (): { readonly done: undefined } | undefined =>
      this.isReady ? { done: undefined } : undefined;
    return this.#pausing.wait(endpoint, attempt, signal);
  }

  /** Events of a producer that wait here, in this process' memory. */
  countOf(endpoint: number): number {
    let count = 0;
    for (const record of this.#ring.waiting())
      if (record.endpoint === endpoint && !record.isPosition) count++;
    return count;
  }

  /** Called when there is room again. */
  room(): void {
    this.#waiters.admit();
    this.#pausing.admit();
  }

  /** The other side has handed on this many of the bytes that were sent. */
  taken(bytes: number): void {
    this.#underWayBytes -= bytes;
    this.#send();
  }

  /** Hands over all records whatever the window, so that nothing later overtakes them. */
  finish(): void {
    if (!this.#isShared) this.#send(Number.POSITIVE_INFINITY);
  }

  /** Ends this endpoint's waiting for room. */
  leave(endpoint: number, error: JechoError): void {
    this.#waiters.leave(error, endpoint);
    this.#pausing.leave(error, endpoint);
    this.#counts?.delete(endpoint);
  }

  /** Ends all waiting for room: events that find none are refused from now on. */
  close(error: JechoError): void {
    this.#isClosed = true;
    this.#waiters.leave(error);
    this.#pausing.leave(error);
  }

  #hasToWait(error: unknown): boolean {
    return (
      this.#whenFull === "block" &&
      !this.#isClosed &&
      error instanceof JechoError &&
      error.code === "QUEUE_FULL"
    );
  }

  #reserveFull(bytes: number): number {
    this.#port.drainHere?.();
    const at = this.#ring.reserve(bytes);
    if (at >= 0) return at;
    if (this.#counts === undefined) throw queueFull();
    return this.#dropFor(bytes, this.#counts);
  }

  /** Drops the oldest events. A producer none of whose events is left leaves a position, which tells its consumers. */
  #dropFor(bytes: number, counts: ReadonlyMap<number, Count>): number {
    const ring = this.#ring;
    const left = new Map<number, number>();
    const hasRoom = (): boolean => ring.reserve(bytes + left.size * POSITION_BYTES) >= 0;
    do {
      ring.dropOldest(({ endpoint, raised, isPosition }) => {
        if (!isPosition) this.#events.onDropped(endpoint, raised);
        const newest = counts.get(endpoint)?.newest ?? raised;
        if (raised === newest) left.set(endpoint, raised);
      });
      // In a queue that is too small for so many positions, consumers are told with the producers' next events.
      if (ring.usedBytes === 0 && !hasRoom()) left.clear();
    } while (!hasRoom());
    for (const [endpoint, raised] of left)
      if (ring.commitPosition(endpoint, raised, this.#port.posted)) this.#wake(false);
    return ring.reserve(bytes);
  }

  #wake(now: boolean): void {
    const batch = this.#batch;
    if (batch !== undefined) {
      batch.now ||= now;
      batch.wakes = !this.#ring.isHalfFull;
      if (batch.wakes) return;
    }
    if (this.#isShared) this.#port.post({ is: "wake", queue: this.number, now });
    else if (!this.#willSend) {
      this.#willSend = true;
      queueMicrotask(() => this.#send());
    }
  }

  /** Where no memory is shared: hands over the records that the other side's window lets through. */
  #send(windowBytes = WINDOW_BYTES): void {
    this.#willSend = false;
    do {
      while (this.#underWayBytes < windowBytes) {
        const bytes = this.#ring.take(CHUNK_BYTES);
        if (bytes === undefined) break;
        this.#underWayBytes += bytes.byteLength;
        this.#port.post({ is: "records", queue: this.number, bytes });
      }
      // With a full window there is no sleep: `taken` goes on.
    } while (this.#underWayBytes < windowBytes && !this.#ring.sleep());
    if (this.#ring.owesRoom()) this.room();
  }
}

function bytesOf<T>(type: Type<T> | undefined, event: T): number {
  if (type === undefined) {
    if (!(event instanceof Uint8Array))
      throw new JechoError(
        "EVENT_INVALID",
        "events of an untyped channel are Uint8Arrays; with json() in place of a type they are what JSON carries",
      );
    return event.byteLength;
  }
  isReading = true;
  try {
    return measure(type.root, event);
  } finally {
    isReading = false;
  }
}

/** @returns where it ends */
function write<T>(type: Type<T> | undefined, event: T, ring: Ring, at: number, limit: number): number {
  if (type === undefined) {
    ring.bytes.set(event as Uint8Array, at);
    return limit;
  }
  isReading = true;
  try {
    return encodeInto(type.root, event, ring.bytes, ring.view, at, limit);
  } finally {
    isReading = false;
  }
}

export function queueFull(): JechoError {
  return new JechoError("QUEUE_FULL", "the queue is full; the event was not taken");
}
