import { randomBytes } from "node:crypto";
import { ERRORS, JechoError } from "@jecho/shared";
import {
  CHECKED_SUBPROTOCOL,
  CHECKSUM_BYTES,
  EventsFrame,
  Sealer,
  SUBPROTOCOL,
  withoutChecksum,
} from "@jecho/shared/internal";
import { Access } from "../access/access.ts";
import { AuditLog } from "../access/audit-log.ts";
import { ChannelOwners } from "../access/owners.ts";
import { TokenVerifier } from "../access/tokens.ts";
import { type ClusterPlace, GatewayCluster, placeIn } from "../cluster/gateway-cluster.ts";
import { Admission, addressOf } from "../connections/admission.ts";
import { ClientConnection } from "../connections/client-connection.ts";
import { Confirmations } from "../connections/confirmations.ts";
import { Crowd, type Party } from "../connections/crowd.ts";
import { Deadlines } from "../connections/deadlines.ts";
import { Inboxes } from "../connections/inboxes.ts";
import { Portions } from "../connections/portions.ts";
import { SealingSocket } from "../connections/sealing-socket.ts";
import { Silence } from "../connections/silence.ts";
import { Acknowledgements } from "../delivery/acknowledgements.ts";
import { Dispatcher } from "../delivery/dispatch.ts";
import { Gathering } from "../delivery/gathering.ts";
import { WaitingTotal } from "../delivery/waiting.ts";
import { HistoryStore } from "../history/store.ts";
import { Handovers } from "../management/handovers.ts";
import { NameServer } from "../management/name-server.ts";
import { Overviews } from "../management/overview.ts";
import { SharedObjects } from "../objects/shared-objects.ts";
import { GatewayCounts } from "../operations/gateway-counts.ts";
import { OperationsServer } from "../operations/operations-server.ts";
import { refusal, StaticFiles } from "../web/answers.ts";
import { Certificate } from "../web/certificate.ts";
import { chooseServer } from "../web/choose-server.ts";
import { Site } from "../web/site.ts";
import type { ServerSocket, WebHandlers, WebServerName } from "../web/web-server.ts";
import { drain, sendWaiting } from "./drain.ts";
import { type GatewayStats, limitsOf } from "./gateway-limits.ts";
import { checkGatewayOptions, type GatewayOptions } from "./gateway-options.ts";

/** Silence of this many heartbeats ends a connection; and the time until that is seen, in milliseconds. */
const IDLE_HEARTBEATS = 3;
const UNNOTICED_MS = 8000;
/** Interval at which quiet channels' histories drop events that are too old, in milliseconds. */
const TRIM_MS = 5000;

