import type { Certificate } from "./certificate.ts";

/** Libraries that can serve the gateway's HTTP and WebSockets. */
export const WEB_SERVERS = ["uWebSockets.js", "ws"] as const;

/** One of the libraries that can serve the gateway's HTTP and WebSockets. */
export type WebServerName = (typeof WEB_SERVERS)[number];

/** A client's WebSocket. uWebSockets.js' own sockets have this form, so that no wrapper costs time. */
export interface ServerSocket {
  /** Sends a message, whose memory may be reused when this returns. @returns 1 if it was sent, 0 if some of it waits: then `drained` follows */
  send(message: Uint8Array, isBinary?: boolean): number;
  /** Sends to all other subscribers of the topic. Messages published in one turn are sent together at its end. */
  publish(topic: string, message: Uint8Array, isBinary?: boolean): boolean;
  subscribe(topic: string): boolean;
  unsubscribe(topic: string): boolean;
  /** Closes with a reason; `closed` is called before this returns, and the socket may not be used after that. */
  end(code?: number, reason?: string): void;
  /** Bytes that wait in the socket. */
  getBufferedAmount(): number;
  /** The client's address: 4 or 16 bytes. */
  getRemoteAddress(): ArrayBuffer;
}

/** An HTTP request, valid while it is being answered. */
export interface WebRequest {
  /** Method in lower case, such as `get`. */
  readonly method: string;
  /** Path as it was sent, without its query. */
  readonly path: string;
  /** @param name in lower case @returns "" where it is absent */
  header(name: string): string;
  remoteAddress(): ArrayBuffer;
}

/** A whole HTTP answer. */
export interface WebAnswer {
  /** Such as `404 Not Found`. */
  readonly status: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Content; for HEAD and status 304 only its length is sent. Undefined for an answer without content. */
  readonly body?: Uint8Array | string;
}

/** A server's callbacks; they need no receiver. */
export interface WebHandlers {
  /** Answers a request that is no upgrade. */
  answer(request: WebRequest): WebAnswer;
  /** Checks an upgrade. @returns the refusal; undefined where it is accepted */
  refuse(request: WebRequest): WebAnswer | undefined;
  opened(socket: ServerSocket): void;
  /** @param message valid until this returns */
  message(socket: ServerSocket, message: ArrayBuffer, isBinary: boolean): void;
  pong(socket: ServerSocket, payload: ArrayBuffer): void;
  /** Called when a socket with waiting bytes has room again. */
  drained(socket: ServerSocket): void;
  /** @param code of its close frame; 1005 for one without, 1006 where none came, 1009 where it was closed for too large a message */
  closed(socket: ServerSocket, code: number): void;
  /** Called when a new socket was closed for want of file descriptors. Node's own server does that by itself, unreported. */
  crowded(): void;
}

export interface WebServerOptions {
  /** Path under which WebSockets are served. */
  readonly path: string;
  readonly protocol: string;
  /** Most bytes of a message. */
  readonly limitBytes: number;
  /** Most bytes that wait in a socket; beyond, it is closed. */
  readonly mostWaitingBytes: number;
  /** Time after which a socket that sends nothing, not even the answer to a ping, is closed. */
  readonly idleSeconds: number;
  readonly certificate: Certificate | undefined;
  /** Whether other processes may listen at its port, too; false by default. */
  readonly sharePort?: boolean | undefined;
}

/** Serves HTTP and WebSockets. `server/test/web-server.test.ts` is the contract of all implementations. */
export interface WebServer {
  /** @returns the port @throws JechoError `ARGUMENT_INVALID` where the host is none of this machine; Error where the port cannot be had */
  listen(host: string, port: number): Promise<number>;
  /** Also listens at a port of its own on the loopback. @returns the port */
  listenHere(): Promise<number>;
  /** Sends to all subscribers of the topic. */
  publish(topic: string, message: Uint8Array): void;
  /** Takes no new connections. */
  stopListening(): void;
  /** Cuts all remaining connections. */
  close(): void;
}
