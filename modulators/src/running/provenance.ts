/**
 * A stretch of a source's count that a run of events accounts for. A tier says that a modulator has been through it, and knows no more
 * of it.
 */
export interface Provenance {
  /** The source: the same object, or an equal `id`, for all its runs. */
  readonly source: { readonly id: bigint; readonly urgent: boolean };
  /** The events from `after` + 1 to `through`. */
  readonly after: number;
  readonly through: number;
}

/** A turn's provenance, of which some event still waits in the modulator's queue. */
interface Held {
  readonly of: Provenance;
  readonly events: number;
}

/** Number of turns from which on two are held as one. */
const MOST_HELD = 1024;
const NONE_HELD: Held[] = [];

/**
 * The stretches that one modulator has been through. A stretch counts once none of its events waits in the modulator's queue, so that
 * nothing is accounted for that would be lost with the modulator. The MOE cannot see what a modulator keeps in fields of its own.
 */
export class Passage {
  #held: Held[] = NONE_HELD;
  readonly #derived: number;
  readonly #seen: (derived: number, of: Provenance) => void;

  /**
   * @param derived the modulator
   * @param seen told of each stretch that counts, in their order
   */
  constructor(derived: number, seen: (derived: number, of: Provenance) => void) {
    this.#derived = derived;
    this.#seen = seen;
  }

  /**
   * A turn has ended.
   *
   * @param of what the turn was given; undefined for nothing
   * @param events how many events that was
   * @param waiting number of newest events from the oldest that still waits on; 0 where none waits
   */
  turned(of: Provenance | undefined, events: number, waiting: number): void {
    if (waiting === 0 && this.#held.length === 0) {
      if (of !== undefined) this.#seen(this.#derived, of);
      return;
    }
    if (of !== undefined) {
      if (this.#held === NONE_HELD) this.#held = [];
      this.#held.push({ of, events });
    }
    let newer = 0;
    let first = this.#held.length;
    while (first > 0 && newer < waiting) newer += (this.#held[--first] as Held).events;
    for (const held of this.#held.splice(0, first)) this.#seen(this.#derived, held.of);
    if (this.#held.length > MOST_HELD) this.#merge();
  }

  /** The stretches that were held are lost: they do not count. */
  lost(): void {
    this.#held = NONE_HELD;
  }

  #merge(): void {
    const merged: Held[] = [];
    for (const held of this.#held) {
      const last = merged.at(-1);
      if (last?.of.source === held.of.source && last.of.through === held.of.after)
        merged[merged.length - 1] = {
          of: { ...last.of, through: held.of.through },
          events: last.events + held.events,
        };
      else merged.push(held);
    }
    this.#held = merged;
  }
}
