import type { EventsFrame, Modulator } from "@jecho/shared/internal";
import type { ConsumerEndpoint } from "../concentrator/endpoints/endpoint.ts";
import type { Lane } from "../concentrator/outgoing/lane.ts";
import type { Installation } from "./installation.ts";

/** Most bytes kept for absent consumers. */
const KEPT_BYTES = 16 << 20;

interface KeptRun {
  readonly by: Installation;
  readonly frame: EventsFrame;
  readonly lane: Lane;
}

/** The installations that made a consumer's channel at its last connection, and the modulator that it had there. */
interface Makers {
  readonly by: ReadonlySet<Installation>;
  readonly modulator: Modulator | undefined;
}

/** Runs that modulators made here while consumers of this process alone were away, oldest first. They outlast the modulators. */
export class Kept {
  #runs: KeptRun[] = [];
  #bytes = 0;
  /** Makers by consumer. Channel numbers cannot tell: they are others at each connection, and a modulator may not be asked for at the next one. */
  readonly #made = new WeakMap<ConsumerEndpoint, Makers>();

  /** The connection breaks under this consumer. @param installed all modulators here */
  leaves(consumer: ConsumerEndpoint, installed: Iterable<Installation>): void {
    const { channelNumber, modulator } = consumer;
    const by = new Set<Installation>();
    for (const installation of installed) if (installation.number === channelNumber) by.add(installation);
    if (by.size > 0) this.#made.set(consumer, { by, modulator });
  }

  /** Keeps a copy of a run. Beyond the limit the oldest are dropped. */
  add(by: Installation, frame: EventsFrame, lane: Lane): void {
    const copy = frame.copy();
    copy.forgetSync();
    this.#runs.push({ by, frame: copy, lane });
    this.#bytes += sizeOf(copy);
    while (this.#bytes > KEPT_BYTES) this.#bytes -= sizeOf((this.#runs.shift() as KeptRun).frame);
  }

  /** The runs for this consumer, which is back. */
  of(consumer: ConsumerEndpoint): KeptRun[] {
    return this.#runs.filter(({ by }) => by.number === consumer.channelNumber || this.isFor(consumer, by));
  }

  /** Whether this consumer's channel was made by a modulator that is not installed at the present connection. */
  isFor(consumer: ConsumerEndpoint, by: Installation): boolean {
    if (by.number !== 0) return false;
    const made = this.#made.get(consumer);
    return made !== undefined && made.modulator === consumer.modulator && made.by.has(by);
  }

  clear(): void {
    this.#runs = [];
    this.#bytes = 0;
  }
}

function sizeOf({ start, end }: EventsFrame): number {
  return end - start;
}
