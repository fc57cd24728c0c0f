import type { Value } from "@jecho/modulators";
import type { ProducerEndpoint } from "../concentrator/endpoints/endpoint.ts";
import type { EndpointIndex } from "../concentrator/endpoints/endpoint-index.ts";
import type { Modulation } from "./modulation.ts";

/**
 * Connects modulators here with the producers of their channel: the views that they need of a producer's state, and the
 * controls that they call.
 */
export class Delegates {
  readonly #index: EndpointIndex;
  readonly #modulation: Modulation;

  constructor(index: EndpointIndex, modulation: Modulation) {
    this.#index = index;
    this.#modulation = modulation;
  }

  /** The producer of a channel that serves modulators: the first with a delegate, or else the first. */
  of(base: string): ProducerEndpoint | undefined {
    let first: ProducerEndpoint | undefined;
    for (const producer of this.#index.producersNamed(base)) {
      if (producer.offers !== undefined) return producer;
      first ??= producer;
    }
    return first;
  }

  /** The producer with a delegate for modulators on a channel or derived channel, by its number. */
  ofNumber(channel: number): ProducerEndpoint | undefined {
    const base =
      this.#modulation.installed.ofNumber(channel)?.base ?? first(this.#index.producersOf(channel))?.channel;
    return base === undefined ? undefined : this.of(base);
  }

  /** The views that modulators of this channel need may have changed. */
  tellNeeds(base: string): void {
    const producer = this.of(base);
    if (producer?.offers === undefined) return;
    const names = this.#modulation.installed.needsOf(base);
    producer.listener.notify({ is: "needs", endpoint: producer.id, names });
  }

  /** A modulator of this channel called a control, or logged a line. */
  called(base: string, name: string, values: readonly Value[]): void {
    const producer = this.of(base);
    producer?.listener.notify({ is: "called", endpoint: producer.id, name, values });
  }

  setContext(producer: ProducerEndpoint, name: string, value: Value): void {
    producer.context.set(name, value);
    if (this.of(producer.channel) === producer) this.#modulation.setContext(producer.channel, name, value);
  }
}

function first<E>(all: Iterable<E> | undefined): E | undefined {
  for (const it of all ?? []) return it;
  return undefined;
}
