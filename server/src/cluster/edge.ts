import { type ErrorCode, errorCode, JechoError } from "@jecho/shared";
import {
  EventsFrame,
  type Frame,
  type ObjectUpdate,
  type OpenConsumer,
  parseFrame,
  refusal,
  type SharedState,
  type WantType,
} from "@jecho/shared/internal";
import { needsOf } from "../access/needs.ts";
import type { ClientConnection } from "../connections/client-connection.ts";
import { SOCKET_LOW_BYTES } from "../delivery/listener.ts";
import { partsOf } from "../management/handovers.ts";
import type { AllGateways, PartOfAnswer } from "./answers.ts";
import { EdgeClient, type EdgeTopic, type Unconfirmed } from "./edge-client.ts";
import type { Members } from "./members.ts";
import { gatewayOf } from "./numbers.ts";
import { baseOf, EVERYWHERE, HERE, routeOf } from "./routes.ts";
import {
  type Entry,
  type Followed,
  fromJson,
  json,
  readTrunk,
  sendTrunk,
  TO_EDGE,
  TO_HOME,
  wordOf,
  words,
} from "./trunk.ts";
import type { CarrierEvents, TrunkCarrier } from "./trunk-carrier.ts";

const NOTHING = new Uint8Array(0);
/** Bytes of a topic between two looks at who does not keep up. */
const LOOK_EVERY_BYTES = 64 << 10;

/** Questions that are for all, and the kinds of their answers, which are told as one. */
const ASK_ALL: Partial<Record<Frame["kind"], PartOfAnswer["kind"]>> = {
  AskHandover: "HandoverToken",
  Kick: "Kicked",
  WantOverview: "Overview",
};

/** Methods of this gateway that its clients' homes need. */
export interface EdgeHost {
  /** Sends to all sockets here that take this topic. */
  publish(topic: string, message: Uint8Array): void;
  /** All of a message with events is taken, wherever it was for. */
  took(connection: ClientConnection, bytes: number): void;
  /** Whether this gateway knows the type with this token. */
  knowsType(token: bigint): boolean;
  /** A client brings shared objects, whose home this is, along with a modulator for another home. */
  brings(connection: ClientConnection, states: readonly SharedState[]): void;
  /** A newer state of an object that modulators here read. */
  followed(update: ObjectUpdate, frame: Uint8Array): void;
}

/** A stretch of the message at work that is for one home. */
interface Gathered {
  readonly client: EdgeClient;
  readonly home: number;
  readonly message: Uint8Array;
  readonly parts: { start: number; end: number }[];
  hasEvents: boolean;
}

/**
 * Passes on what this gateway's clients say about channels whose home is another gateway, and what these homes have for them. A frame goes by its channel's
 * name or else by whoever gave the number in it; runs are passed on as they lie.
 */
export class Edge implements AllGateways {
  readonly #members: Members;
  readonly #host: EdgeHost;
  readonly #carriers = new Map<number, TrunkCarrier>();
  readonly #clients = new Map<ClientConnection, EdgeClient>();
  readonly #byNumber = new Map<number, EdgeClient>();
  readonly #tokens = new WeakMap<ClientConnection, string>();
  readonly #topics = new Map<string, EdgeTopic>();
  #gathered: Gathered[] = [];
  #nextClient = 1;
  /** Gateways that were asked for shared objects, by the objects' ids. */
  readonly #follows = new Map<string, number>();
  /** Searches for types, by their numbers: called with each answer. */
  readonly #typeSearches = new Map<number, (home: number, schema: Uint8Array) => void>();
  #nextSearch = 1;

  constructor(members: Members, host: EdgeHost) {
    this.#members = members;
    this.#host = host;
  }

  /** Number of the other gateways that can be reached. */
  get reached(): number {
    return this.#carriers.size;
  }

  /** The way to another gateway is there. */
  opened(index: number, carrier: TrunkCarrier): CarrierEvents {
    this.#carriers.set(index, carrier);
    this.moved(index);
    return {
      message: message => this.#received(index, message),
      drained: () => {},
      ended: () => this.#ended(index),
    };
  }

