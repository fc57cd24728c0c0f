import { EventsFrame, type Frame, MOST_CONTROL_BYTES, parseMessage } from "@jecho/shared/internal";
import type { Connection } from "./connection.ts";

/** Milliseconds per turn of the event loop for one connection's arriving messages. */
const CONNECTION_MS = 5;
/** Milliseconds per turn for frames other than events, and for waiting messages: others' events are delayed by that much. */
const TURN_MS = 1;
/** Milliseconds for one connection's waiting messages before the next connection's turn. */
const SLICE_MS = 0.25;
/** Frames between two looks at the clock, and at the bytes in the socket. */
const LOOK_EVERY = 16;
/** Events of a run that count as a frame more. */
const FRAME_EVENTS = 256;
/** Bytes counted for a waiting message besides its own, for many may be small. */
const MESSAGE_BYTES = 256;
/** Bytes in a connection's socket beyond which its requests wait: who does not read answers gets no more. */
const UNREAD_BYTES = 1 << 20;

/**
 * Requests: frames that take time or are answered, and so wait while answers are not read; and whether they do more than ask, and are acted on
 * after their connection was closed, too.
 */
const REQUESTS: ReadonlyMap<Frame["kind"], "asks" | "acts"> = new Map([
  ["OpenProducer", "asks"],
  ["OpenConsumer", "asks"],
  ["OpenObject", "asks"],
  ["ObjectUpdate", "acts"],
  ["ObjectWrite", "acts"],
  ["PullObject", "asks"],
  ["WantType", "asks"],
  ["WantTypes", "asks"],
  ["WantOverview", "asks"],
  ["AskHandover", "asks"],
  ["Ping", "asks"],
  ["Token", "asks"],
  ["Kick", "acts"],
]);

/** Acts on messages. */
export interface InboxReader<C> {
  /** Acts on a frame of a message. @throws anything; it is reported by `failed` */
  frame(connection: C, frame: Frame, message: Uint8Array, start: number, end: number): void;
  /** Called when a part of a message was acted on: its bytes may be reused after that. */
  pause(): void;
  /** Called when all of a message was acted on. @param bytes its size @param hasEvents whether it had events */
  done(connection: C, bytes: number, hasEvents: boolean): void;
  failed(connection: C, error: unknown): void;
}

export interface InboxLimits {
  /** Most waiting bytes of one connection. */
  readonly connectionBytes: number;
  /** Most waiting bytes of all connections. */
  readonly totalBytes: number;
}

/** A message, and how far it was acted on. */
interface Progress {
  readonly message: Uint8Array;
  at: number;
  hasEvents: boolean;
}

/** Stands for a message that was acted on. */
const DONE: Progress = { message: new Uint8Array(0), at: 0, hasEvents: false };

interface Inbox {
  readonly messages: Progress[];
  /** Index of the present message: all before it are done. */
  head: number;
  bytes: number;
  /** Called when all was acted on, or nothing more is to be; undefined as long as the connection is open. */
  whenOver: (() => void) | undefined;
}

/**
 * Divides the gateway's time among connections. In one turn of the event loop messages are acted on for 5 ms for one connection, and for 1 ms where
 * they are no events. The rest waits, with what its connection sends behind it; waiting connections take turns. Requests also wait while their
 * connection does not read its answers.
 */
export class Inboxes<C extends Connection> {
  readonly #reader: InboxReader<C>;
  readonly #limits: InboxLimits;
  /** Waiting inboxes, the next one first. */
  readonly #waiting = new Map<C, Inbox>();
  /** Inboxes of connections that are held, or have to read their answers first. */
  readonly #held = new Map<C, Inbox>();
  #bytes = 0;
  /** The connection whose messages are arriving, and since when in this turn, by `performance.now()`. */
  #coming: C | undefined;
  #comingSince = 0;
  /** Time used in this turn for other frames than events, and for waiting messages. */
  #spentMs = 0;
  #next: NodeJS.Immediate | undefined;

  constructor(reader: InboxReader<C>, limits: InboxLimits) {
    this.#reader = reader;
    this.#limits = limits;
  }

