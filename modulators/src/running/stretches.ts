import type { Provenance } from "./provenance.ts";

interface GivenStretch {
  of: Provenance;
  /** The number of its newest part. */
  at: number;
}

/**
 * Stretches that a channel's modulators were given, each numbered, for those that were not called with them: each knows the number up to which it has
 * said what it has been through. So nothing is done for a modulator that a run does not concern.
 */
export class Stretches {
  #given: GivenStretch[] = [];
  /** Stretches before this one are not continued: a modulator that came behind them does not account for them. */
  #closed = 0;
  #now = 0;

  /** The number of the newest. */
  get now(): number {
    return this.#now;
  }

  get isEmpty(): boolean {
    return this.#given.length === 0;
  }

  add(of: Provenance): void {
    const at = ++this.#now;
    for (let i = this.#given.length - 1; i >= this.#closed; i--) {
      const given = this.#given[i] as GivenStretch;
      if (given.of.source.id !== of.source.id || given.of.source.urgent !== of.source.urgent) continue;
      // Behind a gap, what came before it says nothing more of how far a modulator is.
      given.of = given.of.through === of.after ? { ...given.of, through: of.through } : of;
      given.at = at;
      return;
    }
    this.#given.push({ of, at });
  }

  /** A modulator comes: it takes what is given from now on. */
  close(): void {
    this.#closed = this.#given.length;
  }

  /** The stretches behind this number; the first of a source may begin before. */
  *since(number: number): Generator<Provenance> {
    for (const { of, at } of this.#given) if (at > number) yield of;
  }

  /** All modulators have said it. */
  clear(): void {
    this.#given = [];
    this.#closed = 0;
  }
}
