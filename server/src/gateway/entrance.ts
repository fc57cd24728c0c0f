import { ERRORS, JechoError } from "@jecho/shared";
import {
  CHECKED_SUBPROTOCOL,
  EventsFrame,
  type Frame,
  MOST_RUN_EVENTS,
  Sealer,
  SUBPROTOCOL,
  withoutChecksum,
} from "@jecho/shared/internal";
import type { AuditLog } from "../access/audit-log.ts";
import type { GatewayCluster } from "../cluster/gateway-cluster.ts";
import { type Admission, addressOf } from "../connections/admission.ts";
import { ClientConnection } from "../connections/client-connection.ts";
import type { Confirmations } from "../connections/confirmations.ts";
import type { ConnectionLimits } from "../connections/connection.ts";
import type { Crowd } from "../connections/crowd.ts";
import { Deadlines } from "../connections/deadlines.ts";
import { Inboxes } from "../connections/inboxes.ts";
import { PassingSocket } from "../connections/passing-socket.ts";
import type { Silence } from "../connections/silence.ts";
import type { Dispatcher } from "../delivery/dispatch.ts";
import type { Gathering } from "../delivery/gathering.ts";
import type { NameServer } from "../management/name-server.ts";
import type { GatewayCounts } from "../operations/gateway-counts.ts";
import { refusal } from "../web/answers.ts";
import type { Site } from "../web/site.ts";
import type { ServerSocket, WebAnswer, WebHandlers, WebRequest } from "../web/web-server.ts";

/** Close codes of clients that have said all they had to say: it is acted on before they are gone. */
const IN_ORDER: ReadonlySet<number> = new Set([1000, 1001, 1005]);
/**
 * Close codes of those who leave for good: 1000 or none by a program, 1001 by a page. What they open when they come back is looked at again, for their rights
 * may have ended.
 */
const LEAVING: ReadonlySet<number> = new Set([
  ...IN_ORDER,
  ...(["TOKEN_EXPIRED", "RIGHTS_CHANGED", "KICKED"] as const).map(code => ERRORS[code][0]),
]);
/** Bytes of messages of one connection, and of all, that may wait for their turn, besides two that are as large as may be. */
const INBOX_BYTES = 16 << 20;
const INBOXES_BYTES = 256 << 20;
const CLOSE_GRACE_MS = 2000;

/** Parts of a gateway that its entrance uses. */
export interface EntranceParts {
  readonly names: NameServer;
  readonly dispatcher: Dispatcher;
  readonly cluster: GatewayCluster | undefined;
  readonly confirmations: Confirmations;
  readonly gathering: Gathering;
  readonly admission: Admission;
  readonly crowd: Crowd;
  readonly silence: Silence;
  readonly audit: AuditLog | undefined;
  readonly counts: GatewayCounts;
  readonly site: Site;
  readonly connectionLimits: ConnectionLimits;
  readonly limitBytes: number;
  /** Whether messages have checksums. */
  readonly checksums: boolean;
  log(line: string): void;
}

/** Where clients come in: from the sockets of the web server, and from other gateways, to frames that are dispatched each connection in its turn. */
export class Entrance {
  /** Connections by their sockets. */
  readonly connections = new Map<ServerSocket, ClientConnection>();
  /** The subprotocol of WebSockets. */
  readonly protocol: string;
  /** Takes what the web server tells. */
  readonly handlers: WebHandlers;
  readonly #parts: EntranceParts;
  readonly #sealer: Sealer | undefined;
  readonly #inboxes: Inboxes<ClientConnection>;
  /** A browser answers pings by itself, so one that never says Hello would stay for ever. */
  readonly #strangers: Deadlines<ClientConnection>;
  #isCrowded = false;
  /** Whether the gateway ends: nothing more is taken of producers. */
  #isClosing = false;
  #whenEmpty: (() => void) | undefined;

