/** Bytes that the page receives, and that the simulation makes meanwhile: both since the page was opened, whatever was opened in it since. */

export interface Counted {
  /** Bytes up to now. */
  readonly bytes: number;
}

/** Adds up what comes and goes: what is gone stays counted. */
export class Tally implements Counted {
  readonly #present = new Set<Counted>();
  #goneBytes = 0;

  /** Counts until the returned function is called. */
  add(counted: Counted): () => void {
    this.#present.add(counted);
    return () => {
      if (this.#present.delete(counted)) this.#goneBytes += counted.bytes;
    };
  }

  get bytes(): number {
    let sum = this.#goneBytes;
    for (const { bytes } of this.#present) sum += bytes;
    return sum;
  }
}

export class Traffic {
  /** As `Date.now()` gives it. */
  readonly openedAt = Date.now();
  /** Bytes of the whole field, over all steps that were made while the page listened. */
  readonly produced = new Tally();
  readonly #received = new Map<string, Tally>();

  /** Bytes that came for one part of the page. */
  of(part: string): Tally {
    const known = this.#received.get(part) ?? new Tally();
    this.#received.set(part, known);
    return known;
  }

  /** Bytes that came for all parts. */
  get bytes(): number {
    let sum = 0;
    for (const { bytes } of this.#received.values()) sum += bytes;
    return sum;
  }
}
