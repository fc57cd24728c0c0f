import type { WebSocket } from "uWebSockets.js";
import { randomBytes } from "node:crypto";
import { JechoError } from "@jecho/shared";
import { EventsFrame, parseMessage, SUBPROTOCOL } from "@jecho/shared/internal";
import { Admission } from "./admission.ts";
import { NO_PAGE, refuse, writeHeaders } from "./answers.ts";
import { Connection } from "./connection.ts";
import { addressOf, Crowd } from "./crowd.ts";
import { Deadlines } from "./deadlines.ts";
import { Acknowledgements } from "./delivery/acknowledgements.ts";
import { Confirmations } from "./delivery/confirmations.ts";
import { Dispatcher } from "./delivery/dispatch.ts";
import { Gathering } from "./delivery/gathering.ts";
import { drain, sendWaiting } from "./drain.ts";
import { limitsOf } from "./gateway-limits.ts";
import { checkGatewayOptions, type GatewayOptions } from "./gateway-options.ts";
import { HistoryStore } from "./history/store.ts";
import { listenAt } from "./listening.ts";
import { Handovers } from "./management/handovers.ts";
import { NameServer } from "./management/name-server.ts";
import { SharedObjects } from "./objects/shared-objects.ts";
import { Silence } from "./silence.ts";
import { StaticFiles } from "./static-files.ts";
import { loadUws } from "./uws.ts";

/** What a gateway has at present. */
export interface GatewayStats {
  /** Connections of clients, whether they have said Hello or not. */
  readonly connections: number;
  /** Channels that are in use, or whose history is kept in memory. */
  readonly channels: number;
  /** Channels that modulators make of these. */
  readonly derivedChannels: number;
  /** Bytes of events that are kept of all channels together. */
  readonly historyBytes: number;
}

