import type { ProducerEndpoint } from "../concentrator/endpoints/endpoint.ts";
import type { TrackedSource } from "../concentrator/incoming/tracked-source.ts";

/** A source's position when a modulator began to take its events. */
export interface SourceBeginning {
  /** The producer's number at the present connection. */
  readonly producer: number;
  readonly source: TrackedSource;
  /** Count of its newest event before that. */
  readonly reached: number;
}

/** The first known position in each source, for a modulator that is being installed. */
export class Beginnings {
  readonly wire: string;
  readonly #bySource = new Map<string, SourceBeginning>();
  /** Positions of this process's producers when the installation began, or when they opened since. */
  readonly #own = new Map<string, number>();

  constructor(wire: string) {
    this.wire = wire;
  }

  add(producer: number, source: TrackedSource, reached: number): void {
    const known = this.#bySource.get(source.name);
    this.#bySource.set(source.name, { producer, source, reached: known?.reached ?? reached });
  }

  /** Notes where a producer of this process is, unless that is known already. */
  addOwn({ lanes }: ProducerEndpoint): void {
    for (const { source, raised } of lanes)
      if (!this.#own.has(source.name)) this.#own.set(source.name, raised);
  }

  /** Position at which the modulator begins in a source of this process; undefined where that is not known. */
  ofOwn({ name }: TrackedSource): number | undefined {
    return this.#own.get(name);
  }

  [Symbol.iterator](): Iterator<SourceBeginning> {
    return this.#bySource.values();
  }
}
