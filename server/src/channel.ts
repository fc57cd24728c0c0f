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
  /** The process that a producer is of, as the gateway numbers them; 0 where that has gone. */
  processOf: (producer: number) => number = () => 0;
  events: ChannelEvents = { onOverrun: () => {}, onBlock: () => {} };
  readonly lanes = new Lanes();
  /** Its history is kept whether anybody listens or not. */
  isKept = false;
  readonly #acknowledgements: Acknowledgements;
  readonly #gathering: Gathering;
  /** Of the listeners, those that keep up. */
  readonly #audience: Audience;
  /** By the connection: the bytes cross it once, however many consumers stand behind it. */
  readonly #listeners = new Map<Connection, Listener>();
  readonly #lagging = new Set<Listener>();
  /** Those that want the events of some processes alone, and get them by runs of their own. */
  readonly #feeding = new Set<Listener>();
  #consumers = 0;
  /** Consumers that are being sent the past, by the process that they want the events of; 0: all. */
  readonly #coming = new Map<number, number>();
  /** Consumers that are away and may come back, by the same: what ends the waiting for each. */
  readonly #awaited = new Map<number, Set<() => void>>();
  /** Consumers that want the events of some process alone. */
  #feeds = 0;
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
    return this.#consumers + this.#expected(0) + (this.isKept ? 1 : 0);
  }

  /** A consumer comes, and is sent the past before it listens. @param feed the process that it wants the events of; 0: all */
  expect(feed: number): void {
    this.#coming.set(feed, (this.#coming.get(feed) ?? 0) + 1);
  }

  /** It listens, or comes no more. */
  expectNoMore(feed: number): void {
    const left = (this.#coming.get(feed) ?? 0) - 1;
    if (left > 0) this.#coming.set(feed, left);
    else this.#coming.delete(feed);
  }

  /**
   * A consumer's process listens, and is told where each producer is.
   *
   * @param feed the process that it wants the events of; 0: all
   */
  enter(connection: Connection, policy: QueuePolicy, feed: number): void {
    let listener = this.#listeners.get(connection);
    if (feed === 0) this.#consumers++;
    else this.#feeds++;
    if (listener === undefined) {
      listener = new Listener(connection, policy);
      this.#listeners.set(connection, listener);
    }
    this.#change(listener, () => listener.join(policy, feed));
    for (const position of this.lanes.positions(this.number)) listener.tell(this.#placed(position));
  }

  leave(connection: Connection, feed: number): void {
    const listener = this.#listeners.get(connection);
    if (listener === undefined) return;
    if (feed === 0) this.#consumers--;
    else this.#feeds--;
    this.#change(listener, () => listener.leave(feed));
    if (!listener.isEmpty) return;
    this.#listeners.delete(connection);
    if (listener.backlog !== undefined) this.#forgive(listener.backlog);
    this.#lagging.delete(listener);
    connection.lags(this, false);
    this.#acknowledgements.left(connection, this.number);
  }

  /** Is somebody who was cut off expected back? */
  get isAwaiting(): boolean {
    return this.#awaited.size > 0;
  }

  /** Somebody who was here may come back: until then producers go on sending. @param over called when nobody came in time */
  await(windowMs: number, feed: number, over: () => void): void {
    const awaited = this.#awaited.get(feed) ?? new Set();
    this.#awaited.set(feed, awaited);
    const end = (): void => {
      clearTimeout(timer);
      if (!awaited.delete(end)) return;
      if (awaited.size === 0) this.#awaited.delete(feed);
      over();
    };
    const timer = setTimeout(end, windowMs).unref();
    awaited.add(end);
  }

  /** One of those who were expected is back. */
  returned(feed: number): void {
    const [end] = this.#awaited.get(feed) ?? [];
    end?.();
  }

  stopAwaiting(): void {
    for (const awaited of [...this.#awaited.values()]) for (const end of [...awaited]) end();
  }

  /** The connections that an event of this process goes to when that one sends it. */
  receivers(from: Connection, process: number): Connection[] {
    const receivers: Connection[] = [];
    for (const [connection, listener] of this.#listeners)
      if (connection !== from && listener.wants(process)) receivers.push(connection);
    return receivers;
  }

  consumersAt(connection: Connection): number {
    return this.#listeners.get(connection)?.consumers ?? 0;
  }

  /** How many consumers want what this process raises, or what is made of that, at connections other than the one that sends it. */
  #demandOf(process: number, sender: Connection): number {
    let consumers = this.consumers - this.consumersAt(sender) + this.#expected(process);
    // Every consumer that comes or goes brings us here, and hardly ever is there one of these.
    if (this.#feeds === 0) return consumers;
    for (const listener of this.#listeners.values())
      if (listener.connection !== sender && listener.feedsOn(process)) consumers++;
    return consumers;
  }

  /** Consumers that come or come back. */
  #expected(feed: number): number {
    return (this.#coming.get(feed) ?? 0) + (this.#awaited.get(feed)?.size ?? 0);
  }

  /**
   * Tells who sends the events of some processes how many consumers there are elsewhere; it knows its own.
   *
   * @param processes by default its own
   */
  tellDemand(connection: Connection, processes: readonly number[] = [connection.process]): void {
    const consumers = Math.max(0, ...processes.map(process => this.#demandOf(process, connection)));
    connection.send({ kind: "Demand", channel: this.number, consumers });
    if (consumers === 0) this.lanes.rest(producer => processes.includes(this.processOf(producer)));
    if (this.#blocking > 0) connection.send({ kind: "Flow", derived: this.number, ready: false });
  }

  /** The same, answered when the other side knows it. */
  async assureDemand(connection: Connection, process: number): Promise<void> {
    await connection.request(request => ({
      kind: "Demand",
      request,
      channel: this.number,
      consumers: this.#demandOf(process, connection),
    }));
  }

  /** A position, with the process that the producer is of. */
  #placed(position: Position): Position {
    return { ...position, process: this.processOf(position.producer) };
  }

  /** A producer says where it is in the count of its events. */
  position(from: Connection, position: Position): void {
    const placed = this.#placed({ ...this.lanes.place(position), channel: this.number });
    for (const listener of this.#listeners.values()) if (listener.connection !== from) listener.tell(placed);
  }

  /**
   * Stamps the run where it lies and sends the very same bytes to everyone who listens, but not back to its sender.
   *
   * @param process who raised it, or what it was made of
   * @throws JechoError `OVERLOADED` where too many synchronous events are under way
   */
  fanOut(frame: EventsFrame, from: Connection, process: number): void {
    const source = this.lanes.take(frame);
    if (source === undefined) return;
    frame.stamp(this.epoch, this.nextSeq);
    this.nextSeq += frame.count;
    this.history?.append(frame, source, Date.now());
    if (frame.isSync) this.#acknowledgements.expect(this, frame, from, process);
    if (this.#lagging.size > 0) this.#enqueue(frame, from, process);
    if (this.#audience.size > 0) this.#gathering.add(this.#audience, frame, from);
    for (const listener of this.#feeding) {
      if (listener.connection !== from && listener.wants(process)) listener.connection.sendBytes(frame.raw());
    }
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
    this.#change(listener, () => listener.keepUp());
    this.#lagging.delete(listener);
    connection.lags(this, false);
  }

  /** Whatever changes at a listener: its runs come by the topic, by themselves, or through its backlog. */
  #change<T>(listener: Listener, act: () => T): T {
    const { connection } = listener;
    const heard = listener.consumers > 0 && listener.backlog === undefined;
    const done = act();
    const hears = listener.consumers > 0 && listener.backlog === undefined;
    if (heard !== hears) {
      this.#gathering.flush();
      if (hears) this.#audience.enter(connection);
      else this.#audience.leave(connection);
    }
    if (hears || listener.backlog !== undefined || listener.isEmpty) this.#feeding.delete(listener);
    else this.#feeding.add(listener);
    return done;
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
    listener.connection.lags(this, true);
    return this.#change(listener, () => listener.lag());
  }

  #enqueue(frame: EventsFrame, from: Connection, process: number): void {
    let copy: EventsFrame | undefined;
    for (const listener of this.#lagging) {
      const { connection, backlog } = listener;
      if (connection === from || backlog === undefined || !listener.wants(process)) continue;
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
