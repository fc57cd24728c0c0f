import { modulatorTable } from "@jecho/modulators/internal";
import { JechoError, type Type } from "@jecho/shared";
import { checkOptions, FROM, type Inherited, type OptionNames } from "@jecho/shared/internal";
import { EventChannel, type ProduceOptions, type SubscribeOptions } from "./channel.ts";
import { Consumer } from "./consumer.ts";
import type { Handler } from "./consumer-options.ts";
import { Delegation } from "./delegation.ts";
import type { Endpoints } from "./endpoints.ts";
import type { EventQueue } from "./event-queue.ts";
import type { EventQueues } from "./event-queues.ts";
import type { InheritedSubscription, TakeOverOptions } from "./inheritance.ts";
import { historyOf, labelOf, placeOf, queueOf } from "./open-options.ts";
import { PRODUCE, SUBSCRIBE, TAKE_OVER } from "./option-names.ts";
import type { ControlRequest, PortRequest } from "./port.ts";
import { Producer } from "./producer.ts";

/** What a session does for its endpoints. */
export interface EndpointSession {
  readonly isClosed: boolean;
  /** Resolves when it is known where the concentrator runs. */
  readonly settled: Promise<void>;
  /** @throws JechoError why nothing can be opened */
  checkUsable(): void;
  /** A channel's name on the wire. @throws JechoError `CHANNEL_NAME_INVALID`, `CHANNEL_ELSEWHERE` */
  userName(channel: string): string;
  post(request: PortRequest): void;
  /** The type that events with this token were written with. */
  writtenType(token: bigint): Type | undefined;
  /** The types that the present producers of a channel write. */
  typesOf(channel: string): Promise<Type[]>;
  /** Something went wrong without an endpoint to blame. */
  failed(error: JechoError): void;
  /** Resolves when what was raised before has been taken, or after 30 s. */
  taken(): Promise<void>;
}

/** Opens a session's producers and consumers, closes them, and is their way to its concentrator. */
export class Opener {
  readonly #session: EndpointSession;
  readonly #endpoints: Endpoints;
  readonly #queues: EventQueues;

  constructor(session: EndpointSession, endpoints: Endpoints, queues: EventQueues) {
    this.#session = session;
    this.#endpoints = endpoints;
    this.#queues = queues;
  }

  async openProducer<T>(channel: EventChannel<T>, options: ProduceOptions): Promise<Producer<T>> {
    checkOptions<ProduceOptions>("produce()", options, PRODUCE);
    const session = this.#session;
    const { signal, delegate, history, key = "" } = options;
    const endpoint = this.#endpoints.next();
    const delegation =
      delegate &&
      new Delegation(
        delegate,
        (name, value) => this.post({ is: "context", endpoint, name, value }),
        error => session.failed(error),
      );
    session.checkUsable();
    // Which memory a queue may have depends on where the other side of it is.
    await session.settled;
    session.checkUsable();
    const queue = options.queue === undefined ? this.#queues.common : this.#queues.open(options.queue);
    const producer = new Producer<T>(this, endpoint, channel, queue, delegation);
    const { schema = new Uint8Array(0), token = 0n } = channel.type ?? {};
    const request: ControlRequest = {
      is: "openProducer",
      endpoint,
      channel: session.userName(channel.name),
      schema,
      token,
      offers: delegation?.offers,
      context: delegation?.present() ?? new Map(),
      history: historyOf(history),
      key,
    };
    await this.#endpoints.open(endpoint, producer, signal, () => this.post(request));
    return producer;
  }

  async openConsumer<T>(
    channel: EventChannel<T>,
    handler: Handler<T>,
    options: SubscribeOptions,
  ): Promise<Consumer<T>> {
    checkOptions<SubscribeOptions>("subscribe()", options, SUBSCRIBE);
    const endpoint = this.#endpoints.next();
    if (options.as !== undefined && options.modulator === undefined)
      throw new JechoError("ARGUMENT_INVALID", `"as" names what a modulator makes, and there is none`);
    const consumer = new Consumer<T>(this, endpoint, channel, handler, options, options);
    return this.#open(consumer, options.signal, {
      is: "openConsumer",
      endpoint,
      channel: this.#session.userName(channel.name),
      schema: channel.type?.schema ?? new Uint8Array(0),
      modulator: options.modulator && modulatorTable(options.modulator, options.capabilities),
      queue: queueOf(options.queue),
      label: labelOf(options.label),
      as: options.as ?? "",
      from: placeOf(options),
      sources: [],
    });
  }

  /** Opens a consumer in the stead of one that another device had. */
  async takeOver<T>(
    { channel, label }: InheritedSubscription,
    { modulator, as, epoch, seq, sources }: Inherited,
    handler: Handler<T>,
    options: TakeOverOptions<T>,
  ): Promise<Consumer<T>> {
    checkOptions<TakeOverOptions<T>>("takeOver()", options, TAKE_OVER as OptionNames<TakeOverOptions<T>>);
    const endpoint = this.#endpoints.next();
    const pair = { modulator: modulator && { source: modulator.source }, demodulator: options.demodulator };
    const place = new EventChannel<T>(this, channel, options.type);
    const consumer = new Consumer<T>(this, endpoint, place, handler, pair, options);
    return this.#open(consumer, options.signal, {
      is: "openConsumer",
      endpoint,
      channel: this.#session.userName(channel),
      schema: options.type?.schema ?? new Uint8Array(0),
      modulator,
      queue: queueOf(options.queue),
      label,
      as,
      from: { from: FROM.resume, epoch, seq, at: 0, speed: 0 },
      sources,
    });
  }

  async #open<T>(
    consumer: Consumer<T>,
    signal: AbortSignal | undefined,
    request: Extract<ControlRequest, { is: "openConsumer" }>,
  ): Promise<Consumer<T>> {
    this.#session.checkUsable();
    await this.#endpoints.open(request.endpoint, consumer, signal, () => this.post(request));
    return consumer;
  }

  typesOf(channel: string): Promise<Type[]> {
    return this.#session.typesOf(channel);
  }

  post(request: ControlRequest): void {
    this.#session.post(request);
  }

  writtenType(token: bigint): Type | undefined {
    return this.#session.writtenType(token);
  }

  /** The queue of what goes before everything else. */
  get urgentQueue(): EventQueue {
    return this.#queues.urgent;
  }

  failed(error: JechoError): void {
    this.#session.failed(error);
  }

  closeEndpoint(endpoint: number): void {
    this.post({ is: "closeEndpoint", endpoint });
    this.#endpoints.remove(endpoint);
  }

  /** A queue of its own goes with the producer. */
  async closeProducer(endpoint: number, queue: EventQueue): Promise<void> {
    if (this.#session.isClosed) return;
    this.#queues.finish();
    this.closeEndpoint(endpoint);
    if (this.#queues.leave(queue)) {
      this.#session.post({ is: "closeQueue", queue: queue.number });
      queue.close(new JechoError("CLOSED"));
    }
    await this.#session.taken();
  }
}