  /** @returns whether the frame is for others, who have it now; false: it is for this gateway, perhaps beside others */
  forward(
    connection: ClientConnection,
    frame: Frame,
    message: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    if (frame.kind === "Hello") this.#tokens.set(connection, frame.token);
    if (connection.subject === undefined) return false;
    if (frame.kind === "OpenConsumer") this.#bring(connection, frame);
    const route = routeOf(frame);
    if (route === HERE) return this.#holds(connection, frame);
    if (route === EVERYWHERE) {
      const homes = this.#others(connection, frame);
      for (const home of homes) this.#gather(connection, home, frame, message, start, end);
      const answer = ASK_ALL[frame.kind];
      if (homes.length > 0 && answer !== undefined && "request" in frame)
        this.#clientOf(connection).awaitParts(answer, frame.request, [this.#members.self, ...homes]);
      return this.#holds(connection, frame);
    }
    const home = typeof route === "number" ? gatewayOf(route) : this.#members.homeOf(route);
    if (home === this.#members.self) return false;
    this.#gather(connection, home, frame, message, start, end);
    return true;
  }

  /** Other gateways that a frame is for which is for all. */
  #others(connection: ClientConnection, frame: Frame): readonly number[] {
    // Whatever the client has there.
    if (frame.kind === "Kick" || frame.kind === "WantOverview") return [...this.#carriers.keys()];
    const client = this.#clients.get(connection);
    // Each home that has something to confirm does so by the answer to a question.
    const isMeant = frame.kind !== "Ping" || (client !== undefined && client.unconfirmed.length > 0);
    return isMeant ? [...(client?.homes.keys() ?? [])] : [];
  }

  /** Sends what was gathered: the message's bytes may be gone after that. */
  flush(): void {
    const gathered = this.#gathered;
    if (gathered.length === 0) return;
    this.#gathered = [];
    for (const { client, home, message, parts, hasEvents } of gathered) {
      const carrier = this.#carriers.get(home);
      const waiting = client.homes.get(home);
      if (carrier === undefined || waiting === undefined) continue;
      if (hasEvents) {
        const { current } = client;
        if (current !== undefined) {
          current.left++;
          waiting.push(current);
        }
      }
      sendTrunk(
        carrier,
        TO_HOME.frames,
        client.number,
        ...parts.map(({ start, end }) => message.subarray(start, end)),
      );
    }
  }

  /** All of a message with events has been acted on. @returns false where nobody else has to confirm it */
  took(connection: ClientConnection, bytes: number): boolean {
    const client = this.#clients.get(connection);
    if (client === undefined || (client.current === undefined && client.unconfirmed.length === 0))
      return false;
    const current = client.current ?? this.#begin(client, undefined);
    client.current = undefined;
    current.isWhole = true;
    current.bytes = bytes;
    this.#confirm(client);
    return true;
  }

  takeOver(connection: ClientConnection, token: string): string | undefined {
    const { self } = this.#members;
    const parts = partsOf(token);
    const own = parts.get(self);
    if (own === token) return own;
    const others = [...parts].filter(([home]) => home !== self);
    if (!others.every(([home]) => this.#carriers.has(home))) {
      connection.end("HANDOVER_INVALID", "the handover token is none, or one of its gateways is away");
      return undefined;
    }
    this.#clientOf(connection).awaitParts("Inheritance", 0, parts.keys());
    for (const [home, part] of others)
      this.#enter(connection, home, this.#carriers.get(home) as TrunkCarrier, part);
    return own;
  }

  renewed(connection: ClientConnection, token: string): void {
    this.#tokens.set(connection, token);
  }

  join(connection: ClientConnection, part: PartOfAnswer): boolean {
    return this.#clients.get(connection)?.join(part, this.#members.self) === true;
  }

  /** A client's socket has room again. */
  drained(connection: ClientConnection): void {
    const client = this.#clients.get(connection);
    if (client !== undefined) this.#tellWaiting(client);
  }

  /** A client has gone. @param isCut it may come back */
  left(connection: ClientConnection, isCut: boolean): void {
    const client = this.#clients.get(connection);
    if (client === undefined) return;
    this.#clients.delete(connection);
    this.#byNumber.delete(client.number);
    for (const topic of client.topics) this.#leave(topic, client);
    for (const home of client.homes.keys()) {
      const carrier = this.#carriers.get(home);
      if (carrier !== undefined)
        sendTrunk(carrier, TO_HOME.leaves, client.number, Uint8Array.of(isCut ? 1 : 0));
    }
  }

  /** Modulators here read an object whose home is another gateway. A former home hands on nothing more. */
  follow(followed: Followed): void {
    const { object } = followed;
    const home = this.#members.homeOf(object);
    if (this.#follows.get(object) !== home) this.unfollow(object);
    this.#follows.set(object, home);
    this.#tellHome(home, TO_HOME.follows, followed);
  }

  /** None do any more. */
  unfollow(object: string): void {
    const home = this.#follows.get(object);
    if (home === undefined) return;
    this.#follows.delete(object);
    this.#tellHome(home, TO_HOME.unfollows, { object, version: 0, state: "" });
  }

  #tellHome(home: number, kind: number, followed: Followed): void {
    const carrier = this.#carriers.get(home);
    if (carrier !== undefined) sendTrunk(carrier, kind, 0, json(followed));
  }

  #gather(
    connection: ClientConnection,
    home: number,
    frame: Frame,
    message: Uint8Array,
    start: number,
    end: number,
  ): void {
    const carrier = this.#carriers.get(home);
    const hasEvents = frame instanceof EventsFrame;
    if (carrier === undefined) return this.#cannotReach(connection, home, hasEvents);
    const client = this.#enter(connection, home, carrier);
    if (hasEvents) client.current ??= this.#begin(client, undefined);
    const known = this.#gathered.find(
      one => one.client === client && one.home === home && one.message === message,
    );
    if (known === undefined) {
      this.#gathered.push({ client, home, message, parts: [{ start, end }], hasEvents });
      return;
    }
    known.hasEvents ||= hasEvents;
    const last = known.parts.at(-1);
    if (last?.end === start) last.end = end;
    else known.parts.push({ start, end });
  }

