import { type Control, type EventsFrame, encodeControl, Few, type Position } from "@jecho/shared/internal";
import type { Connection, QueuedChannel } from "../connections/connection.ts";
import type { Acknowledgements } from "./acknowledgements.ts";
import type { Channel } from "./channel.ts";
import { Audience, type Gathering } from "./gathering.ts";
import { Listener, type ListenerBacklog, type QueuePolicy } from "./listener.ts";
import { RunCopies } from "./run-queue.ts";
import type { SharedMemory } from "./waiting.ts";

/** Copies of runs, for queues of any channel. */
const COPIES = new RunCopies();

/**
 * The processes that listen to a channel. Those that keep up get runs by the channel's topic, those that do not through a queue
 * each, and those that want the events of some processes only by separate sends.
 */
export class Listeners implements QueuedChannel {
  // Fields that each run needs come first, so that they are adjacent in memory.
  /** Listeners that do not keep up, or want some processes' events only; undefined where there is none. */
  #lagging: Set<Listener> | undefined;
  #feeding: Set<Listener> | undefined;
  /** The listeners that keep up. */
  readonly #audience: Audience;
  readonly #gathering: Gathering;
  /** The gathering's count of laggards when this channel last looked for its own. */
  #laggards = 0;
  readonly #channel: Channel;
  readonly #acknowledgements: Acknowledgements;
  /** Listeners by connection: bytes cross a connection once, however many consumers it has. */
  readonly #all = new Few<Connection, Listener>();
  /** Full queues for which producers were asked to wait. */
  #blocking = 0;

  constructor(channel: Channel, acknowledgements: Acknowledgements, gathering: Gathering) {
    this.#channel = channel;
    this.#acknowledgements = acknowledgements;
    this.#gathering = gathering;
    this.#audience = new Audience(channel.number, this.#all);
  }

  /** Whether producers should wait. */
  get isBlocking(): boolean {
    return this.#blocking > 0;
  }

  /** Adds a consumer at this connection. @param feed the process that it wants the events of; 0: all */
  enter(connection: Connection, policy: QueuePolicy, feed: number): Listener {
    let listener = this.#all.get(connection);
    if (listener === undefined) {
      listener = new Listener(connection);
      this.#all.set(connection, listener);
    }
    const entered = listener;
    this.#change(entered, () => entered.join(policy, feed));
    this.#comply(entered);
    if (connection.isBehind) this.#lag(entered);
    return entered;
  }

  /** Removes a consumer that was added with this policy. @returns false where there was none */
  leave(connection: Connection, policy: QueuePolicy, feed: number): boolean {
    const listener = this.#all.get(connection);
    if (listener === undefined) return false;
    this.#change(listener, () => listener.leave(policy, feed));
    if (!listener.isEmpty) {
      this.#comply(listener);
      return true;
    }
    this.#all.delete(connection);
    if (listener.backlog !== undefined) this.#forgive(listener.backlog);
    listener.keepUp();
    this.#lagging = without(this.#lagging, listener);
    this.#acknowledgements.left(connection, this.#channel.number);
    return true;
  }

