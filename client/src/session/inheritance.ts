import type { Inheritance as InheritanceFrame, Inherited, SharedState } from "@jecho/shared/internal";
import type { Consumer } from "../consumer/consumer.ts";
import type { SharedObject } from "../objects/shared-object.ts";
import type { Handler, TakeOverOptions } from "../options/consumer-options.ts";

/** Opens a consumer in the stead of one that another device had. */
type TakeOver = <T>(
  subscription: InheritedSubscription,
  inherited: Inherited,
  handler: Handler<T>,
  options: TakeOverOptions<T>,
) => Promise<Consumer<T>>;

/** A subscription of the device that handed its session over. */
export class InheritedSubscription {
  /** The channel's name in full. */
  readonly channel: string;
  /** The first device's label for it. */
  readonly label: string;
  /** The shared objects that its modulator reads, by their names there; their master copies are here now. */
  readonly objects: Readonly<Record<string, SharedObject>>;
  readonly #inherited: Inherited;
  readonly #open: TakeOver;

  /** Made by a session. */
  constructor(channel: string, inherited: Inherited, objects: Record<string, SharedObject>, open: TakeOver) {
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

/** Endpoints that came with a handover token: everything that the first device had open. */
export interface Inheritance {
  /** The inherited consumers, each of which can be taken over. */
  readonly subscriptions: readonly InheritedSubscription[];
  /** The shared objects of which the first device had the master copy: they are here now. */
  readonly objects: readonly SharedObject[];
}

/**
 * Turns what came with a token into endpoints for its new owner.
 *
 * @param nameOf gives a channel's name in full
 * @param copy makes the master copy of an object
 */
export function inherit(
  { subscriptions, objects: states }: InheritanceFrame,
  nameOf: (channel: string) => string,
  copy: (state: object, id: string, version: number) => SharedObject,
  takeOver: TakeOver,
): Inheritance {
  // Two subscriptions may share an object: then they have the same one here, too.
  const objects = new Map<string, SharedObject>();
  const objectOf = ({ object: id, version, state }: SharedState): SharedObject => {
    const object = objects.get(id) ?? copy(JSON.parse(state) as object, id, version);
    objects.set(id, object);
    return object;
  };
  return {
    objects: states.map(objectOf),
    subscriptions: subscriptions.map(inherited => {
      const states = inherited.modulator?.objects ?? [];
      const named = Object.fromEntries(states.map(state => [state.name, objectOf(state)]));
      return new InheritedSubscription(nameOf(inherited.channel), inherited, named, takeOver);
    }),
  };
}
