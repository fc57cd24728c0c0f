import type { Modulator } from "@jecho/modulators";
import { type ModulatorTable, modulatorTable } from "@jecho/modulators/internal";
import { JechoError, type Type } from "@jecho/shared";
import { checkOptions, FROM, type Inherited, type OptionNames } from "@jecho/shared/internal";
import { Consumer, type ConsumerSession } from "../consumer/consumer.ts";
import { checkObjects } from "../objects/objects-of.ts";
import type { Handler, SubscribeOptions, TakeOverOptions } from "../options/consumer-options.ts";
import { formerOf, labelOf, placeOf, queueOf } from "../options/open-options.ts";
import { TAKE_OVER } from "../options/option-names.ts";
import type { ProduceOptions } from "../options/producer-options.ts";
import type { ControlRequest, Port, PortRequest } from "../places/port.ts";
import type { Producer } from "../producer/producer.ts";
import type { Producing } from "../producer/producing.ts";
import type { EventQueues } from "../queues/event-queues.ts";
import type { EventQueueOptions } from "../queues/queue-options.ts";
import type { Endpoints } from "../session/endpoints.ts";
import type { GatewayNames } from "../session/gateway-names.ts";
import type { InheritedSubscription } from "../session/inheritance.ts";
import type { SessionStatus } from "../session/session-status.ts";
import { type ChannelWays, EventChannel } from "./channel.ts";

/** Session as its endpoints see it. */
export interface EndpointSession extends Omit<ConsumerSession, "tableOf" | "closeEndpoint"> {
  /** Address of the gateway. */
  readonly address: string;
  readonly names: GatewayNames;
  readonly status: SessionStatus;
  readonly port: Port;
  /** Options of the queue that producers share. */
  readonly queue: EventQueueOptions;
  readonly ways: ChannelWays;
  post(request: PortRequest): void;
  /** The types that the present producers of a channel write. */
  typesOf(channel: string): Promise<Type[]>;
  /** Resolves when what was raised before has been taken, or after 30 s. */
  taken(): Promise<void>;
}

/** Opens a session's producers and consumers, closes them, and is their way to its concentrator. */
export class Opener {
  readonly #session: EndpointSession;
  readonly #forConsumers: ConsumerSession;
  readonly #endpoints: Endpoints;
  /** Loaded with the first producer. */
  #producing: Producing | undefined;

  constructor(session: EndpointSession, endpoints: Endpoints) {
    this.#session = session;
    this.#forConsumers = {
      ...session,
      tableOf: (...of) => this.#tableOf(...of),
      closeEndpoint: endpoint => this.closeEndpoint(endpoint),
    };
    this.#endpoints = endpoints;
  }

  /** @param name the channel's on the wire */
  async openProducer<T>(
    channel: EventChannel<T>,
    name: string,
    options: ProduceOptions,
  ): Promise<Producer<T>> {
    const producing = this.#producing ?? (await this.#loadProducing(options.signal));
    return producing.open(channel, name, options);
  }

  async #loadProducing(signal: AbortSignal | undefined): Promise<Producing> {
    const loaded = await this.#session.ways.load(() => import("../producer/producing.ts"), signal);
    this.#producing ??= new loaded.Producing(this, this.#session, this.#endpoints);
    return this.#producing;
  }

  /** Queues of the session's producers; undefined before there are any. */
  get queues(): EventQueues | undefined {
    return this.#producing?.queues;
  }

  /** @param name the channel's on the wire */
  async openConsumer<T>(
    channel: EventChannel<T>,
    name: string,
    handler: Handler<T>,
    options: SubscribeOptions,
  ): Promise<Consumer<T>> {
    const endpoint = this.#endpoints.next();
    if (options.as !== undefined && options.modulator === undefined)
      throw new JechoError("ARGUMENT_INVALID", `"as" names what a modulator makes, and there is none`);
    const from = placeOf(options);
    const former = formerOf(options);
    const behind = from?.from === FROM.resume ? { ...from, ...former } : undefined;
    const consumer = new Consumer<T>(
      this.#forConsumers,
      endpoint,
      channel,
      handler,
      options,
      options,
      behind,
    );
    return this.#open(consumer, options.signal, {
      is: "openConsumer",
      endpoint,
      channel: name,
      schema: channel.type?.schema ?? new Uint8Array(0),
      modulator: options.modulator && this.#tableOf(options.modulator, options.capabilities),
      queue: queueOf(options.queue),
      label: labelOf(options.label),
      as: options.as ?? "",
      from,
      sources: former.sources,
      sinceMs: timeSince(former.since),
    });
  }

  /** Opens a consumer in the stead of one that another device had. */
  async takeOver<T>(
    { channel, label }: InheritedSubscription,
    { channel: name, modulator, as, epoch, seq, sources, sinceMs }: Inherited,
    handler: Handler<T>,
    options: TakeOverOptions<T>,
  ): Promise<Consumer<T>> {
    checkOptions<TakeOverOptions<T>>("takeOver()", options, TAKE_OVER as OptionNames<TakeOverOptions<T>>);
    const endpoint = this.#endpoints.next();
    const pair = { modulator: modulator && { source: modulator.source }, demodulator: options.demodulator };
    const place = new EventChannel<T>(this.#session.ways, channel, options.type);
    const consumer = new Consumer<T>(this.#forConsumers, endpoint, place, handler, pair, options, {
      epoch,
      seq,
      sources,
      since: Math.max(0, Math.round(Date.now() - sinceMs)),
    });
    return this.#open(consumer, options.signal, {
      is: "openConsumer",
      endpoint,
      channel: name,
      schema: options.type?.schema ?? new Uint8Array(0),
      modulator,
      queue: queueOf(options.queue),
      label,
      as,
      from: { from: FROM.resume, epoch, seq, at: 0, speed: 0 },
      sources,
      sinceMs,
    });
  }

  async #open<T>(
    consumer: Consumer<T>,
    signal: AbortSignal | undefined,
    request: Extract<ControlRequest, { is: "openConsumer" }>,
  ): Promise<Consumer<T>> {
    this.#session.status.checkUsable();
    await this.#endpoints.open(request.endpoint, consumer, signal, () => this.#session.post(request));
    return consumer;
  }

  #tableOf(modulator: Modulator, capabilities?: readonly string[]): ModulatorTable {
    const table = modulatorTable(modulator, capabilities);
    checkObjects(modulator, this.#session.names.identity);
    return table;
  }

  typesOf(channel: string): Promise<Type[]> {
    return this.#session.typesOf(channel);
  }

  closeEndpoint(endpoint: number): void {
    this.#session.post({ is: "closeEndpoint", endpoint });
    this.#endpoints.remove(endpoint);
  }
}

/**
 * Time since a moment of the clock, in milliseconds; Infinity for none, or where the clock was set back behind it: more may be told as missing, and no less.
 */
function timeSince(moment: number): number {
  const ms = Date.now() - moment;
  return moment > 0 && ms >= 0 ? ms : Number.POSITIVE_INFINITY;
}
