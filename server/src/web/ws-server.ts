import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import { createServer as createTcpServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { addressBytes } from "./address-bytes.ts";
import { LOOPBACK, listenAt } from "./listening.ts";
import type { WebAnswer, WebHandlers, WebRequest, WebServer, WebServerOptions } from "./web-server.ts";
import { Topics, WsSocket } from "./ws-socket.ts";

const HTTP: ServerOptions = { maxHeaderSize: 8 << 10, headersTimeout: 10_000, requestTimeout: 10_000 };
/** Time that a client has to answer a close frame. */
const CLOSE_MS = 2000;
/** A socket is looked at so often while it may be idle. */
const LOOKS = 4;

/** Serves by Node's own HTTP server and `ws`, wherever Node runs: each message to each client costs some JavaScript. */
export class WsServer implements WebServer {
  readonly #http: Server | SecureServer;
  /** Takes connections for the same server at a port of its own. */
  readonly #here = createTcpServer(socket => this.#http.emit("connection", socket));
  readonly #ws: WebSocketServer;
  readonly #options: WebServerOptions;
  readonly #handlers: WebHandlers;
  readonly #topics = new Topics();
  readonly #sockets = new Set<WsSocket>();
  #looking: NodeJS.Timeout | undefined;
  #unfollow: (() => void) | undefined;

  constructor(options: WebServerOptions, handlers: WebHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    const { certificate, limitBytes, protocol } = options;
    this.#http =
      certificate === undefined
        ? createServer(HTTP)
        : createSecureServer({ ...HTTP, ...certificate.texts, ALPNProtocols: ["http/1.1"] });
    // Its typings lack the time for a close.
    const sockets: ConstructorParameters<typeof WebSocketServer>[0] & { closeTimeout: number } = {
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: limitBytes,
      closeTimeout: CLOSE_MS,
      handleProtocols: () => protocol,
    };
    this.#ws = new WebSocketServer(sockets);
    this.#http.on("request", (request: IncomingMessage, response: ServerResponse) =>
      send(response, request, handlers.answer(requestOf(request))),
    );
    this.#http.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(request, socket as Socket, head),
    );
  }

  async listen(host: string, port: number): Promise<number> {
    const { certificate, idleSeconds, sharePort } = this.#options;
    const listened = await listenAt(this.#http, host, port, sharePort);
    this.#looking = setInterval(() => this.#look(), (idleSeconds * 1000) / LOOKS);
    this.#unfollow = certificate?.follow(({ texts }) => (this.#http as SecureServer).setSecureContext(texts));
    return listened;
  }

  listenHere(): Promise<number> {
    return listenAt(this.#here, LOOPBACK, 0);
  }

  publish(topic: string, message: Uint8Array): void {
    this.#topics.publish(topic, message);
  }

  stopListening(): void {
    this.#unfollow?.();
    this.#http.close();
    this.#here.close();
  }

  close(): void {
    this.stopListening();
    clearInterval(this.#looking);
    for (const socket of this.#sockets) socket.cut();
    this.#http.closeAllConnections();
  }

  #upgrade(request: IncomingMessage, tcp: Socket, head: Buffer): void {
    tcp.on("error", () => {});
    const asked = requestOf(request);
    const refusal = asked.path.startsWith(`${this.#options.path}/`)
      ? this.#handlers.refuse(asked)
      : this.#handlers.answer(asked);
    // Whoever does not close its side, too, would keep the socket.
    if (refusal !== undefined) return void tcp.end(textOf(refusal), () => tcp.destroy());
    this.#ws.handleUpgrade(request, tcp, head, web => {
      const socket = new WsSocket(
        web,
        tcp,
        this.#topics,
        this.#options.mostWaitingBytes,
        this.#handlers,
        () => this.#sockets.delete(socket),
      );
      this.#sockets.add(socket);
      this.#handlers.opened(socket);
    });
  }

  /** Cuts sockets that nothing has come from for too long, and has others answer in time. */
  #look(): void {
    for (const socket of this.#sockets) {
      const looks = socket.silentLooks();
      if (looks >= LOOKS) socket.cut();
      else if (looks >= LOOKS / 2) socket.ping();
    }
  }
}

function requestOf({ method = "", url = "", headers, socket }: IncomingMessage): WebRequest {
  return {
    method: method.toLowerCase(),
    path: url.split("?", 1)[0] as string,
    header: name => String(headers[name] ?? ""),
    remoteAddress: () => addressBytes(socket.remoteAddress ?? ""),
  };
}

function send(response: ServerResponse, { method }: IncomingMessage, answer: WebAnswer): void {
  const { status, headers, body } = answer;
  const length: [string, string][] =
    body === undefined || method !== "HEAD" ? [] : [["content-length", String(Buffer.byteLength(body))]];
  response.writeHead(Number.parseInt(status, 10), [...headers, ...length].flat());
  response.end(body);
}

/** An answer to an upgrade, which Node leaves to others. */
function textOf({ status, headers, body = "" }: WebAnswer): string {
  const lines = [...headers, ["content-length", String(Buffer.byteLength(body))], ["connection", "close"]];
  return `HTTP/1.1 ${status}\r\n${lines.map(line => `${line.join(": ")}\r\n`).join("")}\r\n${body}`;
}