  /**
   * Takes a message.
   *
   * @param message its bytes are reused after this returns
   * @param now the time, by `performance.now()`
   * @returns false where more waits for the connection than may
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
    return !connection.isHeard || this.#keep(connection, progress, inbox);
  }

  /** The connection with most waiting bytes. */
  get largest(): C | undefined {
    let largest: C | undefined;
    let most = 0;
    for (const inboxes of [this.#waiting, this.#held])
      for (const [connection, { bytes }] of inboxes) if (bytes > most) [largest, most] = [connection, bytes];
    return largest;
  }

  /** Whether more waits for all connections together than may. */
  get isFull(): boolean {
    return this.#bytes > this.#limits.totalBytes;
  }

  /**
   * The connection has been closed in order, so what waits of it is acted on first, except questions.
   *
   * @param whenOver called when that is done, in a turn of its own, or given up
   * @returns false where nothing waits, or whether it may be acted on is not known yet: `whenOver` is not called
   */
  closed(connection: C, whenOver: () => void): boolean {
    const inbox = this.#inboxOf(connection);
    if (inbox === undefined || connection.isHeld) return false;
    inbox.whenOver = whenOver;
    connection.closed();
    this.drained(connection);
    return true;
  }

  /** Drops the waiting messages of a connection that has gone, or of which nothing more is acted on. */
  forget(connection: C): void {
    const inbox = this.#inboxOf(connection);
    if (inbox === undefined) return;
    this.#bytes -= inbox.bytes;
    this.#waiting.delete(connection);
    this.#held.delete(connection);
    inbox.whenOver?.();
  }

  /** The connection's socket has room again, or it is no longer held. */
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
    for (const connection of [...this.#waiting.keys(), ...this.#held.keys()]) this.forget(connection);
  }

  #inboxOf(connection: C): Inbox | undefined {
    if (this.#waiting.size + this.#held.size === 0) return undefined;
    return this.#waiting.get(connection) ?? this.#held.get(connection);
  }

  #keep(connection: C, { message, at, hasEvents }: Progress, known: Inbox | undefined): boolean {
    const inbox = known ?? { messages: [], head: 0, bytes: 0, whenOver: undefined };
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
      const progress = inbox.messages[inbox.head];
      if (progress === undefined || !connection.isHeard) {
        this.forget(connection);
        continue;
      }
      const before = progress.at;
      this.#advance(connection, progress, performance.now(), SLICE_MS, SLICE_MS);
      if (!connection.isHeard) this.forget(connection);
      // The connection may have gone meanwhile.
      if (this.#waiting.get(connection) !== inbox) continue;
      const isDone = progress.at === progress.message.byteLength;
      const bytes = progress.at - before + (isDone ? MESSAGE_BYTES : 0);
      this.#bytes -= bytes;
      inbox.bytes -= bytes;
      this.#waiting.delete(connection);
      if (isDone) inbox.messages[inbox.head++] = DONE;
      // Behind the others, if more of it waits, or its end.
      if (inbox.head === inbox.messages.length && inbox.whenOver === undefined) continue;
      const isToRead = connection.bufferedBytes > UNREAD_BYTES;
      (isToRead ? this.#held : this.#waiting).set(connection, inbox);
    }
    if (this.#waiting.size > 0) this.#next ??= setImmediate(this.#turn);
  };

  /**
   * Acts on the next frames of a message.
   *
   * @param began the present time, by `performance.now()`
   * @param sliceMs most milliseconds
   * @param othersMs most milliseconds for frames other than events
   * @returns whether all of it was acted on
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
      const request = isOther ? REQUESTS.get(frame.kind) : undefined;
      const isRequest = request !== undefined;
      if (request === "asks" && !connection.isOpen) return true;
      if (isRequest && requests++ % LOOK_EVERY === 0 && connection.bufferedBytes > UNREAD_BYTES) return false;
      if (isOther) others++;
      progress.hasEvents ||= isEvents;
      this.#reader.frame(connection, frame, message, start, end);
      frames += isEvents ? 1 + Math.floor(frame.count / FRAME_EVENTS) : 1;
      if (frames >= LOOK_EVERY || isRequest) {
        frames = 0;
        usedMs = performance.now() - began;
      }
      return connection.isHeard;
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
