import type { Demodulator, Modulator } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { checkName, formatChannelName, JechoError, parseChannelName, Type } from "@jecho/shared";
import {
  type EventsFrame,
  FROM,
  type Inheritance as InheritanceFrame,
  type Inherited,
  type SharedState,
  tokenOf,
} from "@jecho/shared/internal";
import type { BackoffOptions } from "./backoff.ts";
import { EventChannel, type ProduceOptions, type SubscribeOptions } from "./channel.ts";
import { Consumer, type Handler } from "./consumer.ts";
import { Delegation } from "./delegation.ts";
import type { EventQueue, EventQueueOptions } from "./event-queue.ts";
import { EventQueues } from "./event-queues.ts";
import { type Inheritance, InheritedSubscription, type TakeOverOptions } from "./inheritance.ts";
import type { Codec } from "./json.ts";
import {
  historyOf,
  labelOf,
  mostOf,
  type ProducerModulatorOptions,
  placeOf,
  queueOf,
} from "./open-options.ts";
import { type ConcentratorPlace, openPort } from "./places/place.ts";
import type { Answer, ControlRequest, Port, PortNotice, PortRequest, Question } from "./port.ts";
import { Producer } from "./producer.ts";
import { Questions } from "./questions.ts";
import { SharedCopies } from "./shared-copies.ts";
import { SharedObject } from "./shared-object.ts";
import { Listeners, raise, type Status, statusNow } from "./status.ts";

/** A consumer's handler, split: the modulator runs in every producer, the demodulator stays here. */
export interface EagerHandler {
  readonly modulator?: Modulator | undefined;
  readonly demodulator?: Demodulator | undefined;
  /** Capabilities of this consumer that its modulator may use; which ones it takes is for producers to say. Default: none. */
  readonly capabilities?: readonly string[] | undefined;
}

export interface ConnectOptions {
  /** What the gateway's operator may see of this process. */
  readonly name?: string;
  /** When to connect again after the connection broke: full jitter from 500 ms to 20 s by default. */
  readonly backoff?: BackoffOptions;
  /** How long one try to connect may take, in milliseconds; 10,000 by default. */
  readonly connectTimeoutMs?: number;
  /** The queue that all producers share that have none of their own. */
  readonly queue?: EventQueueOptions;
  /**
   * Where the concentrator runs, and the connection with it: by default beside the application, in a worker thread of Node
   * (`worker`), or in the SharedWorker of the page's origin (`shared`). A place that cannot be had gives way to the next.
   * `here` starts faster and answers sooner, but lives only while the application's own thread yields.
   */
  readonly place?: ConcentratorPlace;
  /** A token that another device's session made by `handover()`: this session takes over what that one had open. */
  readonly handover?: string;
  /** How this process runs the modulators of its producers' consumers. */
  readonly modulators?: ProducerModulatorOptions;
  /** For a process beside the gateway, which that has started: runs modulators in the stead of producers. What to show there. */
  readonly modulating?: string;
  /** Gets what goes wrong without an endpoint to blame, such as a refused update; by default thrown as an uncaught error. */
  readonly onError?: (error: JechoError) => void;
}

export interface ShareOptions {
  /** 1 to 64 characters; by default a random one. */
  readonly id?: string;
}

export interface AttachOptions {
  readonly policy?: "prompt" | "lazy";
  readonly signal?: AbortSignal;
}

/** What a session opens: a producer, a consumer, a copy of a shared object. */
interface Endpoint {
  notice(notice: PortNotice): void;
  /** Of a consumer: a run, from its event `first` on. */
  receive?(frame: EventsFrame, first: number): void;
  close(): Promise<void>;
}

