import { ERRORS, errorCode, JechoError, mayRetry } from "@jecho/shared";
import {
  encodeControl,
  encodeForNow,
  type Frame,
  joinFrames,
  type Outgoing,
  PROTOCOL,
  parseMessage,
  SUBPROTOCOL,
} from "@jecho/shared/internal";
import { openSocket } from "#platform";
import { Backoff, type BackoffOptions } from "../backoff.ts";
import type { Socket } from "../platform/face.ts";
import { type Status, statusNow } from "../status.ts";

export interface LinkOptions {
  /** `ws://HOST:PORT/` or `wss://...` */
  readonly url: string;
  /** What the gateway's operator may see of this process; empty by default. */
  readonly name: string;
  readonly backoff: BackoffOptions;
  /** How long a connection may take to be greeted, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** The token of another device's session, or empty. It is good once. */
  readonly handover: string;
  /** What the gateway's own process for modulators shows, or empty. */
  readonly modulating: string;
}

export interface LinkEvents {
  onStatus(status: Status): void;
  onFrame(frame: Frame): void;
  /** The connection's buffers are above (false) or again below (true) what should be waiting in them. */
  onReady(ready: boolean): void;
}

const HIGH_WATER_BYTES = 4 << 20;
const LOW_WATER_BYTES = 1 << 20;
const DRAIN_POLL_MS = 10;
/** A gateway to which thousands come back has its hands full: who gives up and comes again stands at the end. */
const MOST_DOUBLINGS = 3;
/** So often in a row one side may find what the other sent malformed: a bit may flip on the way, and the next connection is sound. */
const MOST_GARBLED = 5;
/** Silence of this many heartbeats is taken for death. */
const PATIENCE = 2.5;
const PROBE_MS = 3000;

/** The one connection of a concentrator: connects, greets, keeps alive, and connects again. */
export class Link {
  readonly #options: LinkOptions;
  readonly #events: LinkEvents;
  readonly #backoff: Backoff;
  #socket: Socket | undefined;
  #status: Status = statusNow("connecting");
  #ready = true;
  #handover: string;
  #lastHeard = 0;
  /** Connections in a row that ended with what is no frame. */
  #garbled = 0;
  /** Connections in a row that were not answered in time. */
  #timedOut = 0;
  #heartbeatMs = 10_000;
  /** So much is the gateway's clock ahead of this machine's, or more: what the gateway says of it was true some time before it is here. */
  #aheadMs = 0;
  #timers = new Set<ReturnType<typeof setTimeout>>();
  /** Who asked for a word of the gateway's, by the number that it is known by: none that a time has. */
  readonly #asked = new Map<number, () => void>();
  #asks = 0;
  #heardBytes = 0;
  /** Control messages that wait for others to go out with them. */
  #gathered: Uint8Array[] | undefined;

  constructor(options: LinkOptions, events: LinkEvents) {
    this.#options = options;
    this.#handover = options.handover;
    this.#events = events;
    this.#backoff = new Backoff(options.backoff);
  }

  get status(): Status {
    return this.#status;
  }

  get isLive(): boolean {
    return this.#status.state === "live";
  }

  /** Is there room for more without letting the buffers grow? */
  get isReady(): boolean {
    return this.#ready;
  }

  /** Bytes that have come, over all connections. */
  get heardBytes(): number {
    return this.#heardBytes;
  }

  /**
   * A time of this machine's clock (`Date.now()`, of whichever thread) on the gateway's. It is never later than that moment was
   * there, and earlier by as long as the newest word of the gateway's clock was on its way: whose replay begins at it misses nothing.
   */
  gatewayTime(time: number): number {
    return time + this.#aheadMs;
  }