/** A gateway that runs. */
export interface Gateway {
  /** The address that the gateway listens at, as its options say. */
  readonly host: string;
  /** The port that the gateway listens at: never 0. */
  readonly port: number;
  /** `HOST:PORT`, and its path, if it has one, as it stands in channel names. */
  readonly address: string;
  /**
   * The gateway's identity, by whatever address it is reached: `~` and 24 hexadecimal digits, which stand in channel
   * names for an address, too. It is kept in the history's file; without one each gateway has another.
   */
  readonly identity: string;
  /** The gateway's URL, as pages and `connect` take it, with TLS or without: `https://HOST:PORT`, say. */
  readonly url: string;
  /** The server of HTTP and WebSockets: uWebSockets.js where that has a binary, unless the options say otherwise. */
  readonly server: WebServerName;
  /** Port of `/healthz`, `/readyz` and `/metrics`; undefined where there is none (`operations`). */
  readonly operationsPort: number | undefined;
  /** The gateway's present counts. */
  stats(): GatewayStats;
  /**
   * Takes nothing more of producers, who keep it for the next gateway; has its process for modulators finish and sends what waits for consumers,
   * within `drainMs`; lets go of every connection with `GATEWAY_STOPPING`.
   */
  close(): Promise<void>;
  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Close codes of those who leave for good: 1000 or none by a program, 1001 by a page. Nothing is to go on in the name of those whose rights have ended: if they come
 * back, what they open is looked at again.
 */
const LEAVING: ReadonlySet<number> = new Set([
  1000,
  1001,
  1005,
  ...(["TOKEN_EXPIRED", "RIGHTS_CHANGED", "KICKED"] as const).map(code => ERRORS[code][0]),
]);
/** Bytes of messages of one connection, and of all, that may wait for their turn, besides two that are as large as may be. */
const INBOX_BYTES = 16 << 20;
const INBOXES_BYTES = 256 << 20;
const CLOSE_GRACE_MS = 2000;
const IDENTITY_BYTES = 12;
/** Time that new producers wait for the process for modulators to be there. */
const MODULATING_START_MS = 30_000;

/**
 * Starts a gateway: the concentrator for browsers and programs, with name server and channel managers inside.
 *
 * @throws JechoError `ARGUMENT_INVALID` for options that are none, or a folder or file that cannot be used; `HISTORY_IN_USE` where another
 *   gateway has the file
 * @throws Error where the port cannot be had
 */
export async function createGateway(options: GatewayOptions = {}): Promise<Gateway> {
  checkGatewayOptions(options);
  const {
    host = "127.0.0.1",
    port = 0,
    path = "",
    heartbeatMs = 10_000,
    drainMs = 5000,
    log: report,
  } = options;
  const log = (line: string): void => report?.warn({}, line);
  const place = options.cluster && (await placeIn(options.cluster));
  const index = place?.index;
  const limits = limitsOf(options);
  const { limitBytes } = limits;
  const server = await chooseServer(options.server);
  const files =
    options.staticFolder === undefined
      ? undefined
      : await StaticFiles.load(options.staticFolder, path, options.contentPolicy);
  const certificate = options.tls && (await Certificate.open(options.tls, log));
  const verifier = options.tokens && (await TokenVerifier.open(options.tokens, log));
  const audit =
    options.auditFile === undefined && report === undefined
      ? undefined
      : new AuditLog(options.auditFile, report);
  const objects = new SharedObjects(limits.objectsPerConnection);
  const acknowledgements = new Acknowledgements();
  const store =
    options.historyFile === undefined
      ? undefined
      : await HistoryStore.open(options.historyFile, log).catch(async (error: Error) => {
          await audit?.close();
          throw error;
        });
  const fresh = `~${randomBytes(IDENTITY_BYTES).toString("hex")}`;
  const identity = place?.identity ?? store?.identity(fresh) ?? fresh;
  const gathering = new Gathering();
  const requestTimeoutMs = options.requestTimeoutMs ?? 10_000;
  const resumeWindowMs = options.resumeWindowMs ?? 30_000;
  // Where nobody is waited for, nobody is expected back.
  const unnoticedMs = resumeWindowMs === 0 ? 0 : IDLE_HEARTBEATS * heartbeatMs + UNNOTICED_MS;
  const keeping = { historyBytes: limits.historyBytes, resumeWindowMs, unnoticedMs, store };
  const owners = new ChannelOwners(options.owners ?? {}, resumeWindowMs, limits.channels);
  const counts = new GatewayCounts();
  const names = new NameServer(
    objects,
    acknowledgements,
    gathering,
    keeping,
    limits,
    owners,
    counts,
    {
      installTimeoutMs: options.installTimeoutMs ?? 2000,
      requestTimeoutMs,
    },
    index,
  );
  const confirmations = new Confirmations();
  const connections = new Map<ServerSocket, ClientConnection>();
  const crowd = new Crowd(limits);
  const clients = function* (): Generator<ClientConnection> {
    yield* connections.values();
    if (cluster !== undefined) yield* cluster.clients();
  };
  const access = new Access(verifier, crowd, clients, counts);
  const portions = new Portions(() => gathering.flush());
  const modulatingToken =
    options.modulating === undefined ? undefined : randomBytes(24).toString("base64url");
  const dispatcher = new Dispatcher(
    names,
    objects,
    acknowledgements,
    new Handovers(objects, options.handoverMs ?? 120_000),
    gathering,
    access,
    audit,
    portions,
    new Overviews(names, () => connections.size),
    { ...limits, heartbeatMs, identity, modulatingToken },
  );
  const sealer = options.checksums ? new Sealer() : undefined;
  const protocol = sealer === undefined ? SUBPROTOCOL : CHECKED_SUBPROTOCOL;
  const connectionLimits = {
    requestTimeoutMs,
    connectionQueueBytes: limits.connectionQueueBytes,
    waitingTotal: new WaitingTotal(limits.queueTotalBytes),
    index,
  };
  /** A browser answers pings by itself, so one that never says Hello would stay for ever. */
  const strangers = new Deadlines<ClientConnection>(connectionLimits.requestTimeoutMs, connection =>
    connection.end("TIMED_OUT", "no Hello came"),
  );
  const trimming = setInterval(() => names.trimHistories(), TRIM_MS).unref();
  const silence = new Silence(options.messageTimeoutMs ?? 120_000, () => connections.values());
  const admission = new Admission([host, ...(options.hosts ?? [])], options.origins ?? [], log);
  let isCrowded = false;
  let whenEmpty: (() => void) | undefined;
  let closing: Promise<void> | undefined;
  // What its process for modulators sends is on account of others.
  const partiesOf = (connection: ClientConnection): readonly Party[] =>
    connection === names.modulating ? [] : connection.parties;
  const takesEventsOf = (connection: ClientConnection): boolean =>
    closing === undefined || connection === names.modulating;
  const failed = (connection: ClientConnection, error: unknown): void => {
    if (!(error instanceof JechoError)) log(`a frame could not be handled: ${(error as Error).stack}`);
    counts.failed(error);
    const { code, message } = JechoError.from(error);
    connection.end(code, message);
  };
  const tooMuch = (connection: ClientConnection): void =>
    connection.end(
      "OVERLOADED",
      "more waits of what it asks for than may: other connections have their turns",
    );
  const inboxes = new Inboxes<ClientConnection>(
    {
      frame: (connection, frame, message, start, end) => {
        for (const party of partiesOf(connection)) party.frame();
        // It is not confirmed, and so comes again, to the next gateway.
        if (!takesEventsOf(connection) && (frame instanceof EventsFrame || frame.kind === "Position")) return;
        if (cluster?.forward(connection, frame, message, start, end)) return;
        dispatcher.frame(connection, frame, message, start, end);
        if (frame.kind === "Hello") strangers.delete(connection);
      },
      pause: () => {
        gathering.flush();
        cluster?.flush();
      },
      done: (connection, bytes, hasEvents) => {
        if (!hasEvents || !takesEventsOf(connection)) return;
        if (!cluster?.took(connection, bytes)) confirmations.took(connection, bytes);
      },
      failed,
    },
    { connectionBytes: 2 * limitBytes + INBOX_BYTES, totalBytes: 2 * limitBytes + INBOXES_BYTES },
  );

  const received = (connection: ClientConnection, bytes: Uint8Array, now: number): void => {
    if (!inboxes.receive(connection, bytes, now)) tooMuch(connection);
    if (inboxes.isFull) tooMuch(inboxes.largest as ClientConnection);
  };
  const drained = (connection: ClientConnection): void => {
    connection.drained();
    if (connection.isOpen) inboxes.drained(connection);
  };
  /** @param code as of a WebSocket's close */
  const left = (connection: ClientConnection, code: number): void => {
    inboxes.forget(connection);
    confirmations.lost(connection);
    // Of a gateway that stops producers must not hear that nobody wants their events any more: they keep them for the next one.
    if (closing !== undefined) connection.lost();
    else dispatcher.lost(connection, !LEAVING.has(code));
  };
  const cluster =
    options.cluster &&
    new GatewayCluster(options.cluster, place as ClusterPlace, limitBytes, {
      limits: connectionLimits,
      publish: (topic, message) => web.publish(topic, sealer?.seal(message) ?? message),
      took: (connection, bytes) => confirmations.took(connection, bytes),
      knowsType: token => names.types.has(token),
      schemaOf: token => (names.types.has(token) ? names.types.find(token).schema : undefined),
      brings: (connection, states) => objects.bringElsewhere(connection, states),
      follow: (reader, { object, version, state }) => objects.follow(reader, object, version, state),
      unfollow: (reader, id) => objects.unfollow(reader, id),
      followed: (update, frame) => objects.followed(update, frame),
      moved: isHome => {
        names.moveOut(isHome);
        objects.moved();
      },
      opened: (client, token, greeted) =>
        access.greet(
          client,
          token,
          subject => {
            client.subject = subject;
            greeted();
          },
          true,
        ),
      received: (client, message) => {
        try {
          received(client, message, performance.now());
        } catch (error) {
          failed(client, error);
        }
      },
      drained,
      left,
      log,
    });

  if (cluster !== undefined) objects.joins(cluster.objectHomes);
  const site = new Site(path, admission, files);
  const handlers: WebHandlers = {
    answer: request => site.answer(request),
    refuse: request => {
      const origin = request.header("origin");
      if (!admission.admits(origin, request.header("host"))) {
        audit?.refusedOrigin(addressOf(request.remoteAddress()), origin);
        return refusal("403 Forbidden", "This origin may not connect. The gateway's log says why.");
      }
      const protocols = request.header("sec-websocket-protocol").split(",");
      return protocols.some(offered => offered.trim() === protocol)
        ? undefined
        : refusal("400 Bad Request", `This endpoint speaks the subprotocol ${protocol}.`);
    },
    opened: socket => {
      const sealing = sealer === undefined ? socket : new SealingSocket(socket, sealer);
      const connection = new ClientConnection(cluster?.joined(sealing) ?? sealing, connectionLimits);
      try {
        crowd.enter(connection, addressOf(socket.getRemoteAddress()));
      } catch (error) {
        counts.failed(error);
        return connection.end("OVERLOADED", (error as JechoError).message);
      }
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
        const now = performance.now();
        for (const party of partiesOf(connection)) party.message(byteLength, now);
        const bytes = new Uint8Array(message);
        received(connection, sealer === undefined ? bytes : withoutChecksum(bytes), now);
      } catch (error) {
        failed(connection, error);
      }
    },
    // Nobody sends one with a content, but a flipped bit makes one of a short message.
    pong: (socket, { byteLength }) => {
      if (sealer !== undefined && byteLength > 0) connections.get(socket)?.end("MESSAGE_DAMAGED");
    },
    drained: socket => {
      const connection = connections.get(socket);
      if (connection === undefined) return;
      drained(connection);
      cluster?.drained(connection);
    },
    closed: (socket, code) => {
      const connection = connections.get(socket);
      if (connection === undefined) return;
      connections.delete(socket);
      audit?.ended(connection, code);
      counts.closed(code);
      crowd.leave(connection);
      strangers.delete(connection);
      cluster?.left(connection, !LEAVING.has(code));
      left(connection, code);
      if (connections.size === 0) whenEmpty?.();
    },
    crowded: () => {
      counts.reached("connections");
      if (!isCrowded) log("connections are refused: the system allows too few open files (ulimit -n)");
      isCrowded = true;
    },
  };
  const release = async (): Promise<void> => {
    await cluster?.stop();
    await operations?.close();
    silence.stop();
    clearInterval(trimming);
    access.stop();
    store?.close();
    await audit?.close();
  };
  const serving = {
    path,
    protocol,
    limitBytes: limitBytes + (sealer === undefined ? 0 : CHECKSUM_BYTES),
    // The last wall: events wait in queues of ours long before.
    mostWaitingBytes: 64 << 20,
    idleSeconds: Math.ceil((IDLE_HEARTBEATS * heartbeatMs) / 1000),
    certificate,
  };
  const stats = (): GatewayStats => ({
    connections: connections.size,
    queueBytes: connectionLimits.waitingTotal.bytes,
    gateways: cluster?.present ?? 1,
    ...names.stats,
  });
  const whyNotReady = (): string | undefined => {
    if (closing !== undefined) return "the gateway ends";
    return names.modulatingAwaited === undefined ? undefined : "the process for modulators has not come yet";
  };
  const measured = { counts, limits, stats, whyNotReady };
  let operations: OperationsServer | undefined;
  const [web, boundPort] = await (async () => {
    operations = options.operations && (await OperationsServer.open(options.operations, measured));
    const web = server.create(serving, handlers);
    return [web, await web.listen(host, port)] as const;
  })().catch(async (error: Error) => {
    await release();
    throw error;
  });
  await cluster?.start().catch(async (error: Error) => {
    web.close();
    await release();
    throw error;
  });
  if (server.note !== undefined) log(server.note);
  const shownHost = host === "0.0.0.0" || host === "::" ? "localhost" : host;

