import { EventsFrame, type Frame, MOST_CONTROL_BYTES, parseMessage } from "@jecho/shared/internal";
import type { Connection } from "./connection.ts";

/** Milliseconds of one turn of the event loop that a connection's messages get when they come. */
const CONNECTION_MS = 5;
/** Milliseconds that one turn spends on what is no event, and on what waits: events of others are late by that much. */
const TURN_MS = 1;
/** Milliseconds that one connection's waiting messages get before the next connection's turn. */
const SLICE_MS = 0.25;
/** Frames between two looks at the clock, where each takes little, and at what waits in the socket. */
const LOOK_EVERY = 16;
/** Bytes that a waiting message takes besides its own: many may be small. */
const MESSAGE_BYTES = 256;
/** Bytes that may wait in a connection's socket for its requests to be answered: who does not read the answers is given no more. */
const UNREAD_BYTES = 1 << 20;

/** Requests: frames that others may have to wait for, or that are answered, and so wait until answers are read. */
const REQUESTS: ReadonlySet<Frame["kind"]> = new Set([
  "OpenProducer",
  "OpenConsumer",
  "OpenObject",
  "ObjectUpdate",
  "ObjectWrite",
  "PullObject",
  "WantType",
  "WantTypes",
  "WantOverview",
  "AskHandover",
  "Ping",
  "Token",
  "Kick",
]);

/** Acts on messages. */
export interface InboxReader<C> {
  /** A frame of a message is to be acted on. @throws anything, which is `failed` of the connection */
  frame(connection: C, frame: Frame, message: Uint8Array, start: number, end: number): void;
  /** Called when as much of a message has been acted on as there is time for: its bytes may be gone. */
  pause(): void;
  /** Called when all of a message has been acted on. @param bytes of it @param hasEvents whether there were events in it */
  done(connection: C, bytes: number, hasEvents: boolean): void;
  failed(connection: C, error: unknown): void;
}

export interface InboxLimits {
  /** Bytes of one connection's messages that may wait. */
  readonly connectionBytes: number;
  /** Bytes of all connections' messages that may wait. */
  readonly totalBytes: number;
}

/** A message, as far as it has been acted on. */
interface Progress {
  readonly message: Uint8Array;
  at: number;
  hasEvents: boolean;
}

/** Stands for a message that is not to be kept any longer. */
const DONE: Progress = { message: new Uint8Array(0), at: 0, hasEvents: false };

interface Inbox {
  readonly messages: Progress[];
  /** Index of the message at work: all before it are done. */
  head: number;
  bytes: number;
}

/**
 * Shares the gateway's time out among connections. Messages are acted on when they come, as long as those of their connection take 5 ms of one turn of the
 * event loop and no more, and all but the events of all connections 1 ms. The rest waits, and whatever its connection sends behind it; connections
 * take turns, and what others send goes on in between. Requests wait, too, while their connection does not read what it was answered.
 */
export class Inboxes<C extends Connection> {
  readonly #reader: InboxReader<C>;
  readonly #limits: InboxLimits;
  /** The one comes first whose turn it is. */
  readonly #waiting = new Map<C, Inbox>();
  /** Inboxes of connections that are held, or that have to read their answers first. */
  readonly #held = new Map<C, Inbox>();
  #bytes = 0;
  /** The connection whose messages are coming, one behind the other, and since when in this turn, by `performance.now()`. */
  #coming: C | undefined;
  #comingSince = 0;
  /** Time that all but events, and what waits, has taken in this turn. */
  #spentMs = 0;
  #next: NodeJS.Immediate | undefined;

  constructor(reader: InboxReader<C>, limits: InboxLimits) {
    this.#reader = reader;
    this.#limits = limits;
  }