/** A gateway that runs. */
export interface Gateway {
  /** Where it listens, as its options say. */
  readonly host: string;
  /** Where it listens: never 0. */
  readonly port: number;
  /** `HOST:PORT`, and its path, if it has one, as it stands in channel names. */
  readonly address: string;
  /** How much it has at present. */
  stats(): GatewayStats;
  /**
   * Takes nothing more of producers, who keep it for the next gateway; has its process for modulators finish and sends what waits for consumers,
   * within `drainMs`; lets go of every connection with `GATEWAY_STOPPING`.
   */
  close(): Promise<void>;
  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Sockets carry nothing: what is known of each is its connection's. */
type Socket = WebSocket<object>;

/** Close codes of those who leave for good: 1000 or none by a program, 1001 by a page. */
const LEAVING = new Set([1000, 1001, 1005]);
const CLOSE_GRACE_MS = 2000;
/** So long producers that come are made to wait for the process for modulators to be there. */
const MODULATING_START_MS = 30_000;

/**
 * Starts a gateway: the concentrator for browsers and programs, with name server and channel managers inside.
 *
 * @throws JechoError `ARGUMENT_INVALID` for options that are none, or a folder or file that cannot be used; `HISTORY_IN_USE` where another
 *   gateway has the file
 * @throws Error where the platform has no binary, or the port cannot be had
 */
export async function createGateway(options: GatewayOptions = {}): Promise<Gateway> {
  checkGatewayOptions(options);
  const {
    host = "127.0.0.1",
    port = 0,
    path = "",
    heartbeatMs = 10_000,
    drainMs = 5000,
    log = () => {},
  } = options;
  const limits = limitsOf(options);
  const { limitBytes } = limits;
  const uws = await loadUws();
  const files =
    options.staticFolder === undefined
      ? undefined
      : await StaticFiles.load(options.staticFolder, path, options.contentPolicy);
  const objects = new SharedObjects(limits.objectsPerConnection);
  const acknowledgements = new Acknowledgements();
  const store =
    options.historyFile === undefined ? undefined : await HistoryStore.open(options.historyFile, log);
  const gathering = new Gathering();
  const requestTimeoutMs = options.requestTimeoutMs ?? 10_000;
  const keeping = {
    historyBytes: limits.historyBytes,
    resumeWindowMs: options.resumeWindowMs ?? 30_000,
    store,
  };
  const names = new NameServer(objects, acknowledgements, gathering, keeping, limits, {
    installTimeoutMs: options.installTimeoutMs ?? 2000,
    requestTimeoutMs,
  });
  const confirmations = new Confirmations();
  const modulatingToken =
    options.modulating === undefined ? undefined : randomBytes(24).toString("base64url");
  const dispatcher = new Dispatcher(
    names,
    objects,
    acknowledgements,
    new Handovers(objects, options.handoverMs ?? 120_000),
    gathering,
    { ...limits, heartbeatMs, modulatingToken },
  );
  const connectionLimits = {
    requestTimeoutMs,
    connectionQueueBytes: limits.connectionQueueBytes,
  };
  const connections = new Map<Socket, Connection>();
  /** A browser answers pings by itself, so one that never says Hello would stay for ever. */
  const strangers = new Deadlines<Connection>(connectionLimits.requestTimeoutMs, connection =>
    connection.end("TIMED_OUT", "no Hello came"),
  );
  const crowd = new Crowd(limits);
  const silence = new Silence(options.messageTimeoutMs ?? 120_000, () => connections.values());
  const admission = new Admission([host, ...(options.hosts ?? [])], options.origins ?? [], log);
  let whenEmpty: (() => void) | undefined;
  let closing: Promise<void> | undefined;

  const app = uws.App();
  app.ws<object>(`${path}/*`, {
    maxPayloadLength: limitBytes,
    // The last wall: events wait in queues of ours long before.
    maxBackpressure: 64 << 20,
    closeOnBackpressureLimit: true,
    // In seconds; uWebSockets.js takes 8 to 960.
    idleTimeout: Math.min(960, Math.max(8, Math.ceil((3 * heartbeatMs) / 1000))),
    sendPingsAutomatically: true,
    upgrade: (response, request, context) => {
      if (!admission.admits(request.getHeader("origin"), request.getHeader("host")))
        return refuse(response, "403 Forbidden", "This origin may not connect. The gateway's log says why.");
      const protocols = request.getHeader("sec-websocket-protocol").split(",");
      if (!protocols.some(protocol => protocol.trim() === SUBPROTOCOL))
        return refuse(response, "400 Bad Request", `This endpoint speaks the subprotocol ${SUBPROTOCOL}.`);
      const key = request.getHeader("sec-websocket-key");
      const extensions = request.getHeader("sec-websocket-extensions");
      response.upgrade({}, key, SUBPROTOCOL, extensions, context);
    },
    open: socket => {
      const connection = new Connection(socket, connectionLimits);
      const address = addressOf(socket.getRemoteAddress());
      const full = crowd.enter(address);
      if (full !== undefined) return connection.end("OVERLOADED", full);
      connection.address = address;
      connections.set(socket, connection);
      silence.broken(connection);
      strangers.add(connection);
    },
    message: (socket, message, isBinary) => {
      const connection = connections.get(socket);
      if (connection === undefined) return;
      silence.broken(connection);
      try {
        if (!isBinary) throw new JechoError("FRAME_MALFORMED", "messages are binary");
        const { byteLength } = message;
        let hasEvents = false;
        const takes = closing === undefined || connection === names.modulating;
        try {
          const bytes = new Uint8Array(message);
          parseMessage(bytes, (frame, start, end) => {
            const isEvents = frame instanceof EventsFrame;
            // It is not confirmed, and so comes again, to the next gateway.
            if (!takes && (isEvents || frame.kind === "Position")) return;
            hasEvents ||= isEvents;
            dispatcher.frame(connection, frame, bytes, start, end);
            if (!isEvents && frame.kind === "Hello") strangers.delete(connection);
          });
        } finally {
          // The message's bytes are gone when this returns.
          gathering.flush();
        }
        if (hasEvents) confirmations.took(connection, byteLength);
      } catch (error) {
        if (!(error instanceof JechoError)) log(`a frame could not be handled: ${(error as Error).stack}`);
        const { code, message } = JechoError.from(error);
        connection.end(code, message);
      }
    },
    drain: socket => connections.get(socket)?.drained(),
    close: (socket, code) => {
      const connection = connections.get(socket);
      if (connection === undefined) return;
      connections.delete(socket);
      crowd.leave(connection.address);
      strangers.delete(connection);
      confirmations.lost(connection);
      // Of a gateway that stops producers must not hear that nobody wants their events any more: they keep them for the next one.
      if (closing !== undefined) connection.lost();
      else dispatcher.lost(connection, !LEAVING.has(code));
      if (connections.size === 0) whenEmpty?.();
    },
  });
  app.get(`${path}/healthz`, response => {
    writeHeaders(response, NO_PAGE)
      .writeHeader("content-type", "application/json")
      .writeHeader("cache-control", "no-store")
      .end('{"status":"ok"}\n');
  });
  if (files !== undefined)
    for (const method of ["get", "head"] as const) {
      // What a page says of its files is about the folder that its address ends with.
      if (path !== "")
        app[method](path, response => {
          response.writeStatus("308 Permanent Redirect").writeHeader("location", `${path}/`).endWithoutBody();
        });
      app[method](`${path}/*`, (response, request) => files.serve(response, request));
    }
  app.any("/*", (response, request) =>
    refuse(response, "404 Not Found", "There is nothing here.", request.getMethod() === "head"),
  );

  const listening = await listenAt(app, host, port).catch((error: Error) => {
    silence.stop();
    store?.close();
    throw error;
  });
  const boundPort = uws.us_socket_local_port(listening);
  const shownHost = host === "0.0.0.0" || host === "::" ? "localhost" : host;

  const address = `${shownHost}:${boundPort}${path}`;
  const modulating = options.modulating?.(address, modulatingToken as string);
  if (modulating !== undefined) {
    const late = new Promise<void>(resolve => setTimeout(resolve, MODULATING_START_MS).unref());
    names.modulatingStarts = Promise.race([modulating.ready, late]);
    await modulating.ready;
  }

  const close = async (): Promise<void> => {
    uws.us_listen_socket_close(listening);
    // What was taken is not to come again.
    confirmations.confirm();
    const lateAt = performance.now() + drainMs;
    if (names.modulating?.isOpen && drainMs > 0 && !(await drain(names.modulating, drainMs)))
      log(`modulators had not finished after ${drainMs} ms: what they had not made yet is lost`);
    await modulating?.close();
    const leftMs = lateAt - performance.now();
    if (leftMs > 0 && !(await sendWaiting(connections.values(), leftMs)))
      log(
        `consumers had not taken all that waited for them after ${drainMs} ms: they are told what they miss`,
      );
    if (connections.size > 0) {
      const empty = new Promise<void>(resolve => {
        whenEmpty = resolve;
      });
      for (const connection of [...connections.values()]) connection.end("GATEWAY_STOPPING");
      // A peer that does not answer the close must not keep the gateway up.
      const grace = setTimeout(() => whenEmpty?.(), CLOSE_GRACE_MS);
      await empty;
      clearTimeout(grace);
    }
    app.close();
    strangers.clear();
    silence.stop();
    confirmations.close();
    store?.close();
  };
  const closeOnce = (): Promise<void> => {
    closing ??= close();
    return closing;
  };
  return {
    host,
    port: boundPort,
    address,
    stats: () => ({ connections: connections.size, ...names.stats }),
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}