  /** The listener's policy may be another one now: what waits is brought within its bound. Whom it cuts off, or has wait, the next run does. */
  #comply({ connection, backlog }: Listener): void {
    if (backlog === undefined) return;
    if (backlog.queue.whenFull !== "block") this.#forgive(backlog);
    this.#dropped(connection, backlog, backlog.makeRoom());
  }

  /** The connections that get this process's event when this connection sends it. */
  receivers(from: Connection, process: number): Connection[] {
    const receivers: Connection[] = [];
    for (const [connection, listener] of this.#all)
      if (connection !== from && listener.wants(process)) receivers.push(connection);
    return receivers;
  }

  /** Consumers at a connection, of all events. */
  consumersAt(connection: Connection): number {
    return this.#all.get(connection)?.consumers ?? 0;
  }

  /** Other connections that want this process's events, and the number of them whose output has no listener. */
  feedsOn(process: number, but: Connection): { feeds: number; unheard: number } {
    let feeds = 0;
    let unheard = 0;
    for (const listener of this.#all.values()) {
      if (listener.connection === but || !listener.feedsOn(process)) continue;
      feeds++;
      if (!listener.isHeard(process)) unheard++;
    }
    return { feeds, unheard };
  }

  /** Marks the output that a connection makes of this process's events as listened to. @returns whether the demand changed */
  hear(connection: Connection, process: number): boolean {
    return this.#all.get(connection)?.hear(process) ?? false;
  }

  /** Sends a producer's position to all but its sender, in order with the channel's events, or first. */
  tell(position: Position, from: Connection, isFirst = false): void {
    for (const others of [this.#lagging, this.#feeding])
      for (const listener of others ?? []) {
        if (listener.connection === from) continue;
        if (isFirst) listener.connection.send(position);
        else listener.tell(position);
        if (listener.backlog?.queue.isLost) this.#channel.owner.cutOff(this.#channel, listener.connection);
      }
    if (this.#audience.size > 0) this.#gathering.tell(this.#audience, encodeControl(position), from);
  }

  /** Sends a position of a producer that may have gone to all. */
  tellAll(position: Position): void {
    for (const listener of [...this.#all.values()]) listener.tell(position);
  }

  /** Sends a position to one connection. */
  tellOne(connection: Connection, position: Position): void {
    this.#all.get(connection)?.tell(position);
  }

  /** Sends a message behind the events that wait for a connection. @returns false where none do */
  tellBehind(connection: Connection, message: Control): boolean {
    const backlog = this.#all.get(connection)?.backlog;
    backlog?.tell(message);
    return backlog !== undefined;
  }

  /** Sends the bytes of a stamped run to all but its sender. @param process number of the process that raised it, or its raw events */
  send(run: EventsFrame, from: Connection, process: number): void {
    if (this.#laggards !== this.#gathering.laggards) this.#look();
    if (this.#lagging !== undefined) this.#enqueue(this.#lagging, run, from, process);
    if (this.#audience.size > 0) this.#gathering.add(this.#audience, run, from);
    if (this.#feeding !== undefined)
      for (const listener of this.#feeding)
        if (listener.connection !== from && listener.wants(process)) this.#feed(listener, run);
  }

  #feed(listener: Listener, run: EventsFrame): void {
    const { connection } = listener;
    // Each of its channels, this one included, looks for it then.
    if (!connection.sendBytes(run.raw()) && connection.fallsBehind()) this.#gathering.laggards++;
  }

  /** A consumer's process cannot take more for now, or can again. */
  flow(connection: Connection, ready: boolean): void {
    const listener = this.#all.get(connection);
    if (listener === undefined) return;
    if (!ready) {
      this.#lag(listener).pause(true);
      return;
    }
    if (listener.backlog === undefined) return;
    listener.backlog.pause(false);
    connection.drained();
  }

  /** Takes the next waiting frames for a connection. @param parts list to which the frames are added @returns their bytes; 0 where nothing waits */
  takeWaiting(connection: Connection, parts: Uint8Array[]): number {
    const backlog = this.#all.get(connection)?.backlog;
    if (backlog === undefined) return 0;
    const bytes = backlog.takeNext(this.#channel, parts);
    if (backlog.queue.hasRoom) this.#forgive(backlog);
    return bytes;
  }

  /** There is room again for a connection's waiting events, on all its channels. */
  letGoOn(connection: Connection): void {
    const backlog = this.#all.get(connection)?.backlog;
    if (backlog?.queue.hasRoom) this.#forgive(backlog);
  }

  /** Brings the connection's waiting events within their bound, by its policy: drops events, cuts it off, or has producers wait. */
  makeRoom(connection: Connection): void {
    const backlog = this.#all.get(connection)?.backlog;
    if (backlog === undefined) return;
    this.#dropped(connection, backlog, backlog.makeRoom());
    this.#holdIn(connection, backlog);
  }

  /** The connection has caught up: where nothing waits, it gets events by the topic again. */
  keepUp(connection: Connection): void {
    const listener = this.#all.get(connection);
    if (listener?.backlog?.isLevel !== true || !connection.isOpen) return;
    this.#change(listener, () => listener.keepUp());
    this.#lagging = without(this.#lagging, listener);
  }

  /** After any change of a listener: chooses whether it gets runs by the topic, by separate sends, or through its queue. */
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
    if (hears || listener.backlog !== undefined || listener.isEmpty)
      this.#feeding = without(this.#feeding, listener);
    else this.#feeding = withOne(this.#feeding, listener);
    return done;
  }

  /** Gives a queue to each listener that does not keep up. */
  #look(): void {
    this.#laggards = this.#gathering.laggards;
    for (const listener of this.#all.values()) {
      if (listener.connection.isBehind) this.#lag(listener);
    }
  }

  #lag(listener: Listener): ListenerBacklog {
    if (listener.backlog !== undefined) return listener.backlog;
    this.#lagging = withOne(this.#lagging, listener);
    return this.#change(listener, () => listener.lag(this));
  }

  #enqueue(lagging: Set<Listener>, run: EventsFrame, from: Connection, process: number): void {
    const channel = this.#channel;
    let copy: EventsFrame | undefined;
    let memory: SharedMemory | undefined;
    for (const listener of lagging) {
      const { connection, backlog } = listener;
      if (connection === from || backlog === undefined || !listener.wants(process)) continue;
      copy ??= COPIES.copy(run);
      memory ??= { bytes: copy.end - copy.start, holders: 0 };
      const gone = backlog.push(copy, (one, i) => channel.owner.keyOf(one, i), memory);
      if (gone.length > 0) this.#dropped(connection, backlog, gone);
      this.#holdIn(connection, backlog);
    }
  }

  #dropped(connection: Connection, { queue }: ListenerBacklog, runs: readonly EventsFrame[]): void {
    const channel = this.#channel;
    for (const { count, isSync, seq } of runs) {
      channel.dropped += count;
      channel.counts.dropped += count;
      channel.counts.reached(queue.bound);
      if (isSync) this.#acknowledgements.skip(connection, channel.number, seq, count);
    }
  }

  /** Where dropping is not the policy, or did not make room: cuts the connection off, or has producers wait. */
  #holdIn(connection: Connection, backlog: ListenerBacklog): void {
    const { queue } = backlog;
    const channel = this.#channel;
    if (queue.isLost) {
      channel.counts.reached(queue.bound);
      channel.owner.cutOff(channel, connection);
    } else if (queue.whenFull === "block" && queue.isFull) this.#block(connection, backlog);
  }

  #block(connection: Connection, backlog: ListenerBacklog): void {
    if (backlog.whenTooLong !== undefined) return;
    const channel = this.#channel;
    backlog.whenTooLong = () => channel.owner.blockedTooLong(channel, connection);
    channel.owner.blocking.add(backlog.whenTooLong);
    if (this.#blocking++ === 0) channel.owner.block(channel, false);
  }

  #forgive(backlog: ListenerBacklog): void {
    if (backlog.whenTooLong === undefined) return;
    this.#channel.owner.blocking.delete(backlog.whenTooLong);
    backlog.whenTooLong = undefined;
    if (--this.#blocking === 0) this.#channel.owner.block(this.#channel, true);
  }
}

/** @returns the list to keep instead */
function withOne(some: Set<Listener> | undefined, listener: Listener): Set<Listener> {
  return some?.add(listener) ?? new Set([listener]);
}

/** @returns the list to keep instead: undefined for an empty one, for most channels have none */
function without(some: Set<Listener> | undefined, listener: Listener): Set<Listener> | undefined {
  some?.delete(listener);
  return some?.size === 0 ? undefined : some;
}
