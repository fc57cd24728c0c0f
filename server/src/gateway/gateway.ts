import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { CHECKSUM_BYTES } from "@jecho/shared/internal";
import { Access } from "../access/access.ts";
import { AuditLog } from "../access/audit-log.ts";
import { ChannelOwners } from "../access/owners.ts";
import { TokenVerifier } from "../access/tokens.ts";
import { GatewayCluster } from "../cluster/gateway-cluster.ts";
import { freshIdentity } from "../cluster/identities.ts";
import type { Interconnect } from "../cluster/interconnect.ts";
import { openInterconnect } from "../cluster/open-interconnect.ts";
import { Admission } from "../connections/admission.ts";
import type { ClientConnection } from "../connections/client-connection.ts";
import { Confirmations } from "../connections/confirmations.ts";
import type { Connection } from "../connections/connection.ts";
import { Crowd } from "../connections/crowd.ts";
import { Portions } from "../connections/portions.ts";
import { Silence } from "../connections/silence.ts";
import { Acknowledgements } from "../delivery/acknowledgements.ts";
import { Dispatcher } from "../delivery/dispatch.ts";
import { Gathering } from "../delivery/gathering.ts";
import { WaitingTotal } from "../delivery/waiting.ts";
import { FileStore, partOf } from "../history/file-store.ts";
import type { HistoryStore } from "../history/store.ts";
import { Handovers } from "../management/handovers.ts";
import { NameServer } from "../management/name-server.ts";
import { Overviews } from "../management/overview.ts";
import { SharedObjects } from "../objects/shared-objects.ts";
import { GatewayCounts } from "../operations/gateway-counts.ts";
import { type OperationsServer, openOperations } from "../operations/operations-server.ts";
import { StaticFiles } from "../web/answers.ts";
import { Certificate } from "../web/certificate.ts";
import { chooseServer } from "../web/choose-server.ts";
import { LOOPBACK } from "../web/listening.ts";
import { Site } from "../web/site.ts";
import type { WebServerName } from "../web/web-server.ts";
import { drain, isStored, sendWaiting } from "./drain.ts";
import { Entrance } from "./entrance.ts";
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
  /** Resolves when it has closed; where it did so by itself, as it can be no member of its cluster any more, with the reason. */
  readonly closed: Promise<string | undefined>;
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
 * Time from when a former home takes nothing more to when its clients' connections end: a client has one connection for all homes, and others may hear
 * of a new gateway a little later.
 */