  constructor(parts: EntranceParts) {
    this.#parts = parts;
    this.#sealer = parts.checksums ? new Sealer() : undefined;
    this.protocol = parts.checksums ? CHECKED_SUBPROTOCOL : SUBPROTOCOL;
    this.#strangers = new Deadlines(parts.connectionLimits.requestTimeoutMs, connection =>
      connection.end("TIMED_OUT", "no Hello came"),
    );
    this.#inboxes = new Inboxes<ClientConnection>(
      {
        frame: (...frame) => this.#frame(...frame),
        pause: () => {
          parts.gathering.flush();
          parts.cluster?.edge.flush();
        },
        done: (connection, bytes, hasEvents) => {
          if (!hasEvents || !this.#hears(connection) || !this.#takesEventsOf(connection)) return;
          if (!parts.cluster?.edge.took(connection, bytes)) parts.confirmations.took(connection, bytes);
        },
        failed: (connection, error) => this.#failed(connection, error),
      },
      {
        connectionBytes: 2 * parts.limitBytes + INBOX_BYTES,
        totalBytes: 2 * parts.limitBytes + INBOXES_BYTES,
      },
    );
    this.handlers = {
      answer: request => parts.site.answer(request),
      refuse: request => this.#refuse(request),
      opened: socket => this.#opened(socket),
      message: (socket, message, isBinary) => this.#message(socket, message, isBinary),
      // Nobody sends one with a content, but a flipped bit makes one of a short message.
      pong: (socket, { byteLength }) => {
        if (parts.checksums && byteLength > 0) this.connections.get(socket)?.end("MESSAGE_DAMAGED");
      },
      drained: socket => {
        const connection = this.connections.get(socket);
        if (connection === undefined) return;
        this.drained(connection);
        parts.cluster?.edge.drained(connection);
      },
      closed: (socket, code) => this.#closed(socket, code),
      crowded: () => {
        parts.counts.reached("connections");
        if (!this.#isCrowded)
          parts.log("connections are refused: the system allows too few open files (ulimit -n)");
        this.#isCrowded = true;
      },
    };
  }

  /** An outgoing message with its checksum, where those are asked for. */
  seal(message: Uint8Array): Uint8Array {
    return this.#sealer?.seal(message) ?? message;
  }

