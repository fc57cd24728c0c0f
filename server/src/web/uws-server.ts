import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from "#uws";
import type { Certificate } from "./certificate.ts";
import { mostSockets } from "./descriptors.ts";
import { LOOPBACK, tryPort } from "./listening.ts";
import type { WebAnswer, WebHandlers, WebRequest, WebServer, WebServerOptions } from "./web-server.ts";

type Uws = typeof import("#uws");

type ListenByOptions = (
  host: string,
  port: number,
  options: number,
  listening: (socket: us_listen_socket | false) => void,
) => void;

/** Text by which a closed socket says that its message was too large. */
const TOO_BIG = "Received too big message";
const TOO_LARGE = 1009;
const [LISTEN_SHARED_PORT, LISTEN_EXCLUSIVE_PORT] = [0, 1];
/** The idle timeouts that it takes. */
const IDLE_SECONDS = [8, 960] as const;
/** Whatever name a client asks for, of up to so many parts. */
const NAMES = Array.from({ length: 6 }, (_, i) =>
  Array(i + 1)
    .fill("*")
    .join("."),
);

/** Serves by uWebSockets.js: in C++, and a message to many in one call. */
export class UwsServer implements WebServer {
  readonly #uws: Uws;
  readonly #app: TemplatedApp;
  readonly #options: WebServerOptions;
  readonly #handlers: WebHandlers;
  /** Sockets that are open, whether they have become WebSockets or not, and how many of them there may be. */
  #sockets = 0;
  readonly #mostSockets = mostSockets();
  readonly #listening: us_listen_socket[] = [];
  #unfollow: (() => void) | undefined;

  /** @throws JechoError `ARGUMENT_INVALID` where it cannot use a certificate that Node can */
  constructor(uws: Uws, options: WebServerOptions, handlers: WebHandlers) {
    this.#uws = uws;
    this.#options = options;
    this.#handlers = handlers;
    const { certificate } = options;
    this.#app = certificate === undefined ? uws.App() : secure(uws, certificate);
    this.#app.filter((response, change) => this.#count(response, change));
    this.#route(this.#app);
  }

  /**
   * Closes sockets before there are no file descriptors left: then uWebSockets.js could not take what comes, and would ask the system for it without a pause.
   *
   * @param change 1 for one more, -1 for one less that did not become a WebSocket
   */
  #count(response: HttpResponse, change: number): void {
    this.#sockets += change;
    if (this.#sockets <= this.#mostSockets || change < 0) return;
    this.#handlers.crowded();
    response.close();
  }

  async listen(host: string, port: number): Promise<number> {
    const { certificate, sharePort = false } = this.#options;
    const listened = await this.#listenAt(host, port, sharePort);
    this.#unfollow = certificate?.follow(newer => this.#renew(newer));
    return listened;
  }

  listenHere(): Promise<number> {
    return this.#listenAt(LOOPBACK, 0, false);
  }

  async #listenAt(host: string, port: number, isShared: boolean): Promise<number> {
    // A port that uWebSockets.js chose itself could not be taken again for a minute after a crash.
    const wanted = port === 0 ? await tryPort(host, 0) : port;
    // The official typings lack the form with host and options; without the option two gateways could share a port.
    const listen = this.#app.listen.bind(this.#app) as unknown as ListenByOptions;
    const options = isShared ? LISTEN_SHARED_PORT : LISTEN_EXCLUSIVE_PORT;
    const socket = await new Promise<us_listen_socket | false>(resolve =>
      listen(host, wanted, options, resolve),
    );
    if (socket === false) {
      // uWebSockets.js does not say why, and Node does.
      await tryPort(host, wanted);
      throw new Error(`the gateway cannot listen at ${host}:${wanted}`);
    }
    this.#listening.push(socket);
    return this.#uws.us_socket_local_port(socket);
  }

  publish(topic: string, message: Uint8Array): void {
    this.#app.publish(topic, message, true);
  }

  stopListening(): void {
    for (const socket of this.#listening.splice(0)) this.#uws.us_listen_socket_close(socket);
    this.#unfollow?.();
  }

  close(): void {
    this.stopListening();
    this.#app.close();
  }

  /**
   * uWebSockets.js cannot exchange an app's own certificate, but those by the name that a client asks for: who asks for none, as for an IP address, is shown
   * the first one for as long as the gateway runs. What has a certificate of its own has routes of its own.
   */
  #renew({ keyFile, certFile }: Certificate): void {
    for (const name of NAMES) {
      this.#app.removeServerName(name);
      this.#app.addServerName(name, { key_file_name: keyFile, cert_file_name: certFile });
      this.#route(this.#app.domain(name));
    }
  }

  #route(app: TemplatedApp): void {
    const { path, protocol, limitBytes, mostWaitingBytes, idleSeconds } = this.#options;
    const { answer, refuse, opened, message, pong, drained, closed } = this.#handlers;
    const [least, most] = IDLE_SECONDS;
    app.ws<object>(`${path}/*`, {
      maxPayloadLength: Math.min(2 ** 32 - 1, limitBytes),
      maxBackpressure: mostWaitingBytes,
      closeOnBackpressureLimit: true,
      idleTimeout: Math.min(most, Math.max(least, idleSeconds)),
      sendPingsAutomatically: true,
      upgrade: (response, request, context) => {
        const refusal = refuse(requestOf(response, request));
        if (refusal !== undefined) return send(response, request, refusal);
        const key = request.getHeader("sec-websocket-key");
        const extensions = request.getHeader("sec-websocket-extensions");
        response.upgrade({}, key, protocol, extensions, context);
      },
      open: opened,
      message,
      pong,
      drain: drained,
      close: (socket, code, reason) => {
        this.#sockets--;
        closed(socket, Buffer.from(reason).toString() === TOO_BIG ? TOO_LARGE : code);
      },
    });
    app.any("/*", (response, request) => send(response, request, answer(requestOf(response, request))));
  }
}

function secure(uws: Uws, certificate: Certificate): TemplatedApp {
  const { keyFile, certFile } = certificate;
  try {
    return uws.SSLApp({ key_file_name: keyFile, cert_file_name: certFile });
  } catch {
    throw certificate.unusable("uWebSockets.js does not take them");
  }
}

function requestOf(response: HttpResponse, request: HttpRequest): WebRequest {
  return {
    method: request.getMethod(),
    path: request.getUrl(),
    header: name => request.getHeader(name),
    remoteAddress: () => response.getRemoteAddress(),
  };
}

/**
 * Answers. What the client has no room for is not copied: it is sent as room comes. Until then uWebSockets.js takes no further request of it, and ends
 * the connection of who sends one. An answer without a body could not wait like that: its connection ends with it.
 */
function send(response: HttpResponse, request: HttpRequest, { status, headers, body = "" }: WebAnswer): void {
  response.writeStatus(status);
  for (const [name, value] of headers) response.writeHeader(name, value);
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const { byteLength } = bytes;
  if (byteLength === 0) return void response.endWithoutBody(0, true);
  let isGone = false;
  response.onAborted(() => {
    isGone = true;
  });
  if (request.getMethod() !== "head" && !status.startsWith("304")) {
    const [, isDone] = response.tryEnd(bytes, byteLength);
    if (!isDone) response.onWritable(offset => response.tryEnd(bytes.subarray(offset), byteLength)[0]);
    return;
  }
  response.writeHeader("connection", "close").tryEnd("", byteLength);
  // What was written has gone out by then.
  setImmediate(() => {
    if (!isGone) response.close();
  });
}