const MOVE_MS = 750;
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
  const { cluster: joining, historyFile } = options;
  let interconnect: Interconnect | undefined;
  const giveUp = async (error: Error): Promise<never> => {
    await interconnect?.stop();
    await audit?.close();
    throw error;
  };
  interconnect = joining && (await openInterconnect(joining, historyFile !== undefined, log).catch(giveUp));
  const part = partOf(interconnect?.self ?? 0, interconnect?.homes ?? 1);
  const file =
    historyFile === undefined ? undefined : await FileStore.open(historyFile, log, part).catch(giveUp);
  const store: HistoryStore | undefined =
    file ??
    (await interconnect
      ?.openHistory({
        isHome: channel => cluster?.isHome(channel) === true,
        lost: channel =>
          void names.moveOut(
            name => name !== channel,
            async () => {},
          ),
        failed: (channel, why) => {
          log(`the history of ${channel} is not stored any more: ${why}`);
          counts.unstored++;
          names.find(channel)?.historyFailed(why);
        },
        log,
      })
      .catch(giveUp));
  const index = interconnect?.self;
  const identity = interconnect?.identity ?? file?.identity ?? freshIdentity();
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
  const crowd = new Crowd(limits);
  const clients = function* (): Generator<ClientConnection> {
    yield* entrance.connections.values();
    if (cluster !== undefined) yield* cluster.clients();
  };
  const access = new Access(verifier, crowd, clients, counts, audit);
  const portions = new Portions(() => gathering.flush());
  const modulatingToken =
    options.modulating === undefined ? undefined : randomBytes(24).toString("base64url");
  const dispatcher = new Dispatcher({
    limits,
    names,
    objects,
    acknowledgements,
    handovers: new Handovers(objects, options.handoverMs ?? 120_000, index),
    gathering,
    access,
    audit,
    portions,
    overviews: new Overviews(names, () => entrance.connections.size),
    allGateways: {
      takeOver: (connection, token) =>
        cluster === undefined ? token : cluster.edge.takeOver(connection, token),
      renewed: (connection, token) => cluster?.edge.renewed(connection, token),
      join: (connection, part) => cluster?.edge.join(connection, part) === true,
    },
    heartbeatMs,
    identity,
    modulatingToken,
  });
  const connectionLimits = {
    requestTimeoutMs,
    connectionQueueBytes: limits.connectionQueueBytes,
    waitingTotal: new WaitingTotal(limits.queueTotalBytes),
    index,
  };
  const trimming = setInterval(() => {
    // The last round may not be over yet.
    if (portions.over(names) === undefined) portions.begin(names, names.trimHistories());
  }, TRIM_MS).unref();
  const silence = new Silence(options.messageTimeoutMs ?? 120_000, () => entrance.connections.values());
  const admission = new Admission([host, ...(options.hosts ?? [])], options.origins ?? [], log);
  const cluster =
    interconnect &&
    new GatewayCluster(interconnect, {
      limits: connectionLimits,
      publish: (topic, message) => web.publish(topic, entrance.seal(message)),
      took: (connection, bytes) => confirmations.took(connection, bytes),
      knowsType: token => names.types.has(token),
      schemaOf: token => (names.types.has(token) ? names.types.find(token).schema : undefined),
      brings: (connection, states) => objects.bringElsewhere(connection, states),
      follow: (reader, { object, version, state }) => objects.follow(reader, object, version, state),
      unfollow: (reader, id) => objects.unfollow(reader, id),
      followed: (update, frame) => objects.followed(update, frame),
      moved: (isHome, isHanded) => {
        const heard = isHanded ? delay(MOVE_MS, undefined, { ref: false }) : undefined;
        void names.moveOut(isHome, async users => {
          if (isHanded) await Promise.all([finish(users), heard]);
        });
        void Promise.resolve(heard).then(() => objects.moved());
      },
      parted: why => entrance.part(why),
      expelled: why => {
        report?.error({}, `${why}: this gateway ends`);
        endedBecause = why;
        void closeOnce();
      },
      opened: (client, token, handover) => {
        const known = (subject: typeof client.subject): void => {
          client.subject = subject;
          crowd.visits(client, subject?.name ?? "");
          client.greeted();
          if (handover !== "") dispatcher.takeOver(client, handover);
          entrance.drained(client);
        };
        access.greet(client, token, known, true);
      },
      received: (client, message) => entrance.received(client, message),
      drained: client => entrance.drained(client),
      left: (client, code) => entrance.left(client, code, () => crowd.visited(client)),
      log,
    });
  if (cluster !== undefined) objects.joins(cluster.objectHomes);
  const entrance = new Entrance({
    names,
    dispatcher,
    cluster,
    confirmations,
    gathering,
    admission,
    crowd,
    silence,
    audit,
    counts,
    site: new Site(path, admission, files),
    connectionLimits,
    limitBytes,
    checksums: options.checksums === true,
    log,
  });
  /** Has modulators finish what was taken, and these clients take what waits for them, within `drainMs`. */
  const finish = async (connections: Iterable<Connection>): Promise<void> => {
    const lateAt = performance.now() + drainMs;
    if (drainMs > 0 && !(await isStored(store, drainMs)))
      log(`not all was stored after ${drainMs} ms: what is not comes again from its producers`);
    // What was taken is not to come again.
    confirmations.confirm();
    if (names.modulating?.isOpen && drainMs > 0 && !(await drain(names.modulating, drainMs)))
      log(`modulators had not finished after ${drainMs} ms: what they had not made yet is lost`);
    const leftMs = lateAt - performance.now();
    if (leftMs > 0 && !(await sendWaiting(connections, leftMs)))
      log(
        `consumers had not taken all that waited for them after ${drainMs} ms: they are told what they miss of producers that come back`,
      );
  };
  let closing: Promise<void> | undefined;
  const closed = Promise.withResolvers<string | undefined>();
  let endedBecause: string | undefined;
  const release = async (): Promise<void> => {
    store?.close();
    await cluster?.stop();
    await operations?.close();
    silence.stop();
    clearInterval(trimming);
    access.stop();
    await audit?.close();
  };
  const serving = {
    path,
    protocol: entrance.protocol,
    limitBytes: limitBytes + (options.checksums ? CHECKSUM_BYTES : 0),
    // The last wall: events wait in queues of ours long before.
    mostWaitingBytes: 64 << 20,
    idleSeconds: Math.ceil((IDLE_HEARTBEATS * heartbeatMs) / 1000),
    certificate,
    sharePort: options.sharePort,
  };
  const stats = (): GatewayStats => ({
    connections: entrance.connections.size,
    queueBytes: connectionLimits.waitingTotal.bytes,
    gateways: cluster?.present ?? 1,
    ...names.stats,
  });
  const whyNotReady = (): string | undefined => {
    if (closing !== undefined) return "the gateway ends";
    if (cluster?.isMember === false) return "the gateway is no member of its cluster for now";
    return names.modulatingAwaited === undefined ? undefined : "the process for modulators has not come yet";
  };
  const measured = { counts, limits, stats, whyNotReady };
  let operations: OperationsServer | undefined;
  const web = server.create(serving, entrance.handlers);
  const [boundPort, ownPort] = await (async () => {
    operations = options.operations && (await openOperations(options.operations, measured));
    // The first client finds the channels' homes known.
    await cluster?.start();
    const listened = await web.listen(host, port);
    // At a shared port its process for modulators would find any of those that listen there.
    const isShared = options.modulating !== undefined && options.sharePort === true;
    return [listened, isShared ? await web.listenHere() : undefined] as const;
  })().catch(async (error: Error) => {
    web.close();
    await release();
    throw error;
  });
  if (server.note !== undefined) log(server.note);
  const shownHost = host === "0.0.0.0" || host === "::" ? "localhost" : host;

  const address = `${shownHost}:${boundPort}${path}`;
  const url = `${certificate === undefined ? "http" : "https"}://${address}`;
  const here = ownPort === undefined ? address : `${LOOPBACK}:${ownPort}${path}`;
  const modulating = options.modulating?.(
    certificate === undefined ? here : `https://${here}`,
    modulatingToken as string,
    report && (line => report.warn({}, `modulators: ${line}`)),
  );
  if (modulating !== undefined) {
    const late = new Promise<void>(resolve => setTimeout(resolve, MODULATING_START_MS).unref());
    names.awaitModulating(Promise.race([modulating.ready, late]));
    await modulating.ready;
  }

  const close = async (): Promise<void> => {
    web.stopListening();
    await finish(clients());
    await modulating?.close();
    const silent = await entrance.empty();
    if (silent > 0)
      log(
        `${silent} connections had not taken all that was sent when the gateway ended: they are told what they miss of producers that come back`,
      );
    web.close();
    entrance.close();
    confirmations.close();
    portions.close();
    await release();
    closed.resolve(endedBecause);
  };
  const closeOnce = (): Promise<void> => {
    entrance.stopTaking();
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
    closed: closed.promise,
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}
