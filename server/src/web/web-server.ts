import type { Certificate } from "./certificate.ts";

/** Libraries that can serve the gateway's HTTP and WebSockets. */
export const WEB_SERVERS = ["uWebSockets.js", "ws"] as const;

/** One of the libraries that can serve the gateway's HTTP and WebSockets. */
export type WebServerName = (typeof WEB_SERVERS)[number];

/** A client's WebSocket. uWebSockets' own is one, so that nothing stands between an event and it. */
export interface ServerSocket {
  /** Sends a message, which may be overwritten when this returns. @returns 1 if it went out, 0 if some of it waits: then `drained` follows */
  send(message: Uint8Array, isBinary?: boolean): number;
  /** Sends to every other subscriber of the topic. What one turn publishes goes out together, when that is over. */
  publish(topic: string, message: Uint8Array, isBinary?: boolean): boolean;
  subscribe(topic: string): boolean;
  unsubscribe(topic: string): boolean;
  /** Closes with a reason; `closed` is called before this returns, and the socket may not be used after that. */
  end(code?: number, reason?: string): void;
  /** Bytes that wait in it. */
  getBufferedAmount(): number;
  /** 4 or 16 bytes. */
  getRemoteAddress(): ArrayBuffer;
}

/** A request by HTTP, valid while it is being answered. */
export interface WebRequest {
  /** Method in small letters: `get`. */
  readonly method: string;
  /** Path as it was sent, without what follows a question mark. */
  readonly path: string;
  /** @param name in small letters @returns "" where it is absent */
  header(name: string): string;
  remoteAddress(): ArrayBuffer;
}

/** A whole answer by HTTP. */
export interface WebAnswer {
  /** `404 Not Found` */
  readonly status: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Sent unless the request is HEAD, or the status 304: they have its length alone. Undefined for an answer that has none. */
  readonly body?: Uint8Array | string;
}

/** The functions that a server calls for each message; they need no receiver. */
export interface WebHandlers {
  /** Answers what is no upgrade. */
  answer(request: WebRequest): WebAnswer;
  /** Looks at an upgrade. @returns how it is refused; undefined where it is taken */
  refuse(request: WebRequest): WebAnswer | undefined;
  opened(socket: ServerSocket): void;
  /** @param message gone when this returns */
  message(socket: ServerSocket, message: ArrayBuffer, isBinary: boolean): void;
  pong(socket: ServerSocket, payload: ArrayBuffer): void;
  /** Called when there is room again in a socket that something waited in. */
  drained(socket: ServerSocket): void;
  /** @param code of its close frame; 1005 for one without, 1006 where none came, 1009 where it was closed for too large a message */
  closed(socket: ServerSocket, code: number): void;
  /** Called when a socket was closed as soon as it came, for file descriptors would be used up. Node's own server does that by itself, and does not say so. */
  crowded(): void;
}

export interface WebServerOptions {
  /** WebSockets are served under it. */
  readonly path: string;
  readonly protocol: string;
  /** Most bytes of a message. */
  readonly limitBytes: number;
  /** Most bytes that may wait in a socket, which is closed beyond that. */
  readonly mostWaitingBytes: number;
  /** A socket that sends nothing for so long, not even the answer to a ping, is closed. */
  readonly idleSeconds: number;
  readonly certificate: Certificate | undefined;
  /** Whether other processes may listen at its port, too; false by default. */
  readonly sharePort?: boolean | undefined;
}

/** Serves HTTP and WebSockets. `server/test/web-server.test.ts` says what each has to do. */
export interface WebServer {
  /** @returns the port @throws JechoError `ARGUMENT_INVALID` where the host is none of this machine; Error where the port cannot be had */
  listen(host: string, port: number): Promise<number>;
  /** Listens at a port of the loopback, too, that no other process has. @returns the port */
  listenHere(): Promise<number>;
  /** Sends to every subscriber of the topic. */
  publish(topic: string, message: Uint8Array): void;
  /** Takes no new connections. */
  stopListening(): void;
  /** Cuts all connections that are left. */
  close(): void;
}
