import { type ErrorCode, errorCode, JechoError, mayRetry } from "@jecho/shared";
import {
  CHECKED_SUBPROTOCOL,
  encodeControl,
  type Outgoing,
  PROTOCOL,
  parseMessage,
  SUBPROTOCOLS,
  withoutChecksum,
} from "@jecho/shared/internal";
import { openSocket, refusalAt } from "#platform";
import type { LinkOptions } from "../options/concentrator-options.ts";
import type { Socket } from "../platform/face.ts";
import { type Status, statusNow } from "../session/status.ts";
import { Backoff } from "./backoff.ts";
import { LinkSender, type SenderEvents } from "./link-sender.ts";
import { LinkTimers } from "./link-timers.ts";
import { LinkToken } from "./link-token.ts";

export interface LinkEvents extends SenderEvents {
  onStatus(status: Status): void;
  /** The gateway has said who it is; `onStatus` follows. */
  onGateway(identity: string): void;
  /** A token is wanted for a new connection, or to replace one that expires soon: `token` is to be called with it. */
  onTokenWanted(): void;
  /** The gateway has taken a token, which is this subject's. */
  onAdmitted(subject: string): void;
}

/** Generous: where thousands reconnect, a client that gives up and tries again is served last. */
const MOST_DOUBLINGS = 3;
/** Number of malformed connections in a row after which the client gives up: a bit may flip on the way. */
const MOST_GARBLED = 5;
/** Close codes after which the same gateway takes the next connection. */
const STAYS: ReadonlySet<ErrorCode> = new Set(["TOKEN_EXPIRED", "RIGHTS_CHANGED"]);
/** Time within which a second `CHANNEL_MOVED` means that this gateway and a channel's home do not agree on who that is. */
const MOVED_AGAIN_MS = 10_000;
/** Number of heartbeats without a word after which the connection counts as broken. */
const PATIENCE = 2.5;
const PROBE_MS = 3000;
/** Time that a socket has to report its close after an error while connecting. */
const CLOSE_FOLLOWS_MS = 200;
/** The one connection of a concentrator: connects, greets, keeps alive, and connects again. */
export class Link {
  readonly #options: LinkOptions;
  readonly #events: LinkEvents;
  readonly #backoff: Backoff;
  /** Addresses of gateways, and the one that is tried next, or is connected. */
  readonly #urls: readonly string[];
  #at = 0;
  #socket: Socket | undefined;
  #status: Status = statusNow("connecting");
  #handover: string;
  readonly #timers = new LinkTimers();
  readonly #token: LinkToken;
  readonly #sender: LinkSender;
  #lastHeard = 0;
  /** Number of connections in a row that ended with a malformed frame. */
  #garbled = 0;
  /** When a connection last ended because a channel had moved. */
  #movedAt = Number.NEGATIVE_INFINITY;
  /** Number of connections in a row that were not answered in time. */
  #timedOut = 0;
  #heartbeatMs = 10_000;
  /** Least time by which the gateway's clock is ahead of this machine's: its word was already some time old when it came. */
  #aheadMs = 0;
  /** Callers of `ask` by the number of their question, which no time has. */
  readonly #asked = new Map<number, () => void>();
  #asks = 0;
  #heardBytes = 0;

  constructor(options: LinkOptions, events: LinkEvents) {
    this.#options = options;
    this.#urls = [options.url, ...options.others];
    this.#handover = options.handover;
    this.#events = events;
    this.#backoff = new Backoff(options.backoff);
    this.#token = new LinkToken(options.hasToken, this.#timers, () => events.onTokenWanted());
    this.#sender = new LinkSender(this.#timers, events);
  }

  get isLive(): boolean {
    return this.#status.state === "live";
  }

  /** Whether there is room for more without letting the buffers grow. */
  get isReady(): boolean {
    return this.#sender.isReady;
  }

  /** Size of the largest message that the gateway takes, as it said when it was last there. */
  get limitBytes(): number {
    return this.#sender.limitBytes;
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

  get #url(): string {
    return this.#urls[this.#at % this.#urls.length] as string;
  }

