import type { Demodulator } from "@jecho/modulators";
import type { Type } from "@jecho/shared";
import type { Inherited } from "@jecho/shared/internal";
import type { Consumer, ConsumerOptions, Handler } from "./consumer.ts";
import type { SharedObject } from "./shared-object.ts";

export interface TakeOverOptions<T> extends ConsumerOptions {
  readonly type?: Type<T>;
  readonly demodulator?: Demodulator | undefined;
  readonly signal?: AbortSignal;
}

/** A subscription of the device that handed its session over. */
export class InheritedSubscription {
  /** The channel's name in full. */
  readonly channel: string;
  /** What the first device called it. */
  readonly label: string;
  /** The shared objects that its modulator reads, by their names there; their master copies are here now. */
  readonly objects: Readonly<Record<string, SharedObject>>;
  readonly #inherited: Inherited;
  readonly #open: <T>(
    subscription: InheritedSubscription,
    inherited: Inherited,
    handler: Handler<T>,
    options: TakeOverOptions<T>,
  ) => Promise<Consumer<T>>;

  /** Made by a session. */
  constructor(
    channel: string,
    inherited: Inherited,
    objects: Record<string, SharedObject>,
    open: <T>(
      subscription: InheritedSubscription,
      inherited: Inherited,
      handler: Handler<T>,
      options: TakeOverOptions<T>,
    ) => Promise<Consumer<T>>,
  ) {
    this.channel = channel;
    this.label = inherited.label;
    this.objects = objects;
    this.#inherited = inherited;
    this.#open = open;
  }

  /**
   * Goes on behind the last event that the first device had, with the modulator that is already installed.
   *
   * @throws JechoError as `channel.subscribe` does
   */
  takeOver<T>(handler: Handler<T>, options: TakeOverOptions<T> = {}): Promise<Consumer<T>> {
    return this.#open(this, this.#inherited, handler, options);
  }
}

/** What came with a handover token: everything that the first device had open. */
export interface Inheritance {
  readonly subscriptions: readonly InheritedSubscription[];
  /** The shared objects of which the first device had the master copy: they are here now. */
  readonly objects: readonly SharedObject[];
}
