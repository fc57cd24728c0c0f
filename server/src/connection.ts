import { ERRORS, type ErrorCode, JechoError } from "@jecho/shared";
import { type Control, encodeControl, type Outgoing } from "@jecho/shared/internal";
import type { Channel } from "./channel.ts";
import type { Consumer, Producer } from "./endpoints.ts";
import type { Replay } from "./history/replay.ts";
import { Numbered } from "./numbered.ts";

/** What a connection needs of the socket below it. */
export interface Link {
  send(bytes: Uint8Array): void;
  /** Sends to every subscriber of the topic but this link itself. */
  publish(topic: string, bytes: Uint8Array): void;
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
  end(code: number, reason: string): void;
  /** Bytes that wait in the socket. */
  readonly bufferedBytes: number;
}

interface PendingRequest {
  resolve(answer: Control): void;
  reject(error: JechoError): void;
  readonly timer: NodeJS.Timeout;
}

/** One concentrator's connection: its endpoints, and what the gateway has asked of it. */
export class Connection {
  readonly id: number;
  /** 60 random bits: see `Audience`. */
  readonly markLow: number;
  readonly markHigh: number;
  /** By the numbers that the gateway gave them. */
  readonly producers = new Numbered<Producer>();
  readonly consumers = new Numbered<Consumer>();
  greeted = false;
  /** Messages with events that have come and are not confirmed yet. */
  unconfirmed = 0;
  /** Modulators that this connection's consumers have installed. */
  modulators = 0;
  readonly #link: Link;
  readonly #requestTimeoutMs: number;
  // Most connections need few of these, and there may be many thousands of connections: each is made when it is needed.
  #lagging: Set<Channel> | undefined;
  #replays: Set<Replay> | undefined;
  #pending: Map<number, PendingRequest> | undefined;
  #nextRequest = 1;
  #open = true;

  constructor(id: number, link: Link, requestTimeoutMs: number) {
    this.id = id;
    this.#link = link;
    this.#requestTimeoutMs = requestTimeoutMs;
    const [low = 0, high = 0] = crypto.getRandomValues(new Uint32Array(2));
    this.markLow = low >>> 2;
    this.markHigh = high >>> 2;
  }

  /** Events of this channel wait in a queue for this connection, or no longer. */
  lags(channel: Channel, isLagging: boolean): void {
    if (!isLagging) this.#lagging?.delete(channel);
    else {
      this.#lagging ??= new Set();
      this.#lagging.add(channel);
    }
  }

  /** A consumer is being sent its past, or no longer. */
  replaying(replay: Replay, isReplaying: boolean): void {
    if (!isReplaying) this.#replays?.delete(replay);
    else {
      this.#replays ??= new Set();
      this.#replays.add(replay);
    }
  }

  get isOpen(): boolean {
    return this.#open;
  }

  send(control: Outgoing): void {
    if (this.#open) this.#link.send(encodeControl(control));
  }

  /** Sends whole frames. */
  sendBytes(bytes: Uint8Array): void {
    if (this.#open) this.#link.send(bytes);
  }

  get bufferedBytes(): number {
    return this.#open ? this.#link.bufferedBytes : 0;
  }

  /** The socket has room again. */
  drained(): void {
    for (const channel of [...(this.#lagging ?? [])]) channel.drained(this);
    for (const replay of [...(this.#replays ?? [])]) replay.pump();
  }

  /** Tells that the messages with events which came since the last time are taken. */
  confirm(): void {
    const messages = this.unconfirmed;
    this.unconfirmed = 0;
    if (messages > 0) this.send({ kind: "Taken", messages });
  }

  publish(topic: string, bytes: Uint8Array): void {
    if (this.#open) this.#link.publish(topic, bytes);
  }

  subscribe(topic: string): void {
    if (this.#open) this.#link.subscribe(topic);
  }

  unsubscribe(topic: string): void {
    if (this.#open) this.#link.unsubscribe(topic);
  }

  /** Asks this concentrator for something; rejects with `TIMED_OUT` or `PRODUCER_GONE`. */
  request(make: (request: number) => Outgoing): Promise<Control> {
    const request = this.#nextRequest++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending?.delete(request);
        reject(new JechoError("TIMED_OUT", "a producer did not answer in time"));
      }, this.#requestTimeoutMs);
      this.#pending ??= new Map();
      this.#pending.set(request, { resolve, reject, timer });
      this.send(make(request));
    });
  }

  /** Hands an answer to who asked. False where nobody did. */
  answer(request: number, answer: Control): boolean {
    const pending = this.#pending?.get(request);
    if (pending === undefined) return false;
    this.#pending?.delete(request);
    clearTimeout(pending.timer);
    pending.resolve(answer);
    return true;
  }

  /** Ends the connection, telling the other side why. */
  end(code: ErrorCode, detail?: string): void {
    if (!this.#open) return;
    // A close reason has at most 123 bytes.
    const reason = `${code}: ${detail ?? ERRORS[code][1]}`.replace(/[^\x20-\x7e]/g, "?").slice(0, 123);
    this.#link.end(ERRORS[code][0], reason);
  }

  /** The socket is gone: nothing may be sent any more, and nobody will answer. */
  lost(): void {
    this.#open = false;
    for (const replay of [...(this.#replays ?? [])]) replay.end();
    for (const { reject, timer } of this.#pending?.values() ?? []) {
      clearTimeout(timer);
      reject(new JechoError("PRODUCER_GONE"));
    }
    this.#pending?.clear();
  }
}