  /** A message came by a client's own connection, or by another gateway from one of its clients. */
  received(connection: ClientConnection, bytes: Uint8Array, now = performance.now()): void {
    try {
      if (!this.#inboxes.receive(connection, bytes, now)) this.#tooMuch(connection);
      if (this.#inboxes.isFull) this.#tooMuch(this.#inboxes.largest as ClientConnection);
    } catch (error) {
      this.#failed(connection, error);
    }
  }

  /** A connection takes more again. */
  drained(connection: ClientConnection): void {
    connection.drained();
    if (connection.isOpen) this.#inboxes.drained(connection);
  }

  /**
   * A client has closed its connection, or that broke. What it said before it closed in order is acted on first.
   *
   * @param code as of a WebSocket's close
   * @param gone called when it is to be forgotten
   */
  left(connection: ClientConnection, code: number, gone?: () => void): void {
    const leave = (): void => {
      gone?.();
      this.#gone(connection, code);
    };
    if (!IN_ORDER.has(code) || this.#isClosing || !this.#inboxes.closed(connection, leave)) leave();
  }

  #gone(connection: ClientConnection, code: number): void {
    this.#inboxes.forget(connection);
    this.#parts.confirmations.lost(connection);
    // Of a gateway that stops producers must not hear that nobody wants their events any more: they keep them for the next one.
    if (this.#isClosing) connection.lost();
    else this.#parts.dispatcher.lost(connection, !LEAVING.has(code));
  }

  /** Takes nothing more of producers. What they send is not confirmed, and so comes again, to the next gateway. */
  stopTaking(): void {
    this.#isClosing = true;
  }

  /** Lets go of all clients, for other gateways to take them. */
  part(why: string): void {
    for (const connection of [...this.connections.values()])
      if (connection !== this.#parts.names.modulating) connection.end("CHANNEL_MOVED", why);
  }

  /** Ends all connections, and waits for them for a while. @returns how many have not answered by then: these may not have all that was sent */
  async empty(): Promise<number> {
    if (this.connections.size === 0) return 0;
    const empty = new Promise<void>(resolve => {
      this.#whenEmpty = resolve;
    });
    for (const connection of [...this.connections.values()]) connection.end("GATEWAY_STOPPING");
    // A peer that does not answer the close must not keep the gateway up.
    const grace = setTimeout(() => this.#whenEmpty?.(), CLOSE_GRACE_MS);
    await empty;
    clearTimeout(grace);
    return this.connections.size;
  }

  close(): void {
    this.#strangers.clear();
    this.#inboxes.close();
  }

  #refuse(request: WebRequest): WebAnswer | undefined {
    const { admission, audit, cluster } = this.#parts;
    if (cluster?.isMember === false)
      return refusal("503 Service Unavailable", "The gateway is no member of its cluster for now.");
    const origin = request.header("origin");
    if (!admission.admits(origin, request.header("host"))) {
      audit?.refusedOrigin(addressOf(request.remoteAddress()), origin);
      return refusal("403 Forbidden", "This origin may not connect. The gateway's log says why.");
    }
    const protocols = request.header("sec-websocket-protocol").split(",");
    return protocols.some(offered => offered.trim() === this.protocol)
      ? undefined
      : refusal("400 Bad Request", `This endpoint speaks the subprotocol ${this.protocol}.`);
  }

  #opened(socket: ServerSocket): void {
    const { audit, cluster, crowd, counts, silence, connectionLimits } = this.#parts;
    const isPlain = this.#sealer === undefined && cluster === undefined;
    const link = isPlain ? socket : new PassingSocket(socket, this.#sealer, cluster);
    const connection = new ClientConnection(link, connectionLimits);
    const address = addressOf(socket.getRemoteAddress());
    try {
      crowd.enter(connection, address);
    } catch (error) {
      counts.failed(error);
      audit?.refusedConnection(address, error);
      return connection.end("OVERLOADED", (error as JechoError).message);
    }
    this.connections.set(socket, connection);
    silence.broken(connection);
    this.#strangers.add(connection);
  }

  #message(socket: ServerSocket, message: ArrayBuffer, isBinary: boolean): void {
    const connection = this.connections.get(socket);
    if (connection === undefined) return;
    this.#parts.silence.broken(connection);
    try {
      if (!isBinary) throw new JechoError("FRAME_MALFORMED", "messages are binary");
      const now = performance.now();
      for (const party of connection.parties) party.message(message.byteLength, now);
      const bytes = new Uint8Array(message);
      this.received(connection, this.#sealer === undefined ? bytes : withoutChecksum(bytes), now);
    } catch (error) {
      this.#failed(connection, error);
    }
  }

  #closed(socket: ServerSocket, code: number): void {
    const { audit, counts, crowd, cluster } = this.#parts;
    const connection = this.connections.get(socket);
    if (connection === undefined) return;
    this.connections.delete(socket);
    audit?.ended(connection, code);
    counts.closed(code);
    this.#strangers.delete(connection);
    this.left(connection, code, () => {
      crowd.leave(connection);
      cluster?.edge.left(connection, !LEAVING.has(code));
    });
    if (this.connections.size === 0) this.#whenEmpty?.();
  }

  #frame(connection: ClientConnection, frame: Frame, message: Uint8Array, start: number, end: number): void {
    for (const party of connection.parties) party.frame();
    const isRun = frame instanceof EventsFrame;
    if (isRun && frame.count > MOST_RUN_EVENTS)
      throw new JechoError("FRAME_TOO_LARGE", `a run has at most ${MOST_RUN_EVENTS} events`);
    if (!this.#hears(connection)) return;
    const isOfProducer = isRun || frame.kind === "Position";
    if (isOfProducer && !this.#takesEventsOf(connection)) return;
    if (this.#parts.cluster?.forward(connection, frame, message, start, end)) return;
    this.#parts.dispatcher.frame(connection, frame, message, start, end);
    if (frame.kind === "Hello") this.#strangers.delete(connection);
  }

  /**
   * Whether a connection is heard. Clients are not while the gateway is no member of its cluster: they say it all again when they have been
   * let go. Its own process for modulators stays, and says nothing twice.
   */
  #hears(connection: ClientConnection): boolean {
    const { cluster, names } = this.#parts;
    return cluster?.isMember !== false || connection === names.modulating;
  }

  #takesEventsOf(connection: ClientConnection): boolean {
    return (!this.#isClosing && connection.isTaken) || connection === this.#parts.names.modulating;
  }

  #failed(connection: ClientConnection, error: unknown): void {
    const { log, counts } = this.#parts;
    if (!(error instanceof JechoError)) log(`a frame could not be handled: ${(error as Error).stack}`);
    counts.failed(error);
    const { code, message } = JechoError.from(error);
    connection.end(code, message);
  }

  #tooMuch(connection: ClientConnection): void {
    connection.end(
      "OVERLOADED",
      "more waits of what it asks for than may: other connections have their turns",
    );
    if (!connection.isHeard) this.#inboxes.forget(connection);
  }
}
