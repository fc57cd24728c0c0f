import { JechoError } from "@jecho/shared";
import type { Modulator, SharedState } from "@jecho/shared/internal";
import type { ConnectionLimits } from "../connections/connection.ts";
import type { ObjectReader } from "../objects/shared-object.ts";
import { RemoteClient, RemoteSocket, TrunkTopics } from "./remote-client.ts";
import {
  type Entry,
  type Followed,
  fromJson,
  readTrunk,
  sendTrunk,
  TO_EDGE,
  TO_HOME,
  wordOf,
  words,
} from "./trunk.ts";
import type { CarrierEvents, TrunkCarrier } from "./trunk-carrier.ts";

/** Stands for all modulators of another gateway. */
const NO_MODULATOR: Modulator = {
  source: "",
  parameters: "",
  key: "",
  objects: [],
  capabilities: [],
  compares: false,
};

/** Codes of a WebSocket that was closed, and of one that was not. */
const LEFT = 1000;
const CUT = 1006;

/** The gateway, as it deals with clients that are connected to others. */
export interface RemoteHost {
  readonly limits: ConnectionLimits;
  /** A client has come. @param handover this gateway's part of the token for another client's session; "" for none */
  opened(client: RemoteClient, token: string, handover: string): void;
  /** Frames of its have come, perhaps before its token has been checked. */
  received(client: RemoteClient, message: Uint8Array): void;
  /** There is room again for what waits for it. */
  drained(client: RemoteClient): void;
  /** The client has gone. @param code as of a WebSocket's close */
  left(client: RemoteClient, code: number): void;
  /** The client brings shared objects along with a modulator for another home. */
  brings(client: RemoteClient, states: readonly SharedState[]): void;
  /** Modulators at another gateway read an object, or none do any more. */
  follow(reader: ObjectReader, followed: Followed): void;
  unfollow(reader: ObjectReader, id: string): void;
  /** The schema of the type with this token; undefined where it is not known. */
  schemaOf(token: bigint): Uint8Array | undefined;
  /** Sends to all takers of a topic, wherever they are, but this one. */
  publish(topic: string, message: Uint8Array, from: RemoteSocket): void;
}

/** Clients of one other gateway that have something at this one, their home. */
export class RemoteClients implements CarrierEvents {
  readonly #carrier: TrunkCarrier;
  readonly #host: RemoteHost;
  readonly #clients = new Map<number, RemoteClient>();
  readonly #topics = new TrunkTopics();
  /** Shared objects that modulators at that gateway read. */
  readonly #followed = new Set<string>();
  readonly #reader: ObjectReader;

  constructor(carrier: TrunkCarrier, host: RemoteHost) {
    this.#carrier = carrier;
    this.#host = host;
    const follower = {
      bufferedBytes: 0,
      replaying() {},
      sendBytes: (update: Uint8Array): boolean => {
        sendTrunk(carrier, TO_EDGE.object, 0, update);
        return true;
      },
    };
    this.#reader = {
      channel: { number: 0 },
      modulator: NO_MODULATOR,
      connections: () => [follower],
      isLazy: () => false,
    };
  }

  [Symbol.iterator](): Iterator<RemoteClient> {
    return this.#clients.values();
  }

  /** Sends to those of them that take this topic, but for one. */
  publish(topic: string, message: Uint8Array, from?: RemoteSocket): void {
    const number = this.#topics.find(topic);
    if (number === undefined) return;
    const but = from?.carrier === this.#carrier ? from.client : 0;
    sendTrunk(this.#carrier, TO_EDGE.publish, but, words(number, 0), message);
  }

  message(message: Uint8Array): void {
    const { kind, client: number, rest } = readTrunk(message);
    switch (kind) {
      case TO_HOME.enters:
        return this.#enter(number, fromJson<Entry>(rest));
      case TO_HOME.follows: {
        const followed = fromJson<Followed>(rest);
        this.#followed.add(followed.object);
        return this.#host.follow(this.#reader, followed);
      }
      case TO_HOME.unfollows: {
        const { object } = fromJson<Followed>(rest);
        this.#followed.delete(object);
        return this.#host.unfollow(this.#reader, object);
      }
      case TO_HOME.wantsType: {
        const schema = this.#host.schemaOf(BigInt(fromJson<string>(rest)));
        return sendTrunk(this.#carrier, TO_EDGE.type, number, ...(schema === undefined ? [] : [schema]));
      }
      default:
    }
    const client = this.#clients.get(number);
    // It was ended here, and does not know that yet.
    if (client === undefined) return;
    if (kind === TO_HOME.frames) this.#host.received(client, rest);
    else if (kind === TO_HOME.waits) {
      client.socket.waits(wordOf(rest));
      this.#host.drained(client);
    } else if (kind === TO_HOME.brings) {
      const states = fromJson<SharedState[]>(rest);
      client.whenGreeted(() => this.#brings(client, states), rest.byteLength);
    } else if (kind === TO_HOME.leaves)
      client.whenTakenOver(() => this.#left(client, rest[0] === 1 ? CUT : LEFT));
  }

  /** Room on the way there is room for all: a past, or a request, waits for it though no events do. */
  drained(): void {
    if (!this.#topics.isAwaited) return;
    this.#topics.isAwaited = false;
    for (const client of this.#clients.values()) this.#host.drained(client);
  }

  ended(): void {
    for (const client of [...this.#clients.values()]) this.#left(client, CUT);
    for (const object of this.#followed) this.#host.unfollow(this.#reader, object);
  }

  #enter(number: number, { address, token, handover }: Entry): void {
    const socket = new RemoteSocket(
      number,
      this.#carrier,
      this.#topics,
      (topic, message, from) => this.#host.publish(topic, message, from),
      code => this.#left(client, code),
    );
    const client: RemoteClient = new RemoteClient(socket, this.#host.limits);
    client.address = address;
    this.#clients.set(number, client);
    this.#host.opened(client, token, handover);
  }

  /** A client brings objects. Invalid ones, and others' ones, concern that client alone. */
  #brings(client: RemoteClient, states: readonly SharedState[]): void {
    try {
      for (const { object } of states) client.subject?.check("share", object);
      this.#host.brings(client, states);
    } catch (error) {
      const { number: code, message } = JechoError.from(error);
      client.send({ kind: "Fault", code, message });
    }
  }

  #left(client: RemoteClient, code: number): void {
    if (!this.#clients.delete(client.socket.client)) return;
    client.socket.closed();
    this.#host.left(client, code);
  }
}
