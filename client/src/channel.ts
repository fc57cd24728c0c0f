import type { Delegate, Modulator } from "@jecho/modulators";
import { Type } from "@jecho/shared";
import type { Consumer } from "./consumer.ts";
import type { ConsumerOptions, EagerHandler, EventPlace, Handler } from "./consumer-options.ts";
import type { EventQueueOptions } from "./event-queue.ts";
import type { Codec } from "./json.ts";
import type { Opener } from "./opener.ts";
import type { Producer } from "./producer.ts";

/** How a producer is opened: for `channel.produce`. */
export interface ProduceOptions {
  /**
   * What this producer offers to modulators: views of its state, functions, controls. Of several producers of a channel in
   * one session, the first with a delegate offers.
   */
  readonly delegate?: Delegate;
  /** A queue of its own for this producer, whose events then neither fill nor empty the session's. */
  readonly queue?: EventQueueOptions;
  /** Ends the opening when it is aborted, and closes the producer once that is open. */
  readonly signal?: AbortSignal;
  /** What the gateway keeps of this channel; nothing by default. */
  readonly history?: HistoryOptions;
  /** The name of a field: of events with the same value in it only the newest matters, to `latest` history and queues. Default: none. */
  readonly key?: string;
}

/** How a consumer is opened: for `channel.subscribe`. */
export interface SubscribeOptions extends EagerHandler, ConsumerOptions {
  /** Ends the opening when it is aborted, and closes the consumer once that is open. */
  readonly signal?: AbortSignal;
  /**
   * Where to begin: `now`, the default; `last`: with the newest event, or the newest of each value of the channel's key;
   * a sequence number; behind a place that another consumer had (`consumer.place`), also over a restart of the gateway; or a
   * time of this machine's clock: with the first event that reached the gateway since then, or somewhat earlier, by no more than
   * a message from there takes, but never later. What is not kept any more is left out. Then it goes on live without a gap.
   */
  readonly from?: "now" | "last" | number | EventPlace | Date;
  /** How many times as fast as they came in past events are sent; as fast as possible by default. */
  readonly speed?: number;
  /** The application's own word for this subscription, for the device that it may be handed to; at most 1,024 characters. */
  readonly label?: string;
  /**
   * A name for what the modulator makes of this channel, one segment: others subscribe to it as `CHANNEL#NAME`, with or without a
   * modulator of their own. It has the name until its last consumer has gone. Default: none.
   */
  readonly as?: string;
}

/** What the gateway keeps of a channel's events, and of what modulators make of them. What is asked for by several producers adds up. */
export interface HistoryOptions {
  /** The last so many events. */
  readonly events?: number;
  /** Those of the last so many seconds. */
  readonly seconds?: number;
  /** The newest event of each value of `key`, or the newest of all without one; false by default. */
  readonly latest?: boolean;
  /** Only what is sent because somebody listens: nothing is sent for the sake of history alone. False by default. */
  readonly onDemand?: boolean;
}

/** A named stream of events: any number of producers and consumers, who do not know each other. */
export class EventChannel<T = Uint8Array> {
  /** In full: `jecho://HOST:PORT/NAME`. */
  readonly name: string;
  /** Of its events; undefined on an untyped channel. */
  readonly type: Type<T> | undefined;
  /** How events are made of bytes and bytes of events, on an untyped channel. */
  readonly codec: Codec<T> | undefined;
  readonly #opener: Opener;

  /** Made by `session.channel`. */
  constructor(opener: Opener, name: string, type: Type<T> | Codec<T> | undefined) {
    this.#opener = opener;
    this.name = name;
    this.type = type instanceof Type ? type : undefined;
    this.codec = type instanceof Type ? undefined : type;
  }

  /**
   * The types that the present producers of the channel write: none where it is untyped, or nobody produces.
   *
   * @throws JechoError what ended the connection
   */
  types(): Promise<Type[]> {
    return this.#opener.typesOf(this.name);
  }

  /**
   * Opens a producer: resolves when it has every modulator that is installed on this channel, so that its first event counts. On a
   * derived channel (`NAME#SEGMENT`) its events go to all that subscribe to that, beside what a modulator makes there; as long as nobody
   * derives a channel of that name, its demand is 0.
   *
   * @throws JechoError `TYPE_MISMATCH`, `MODULATORS_NOT_SERVED`, `ARGUMENT_INVALID` for what cannot be offered or no queue's size,
   * what ended the connection, or the signal's reason
   */
  produce(options: ProduceOptions = {}): Promise<Producer<T>> {
    return this.#opener.openProducer(this, options);
  }

  /**
   * Opens a consumer. With a modulator, resolves when that is installed in every present producer of the channel. What it makes may be of
   * another type than the channel's: the handler then says of which.
   *
   * An event's typed arrays are views on received bytes: read-only by contract, and valid as long as they are held.
   *
   * @throws JechoError the reason why the modulator could not be installed, `TYPE_MISMATCH`, `DERIVED_TAKEN` for a name that
   * another modulator's channel has, `DERIVED_UNKNOWN` for one that nobody derives at present, `ARGUMENT_INVALID`, what ended
   * the connection, or the signal's reason
   */
  subscribe(handler: Handler<T>, options?: SubscribeOptions): Promise<Consumer<T>>;
  /** The same, where the modulator makes events of another type than the channel's: the handler says of which. */
  subscribe<Made>(
    handler: Handler<Made>,
    options: SubscribeOptions & { readonly modulator: Modulator },
  ): Promise<Consumer<T>>;
  subscribe(handler: Handler<T>, options: SubscribeOptions = {}): Promise<Consumer<T>> {
    return this.#opener.openConsumer(this, handler, options);
  }
}