  /** A message for a member without a carrier will come again from its client, who has heard of a gateway that is no member any more. */
  #cannotReach(connection: ClientConnection, home: number, hasEvents: boolean): void {
    if (!this.#members.mayBeHome(home)) return;
    const client = this.#clientOf(connection);
    client.unreached.add(home);
    if (!hasEvents) return;
    // It is never confirmed.
    client.current ??= this.#begin(client, undefined);
    client.current.left++;
  }

  /** A gateway can be reached, or is a member no more: those who had something for it while it could not be connect again. */
  moved(home: number): void {
    for (const { connection, unreached } of [...this.#clients.values()])
      if (unreached.has(home))
        connection.end("CHANNEL_MOVED", "the gateway that has the channel could not be reached");
  }

  /** Shared objects that come along with a modulator are known at their own homes, too. A consumer that is to be refused brings none. */
  #bring(connection: ClientConnection, frame: OpenConsumer): void {
    const objects = frame.modulator?.objects ?? [];
    if (objects.length === 0 || !needsOf(frame, []).every(need => connection.subject?.may(...need))) return;
    const home = this.#members.homeOf(baseOf(frame.channel));
    const away = new Map<number, SharedState[]>();
    for (const state of objects) {
      const theirs = this.#members.homeOf(state.object);
      if (theirs !== home) away.set(theirs, [...(away.get(theirs) ?? []), state]);
    }
    for (const [theirs, states] of away) {
      const carrier = this.#carriers.get(theirs);
      if (theirs === this.#members.self) this.#host.brings(connection, states);
      else if (carrier === undefined) this.#cannotReach(connection, theirs, false);
      else sendTrunk(carrier, TO_HOME.brings, this.#enter(connection, theirs, carrier).number, json(states));
    }
  }

  /** @param handover see `Entry` */
  #enter(connection: ClientConnection, home: number, carrier: TrunkCarrier, handover = ""): EdgeClient {
    const client = this.#clientOf(connection);
    if (client.homes.has(home)) return client;
    client.homes.set(home, []);
    const entry: Entry = {
      address: connection.address,
      token: this.#tokens.get(connection) ?? "",
      handover,
    };
    sendTrunk(carrier, TO_HOME.enters, client.number, json(entry));
    return client;
  }

  #clientOf(connection: ClientConnection): EdgeClient {
    const known = this.#clients.get(connection);
    if (known !== undefined) return known;
    const client = new EdgeClient(this.#nextClient++, connection);
    this.#clients.set(connection, client);
    this.#byNumber.set(client.number, client);
    return client;
  }

  /** A question whether all is taken waits until other homes have said so. @returns whether that is so of this frame */
  #holds(connection: ClientConnection, frame: Frame): boolean {
    const client = this.#clients.get(connection);
    if (frame.kind === "WantType" && this.#carriers.size > 0 && !this.#host.knowsType(frame.token)) {
      this.#findType(connection, frame);
      return true;
    }
    if (frame.kind !== "Ping" || client === undefined || client.unconfirmed.length === 0) return false;
    const asked = this.#begin(client, frame.time);
    asked.isWhole = true;
    return true;
  }

  #begin(client: EdgeClient, asked: number | undefined): Unconfirmed {
    const unconfirmed = { left: 0, isWhole: false, bytes: 0, asked };
    client.unconfirmed.push(unconfirmed);
    return unconfirmed;
  }

