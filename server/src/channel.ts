import type { EventsFrame, Position } from "@jecho/shared/internal";
import type { Acknowledgements } from "./acknowledgements.ts";
import { Audience } from "./audience.ts";
import type { Connection } from "./connection.ts";
import type { Gathering } from "./gathering.ts";
import type { History } from "./history/history.ts";
import { Lanes } from "./lanes.ts";
import { type Backlog, Listener, type QueuePolicy, SOCKET_HIGH_BYTES } from "./listener.ts";

/** Bytes that a channel sends between two looks at who does not keep up, and all channels together, one of many small ones. */
const LOOK_EVERY_BYTES = 64 * 1024;
const LOOK_EVERY_BYTES_OF_ALL = 4 << 20;

export interface ChannelEvents {
  /** A consumer's process has to be cut off, for its queue is full. */
  onOverrun(connection: Connection): void;
  /** Producers should wait, or go on. */
  onBlock(ready: boolean): void;
}

/** What a channel and a derived channel have in common at the gateway: a number, listeners, and the count of events. */
export class Channel {
  readonly number: number;
  /** Which numbering this is; a channel that is forgotten and comes back has another one. */
  readonly epoch: number;
  /** Sequence number that the next event gets. The first event of a channel is 1. */
  nextSeq = 1;
  history: History | undefined;
  /** What distinguishes events of which the newest matters. */
  keyOf: (run: EventsFrame, i: number) => string = () => "";
  events: ChannelEvents = { onOverrun: () => {}, onBlock: () => {} };
  readonly lanes = new Lanes();
  /** Consumers that are being sent the past. */
  coming = 0;
  /** Its history is kept whether anybody listens or not. */
  isKept = false;
  readonly #acknowledgements: Acknowledgements;
  readonly #gathering: Gathering;
  /** Of the listeners, those that keep up. */
  readonly #audience: Audience;
  /** By the connection: the bytes cross it once, however many consumers stand behind it. */
  readonly #listeners = new Map<Connection, Listener>();
  readonly #lagging = new Set<Listener>();
  #consumers = 0;
  /** Consumers that are away and may come back: what ends the waiting for each. */
  readonly #awaited: (() => void)[] = [];
  #sinceLook = 0;
  #lookedAt = 0;
  #blocking = 0;

  constructor(number: number, epoch: number, acknowledgements: Acknowledgements, gathering: Gathering) {
    this.number = number;
    this.epoch = epoch;
    this.#audience = new Audience(`channel ${number}`);
    this.#acknowledgements = acknowledgements;
    this.#gathering = gathering;
  }

  /** Consumers: those that are awaited, those that are still being sent the past, and a history that is to be whole, included. */
  get consumers(): number {
    return this.#consumers + this.coming + this.#awaited.length + (this.isKept ? 1 : 0);
  }

  /** A consumer's process listens, and is told where each producer is. */
  enter(connection: Connection, policy: QueuePolicy): void {
    let listener = this.#listeners.get(connection);
    this.#consumers++;
    if (listener !== undefined) {
      listener.join(policy);
      for (const position of this.lanes.positions(this.number)) listener.tell(position);
      return;
    }
    listener = new Listener(connection, policy);
    listener.join(policy);
    this.#listeners.set(connection, listener);
    this.#gathering.flush();
    this.#audience.enter(connection);
    for (const position of this.lanes.positions(this.number)) connection.send(position);
  }

  leave(connection: Connection): void {
    const listener = this.#listeners.get(connection);
    if (listener === undefined) return;
    this.#consumers--;
    if (--listener.consumers > 0) return;
    this.#listeners.delete(connection);
    this.#gathering.flush();
    if (listener.backlog === undefined) this.#audience.leave(connection);
    else this.#forgive(listener.backlog);
    this.#lagging.delete(listener);
    connection.lags(this, false);
    this.#acknowledgements.left(connection, this.number);
  }

  /** Is somebody who was cut off expected back? */
  get isAwaiting(): boolean {
    return this.#awaited.length > 0;
  }

  /** Somebody who was here may come back: until then producers go on sending. @param over called when nobody came in time */
  await(windowMs: number, over: () => void): void {
    const end = (): void => {
      clearTimeout(timer);
      const index = this.#awaited.indexOf(end);
      if (index < 0) return;
      this.#awaited.splice(index, 1);
      over();
    };
    const timer = setTimeout(end, windowMs).unref();
    this.#awaited.push(end);
  }

  /** One of those who were expected is back. */
  returned(): void {
    this.#awaited[0]?.();
  }