  /**
   * A message has come.
   *
   * @param message its bytes are gone when this returns
   * @param now by `performance.now()`
   * @returns false where more of it waits than may
   */
  receive(connection: C, message: Uint8Array, now: number): boolean {
    const progress: Progress = { message, at: 0, hasEvents: false };
    const inbox = this.#inboxOf(connection);
    if (connection !== this.#coming) {
      this.#coming = connection;
      this.#comingSince = now;
      this.#next ??= setImmediate(this.#turn);
    }
    const leftMs = CONNECTION_MS - (now - this.#comingSince);
    const isInTime = inbox === undefined && !connection.isHeld && leftMs > 0;
    if (isInTime && this.#advance(connection, progress, now, leftMs, TURN_MS - this.#spentMs)) return true;
    return !connection.isOpen || this.#keep(connection, progress, inbox);
  }

  /** The connection that most waits of. */
  get largest(): C | undefined {
    let largest: C | undefined;
    let most = 0;
    for (const inboxes of [this.#waiting, this.#held])
      for (const [connection, { bytes }] of inboxes) if (bytes > most) [largest, most] = [connection, bytes];
    return largest;
  }

  /** Whether more waits of all connections together than may. */
  get isFull(): boolean {
    return this.#bytes > this.#limits.totalBytes;
  }

  /** Drops the waiting messages of a connection that has gone. */
  forget(connection: C): void {
    this.#bytes -= this.#inboxOf(connection)?.bytes ?? 0;
    this.#waiting.delete(connection);
    this.#held.delete(connection);
  }

  /** The connection's socket has room again, or it is held no longer. */
  drained(connection: C): void {
    const inbox = this.#held.get(connection);
    if (inbox === undefined || connection.isHeld || connection.bufferedBytes > UNREAD_BYTES) return;
    this.#held.delete(connection);
    this.#waiting.set(connection, inbox);
    this.#next ??= setImmediate(this.#turn);
  }

  /** Stops acting on messages. */
  close(): void {
    clearImmediate(this.#next);
    this.#waiting.clear();
    this.#held.clear();
  }

  #inboxOf(connection: C): Inbox | undefined {
    if (this.#waiting.size + this.#held.size === 0) return undefined;
    return this.#waiting.get(connection) ?? this.#held.get(connection);
  }

  #keep(connection: C, { message, at, hasEvents }: Progress, known: Inbox | undefined): boolean {
    const inbox = known ?? { messages: [], head: 0, bytes: 0 };
    if (known === undefined) (connection.isHeld ? this.#held : this.#waiting).set(connection, inbox);
    const rest = message.slice(at);
    inbox.messages.push({ message: rest, at: 0, hasEvents });
    inbox.bytes += MESSAGE_BYTES + rest.byteLength;
    this.#bytes += MESSAGE_BYTES + rest.byteLength;
    this.#next ??= setImmediate(this.#turn);
    return inbox.bytes <= this.#limits.connectionBytes;
  }

  readonly #turn = (): void => {
    this.#next = undefined;
    this.#coming = undefined;
    this.#spentMs = 0;
    for (const [connection, inbox] of this.#waiting) {
      if (this.#spentMs >= TURN_MS) break;
      const progress = inbox.messages[inbox.head] as Progress;
      const before = progress.at;
      this.#advance(connection, progress, performance.now(), SLICE_MS, SLICE_MS);
      // It may have gone meanwhile.
      if (this.#waiting.get(connection) !== inbox) continue;
      const isDone = progress.at === progress.message.byteLength;
      const bytes = progress.at - before + (isDone ? MESSAGE_BYTES : 0);
      this.#bytes -= bytes;
      inbox.bytes -= bytes;
      this.#waiting.delete(connection);
      if (isDone) inbox.messages[inbox.head++] = DONE;
      // Behind the others, if something of it still waits.
      if (inbox.head === inbox.messages.length) continue;
      const isToRead = connection.bufferedBytes > UNREAD_BYTES;
      (isToRead ? this.#held : this.#waiting).set(connection, inbox);
    }
    if (this.#waiting.size > 0) this.#next ??= setImmediate(this.#turn);
  };

  /**
   * Acts on the next frames of a message.
   *
   * @param began the time, by `performance.now()`
   * @param sliceMs how long
   * @param othersMs how long where there are others than events among them
   * @returns whether that was all of it
   */
  #advance(connection: C, progress: Progress, began: number, sliceMs: number, othersMs: number): boolean {
    const { message } = progress;
    let frames = 0;
    let usedMs = 0;
    let [others, requests] = [0, 0];
    const visit = (frame: Frame, start: number, end: number): boolean => {
      const isEvents = frame instanceof EventsFrame;
      const isOther = !isEvents && frame.kind !== "Position";
      if (usedMs >= (isOther ? Math.min(sliceMs, othersMs) : sliceMs)) return false;
      const isRequest = isOther && REQUESTS.has(frame.kind);
      if (isRequest && requests++ % LOOK_EVERY === 0 && connection.bufferedBytes > UNREAD_BYTES) return false;
      if (isOther) others++;
      progress.hasEvents ||= isEvents;
      this.#reader.frame(connection, frame, message, start, end);
      if (++frames % LOOK_EVERY === 0 || isRequest) usedMs = performance.now() - began;
      return connection.isOpen;
    };
    try {
      try {
        progress.at = parseMessage(message, visit, progress.at, MOST_CONTROL_BYTES);
      } finally {
        this.#reader.pause();
        const isShared = others > 0 || message.byteLength > progress.at || this.#waiting.has(connection);
        if (isShared) this.#spentMs += performance.now() - began;
      }
    } catch (error) {
      progress.at = message.byteLength;
      this.#reader.failed(connection, error);
      return true;
    }
    if (progress.at < message.byteLength) return false;
    this.#reader.done(connection, message.byteLength, progress.hasEvents);
    return true;
  }
}