  connect(): void {
    const socket = openSocket(this.#options.url, SUBPROTOCOL);
    this.#socket = socket;
    let isOpen = false;
    const patience = 2 ** Math.min(this.#timedOut, MOST_DOUBLINGS);
    const timeout = this.#after(this.#options.connectTimeoutMs * patience, () => {
      this.#timedOut++;
      this.#drop(socket, new JechoError("TIMED_OUT", "the gateway did not answer"));
    });
    socket.onopen = () => {
      isOpen = true;
      this.#sendNow(
        encodeControl({
          kind: "Hello",
          protocol: PROTOCOL,
          name: this.#options.name,
          handover: this.#handover,
          modulating: this.#options.modulating,
        }),
      );
    };
    socket.onmessage = ({ data }: { data: unknown }) => {
      if (socket !== this.#socket) return;
      if (this.#status.state !== "live") {
        this.#cancel(timeout);
        this.#backoff.reset();
      }
      this.#receive(socket, data);
      // Nobody need wait for that.
      this.#lastHeard = performance.now();
    };
    // What went wrong comes with the close that follows.
    socket.onerror = () => {};
    socket.onclose = ({ code, reason }: { code: number; reason: string }) => {
      this.#cancel(timeout);
      if (socket === this.#socket) this.#lost(isOpen ? closeError(code, String(reason)) : this.#absent());
    };
  }

  send(control: Outgoing): void {
    if (!this.isLive) return;
    if (this.#gathered === undefined) this.#sendNow(encodeForNow(control));
    else this.#gathered.push(encodeControl(control));
  }

  /** What `act` sends besides messages of events goes out in one message; within another such act, in that one's. */
  together(act: () => void): void {
    if (this.#gathered !== undefined) return act();
    this.#gathered = [];
    try {
      act();
    } finally {
      this.#sendGathered();
      this.#gathered = undefined;
    }
  }

  #sendGathered(): void {
    const gathered = this.#gathered;
    if (gathered === undefined || gathered.length === 0) return;
    this.#gathered = [];
    this.#sendParts(gathered);
  }

  /** Do long parts of a message go out as they lie? Else all are copied into one. */
  get takesParts(): boolean {
    return this.#socket?.sendParts !== undefined;
  }

  /** Sends whole frames, which are to stay as they are, in one message. False where the connection is not live: nothing was sent. */
  sendMessage(parts: readonly Uint8Array[]): boolean {
    if (!this.isLive) return false;
    this.#sendGathered();
    this.#sendParts(parts);
    if (this.#ready && (this.#socket?.bufferedAmount ?? 0) > HIGH_WATER_BYTES) {
      this.#ready = false;
      this.#events.onReady(false);
      this.#pollDrain();
    }
    return true;
  }

  /** Nothing more is read, or again; for times that are short against a heartbeat. @returns false where the socket cannot do that */
  pause(isPaused: boolean): boolean {
    const socket = this.#socket;
    if (socket?.pause === undefined) return false;
    socket.pause(isPaused);
    return true;
  }

  /** Asks for a word of the gateway's. @param answered called when it is here, and with it all that was sent before; not when the connection breaks */
  ask(answered: () => void): void {
    if (!this.isLive) return;
    const number = --this.#asks;
    this.#asked.set(number, answered);
    this.send({ kind: "Ping", time: number });
  }

  /** Tests now whether the other side is still there; a network that changed may have left a dead socket. */
  probe(): void {
    if (this.#status.state === "reconnecting" && this.#socket === undefined) {
      this.#clearTimers();
      this.connect();
      return;
    }
    const socket = this.#socket;
    if (!this.isLive || socket === undefined) return;
    const asked = performance.now();
    this.send({ kind: "Ping", time: asked });
    this.#after(PROBE_MS, () => {
      if (socket === this.#socket && this.#lastHeard < asked)
        this.#drop(socket, new JechoError("HEARTBEAT_MISSED"));
    });
  }

  close(): void {
    this.#clearTimers();
    const socket = this.#socket;
    this.#socket = undefined;
    this.#setStatus(statusNow("closed"));
    if (socket === undefined) return;
    socket.onmessage = null;
    socket.onclose = null;
    // Closing a socket that is still connecting is told as an error; the listener stays.
    socket.close(1000, "closed by the application");
  }

  #sendParts(parts: readonly Uint8Array[]): void {
    if (parts.length > 1 && this.#socket?.sendParts !== undefined) this.#socket.sendParts(parts);
    else this.#sendNow(joinFrames(parts));
  }

  #sendNow(bytes: Uint8Array): void {
    this.#socket?.send(bytes as Uint8Array<ArrayBuffer>);
  }

