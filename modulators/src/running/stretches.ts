import type { Provenance } from "./provenance.ts";

interface GivenStretch {
  of: Provenance;
  /** Number of its newest part. */
  at: number;
}

/**
 * Numbered stretches of a channel, for modulators that were not called because no event of a run could pass them. Each of these knows the number
 * up to which it has accounted, so that a run costs nothing for a modulator that it does not concern.
 */
export class Stretches {
  #given: GivenStretch[] = [];
  /** Older stretches are not extended: a modulator that came after them does not account for them. */
  #closed = 0;
  #now = 0;

  /** Number of the newest stretch. */
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
      // Behind a gap a new stretch begins.
      if (given.of.through !== of.after) break;
      given.of = { ...given.of, through: of.through };
      given.at = at;
      return;
    }
    this.#given.push({ of, at });
  }

  /** A modulator is added: it accounts for stretches from now on. */
  close(): void {
    this.#closed = this.#given.length;
  }

  /** The stretches with larger numbers; the first one of a source may begin earlier. */
  *since(number: number): Generator<Provenance> {
    for (const { of, at } of this.#given) if (at > number) yield of;
  }

  /** All modulators have accounted for all of them. */
  clear(): void {
    this.#given = [];
    this.#closed = 0;
  }
}
