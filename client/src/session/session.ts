import { type ErrorCode, JechoError, Type } from "@jecho/shared";
import type { Inheritance as InheritanceFrame, Overview } from "@jecho/shared/internal";
import { checkKind, checkOptions, TEXT } from "@jecho/shared/internal";
import { EventChannel } from "../channel/channel.ts";
import { type Codec, isCodec } from "../channel/codec.ts";
import { type EndpointSession, Opener } from "../channel/opener.ts";
import { type AttachOptions, SharedCopies, type ShareOptions } from "../objects/shared-copies.ts";
import type { SharedObject } from "../objects/shared-object.ts";
import {
  type ConnectOptions,
  concentratorOptions,
  type GatewayAddress,
  neighbourAddresses,
  parseAddress,
  textOf,
  urlOf,
} from "../options/connect-options.ts";
import { ATTACH, CONNECT, SHARE } from "../options/option-names.ts";
import { openPort } from "../places/place.ts";
import type { Answer, Port, PortNotice, PortRequest, Question } from "../places/port.ts";
import { Endpoints } from "./endpoints.ts";
import { GatewayNames } from "./gateway-names.ts";
import type { Inheritance } from "./inheritance.ts";
import { KnownTypes, ProducerNames, theOne } from "./known.ts";
import type { NewSession } from "./other-gateways.ts";
import type { GatewayOverview } from "./overview.ts";
import { Questions } from "./questions.ts";
import { SessionStatus } from "./session-status.ts";
import { guarded, type Status, statusNow, tell } from "./status.ts";
import { Ways } from "./ways.ts";

/** Codes of faults that others bring about: no error of this application. */
const WARNINGS: ReadonlySet<ErrorCode> = new Set(["MODULATOR_LEFT_OUT", "TYPE_UNREAD"]);

/**
 * Connects to a gateway: `HOST:PORT`, or the same with `ws://`, `wss://`, `http://`, `https://` or `jecho://`, and a path behind it where the gateway
 * is reached under one: `https://HOST/PATH`. Without one of these it is reached by `ws://`, but where a page came from by https, by `wss://`.
 * Returns at once; the connection is made, and made again, in the background.
 *
 * @throws JechoError `ARGUMENT_INVALID` where the address or an option is malformed, or the option unknown
 */
export function connect(address: string, options: ConnectOptions = {}): Session {
  return new Session(address, options);
}

