/**
 * A stretch of a source's count that a run of events accounts for. A tier only reports that a modulator has been through it.
 */
export interface Provenance {
  /** The source: the same object, or an equal `id`, for all its runs. */
  readonly source: { readonly id: bigint; readonly urgent: boolean };
  /** The events from `after` + 1 to `through`. */
  readonly after: number;
  readonly through: number;
}

/** A turn's provenance while some of its events wait in the modulator's queue. */
interface Held {
  readonly of: Provenance;
  readonly events: number;
}

/** Number of waiting turns from which on two are joined. */
const MOST_HELD = 1024;
const NONE_HELD: Held[] = [];

/**
 * The stretches that one modulator has been through. A stretch counts once none of its events waits in the modulator's queue: nothing is
 * accounted for that would be lost with the modulator. The MOE cannot see what a modulator keeps in its own fields.
 */
export class Passage {
  #held: Held[] = NONE_HELD;
  readonly #derived: number;
  readonly #seen: (derived: number, of: Provenance) => void;

  /**
   * @param derived the modulator
   * @param seen called with each stretch that counts, in order
   */
  constructor(derived: number, seen: (derived: number, of: Provenance) => void) {
    this.#derived = derived;
    this.#seen = seen;
  }

  /**
   * A turn has ended.
   *
   * @param of the turn's stretch; undefined for a turn without events
   * @param events number of the turn's events
   * @param waiting number of events since the oldest one that still waits, that one included; 0 where none waits
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

  /** The waiting events are lost: their stretches do not count. */
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