  const address = `${shownHost}:${boundPort}${path}`;
  const url = `${certificate === undefined ? "http" : "https"}://${address}`;
  const modulating = options.modulating?.(
    certificate === undefined ? address : url,
    modulatingToken as string,
  );
  if (modulating !== undefined) {
    const late = new Promise<void>(resolve => setTimeout(resolve, MODULATING_START_MS).unref());
    names.awaitModulating(Promise.race([modulating.ready, late]));
    await modulating.ready;
  }

  const close = async (): Promise<void> => {
    web.stopListening();
    // What was taken is not to come again.
    confirmations.confirm();
    const lateAt = performance.now() + drainMs;
    if (names.modulating?.isOpen && drainMs > 0 && !(await drain(names.modulating, drainMs)))
      log(`modulators had not finished after ${drainMs} ms: what they had not made yet is lost`);
    await modulating?.close();
    const leftMs = lateAt - performance.now();
    if (leftMs > 0 && !(await sendWaiting(clients(), leftMs)))
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
    web.close();
    strangers.clear();
    confirmations.close();
    inboxes.close();
    portions.close();
    await release();
  };
  const closeOnce = (): Promise<void> => {
    closing ??= close();
    return closing;
  };
  return {
    host,
    port: boundPort,
    address,
    url,
    identity,
    server: server.name,
    operationsPort: operations?.port,
    stats,
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}