  connect(): void {
    const url = this.#url;
    const socket = openSocket(url, SUBPROTOCOLS);
    this.#socket = socket;
    this.#sender.use(socket);
    let isOpen = false;
    const patience = 2 ** Math.min(this.#timedOut, MOST_DOUBLINGS);
    const timeout = this.#timers.after(this.#options.connectTimeoutMs * patience, () => {
      this.#timedOut++;
      this.#drop(socket, new JechoError("TIMED_OUT", `no gateway answered at ${url}`));
    });
    socket.onopen = () => {
      isOpen = true;
      this.#token.opened(token => this.#hello(token));
    };
    socket.onmessage = ({ data }: { data: unknown }) => {
      if (socket !== this.#socket) return;
      if (this.#status.state !== "live") {
        this.#timers.cancel(timeout);
        this.#backoff.reset();
      }
      this.#receive(socket, data);
      // Nobody need wait for that.
      this.#lastHeard = performance.now();
    };
    let cause = "";
    // The close that follows says why; in a page that may not connect there, none follows.
    socket.onerror = (error?: { message?: string; code?: string }) => {
      cause = error?.message || error?.code || "";
      if (!isOpen) this.#timers.after(CLOSE_FOLLOWS_MS, () => void this.#absent(socket, cause));
    };
    socket.onclose = ({ code, reason }: { code: number; reason: string }) => {
      this.#timers.cancel(timeout);
      if (socket !== this.#socket) return;
      if (isOpen) this.#lost(closeError(code, String(reason)));
      else void this.#absent(socket, cause);
    };
  }

  /** Takes the application's token, or the reason why it has none at present. */
  token(token: string | JechoError): void {
    if (!(token instanceof JechoError)) {
      if (this.#token.take(token)) this.send({ kind: "Token", token });
    } else if (this.#token.isAwaited && this.#socket !== undefined)
      this.#drop(this.#socket, new JechoError("CONNECTION_LOST", `there is no token: ${token.message}`));
  }

  #hello(token: string): void {
    const { name, modulating, inquires = false } = this.#options;
    const asked = { handover: this.#handover, modulating, token, inquires };
    this.#sender.message([encodeControl({ kind: "Hello", protocol: PROTOCOL, name, ...asked })]);
  }

  /** Subject of the token; "" where the gateway wants none. */
  get subject(): string {
    return this.#token.subject;
  }

  send(control: Outgoing): void {
    if (this.isLive) this.#sender.control(control);
  }

  /** Sends everything but messages of events that `act` causes in one message; within another such act, in that one's. */
  together(act: () => void): void {
    this.#sender.together(act);
  }

  /** Whether long parts of a message go out as they lie; else all are copied into one. */
  get takesParts(): boolean {
    return this.#sender.takesParts;
  }

  /** Sends whole frames, which are to stay as they are, in one message. False where the connection is not live: nothing was sent. */
  sendMessage(parts: readonly Uint8Array[]): boolean {
    if (!this.isLive) return false;
    this.#sender.message(parts);
    return true;
  }

  /** Stops reading, or begins again; for times that are short against a heartbeat. @returns false where the socket cannot do that */
  pause(isPaused: boolean): boolean {
    const socket = this.#socket;
    if (socket?.pause === undefined) return false;
    socket.pause(isPaused);
    return true;
  }

  /** Asks for a word of the gateway's. @param answered called when it and all that was sent before are here; not when the connection breaks */
  ask(answered: () => void): void {
    if (!this.isLive) return;
    const number = --this.#asks;
    this.#asked.set(number, answered);
    this.send({ kind: "Ping", time: number });
  }

  /** Tests now whether the other side is still there; a network that changed may have left a dead socket. */
  probe(): void {
    if (this.#status.state === "reconnecting" && this.#socket === undefined) {
      this.#timers.clear();
      this.connect();
      return;
    }
    const socket = this.#socket;
    if (!this.isLive || socket === undefined) return;
    const asked = performance.now();
    this.send({ kind: "Ping", time: asked });
    this.#timers.after(PROBE_MS, () => {
      if (this.#lastHeard < asked) this.#drop(socket, silent());
    });
  }

  /** The sessions have ended: later connections, for what is still to be sent, have the token of the last one. */
  leave(): void {
    this.#token.leave();
  }

  close(): void {
    this.#timers.clear();
    const socket = this.#socket;
    this.#socket = undefined;
    this.#sender.use(undefined);
    this.#setStatus(statusNow("closed"));
    if (socket === undefined) return;
    socket.onmessage = null;
    socket.onclose = null;
    // Closing a socket that is still connecting raises an error, so the listener stays.
    socket.close(1000, "closed by the application");
  }

  #receive(socket: Socket, data: unknown): void {
    try {
      const message = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
      if (!(message instanceof Uint8Array)) throw new JechoError("FRAME_MALFORMED", "messages are binary");
      this.#heardBytes += message.byteLength;
      const bytes = socket.protocol === CHECKED_SUBPROTOCOL ? withoutChecksum(message) : message;
      parseMessage(bytes, frame => {
        // An earlier frame of the message may have ended the connection.
        if (socket !== this.#socket) return;
        if (frame.kind === "Inheritance") this.#handover = "";
        if (frame.kind === "Welcome") {
          this.#setClock(frame.now);
          this.#events.onGateway(frame.gateway);
          this.#sender.limitBytes = frame.limitBytes || Number.POSITIVE_INFINITY;
          this.#welcomed(frame.heartbeatMs);
        } else if (frame.kind === "Admitted") {
          this.#token.admitted(frame);
          this.#events.onAdmitted(frame.subject);
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

  /** Takes the gateway's time. The newest answer counts, not the quickest: clocks are set, and drift apart. */
  #setClock(now: number): void {
    // Clocks are rounded down to milliseconds, which would make this time too late.
    this.#aheadMs = now - (Date.now() + 1);
  }

  #beat(): void {
    const socket = this.#socket;
    const due = performance.now() + this.#heartbeatMs;
    this.#timers.after(this.#heartbeatMs, () => {
      if (socket === undefined || socket !== this.#socket) return;
      const now = performance.now();
      // A thread that was busy has not read what came meanwhile, and asked for nothing.
      if (now - due > this.#heartbeatMs) this.#lastHeard = now;
      if (now - this.#lastHeard > PATIENCE * this.#heartbeatMs) return this.#drop(socket, silent());
      this.send({ kind: "Ping", time: performance.now() });
      this.#beat();
    });
  }

  /** No connection was made. A browser does not say whether a gateway refused the page or none was there, so that is asked. */
  async #absent(socket: Socket, cause: string): Promise<void> {
    const url = this.#url;
    const refusal = await refusalAt(url);
    if (refusal !== undefined) return this.#drop(socket, new JechoError("ORIGIN_REFUSED", refusal));
    const why = cause === "" ? "" : `: ${cause}`;
    const { origin } = globalThis as { origin?: string };
    // A gateway admits the pages that it serves.
    const isOwn = URL.canParse(origin ?? "") && new URL(origin as string).host === new URL(url).host;
    const perhaps =
      origin === undefined || isOwn ? "" : `; perhaps it refuses pages of ${origin}: see its log`;
    this.#drop(
      socket,
      new JechoError("CONNECTION_LOST", `no connection to a gateway at ${url} could be made${why}${perhaps}`),
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
        ? new JechoError("CONNECTION_LOST", `a message is no frame of JEcho: ${cause.message}`)
        : cause;
    this.#socket = undefined;
    this.#token.lost();
    if (!this.#staysAfter(error.code)) this.#at++;
    this.#timers.clear();
    this.#asked.clear();
    this.#sender.lost();
    if (!error.retry) {
      this.#setStatus(statusNow("refused", error));
      return;
    }
    const state = this.#status.state === "connecting" ? "connecting" : "reconnecting";
    this.#setStatus(this.#status.state === state ? { ...this.#status, error } : statusNow(state, error));
    this.#timers.after(this.#backoff.nextMs(), () => this.connect());
  }

  #staysAfter(code: ErrorCode): boolean {
    if (code !== "CHANNEL_MOVED") return STAYS.has(code);
    const formerAt = this.#movedAt;
    this.#movedAt = performance.now();
    return this.#movedAt - formerAt > MOVED_AGAIN_MS;
  }

  #setStatus(status: Status): void {
    this.#status = status;
    this.#events.onStatus(status);
  }
}

function silent(): JechoError {
  return new JechoError("HEARTBEAT_MISSED", "the gateway was silent for longer than the heartbeat allows");
}

function closeError(code: number, reason: string): JechoError {
  if (code >= 4000 && code < 5000) {
    const known = errorCode(code);
    // The range of an unknown code says whether to reconnect.
    if (known !== "INTERNAL" || !mayRetry(code))
      return new JechoError(known, reason.replace(/^[A-Z_]+: /, "") || undefined);
  }
  return new JechoError("CONNECTION_LOST", `the connection to the gateway broke (close code ${code})`);
}