  stopAwaiting(): void {
    for (const end of [...this.#awaited]) end();
  }

  /** The connections that an event of this one goes to, and how many consumers stand behind each. */
  receivers(from: Connection): Connection[] {
    const receivers: Connection[] = [];
    for (const connection of this.#listeners.keys()) if (connection !== from) receivers.push(connection);
    return receivers;
  }

  consumersAt(connection: Connection): number {
    return this.#listeners.get(connection)?.consumers ?? 0;
  }

  /** Tells a producer's concentrator how many consumers there are in other processes; it knows its own. */
  tellDemand(connection: Connection): void {
    const consumers = this.consumers - this.consumersAt(connection);
    connection.send({ kind: "Demand", channel: this.number, consumers });
    if (this.consumers === 0) this.lanes.rest();
    if (this.#blocking > 0) connection.send({ kind: "Flow", derived: this.number, ready: false });
  }

  /** A producer says where it is in the count of its events. */
  position(from: Connection, position: Position): void {
    const placed = { ...this.lanes.place(position), channel: this.number };
    for (const listener of this.#listeners.values()) if (listener.connection !== from) listener.tell(placed);
  }

  /**
   * Stamps the run where it lies and sends the very same bytes to everyone who listens, but not back to its sender.
   *
   * @throws JechoError `OVERLOADED` where too many synchronous events are under way
   */
  fanOut(frame: EventsFrame, from: Connection): void {
    const source = this.lanes.take(frame);
    if (source === undefined) return;
    frame.stamp(this.epoch, this.nextSeq);
    this.nextSeq += frame.count;
    this.history?.append(frame, source, Date.now());
    if (frame.isSync) this.#acknowledgements.expect(this, frame, from);
    if (this.#lagging.size > 0) this.#enqueue(frame, from);
    if (this.#audience.size > 0) this.#gathering.add(this.#audience, frame, from);
    this.#sinceLook += frame.end - frame.start;
    const isLong = this.#gathering.bytes - this.#lookedAt >= LOOK_EVERY_BYTES_OF_ALL;
    if (isLong || this.#sinceLook >= LOOK_EVERY_BYTES) this.#look();
  }

  /** A consumer's process can take no more for now, or can again. */
  flow(connection: Connection, ready: boolean): void {
    const listener = this.#listeners.get(connection);
    if (listener === undefined) return;
    if (!ready) {
      this.#lag(listener).isPaused = true;
      return;
    }
    if (listener.backlog !== undefined) listener.backlog.isPaused = false;
    this.drained(connection);
  }

  /** The connection's socket has room again. */
  drained(connection: Connection): void {
    const listener = this.#listeners.get(connection);
    const backlog = listener?.backlog;
    if (listener === undefined || backlog === undefined) return;
    const isLevel = backlog.flush(this.number);
    if (backlog.queue.bytes * 2 <= backlog.queue.limitBytes) this.#forgive(backlog);
    if (!isLevel || !connection.isOpen) return;
    listener.keepUp();
    this.#lagging.delete(listener);
    connection.lags(this, false);
    this.#gathering.flush();
    this.#audience.enter(connection);
  }

  /** Who does not keep up gets its events through a queue from now on. */
  #look(): void {
    this.#sinceLook = 0;
    this.#lookedAt = this.#gathering.bytes;
    for (const listener of this.#listeners.values()) {
      if (listener.connection.bufferedBytes > SOCKET_HIGH_BYTES) this.#lag(listener);
    }
  }

  #lag(listener: Listener): Backlog {
    if (listener.backlog !== undefined) return listener.backlog;
    this.#lagging.add(listener);
    this.#gathering.flush();
    this.#audience.leave(listener.connection);
    listener.connection.lags(this, true);
    return listener.lag();
  }

  #enqueue(frame: EventsFrame, from: Connection): void {
    let copy: EventsFrame | undefined;
    for (const { connection, backlog } of this.#lagging) {
      if (connection === from || backlog === undefined) continue;
      const { queue } = backlog;
      copy ??= frame.copy();
      for (const gone of queue.push(copy, this.keyOf)) {
        if (gone.isSync) this.#acknowledgements.skip(connection, this.number, gone.seq, gone.count);
      }
      if (!queue.isFull) continue;
      if (queue.whenFull === "disconnect") this.events.onOverrun(connection);
      else if (queue.whenFull === "block") this.#block(backlog);
    }
  }

  #block(backlog: Backlog): void {
    if (backlog.isBlocking) return;
    backlog.isBlocking = true;
    if (this.#blocking++ === 0) this.events.onBlock(false);
  }

  #forgive(backlog: Backlog): void {
    if (!backlog.isBlocking) return;
    backlog.isBlocking = false;
    if (--this.#blocking === 0) this.events.onBlock(true);
  }
}