interface Opening {
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Connects to a gateway: `HOST:PORT`, or the same with `ws://`, `wss://`, `http://`, `https://` or `jecho://`.
 * Returns at once; the connection is made, and made again, in the background.
 *
 * @throws JechoError `ARGUMENT_INVALID` where the address is none
 */
export function connect(address: string, options: ConnectOptions = {}): Session {
  return new Session(address, options);
}

/** A process' way to a gateway: all its channels share one connection. Made by `connect`. */
export class Session {
  /** `HOST:PORT` of the gateway, as it stands in channel names. */
  readonly address: string;
  readonly #options: ConnectOptions;
  readonly #port: Port;
  readonly #statusListeners = new Listeners<Status>();
  readonly #endpoints = new Map<number, Endpoint>();
  readonly #queues: EventQueues;
  readonly #openings = new Map<number, Opening>();
  readonly #types = new Map<bigint, Type>();
  readonly #questions = new Questions(request => this.#post(request));
  readonly #copies = new SharedCopies({
    add: object => this.#add(object),
    remove: endpoint => this.closeEndpoint(endpoint),
    post: request => this.#post(request),
    send: request => this.#port.post(request),
  });
  #status: Status = statusNow("connecting");
  #closing: Promise<void> = Promise.resolve();
  #nextEndpoint = 1;
  readonly #inheritance = Promise.withResolvers<Inheritance>();

  constructor(address: string, options: ConnectOptions) {
    const { host, secure } = parseAddress(address);
    this.address = host;
    this.#options = options;
    // Whoever does not ask for it need not handle that it failed.
    this.#inheritance.promise.catch(() => {});
    if (options.handover === undefined) this.#inheritance.resolve({ subscriptions: [], objects: [] });
    this.#port = openPort(
      options.place,
      {
        url: `${secure ? "wss" : "ws"}://${host}/`,
        name: options.name ?? "",
        backoff: options.backoff ?? {},
        connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
        handover: options.handover ?? "",
        modulating: options.modulating ?? "",
        modulators: { ...options.modulators, most: mostOf(options.modulators?.most) },
      },
      {
        notify: notice => this.#notice(notice),
        receive: (endpoint, frame, first) => {
          if (this.#status.state !== "closed") this.#endpoints.get(endpoint)?.receive?.(frame, first);
        },
      },
    );
    this.#queues = new EventQueues(this.#port, options.queue ?? {}, {
      onDropped: (endpoint, raised) =>
        this.#endpoints
          .get(endpoint)
          ?.notice({ is: "dropped", endpoint, raised, events: 1, code: "QUEUE_FULL" }),
    });
  }

  get status(): Status {
    return this.#status;
  }

  /** Calls back when the status changes; returns what stops that. */
  onStatus(listener: (status: Status) => void): () => void {
    return this.#statusListeners.add(listener);
  }

  /** Resolves when the session is live. @throws JechoError what refused it, `CLOSED`, or the signal's reason */
  ready(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = (status: Status): boolean => {
        if (status.state === "live") resolve();
        else if (status.state === "refused") reject(status.error);
        else if (status.state === "closed") reject(new JechoError("CLOSED"));
        else return false;
        return true;
      };
      if (signal?.aborted) return reject(signal.reason);
      if (check(this.#status)) return;
      const stop = this.onStatus(status => {
        if (check(status)) stop();
      });
      signal?.addEventListener("abort", () => {
        stop();
        reject(signal.reason);
      });
    });
  }

  /**
   * A channel by its name: in full (`jecho://HOST:PORT/atmosphere/ozone`) or the user's part of it. Without a type its
   * events are bytes. `atmosphere/ozone#alarms` is what somebody's modulator makes of it who subscribed with `as: "alarms"`.
   *
   * @throws JechoError `CHANNEL_NAME_INVALID`, `CHANNEL_ELSEWHERE` where another gateway than this session's is named
   */
  channel(name: string): EventChannel<Uint8Array>;
  channel<T>(name: string, type: Type<T> | Codec<T>): EventChannel<T>;
  channel<T>(name: string, type?: Type<T> | Codec<T>): EventChannel<T> {
    return new EventChannel<T>(this, formatChannelName(this.address, this.#userName(name)), type);
  }

  /**
   * The type with this token, as events carry it: for readers that know nothing of what they read. Types are known while
   * somebody writes them.
   *
   * @throws JechoError `TYPE_UNKNOWN`, or what ended the connection
   */
  async type(token: bigint): Promise<Type> {
    if (!this.#types.has(token)) await this.#ask({ token });
    const told = this.#types.get(token);
    if (told === undefined) throw new JechoError("TYPE_UNKNOWN", "the gateway answered with another type");
    return told;
  }

  /** For channels. */
  async typesOf(channel: string): Promise<Type[]> {
    const tokens = (await this.#ask({ channel: this.#userName(channel) })) as readonly bigint[];
    return Promise.all(tokens.map(token => this.type(token)));
  }

  async #ask(about: Question): Promise<Answer> {
    await this.ready();
    return this.#questions.ask(about);
  }

  /**
   * Makes an object to share with modulators, and with other sessions: they `attach` to its `id`. Without one it is random, and
   * known to nobody who is not told. Where another session has shared the same id before, this is a further copy of that.
   *
   * @throws JechoError `OBJECT_INVALID` where the state is not plain data, or the id does not have 1 to 64 characters
   */
  share<S extends object>(state: S, { id }: ShareOptions = {}): SharedObject<S> {
    return this.#copies.share(state, id);
  }

  /**
   * A copy of an object that another session shares. A `prompt` one, the default, has each newer state as soon as it is there; a
   * `lazy` one hears of newer versions, and has their state when `pull()` has fetched it.
   *
   * @throws JechoError `OBJECT_UNKNOWN`, `OBJECT_INVALID`, `OVERLOADED`, what ended the connection, or the signal's reason
   */
  async attach<S extends object>(
    id: string,
    { policy = "prompt", signal }: AttachOptions = {},
  ): Promise<SharedObject<S>> {
    const { object, opening } = this.#copies.attach<S>(id, policy === "lazy");
    await this.#open(opening.endpoint, object, signal, opening);
    return object;
  }

  #add(endpoint: Endpoint): number {
    const number = this.#nextEndpoint++;
    this.#endpoints.set(number, endpoint);
    return number;
  }

  /** Ends every endpoint and the connection. Resolves when what was raised before has been handed to the connection. */
  close(): Promise<void> {
    if (this.#status.state !== "closed") {
      this.#copies.publish();
      this.#queues.finish();
      this.#closing = this.#port.close();
      this.#setStatus(statusNow("closed"));
      const error = new JechoError("CLOSED", "the session was closed");
      for (const { reject } of this.#openings.values()) reject(error);
      this.#openings.clear();
      this.#questions.fail(error);
      this.#inheritance.reject(error);
      this.#questions.failFlushes(error);
      for (const endpoint of [...this.#endpoints.values()]) {
        void endpoint.close();
      }
      this.#endpoints.clear();
      this.#queues.close(error);
    }
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** For channels. */
  async openProducer<T>(channel: EventChannel<T>, options: ProduceOptions): Promise<Producer<T>> {
    const { signal, delegate, history, key = "" } = options;
    const endpoint = this.#nextEndpoint++;
    const delegation =
      delegate &&
      new Delegation(
        delegate,
        (name, value) => this.#post({ is: "context", endpoint, name, value }),
        error => (this.#options.onError ?? raise)(error),
      );
    this.#checkUsable();
    // Which memory a queue may have depends on where the other side of it is.
    await this.#port.settled;
    this.#checkUsable();
    const queue = options.queue === undefined ? this.#queues.common : this.#queues.open(options.queue);
    const producer = new Producer<T>(this, endpoint, channel, queue, delegation);
    const name = this.#userName(channel.name);
    const { schema = new Uint8Array(0), token = 0n } = channel.type ?? {};
    await this.#open(endpoint, producer, signal, {
      is: "openProducer",
      endpoint,
      channel: name,
      schema,
      token,
      offers: delegation?.offers,
      context: delegation?.present() ?? new Map(),
      history: historyOf(history),
      key,
    });
    return producer;
  }

  /** For channels. */
  async openConsumer<T>(
    channel: EventChannel<T>,
    handler: Handler<T>,
    options: SubscribeOptions,
  ): Promise<Consumer<T>> {
    const endpoint = this.#nextEndpoint++;
    const consumer = new Consumer<T>(this, endpoint, channel, handler, options, options);
    await this.#open(endpoint, consumer, options.signal, {
      is: "openConsumer",
      endpoint,
      channel: this.#userName(channel.name),
      schema: channel.type?.schema ?? new Uint8Array(0),
      modulator: options.modulator && modulatorTable(options.modulator, options.capabilities),
      queue: queueOf(options.queue),
      label: labelOf(options.label),
      as: options.as ?? "",
      from: placeOf(options),
      sources: [],
    });
    return consumer;
  }

  /**
   * Makes a token with which another device takes this session over: `connect(address, { handover: token })`. It is good once
   * and for `validMs` milliseconds. When it is used, this session ends with `HANDED_OVER`.
   *
   * @throws JechoError `OVERLOADED` with too many tokens under way, `CONNECTION_LOST`, `CLOSED`
   */
  async handover(): Promise<{ readonly token: string; readonly validMs: number }> {
    await this.ready();
    return (await this.#ask({ handover: true })) as { token: string; validMs: number };
  }

  /**
   * What another device had open, where this session was made with its token.
   *
   * @throws JechoError `HANDOVER_INVALID`, `TIMED_OUT` where the other device does not answer, or what else refused the session
   */
  inheritance(): Promise<Inheritance> {
    return this.#inheritance.promise;
  }

  async #takeOver<T>(
    { channel, label }: InheritedSubscription,
    { modulator, as, epoch, seq, sources }: Inherited,
    handler: Handler<T>,
    options: TakeOverOptions<T>,
  ): Promise<Consumer<T>> {
    const endpoint = this.#nextEndpoint++;
    const pair = { modulator: modulator && { source: modulator.source }, demodulator: options.demodulator };
    const place = new EventChannel<T>(this, channel, options.type);
    const consumer = new Consumer<T>(this, endpoint, place, handler, pair, options);
    await this.#open(endpoint, consumer, options.signal, {
      is: "openConsumer",
      endpoint,
      channel: this.#userName(channel),
      schema: options.type?.schema ?? new Uint8Array(0),
      modulator,
      queue: queueOf(options.queue),
      label,
      as,
      from: { from: FROM.resume, epoch, seq, agoMs: 0, speed: 0 },
      sources,
    });
    return consumer;
  }

  /**
   * Resolves when everything that was raised before has been taken by the gateway, or turned out to be wanted by nobody.
   *
   * @throws JechoError `CLOSED`
   */
  flush(): Promise<void> {
    if (this.#status.state === "closed") return Promise.reject(new JechoError("CLOSED"));
    this.#queues.finish();
    return this.#questions.flush();
  }

  /** For consumers: what the application calls one from now on. */
  relabel(endpoint: number, label: string): void {
    this.#post({ is: "label", endpoint, label: labelOf(label) });
  }

  /** For consumers: the application can take no more for now, or can again. */
  flow(endpoint: number, ready: boolean): void {
    this.#post({ is: "flow", endpoint, ready });
  }

  /** For producers: a synchronous event is not waited for any longer. */
  giveUp(endpoint: number, raised: number): void {
    this.#post({ is: "giveUp", endpoint, raised });
  }

  /** For consumers. */
  resetConsumer(endpoint: number, reset: number, pair: EagerHandler): void {
    this.#post({
      is: "resetConsumer",
      endpoint,
      reset,
      modulator: pair.modulator && modulatorTable(pair.modulator, pair.capabilities),
    });
  }

  /** For consumers. */
  closeEndpoint(endpoint: number): void {
    this.#post({ is: "closeEndpoint", endpoint });
    this.#endpoints.delete(endpoint);
  }

  /** For producers: a queue of its own goes with the producer. */
  closeProducer(endpoint: number, queue: EventQueue): void {
    if (this.#status.state === "closed") return;
    this.#queues.finish();
    this.closeEndpoint(endpoint);
    if (!this.#queues.leave(queue)) return;
    this.#post({ is: "closeQueue", queue: queue.number });
    queue.close(new JechoError("CLOSED"));
  }

  /** For consumers: the type that events with this token were written with. */
  writtenType(token: bigint): Type | undefined {
    return this.#types.get(token);
  }

  /** For consumers: a handler has ended on a synchronous event. */
  handled(handled: Omit<Extract<ControlRequest, { is: "handled" }>, "is">): void {
    this.#post({ is: "handled", ...handled });
  }

  #checkUsable(): void {
    if (this.#status.state === "closed") throw new JechoError("CLOSED", "the session is closed");
    if (this.#status.state === "refused") throw this.#status.error;
  }

  /** For producers: the queue of what goes before everything else. */
  get urgentQueue(): EventQueue {
    return this.#queues.urgent;
  }

  async #open(
    endpoint: number,
    face: Endpoint,
    signal: AbortSignal | undefined,
    request: PortRequest,
  ): Promise<void> {
    this.#checkUsable();
    signal?.throwIfAborted();
    this.#endpoints.set(endpoint, face);
    const abort = (): void => this.#openings.get(endpoint)?.reject(signal?.reason);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#openings.set(endpoint, { resolve, reject });
        signal?.addEventListener("abort", abort);
        this.#post(request);
      });
    } catch (error) {
      void face.close();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#openings.delete(endpoint);
    }
    signal?.addEventListener("abort", () => void face.close(), { once: true });
  }

  #post(request: PortRequest): void {
    // What the closed session's endpoints had is gone with it.
    if (this.#status.state === "closed") return;
    this.#copies.publish();
    this.#port.post(request);
  }

  #notice(notice: PortNotice): void {
    // What was still on its way when the session was closed.
    if (this.#status.state === "closed") return;
    switch (notice.is) {
      case "status":
        this.#setStatus(notice.status);
        return;
      case "type": {
        // It is told for every consumer that may need it.
        if (this.#types.has(tokenOf(notice.schema))) return;
        const type = Type.fromSchema(notice.schema);
        if (!this.#types.has(type.token)) this.#types.set(type.token, type);
        return;
      }
      case "answer":
        this.#questions.answered(notice.question, notice.answer);
        return;
      case "fault":
        (this.#options.onError ?? raise)(notice.error);
        return;
      case "room":
        this.#queues.room(notice.queue);
        return;
      case "recordsTaken":
        this.#queues.taken(notice.queue, notice.bytes);
        return;
      case "gone":
        this.#gone(notice.error);
        return;
      case "opened":
        this.#endpoints.get(notice.endpoint)?.notice(notice);
        this.#openings.get(notice.endpoint)?.resolve();
        return;
      case "refused": {
        const endpoint = this.#endpoints.get(notice.endpoint);
        endpoint?.notice(notice);
        const opening = this.#openings.get(notice.endpoint);
        opening?.reject(notice.error);
        // Nobody waits for what is shared.
        if (opening === undefined && endpoint instanceof SharedObject)
          (this.#options.onError ?? raise)(notice.error);
        return;
      }
      case "flushed":
        this.#questions.flushed(notice.flush);
        return;
      case "inheritance":
        this.#inheritance.resolve(this.#inherit(notice.inheritance));
        return;
      default:
        this.#endpoints.get(notice.endpoint)?.notice(notice);
    }
  }

  #inherit({ subscriptions, objects: states }: InheritanceFrame): Inheritance {
    // Two subscriptions may share an object: then they have the same one here, too.
    const objects = new Map<string, SharedObject>();
    const objectOf = (state: SharedState): SharedObject => {
      const object = objects.get(state.object) ?? this.#copies.inherit(state);
      objects.set(state.object, object);
      return object;
    };
    return {
      objects: states.map(objectOf),
      subscriptions: subscriptions.map(inherited => {
        const states = inherited.modulator?.objects ?? [];
        const named = Object.fromEntries(states.map(state => [state.name, objectOf(state)]));
        const channel = formatChannelName(this.address, inherited.channel);
        return new InheritedSubscription(channel, inherited, named, (...of) => this.#takeOver(...of));
      }),
    };
  }

  /** The thread of the concentrator died: nothing that was asked of it will be answered. */
  #gone(error: JechoError): void {
    this.#setStatus(statusNow("refused", error));
    for (const [endpoint, face] of [...this.#endpoints]) {
      face.notice({ is: "interrupted", endpoint });
      face.notice({ is: "refused", endpoint, reset: 0, error });
    }
    this.#questions.fail(error);
    this.#queues.close(error);
  }

  #setStatus(status: Status): void {
    this.#status = status;
    if (status.state === "refused") {
      for (const { reject } of this.#openings.values()) reject(status.error);
      this.#inheritance.reject(status.error as JechoError);
      this.#questions.failFlushes(status.error as JechoError);
    }
    this.#statusListeners.tell(status);
  }

  #userName(name: string): string {
    if (!name.startsWith("jecho://")) return checkName(name);
    const parsed = parseChannelName(name);
    if (parsed.server !== this.address) {
      throw new JechoError("CHANNEL_ELSEWHERE", `${name} is not at this session's gateway, ${this.address}`);
    }
    return parsed.name;
  }
}

function parseAddress(address: string): { host: string; secure: boolean } {
  const match = /^(?:(wss?|https?|jecho):\/\/)?([^/\s?#]+)\/?$/.exec(address);
  if (match === null)
    throw new JechoError("ARGUMENT_INVALID", `"${address.slice(0, 200)}" is not the address of a gateway`);
  return { host: match[2] as string, secure: match[1] === "wss" || match[1] === "https" };
}
