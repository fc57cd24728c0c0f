import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import { addressBytes } from "./address-bytes.ts";
import type { ServerSocket, WebHandlers } from "./web-server.ts";

const TOO_LARGE = 1009;
const HOW = { binary: true, compress: false } as const;
const ABNORMAL = 1006;
const NOTHING = new ArrayBuffer(0);

/** Subscribers by their topics, and the sockets that have something to write at the end of the turn. */
export class Topics {
  readonly #subscribers = new Map<string, Set<WsSocket>>();
  #corked: Socket[] = [];

  add(topic: string, socket: WsSocket): void {
    const subscribers = this.#subscribers.get(topic);
    if (subscribers === undefined) this.#subscribers.set(topic, new Set([socket]));
    else subscribers.add(socket);
  }

  remove(topic: string, socket: WsSocket): void {
    const subscribers = this.#subscribers.get(topic);
    if (subscribers?.delete(socket) && subscribers.size === 0) this.#subscribers.delete(topic);
  }

  /** Sends to each of a topic's subscribers but this one. @returns whether there is one */
  publish(topic: string, message: Uint8Array, but?: WsSocket): boolean {
    let copy: Buffer | undefined;
    for (const subscriber of this.#subscribers.get(topic) ?? []) {
      if (subscriber === but) continue;
      copy ??= Buffer.from(message);
      subscriber.write(copy);
    }
    return copy !== undefined;
  }

  /** Gathers the writes to a socket in one turn into one call to the system. */
  cork(tcp: Socket): void {
    if (tcp.writableCorked > 0) return;
    tcp.cork();
    if (this.#corked.push(tcp) === 1) queueMicrotask(() => this.#uncork());
  }

  #uncork(): void {
    const corked = this.#corked;
    this.#corked = [];
    for (const tcp of corked) tcp.uncork();
  }
}

/** A client's WebSocket by `ws`. */
export class WsSocket implements ServerSocket {
  readonly #web: WebSocket;
  readonly #tcp: Socket;
  readonly #topics: Topics;
  readonly #mostWaitingBytes: number;
  readonly #closed: (code: number) => void;
  readonly #subscriptions = new Set<string>();
  #bytesRead = 0;
  #silentLooks = 0;
  #isOpen = true;

  /** @param gone called when it has closed, whichever side did that */
  constructor(
    web: WebSocket,
    tcp: Socket,
    topics: Topics,
    mostWaitingBytes: number,
    { message, pong, drained, closed }: WebHandlers,
    gone: () => void,
  ) {
    this.#web = web;
    this.#tcp = tcp;
    this.#topics = topics;
    this.#mostWaitingBytes = mostWaitingBytes;
    this.#closed = code => {
      if (!this.#isOpen) return;
      this.#isOpen = false;
      for (const topic of this.#subscriptions) topics.remove(topic, this);
      closed(this, code);
    };
    web.binaryType = "arraybuffer";
    // An ArrayBuffer is what `binaryType` asks for; a text is refused, whatever it says.
    web.on("message", (data, isBinary) => {
      if (this.#isOpen) message(this, isBinary ? (data as ArrayBuffer) : NOTHING, isBinary);
    });
    web.on("pong", payload => {
      if (this.#isOpen) pong(this, Uint8Array.from(payload).buffer);
    });
    let isTooLarge = false;
    // All else that is wrong is told by the close that follows.
    web.on("error", error => {
      isTooLarge = (error as NodeJS.ErrnoException).code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH";
    });
    web.on("close", code => {
      this.#closed(isTooLarge ? TOO_LARGE : code);
      gone();
    });
    tcp.on("drain", () => {
      if (this.#isOpen) drained(this);
    });
  }

  send(message: Uint8Array): number {
    return this.write(Buffer.from(message));
  }

  publish(topic: string, message: Uint8Array): boolean {
    return this.#topics.publish(topic, message, this);
  }

  subscribe(topic: string): boolean {
    this.#topics.add(topic, this);
    this.#subscriptions.add(topic);
    return true;
  }

  unsubscribe(topic: string): boolean {
    this.#topics.remove(topic, this);
    return this.#subscriptions.delete(topic);
  }

  end(code?: number, reason?: string): void {
    this.#web.close(code, reason);
    // A close frame that waits behind much else is not waited for.
    this.#closed(code ?? 1005);
  }

  getBufferedAmount(): number {
    return this.#web.bufferedAmount;
  }

  getRemoteAddress(): ArrayBuffer {
    return addressBytes(this.#tcp.remoteAddress ?? "");
  }

  ping(): void {
    this.#web.ping();
  }

  /** Ends it without a word. */
  cut(): void {
    this.#web.terminate();
    this.#closed(ABNORMAL);
  }

  /** @returns how often in a row this was called without anything having come between */
  silentLooks(): number {
    const { bytesRead } = this.#tcp;
    this.#silentLooks = bytesRead === this.#bytesRead ? this.#silentLooks + 1 : 0;
    this.#bytesRead = bytesRead;
    return this.#silentLooks;
  }

  /** @param message not to be changed any more */
  write(message: Buffer): number {
    if (!this.#isOpen) return 2;
    if (this.#web.bufferedAmount > this.#mostWaitingBytes) {
      // The close is told later: who publishes goes through the subscribers.
      this.#tcp.destroy();
      return 2;
    }
    this.#topics.cork(this.#tcp);
    this.#web.send(message, HOW);
    return this.#tcp.writableNeedDrain ? 0 : 1;
  }
}