  #confirm({ connection, unconfirmed }: EdgeClient): void {
    for (;;) {
      const [first] = unconfirmed;
      if (first === undefined || !first.isWhole || first.left > 0) return;
      unconfirmed.shift();
      if (first.asked === undefined) this.#host.took(connection, first.bytes);
      else connection.pong(first.asked);
    }
  }

  #received(home: number, message: Uint8Array): void {
    const { kind, client: number, rest } = readTrunk(message);
    if (kind === TO_EDGE.publish) return this.#publish(home, number, rest);
    if (kind === TO_EDGE.object) return this.#followed(rest);
    if (kind === TO_EDGE.type) return this.#typeSearches.get(number)?.(home, rest);
    const client = this.#byNumber.get(number);
    if (client === undefined) return;
    const { connection } = client;
    switch (kind) {
      case TO_EDGE.send:
        if (!connection.sendBytes(rest)) this.#tellWaiting(client);
        return;
      case TO_EDGE.subscribe:
        return this.#subscribe(home, wordOf(rest), client);
      case TO_EDGE.unsubscribe: {
        const topic = this.#topics.get(nameOf(home, wordOf(rest)));
        if (topic === undefined) return;
        connection.unsubscribe(topic.name);
        return this.#leave(topic, client);
      }
      case TO_EDGE.part: {
        client.join(frameOf(rest) as PartOfAnswer, home);
        return;
      }
      case TO_EDGE.taken: {
        const waiting = client.homes.get(home) ?? [];
        for (const taken of waiting.splice(0, wordOf(rest))) taken.left--;
        return this.#confirm(client);
      }
      case TO_EDGE.ends: {
        const [code, reason] = fromJson<[number, string]>(rest);
        client.homes.delete(home);
        const known: ErrorCode = errorCode(code);
        return connection.end(known, reason.slice(reason.indexOf(": ") + 2));
      }
      default:
    }
  }

  #followed(bytes: Uint8Array): void {
    const update = frameOf(bytes);
    if (update.kind === "ObjectUpdate") this.#host.followed(update, bytes);
  }

  /** Looks for a type at all other gateways, and answers the client. */
  #findType(connection: ClientConnection, { token, request }: WantType): void {
    const search = this.#nextSearch++;
    const asked = new Set(this.#carriers.keys());
    const answer = (schema: Uint8Array | undefined): void => {
      this.#typeSearches.delete(search);
      if (!connection.isOpen) return;
      const why = new JechoError("TYPE_UNKNOWN", `no type is in use under the token ${token.toString(16)}`);
      connection.send(schema === undefined ? refusal(request, why) : { kind: "TypeKnown", schema, request });
    };
    this.#typeSearches.set(search, (home, schema) => {
      asked.delete(home);
      if (schema.byteLength > 0) answer(schema);
      else if (asked.size === 0) answer(undefined);
    });
    for (const carrier of this.#carriers.values())
      sendTrunk(carrier, TO_HOME.wantsType, search, json(String(token)));
  }

  #publish(home: number, but: number, rest: Uint8Array): void {
    const topic = this.#topics.get(nameOf(home, wordOf(rest)));
    if (topic === undefined) return;
    const frames = rest.subarray(8);
    const sender = this.#byNumber.get(but);
    if (sender === undefined) this.#host.publish(topic.name, frames);
    else sender.connection.publish(topic.name, frames);
    topic.sinceLook += frames.byteLength;
    if (topic.sinceLook < LOOK_EVERY_BYTES) return;
    topic.sinceLook = 0;
    for (const taker of topic.takers) this.#tellWaiting(taker);
  }

  #subscribe(home: number, number: number, client: EdgeClient): void {
    const name = nameOf(home, number);
    const topic = this.#topics.get(name) ?? { name, takers: new Set(), sinceLook: 0 };
    this.#topics.set(name, topic);
    topic.takers.add(client);
    client.topics.add(topic);
    client.connection.subscribe(name);
  }

  #leave(topic: EdgeTopic, client: EdgeClient): void {
    client.topics.delete(topic);
    topic.takers.delete(client);
    if (topic.takers.size === 0) this.#topics.delete(topic.name);
  }

  /** Tells a client's homes how much waits for it, where that matters to them. */
  #tellWaiting(client: EdgeClient): void {
    const { bufferedBytes } = client.connection;
    const told = client.toldBytes;
    if (Math.abs(bufferedBytes - told) < SOCKET_LOW_BYTES && (bufferedBytes > 0 || told === 0)) return;
    client.toldBytes = bufferedBytes;
    for (const home of client.homes.keys()) {
      const carrier = this.#carriers.get(home);
      if (carrier !== undefined) sendTrunk(carrier, TO_HOME.waits, client.number, words(bufferedBytes));
    }
  }

  #ended(home: number): void {
    this.#carriers.delete(home);
    for (const answered of [...this.#typeSearches.values()]) answered(home, NOTHING);
    for (const client of [...this.#clients.values()]) {
      if (!client.homes.delete(home)) continue;
      client.connection.end("CHANNEL_MOVED", "the gateway that had some of its channels has gone");
    }
  }
}

function frameOf(bytes: Uint8Array): Frame {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return parseFrame(view, bytes, 0, bytes.byteLength);
}

function nameOf(home: number, topic: number): string {
  return `home ${home} topic ${topic}`;
}
