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

  constructor(wire: string) {
    this.wire = wire;
  }

  add(producer: number, source: TrackedSource, reached: number): void {
    const known = this.#bySource.get(source.name);
    this.#bySource.set(source.name, { producer, source, reached: known?.reached ?? reached });
  }

  [Symbol.iterator](): Iterator<SourceBeginning> {
    return this.#bySource.values();
  }
}
