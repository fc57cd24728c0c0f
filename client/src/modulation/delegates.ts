import type { Value } from "@jecho/modulators";
import type { Entries } from "../concentrator/entries.ts";
import type { ProducerEntry } from "../concentrator/entry.ts";
import type { ControlRequest, PortNotice } from "../port.ts";
import type { Modulation } from "./modulation.ts";

/** What modulators here have to do with the producers of their channel: the views that they need of its state, and the controls that they call. */
export class Delegates {
  readonly #entries: Entries;
  readonly #modulation: Modulation;
  readonly #notify: (notice: PortNotice) => void;

  constructor(entries: Entries, modulation: Modulation, notify: (notice: PortNotice) => void) {
    this.#entries = entries;
    this.#modulation = modulation;
    this.#notify = notify;
  }

  /** The producer of a channel that modulators ask: the first with a delegate, or else the first. */
  of(base: string): ProducerEntry | undefined {
    let first: ProducerEntry | undefined;
    for (const producer of this.#entries.producersNamed(base)) {
      if (producer.offers !== undefined) return producer;
      first ??= producer;
    }
    return first;
  }

  /** The same for what is installed on a channel or derived channel, by its number. */
  ofNumber(channel: number): ProducerEntry | undefined {
    const base =
      this.#modulation.installed.ofNumber(channel)?.base ??
      first(this.#entries.producersOf(channel))?.channel;
    return base === undefined ? undefined : this.of(base);
  }

  /** The views that modulators of this channel need may have changed. */
  tellNeeds(base: string): void {
    const producer = this.of(base);
    if (producer?.offers === undefined) return;
    const names = this.#modulation.installed.needsOf(base);
    this.#notify({ is: "needs", endpoint: producer.endpoint, names });
  }

  /** A modulator of this channel called a control, or logged a line. */
  called(base: string, name: string, values: readonly Value[]): void {
    const endpoint = this.of(base)?.endpoint;
    if (endpoint !== undefined) this.#notify({ is: "called", endpoint, name, values });
  }

  setContext({ endpoint, name, value }: Extract<ControlRequest, { is: "context" }>): void {
    const producer = this.#entries.producer(endpoint);
    if (producer === undefined) return;
    producer.context.set(name, value);
    if (this.of(producer.channel) === producer) this.#modulation.setContext(producer.channel, name, value);
  }
}

function first<E>(all: Iterable<E> | undefined): E | undefined {
  for (const it of all ?? []) return it;
  return undefined;
}
