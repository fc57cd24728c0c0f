import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { JechoError } from "@jecho/shared";
import type { Frame, SharedState } from "@jecho/shared/internal";
import type { ClientConnection } from "../connections/client-connection.ts";
import type { ConnectionSocket } from "../connections/connection.ts";
import { PassingSocket } from "../connections/passing-socket.ts";
import type { ObjectHomes } from "../objects/object-homes.ts";
import { Edge, type EdgeHost } from "./edge.ts";
import { Members } from "./members.ts";
import { MOST_GATEWAYS } from "./numbers.ts";
import { RemoteClient, type RemoteSocket } from "./remote-client.ts";
import { RemoteClients, type RemoteHost } from "./remote-clients.ts";
import { baseOf } from "./routes.ts";
import { addressOf, TcpCarriers } from "./tcp-carriers.ts";
import type { Carriers } from "./trunk-carrier.ts";

/** The gateways that share channels: a client of any of them meets those of all others. */
export interface GatewayClusterOptions {
  /**
   * Where each gateway is reached by the others, `HOST:PORT`, in the same order at all of them; at most 256. Nobody else should be able to reach these ports, for
   * what goes there is not encrypted.
   */
  readonly members: readonly string[];
  /** The one of `members` that this gateway is. */
  readonly self: string;
  /** A file with at least 16 characters that all of them know, and nobody else. */
  readonly secretFile: string;
}

/** Least length of a secret, in characters. */
const LEAST_SECRET = 16;
/** Room for what goes before frames on the way to another gateway. */
const HEADER_BYTES = 16;
const IDENTITY_BYTES = 12;

/** What the cluster needs of its gateway. */
export interface ClusterHost
  extends Omit<EdgeHost, "publish" | "brings">,
    Omit<RemoteHost, "publish" | "brings"> {
  /** Sends to all sockets here that take this topic. */
  publish(topic: string, message: Uint8Array): void;
  /** A client, of this gateway or another one, brings shared objects, whose home this is, along with a modulator for another home. */
  brings(connection: ClientConnection, states: readonly SharedState[]): void;
  /** A channel's home may be another gateway by now: those who use it here are to look for it there. @param isHome whether it is this one */
  moved(isHome: (channel: string) => boolean): void;
  log(line: string): void;
}

/**
 * A gateway's part in a cluster. Each channel has one home, where all is done as at a gateway that stands alone. A client that is connected elsewhere has a socket
 * there all the same: its edge passes on frames both ways, and what goes to many crosses once.
 */
export class GatewayCluster {
  readonly #members: Members;
  readonly #carriers: Carriers;
  readonly #edge: Edge;
  readonly #host: ClusterHost;
  /** Clients of the other gateways. */
  readonly #remote = new Set<RemoteClients>();