/** A process' way to a gateway: all its channels share one connection. Made by `connect`. */
export class Session {
  /** `HOST:PORT` of the gateway, and the path that it is reached under, as it stands in channel names. */
  readonly address: string;
  readonly #options: ConnectOptions;
  readonly #port: Port;
  readonly #status: SessionStatus;
  readonly #endpoints: Endpoints;
  readonly #opener: Opener;
  readonly #names: GatewayNames;
  readonly #ways: Ways<Session>;
  readonly #producers = new ProducerNames();
  readonly #types = new KnownTypes(about => this.#ask(about));
  readonly #questions = new Questions(request => this.#post(request));
  readonly #copies = new SharedCopies({
    add: object => this.#endpoints.add(object),
    remove: endpoint => this.#opener.closeEndpoint(endpoint),
    post: request => this.#post(request),
    send: request => this.#port.post(request),
    subject: () => this.#subject,
    gateway: () => this.gateway,
  });
  #subject: string | undefined;
  #closing: Promise<void> = Promise.resolve();
  readonly #inheritance = Promise.withResolvers<Inheritance>();

  /** Made by `connect`, or by a session with another gateway. @param onClosed called when one of its endpoints was closed */
  constructor(address: string, options: ConnectOptions, onClosed?: () => void) {
    const gateway = parseAddress(address);
    checkOptions<ConnectOptions>("connect()", options, CONNECT);
    this.address = gateway.place;
    this.#status = new SessionStatus(this.address);
    this.#names = new GatewayNames(gateway);
    this.#ways = new Ways<Session>({
      own: this,
      names: this.#names,
      options,
      neighbours: neighbourAddresses(options.neighbours),
      openerOf: session => session.#opener,
      checkUsable: () => this.#status.checkUsable(),
      askAt: async there => ((await this.#ask({ gatewayAt: urlOf(there) })) as { gateway: string }).gateway,
      make: (there, its, closed) => this.#makeOther(there, its, closed),
    });
    this.#options = options;
    this.#endpoints = new Endpoints(onClosed);
    // An application that never asks for it need not handle its failure.
    this.#inheritance.promise.catch(() => {});
    if (options.handover === undefined) this.#inheritance.resolve({ subscriptions: [], objects: [] });
    this.#port = openPort(options.place, concentratorOptions(gateway, options), {
      notify: notice => this.#notice(notice),
      receive: this.#endpoints.receive,
    });
    this.#opener = new Opener(this.#forEndpoints(), this.#endpoints);
    this.#status.mindSilence();
  }

  #forEndpoints(): EndpointSession {
    return {
      address: this.address,
      names: this.#names,
      status: this.#status,
      port: this.#port,
      queue: this.#options.queue ?? {},
      tracing: this.#options.tracing,
      ways: this.#ways,
      post: request => this.#post(request),
      types: this.#types,
      typesOf: channel => this.#types.ofChannel(channel),
      producers: this.#producers,
      failed: error => this.#failed(error),
      taken: () => this.#questions.taken(),
    };
  }

  /**
   * The identity of the gateway, the same at all its addresses; undefined until the session is live for the first time. `jecho://IDENTITY/NAME` names a
   * channel for everybody at that gateway. A restarted gateway keeps its identity if it keeps its history in a file.
   */
  get gateway(): string | undefined {
    return this.#names.identity;
  }

  /** The subject of its token, as the gateway has read it; undefined until the session is live for the first time, and where the gateway knows no users. */
  get subject(): string | undefined {
    return this.#subject;
  }

  /** The session's state: `live` while there is a connection. */
  get status(): Status {
    return this.#status.now;
  }

  /**
   * Calls back when the status changes; returns a function that stops that. A session without listeners that reaches no gateway for 5 s says so once by
   * `console.warn`.
   */
  onStatus(listener: (status: Status) => void): () => void {
    return this.#status.add(listener);
  }

  /** Resolves when the session is live. @throws JechoError what refused it, `CLOSED`, or the signal's reason */
  ready(signal?: AbortSignal): Promise<void> {
    return this.#status.ready(signal);
  }

  /**
   * A channel by its name: the user's part of it (`atmosphere/ozone`), or in full, with the address of a gateway
   * (`jecho://HOST:PORT/atmosphere/ozone`) or its identity (`jecho://IDENTITY/atmosphere/ozone`, with `?at=ADDRESS` where this session may not know that). Where
   * it is not this session's own address, the first endpoint that is opened on the channel asks there which gateway it is. All endpoints at another
   * gateway than this session's share a connection of their own, which shows no token that is not for it (`neighbours`).
   * Without a type the channel's events are bytes. `atmosphere/ozone#alarms` has the output of modulators whose consumers subscribed with `as: "alarms"`, and events that others publish there.
   *
   * @throws JechoError `CHANNEL_NAME_INVALID`, `ARGUMENT_INVALID` where the type is neither a `Type` nor a `Codec`
   */
  channel(name: string): EventChannel<Uint8Array>;
  /** A channel with the type of its events, or `json()`. */
  channel<T>(name: string, type: Type<T> | Codec<T>): EventChannel<T>;
  channel<T>(name: string, type?: Type<T> | Codec<T>): EventChannel<T> {
    // All sessions read a type by the same object.
    if (type instanceof Type) theOne(type as Type);
    else if (type !== undefined && !isCodec(type))
      throw new JechoError(
        "ARGUMENT_INVALID",
        "a channel's type is made by type(name, fields), typeFromFbs, typeFromSchema or json",
      );
    return new EventChannel<T>(this.#ways, this.#names.inFull(name), type);
  }

  /**
   * The type with this token, as events carry it, for readers that know no types. Types are known while somebody writes them.
   *
   * @throws JechoError `TYPE_UNKNOWN`, or what ended the connection
   */
  async type(token: bigint): Promise<Type> {
    checkKind("token", token, "a bigint");
    return this.#types.fetch(token);
  }

  /**
   * The session with the gateway of a channel's full name: this one, or one that ends with it. It is for what belongs to a gateway and to no
   * channel, such as the shared objects that modulators there read.
   *
   * @throws JechoError as `subscribe` and `produce` of the channel do
   */
  at(fullName: string, signal?: AbortSignal): Promise<Session> {
    return this.#ways.at(fullName, signal);
  }

  #makeOther(address: GatewayAddress, options: ConnectOptions, onClosed: () => void): NewSession<Session> {
    const session = new Session(textOf(address), options, onClosed);
    return {
      session,
      isUsed: () => session.#endpoints.areThere,
      taken: () => session.#questions.taken(),
    };
  }

  async #ask(about: Question): Promise<Answer> {
    await this.ready();
    return this.#questions.ask(about);
  }

  /**
   * Makes an object to share with modulators, and with other sessions, which `attach` to its `id`. Without one the id is random, and secret
   * until it is told. Where another session has shared the same id before, this is a further copy of that object.
   * It lives until it or the session is closed. In React, make it in an effect that closes it again, or beside the session: the initialiser of a
   * state is called twice in development, which would leave the first object behind.
   *
   * @throws JechoError `OBJECT_INVALID` where the state is not plain data or has more than 65,536 characters, or the id does not have 1 to 64 characters;
   * `ARGUMENT_INVALID` for an unknown option
   */
  share<S extends object>(state: S, options: ShareOptions = {}): SharedObject<S> {
    checkOptions<ShareOptions>("share()", options, SHARE);
    const object = this.#copies.share(state, options.id);
    const { state: is, error = new JechoError("CLOSED", "the session is closed") } = this.#status.now;
    // Nobody hears of an object of a session that has ended; the object itself can be used.
    if (is === "closed" || is === "refused") object.notice({ is: "refused", endpoint: 0, reset: 0, error });
    return object;
  }

  /**
   * A copy of an object that another session shares. A `prompt` copy, the default, is sent each newer state; a `lazy` one is told of newer
   * versions, and `pull()` fetches their state.
   *
   * @throws JechoError `OBJECT_UNKNOWN`, `OBJECT_INVALID`, `OVERLOADED`, `ARGUMENT_INVALID`, what ended the connection, or the signal's reason
   */
  async attach<S extends object>(id: string, options: AttachOptions = {}): Promise<SharedObject<S>> {
    checkOptions<AttachOptions>("attach()", options, ATTACH);
    const { policy = "prompt", signal } = options;
    this.#status.checkUsable();
    const { object, opening } = this.#copies.attach<S>(id, policy === "lazy");
    await this.#endpoints.open(opening.endpoint, object, signal, () => this.#post(opening));
    return object;
  }

  /**
   * Ends every endpoint and the connection. Resolves when all raised events have been through the modulators here and taken by the
   * gateway, or after 30 s.
   */
  close(): Promise<void> {
    if (!this.#status.isClosed) {
      this.#copies.publish();
      this.#opener.queues?.finish();
      const error = new JechoError("CLOSED", "the session was closed");
      // Whether its events were taken is not known any more.
      this.#questions.end(error);
      this.#closing = Promise.all([this.#ways.close(), this.#port.close()]).then(() => {});
      this.#setStatus(statusNow("closed"));
      this.#inheritance.reject(error);
      this.#endpoints.close(error);
      this.#opener.queues?.close(error);
    }
    return this.#closing;
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Makes a token with which another device takes this session over: `connect(address, { handover: token })`. It is good once
   * and for `validMs` milliseconds. When it is used, this session ends with `HANDED_OVER`.
   *
   * @throws JechoError `OVERLOADED` with too many tokens under way, `HANDOVER_INVALID` while endpoints are open at other gateways, `CONNECTION_LOST`, `CLOSED`
   */
  async handover(): Promise<{ readonly token: string; readonly validMs: number }> {
    await this.ready();
    if (this.#ways.areUsed)
      throw new JechoError(
        "HANDOVER_INVALID",
        "a session with endpoints at other gateways cannot be handed over",
      );
    return (await this.#ask({ handover: true })) as { token: string; validMs: number };
  }

  /**
   * Endpoints that another device had open, for a session that was made with its token.
   *
   * @throws JechoError `HANDOVER_INVALID`, `TIMED_OUT` where the other device does not answer, or the error that refused the session
   */
  inheritance(): Promise<Inheritance> {
    return this.#inheritance.promise;
  }

  /**
   * Resolves when all events that were raised before have been through the modulators here, and have been taken by the gateway or are wanted by
   * nobody.
   *
   * @throws JechoError `CLOSED`, or what refused the session
   */
  async flush(): Promise<void> {
    this.#opener.queues?.finish();
    await Promise.all([this.#questions.ask({ flush: true }), this.#ways.flush()]);
  }

  /**
   * Ends all connections of a subject. The gateway takes no token any more that was made for it before now. Needs the right `kick`.
   *
   * @returns number of connections that were ended
   * @throws JechoError `RIGHT_MISSING`, `CONNECTION_LOST`, `CLOSED`
   */
  async kick(subject: string): Promise<number> {
    checkKind("subject", subject, TEXT);
    await this.ready();
    return ((await this.#ask({ kick: subject })) as { connections: number }).connections;
  }

  /**
   * Asks the gateway for its channels, their derived channels, and the resources of modulators. Needs the right `inspect` for the pattern.
   *
   * @param pattern of the channels' names, as in a right: `*` stands for one segment, and `**` at the end for one or more. Default: all
   * @throws JechoError `RIGHT_MISSING`, `ARGUMENT_INVALID` where that is no pattern, `CONNECTION_LOST`, `CLOSED`
   */
  async overview(pattern = "**"): Promise<GatewayOverview> {
    checkKind("pattern", pattern, TEXT);
    await this.ready();
    const { overview } = (await this.#ask({ overview: pattern })) as { overview: Overview };
    const { overviewOf } = await import("./overview.ts");
    return overviewOf(overview);
  }

  async #giveToken(): Promise<void> {
    let [token, failure] = ["", ""];
    try {
      const { token: given } = this.#options;
      const made: unknown = typeof given === "function" ? await given() : given;
      if (typeof made !== "string") throw new TypeError(`a token is a string, not ${typeof made}`);
      token = made;
    } catch (error) {
      failure = JechoError.from(error).message || "it is not said why";
    }
    if (!this.#status.isClosed) this.#port.post({ is: "token", token, failure });
  }

  #post(request: PortRequest): void {
    // Requests of a closed session's endpoints come too late.
    if (this.#status.isClosed) return;
    this.#copies.publish();
    this.#port.post(request);
  }

  #notice(notice: PortNotice): void {
    // The notice was on its way when the session was closed.
    if (this.#status.isClosed) return;
    switch (notice.is) {
      case "status":
        this.#setStatus(notice.status);
        return;
      case "gateway":
        this.#names.connected(notice.gateway);
        return;
      case "admitted":
        this.#subject = notice.subject;
        return;
      case "named":
        this.#producers.set(notice.channel, notice.producer, notice.name);
        return;
      case "tokenWanted":
        void this.#giveToken();
        return;
      case "type":
        this.#types.add(notice.schema);
        return;
      case "answer":
        this.#questions.answered(notice.question, notice.answer);
        return;
      case "fault":
        if (!WARNINGS.has(notice.error.code)) this.#failed(notice.error);
        else if (this.#options.onError !== undefined) guarded(this.#options.onError)(notice.error);
        return;
      case "room":
        this.#opener.queues?.room(notice.queue);
        return;
      case "recordsTaken":
        this.#opener.queues?.taken(notice.queue, notice.bytes);
        return;
      case "gone":
        // The thread of the concentrator died.
        this.#setStatus(statusNow("refused", notice.error));
        return;
      case "opened":
        this.#endpoints.opened(notice);
        return;
      case "refused": {
        const isCopy = this.#copies.has(notice.endpoint);
        // Nobody waits for a shared object to be opened.
        if (!this.#endpoints.refused(notice) && isCopy) this.#failed(notice.error);
        return;
      }
      case "inheritance":
        this.#inheritance.resolve(this.#inherit(notice.inheritance));
        return;
      default:
        this.#endpoints.notice(notice.endpoint, notice);
    }
  }

  async #inherit(inheritance: InheritanceFrame): Promise<Inheritance> {
    const { inherit } = await import("./inheritance.ts");
    return inherit(
      inheritance,
      channel => this.#names.inFull(channel),
      (state, id, version) => this.#copies.share(state, id, version),
      (...of) => this.#opener.takeOver(...of),
    );
  }

  #failed(error: JechoError): void {
    guarded(this.#options.onError ?? tell)(error);
  }

  #setStatus(status: Status): void {
    this.#status.set(status);
    if (status.state === "refused") this.#end(status.error as JechoError);
    this.#status.tell();
  }

  /** Ends the session, and rejects all that waits for it. */
  #end(error: JechoError): void {
    this.#questions.end(error);
    this.#inheritance.reject(error);
    this.#endpoints.fail(error);
    this.#opener.queues?.close(error);
  }
}
