import type { Modulator } from "@jecho/modulators";
import { Type } from "@jecho/shared";
import { checkOptions } from "@jecho/shared/internal";
import type { Consumer } from "../consumer/consumer.ts";
import type { Handler, SubscribeOptions } from "../options/consumer-options.ts";
import { PRODUCE, SUBSCRIBE } from "../options/option-names.ts";
import type { ProduceOptions } from "../options/producer-options.ts";
import type { Producer } from "../producer/producer.ts";
import type { ChannelForm, Codec } from "./codec.ts";
import type { Opener } from "./opener.ts";

/** Session as its channels see it. */
export interface ChannelWays {
  /**
   * Acts at the gateway that a full name leads to: at once where that is known, in its order among what else is asked for.
   *
   * @throws JechoError `CHANNEL_ELSEWHERE`, why a gateway cannot be asked, or the signal's reason
   */
  act<R>(
    fullName: string,
    signal: AbortSignal | undefined,
    act: (opener: Opener, name: string) => Promise<R>,
  ): Promise<R>;
  /** The name for users of other gateways. */
  toHandOn(fullName: string): string;
  /** Loads a part of the library that not every page needs, once the page's server can be asked for it. @throws JechoError as `session.ready`, or the signal's reason */
  load<Part>(load: () => Promise<Part>, signal: AbortSignal | undefined): Promise<Part>;
}

/** A named stream of events: any number of producers and consumers, who do not know each other. */
export class EventChannel<T = Uint8Array> implements ChannelForm<T> {
  /** The channel's name in full, for the session that it is of: `jecho://HOST:PORT/NAME`, or as it was asked for. */
  readonly name: string;
  /** Type of the channel's events; undefined on an untyped channel. */
  readonly type: Type<T> | undefined;
  /** Converts between events and bytes, on an untyped channel. */
  readonly codec: Codec<T> | undefined;
  readonly #ways: ChannelWays;

  /** Made by `session.channel`. */
  constructor(ways: ChannelWays, name: string, type: Type<T> | Codec<T> | undefined) {
    this.#ways = ways;
    this.name = name;
    this.type = type instanceof Type ? type : undefined;
    this.codec = type instanceof Type ? undefined : type;
  }

  /**
   * The channel's name for users of other gateways, to be handed on in a text or a URL: `jecho://IDENTITY/NAME?at=ADDRESS`, once the session is live. The
   * address is this session's own, which may lead elsewhere from where another user is; nobody is led to a gateway of another identity by it.
   */
  get url(): string {
    return this.#ways.toHandOn(this.name);
  }

  /**
   * The types that the present producers of the channel write: none where it is untyped, or nobody produces.
   *
   * @throws JechoError `CHANNEL_ELSEWHERE` where nobody says the address of the gateway that the name is of, or another one is there, why that cannot be
   * asked, what ended the connection
   */
  types(): Promise<Type[]> {
    return this.#ways.act(this.name, undefined, (opener, name) => opener.typesOf(name));
  }

  /**
   * Opens a producer: resolves when it has every modulator that is installed on this channel, so that its first event counts. On a
   * derived channel (`NAME#SEGMENT`) its events go to all that subscribe to that, beside what a modulator makes there; as long as nobody
   * derives a channel of that name, its demand is 0.
   *
   * @throws JechoError `CHANNEL_ELSEWHERE`, `TYPE_MISMATCH`, `MODULATORS_NOT_SERVED`, `ARGUMENT_INVALID` for what cannot be offered or no queue's size,
   * what ended the connection, or the signal's reason
   */
  async produce(options: ProduceOptions = {}): Promise<Producer<T>> {
    checkOptions<ProduceOptions>("produce()", options, PRODUCE);
    return this.#ways.act(this.name, options.signal, (opener, name) =>
      opener.openProducer(this, name, options),
    );
  }

  /**
   * Opens a consumer. With a modulator, resolves when that is installed in every present producer of the channel. What it makes may be of
   * another type than the channel's: the handler then says of which. Without one, it begins with each producer's first event after that has
   * heard of a consumer, which may be a moment after this resolves where it had none (`Producer.demand`).
   *
   * The handler is called first in a turn after the one in which this resolves, so that it may use its consumer. An event's typed arrays are views on
   * received bytes: read-only by contract, and valid as long as they are held.
   *
   * @throws JechoError the reason why the modulator could not be installed, `CHANNEL_ELSEWHERE`, `TYPE_MISMATCH`, `DERIVED_TAKEN` for a name that
   * another modulator's channel has, `DERIVED_UNKNOWN` for one that nobody derives at present, `ARGUMENT_INVALID`, what ended
   * the connection, or the signal's reason
   */
  subscribe(handler: Handler<T>, options?: SubscribeOptions): Promise<Consumer<T>>;
  /** Subscribes with a modulator that makes events of another type than the channel's: the handler says of which. */
  subscribe<Made>(
    handler: Handler<Made>,
    options: SubscribeOptions & { readonly modulator: Modulator },
  ): Promise<Consumer<T>>;
  async subscribe(handler: Handler<T>, options: SubscribeOptions = {}): Promise<Consumer<T>> {
    checkOptions<SubscribeOptions>("subscribe()", options, SUBSCRIBE);
    return this.#ways.act(this.name, options.signal, (opener, name) =>
      opener.openConsumer(this, name, handler, options),
    );
  }

  /**
   * The events, one after the other, until the loop is left, the signal aborted, or consumer or session closed:
   *
   * ```ts
   * for await (const event of channel.events({ signal })) draw(event);
   * ```
   *
   * It subscribes when the first event is asked for. An event counts as handled when the next one is asked for; meanwhile others wait, at most `inboxEvents` of them
   * here, and then at the gateway, by the policy of `queue`.
   *
   * @throws JechoError as `subscribe`, and what ended the consumer
   */
  events(options?: SubscribeOptions): AsyncGenerator<T, void, undefined>;
  /** Iterates with a modulator that makes events of another type than the channel's: `events<Made>({ modulator })`. */
  events<Made>(
    options: SubscribeOptions & { readonly modulator: Modulator },
  ): AsyncGenerator<Made, void, undefined>;
  async *events(options: SubscribeOptions = {}): AsyncGenerator<T, void, undefined> {
    const { signal } = options;
    const part = await this.#ways
      .load(() => import("./iteration.ts"), signal)
      .catch(error => {
        if (!signal?.aborted) throw error;
      });
    if (part !== undefined)
      yield* part.iterate((handler: Handler<T>, rest) => this.subscribe(handler, rest), options);
  }
}