  /** @param limitBytes of a client's message */
  constructor(
    { members }: GatewayClusterOptions,
    { index, secret }: ClusterPlace,
    limitBytes: number,
    host: ClusterHost,
  ) {
    this.#host = host;
    this.#members = new Members(index, (other, isThere) => {
      const { size } = this.#members.present;
      host.log(
        `the gateway ${members[other]} ${isThere ? "is there" : "has gone"}: ${size} of ${members.length} share channels`,
      );
      host.moved(channel => this.#members.isHomeOf(channel));
    });
    this.#carriers = new TcpCarriers({
      members,
      self: index,
      secret,
      limitBytes: limitBytes + HEADER_BYTES,
      log: line => host.log(line),
    });
    this.#edge = new Edge(this.#members, host);
  }

  /** Which gateway has which shared objects. */
  get objectHomes(): ObjectHomes {
    return {
      isHome: id => this.#members.isHomeOf(id),
      follow: (object, version, state) => this.#edge.follow({ object, version, state }),
      unfollow: object => this.#edge.unfollow(object),
    };
  }

  /** Connects to the other gateways, as soon as they are there. @throws JechoError `ARGUMENT_INVALID` where this one cannot be reached at its address */
  start(): Promise<void> {
    return this.#carriers.start(
      (index, carrier) => this.#edge.opened(index, carrier),
      (_, carrier) => {
        const clients = new RemoteClients(carrier, {
          ...this.#host,
          publish: (topic, message, from) => this.#publish(topic, message, from),
        });
        this.#remote.add(clients);
        return {
          message: message => clients.message(message),
          drained: () => clients.drained(),
          ended: () => {
            this.#remote.delete(clients);
            clients.ended();
          },
        };
      },
    );
  }

  stop(): Promise<void> {
    this.#edge.close();
    return this.#carriers.stop();
  }

  /** Number of gateways that are there. */
  get present(): number {
    return this.#members.present.size;
  }

  /** Clients of other gateways that have something here. */
  *clients(): Generator<RemoteClient> {
    for (const clients of this.#remote) yield* clients;
  }

  /** A socket of this gateway whose messages to many reach those at other gateways, too. */
  joined(socket: ConnectionSocket): ConnectionSocket {
    return new ClusterSocket(socket, (topic, message) => {
      for (const clients of this.#remote) clients.publish(topic, message);
    });
  }

  /** See `Edge.forward`. A client that was sent here by a gateway which takes another one for the home is to look for that again. */
  forward(
    connection: ClientConnection,
    frame: Frame,
    message: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    if (!(connection instanceof RemoteClient))
      return this.#edge.forward(connection, frame, message, start, end);
    if (frame.kind !== "OpenProducer" && frame.kind !== "OpenConsumer") return false;
    if (this.#members.isHomeOf(baseOf(frame.channel))) return false;
    connection.end("CHANNEL_MOVED", "another gateway is the channel's home by now");
    return true;
  }

  flush(): void {
    this.#edge.flush();
  }

  /** See `Edge.took`. */
  took(connection: ClientConnection, bytes: number): boolean {
    return this.#edge.took(connection, bytes);
  }

  drained(connection: ClientConnection): void {
    this.#edge.drained(connection);
  }

  left(connection: ClientConnection, isCut: boolean): void {
    this.#edge.left(connection, isCut);
  }

  #publish(topic: string, message: Uint8Array, from: RemoteSocket): void {
    this.#host.publish(topic, message);
    for (const clients of this.#remote) clients.publish(topic, message, from);
  }
}

/** A socket of a client that is connected here. */
class ClusterSocket extends PassingSocket {
  readonly #publish: (topic: string, message: Uint8Array) => void;

  constructor(socket: ConnectionSocket, publish: (topic: string, message: Uint8Array) => void) {
    super(socket);
    this.#publish = publish;
  }

  override publish(topic: string, message: Uint8Array, ...how: [isBinary?: boolean]): boolean {
    this.#publish(topic, message);
    return super.publish(topic, message, ...how);
  }
}

/** A gateway's place in its cluster. */
export interface ClusterPlace {
  /** Index among the members. */
  readonly index: number;
  readonly secret: string;
  /** The identity that all members have in the names of channels. */
  readonly identity: string;
}

/** @throws JechoError `ARGUMENT_INVALID` where the options are none */
export async function placeIn({ members, self, secretFile }: GatewayClusterOptions): Promise<ClusterPlace> {
  const fail = (why: string): never => {
    throw new JechoError("ARGUMENT_INVALID", `cluster: ${why}`);
  };
  if (members.length > MOST_GATEWAYS) fail(`it has at most ${MOST_GATEWAYS} members`);
  for (const member of members) addressOf(member);
  if (new Set(members).size < members.length) fail("a member is there twice");
  const index = members.indexOf(self);
  if (index < 0) fail(`"${self}" is none of its members (${members.join(", ")})`);
  const secret = await readFile(secretFile, "utf8").then(
    text => text.trim(),
    (error: Error) => fail(error.message),
  );
  if (secret.length < LEAST_SECRET) fail(`its secret has at least ${LEAST_SECRET} characters`);
  const digest = createHash("sha256")
    .update(JSON.stringify([members, secret]))
    .digest("hex");
  return { index, secret, identity: `~${digest.slice(0, 2 * IDENTITY_BYTES)}` };
}