  #receive(socket: Socket, data: unknown): void {
    try {
      const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
      if (!(bytes instanceof Uint8Array)) throw new JechoError("FRAME_MALFORMED", "messages are binary");
      this.#heardBytes += bytes.byteLength;
      parseMessage(bytes, frame => {
        // What came before it may have ended the connection.
        if (socket !== this.#socket) return;
        if (frame.kind === "Inheritance") this.#handover = "";
        if (frame.kind === "Welcome") {
          this.#setClock(frame.now);
          this.#welcomed(frame.heartbeatMs);
        } else if (frame.kind === "Pong") this.#answered(frame.time, frame.now);
        else this.#events.onFrame(frame);
      });
    } catch (error) {
      this.#drop(socket, JechoError.from(error));
    }
  }

  #answered(time: number, now: number): void {
    this.#garbled = 0;
    this.#setClock(now);
    const asker = this.#asked.get(time);
    this.#asked.delete(time);
    asker?.();
  }

  #welcomed(heartbeatMs: number): void {
    this.#heartbeatMs = Math.max(100, heartbeatMs);
    this.#timedOut = 0;
    this.#setStatus(statusNow("live"));
    this.#beat();
  }

  /** The newest word counts, not the quickest: either clock may be set, and clocks drift apart. */
  #setClock(now: number): void {
    // Clocks are read in whole milliseconds, rounded down: here that would be too late a time.
    this.#aheadMs = now - (Date.now() + 1);
  }

  #beat(): void {
    const socket = this.#socket;
    this.#after(this.#heartbeatMs, () => {
      if (socket === undefined || socket !== this.#socket) return;
      if (performance.now() - this.#lastHeard > PATIENCE * this.#heartbeatMs) {
        this.#drop(socket, new JechoError("HEARTBEAT_MISSED"));
        return;
      }
      this.send({ kind: "Ping", time: performance.now() });
      this.#beat();
    });
  }

  #absent(): JechoError {
    return new JechoError(
      "CONNECTION_LOST",
      `no connection to a gateway at ${this.#options.url} could be made`,
    );
  }

  /** Gives a socket up without waiting for its close, which may never come. */
  #drop(socket: Socket, error: JechoError): void {
    if (socket !== this.#socket) return;
    socket.onmessage = null;
    socket.onclose = null;
    socket.close(error.number, error.code);
    this.#lost(error);
  }

  #lost(cause: JechoError): void {
    const isGarbled = cause.code === "FRAME_MALFORMED" || cause.code === "FRAME_UNEXPECTED";
    const error =
      isGarbled && ++this.#garbled <= MOST_GARBLED
        ? new JechoError("CONNECTION_LOST", `what one side sent is no frame of JEcho: ${cause.message}`)
        : cause;
    this.#socket = undefined;
    this.#clearTimers();
    this.#asked.clear();
    if (!this.#ready) {
      this.#ready = true;
      this.#events.onReady(true);
    }
    if (!error.retry) {
      this.#setStatus(statusNow("refused", error));
      return;
    }
    const state = this.#status.state === "connecting" ? "connecting" : "reconnecting";
    this.#setStatus(this.#status.state === state ? { ...this.#status, error } : statusNow(state, error));
    this.#after(this.#backoff.nextMs(), () => this.connect());
  }

  #pollDrain(): void {
    this.#after(DRAIN_POLL_MS, () => {
      if ((this.#socket?.bufferedAmount ?? 0) > LOW_WATER_BYTES) {
        this.#pollDrain();
        return;
      }
      this.#ready = true;
      this.#events.onReady(true);
    });
  }

  #setStatus(status: Status): void {
    this.#status = status;
    this.#events.onStatus(status);
  }

  #after(ms: number, act: () => void): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
    return timer;
  }

  #cancel(timer: ReturnType<typeof setTimeout>): void {
    clearTimeout(timer);
    this.#timers.delete(timer);
  }

  #clearTimers(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}

function closeError(code: number, reason: string): JechoError {
  if (code >= 4000 && code < 5000) {
    const known = errorCode(code);
    // A code that this version does not know still says by its range whether to come back.
    if (ERRORS[known][0] === code || !mayRetry(code))
      return new JechoError(known, reason.replace(/^[A-Z_]+: /, "") || undefined);
  }
  return new JechoError("CONNECTION_LOST", `the connection to the gateway broke (close code ${code})`);
}
