import type { ConsumerOpened } from "@jecho/shared/internal";
import { Postponed } from "./postponed.ts";
import type { TrackedSource } from "./tracked-source.ts";
import type { Tracker } from "./tracking.ts";

/** Time for the gateway to say where the next modulator begins in each source. It does so right behind its answer, or not at all. */
const TOLD_MS = 250;
/** Time for the former modulator to make what it owes. One that lets nothing through still reports its position each second. */
const OWED_MS = 3000;

/** The place of the change in one raw source. */
interface Seam {
  readonly source: TrackedSource;
  /** The next modulator begins behind this event. */
  readonly behind: number;
  /** Whether output of the former modulator is no longer handed on. */
  isOver: boolean;
}

/**
 * Holds the output of a consumer's next modulator while the present one owes events. Of each raw source the consumer is handed the present one's output
 * up to where the next one begins, so that a change loses no event.
 */
export class Successor {
  #opened: ConsumerOpened;
  readonly #former: Tracker;
  readonly #owed: () => void;
  readonly #timers: readonly ReturnType<typeof setTimeout>[];
  /** Names of sources for which the gateway has not yet said where the next modulator begins. */
  readonly #untold = new Set<string>();
  /** Seams by the source's name. */
  readonly #seams = new Map<string, Seam>();
  /** Runs and positions of the next modulator. */
  readonly held = new Postponed();
  #isLate = false;
  #isChecked = false;

  /**
   * @param former the present modulator's position
   * @param owed called when it may owe nothing any more
   */
  constructor(opened: ConsumerOpened, former: Tracker, owed: () => void) {
    // The array lies in the message's memory, which is reused.
    this.#opened = { ...opened, objects: opened.objects.slice() };
    this.#former = former;
    this.#owed = owed;
    for (const { source } of former.origins()) this.#untold.add(source.name);
    const told = (): void => {
      this.#untold.clear();
      owed();
    };
    const late = (): void => {
      this.#isLate = true;
      owed();
    };
    this.#timers = [setTimeout(told, TOLD_MS), setTimeout(late, OWED_MS)];
  }

  /** The gateway's answer, with the present placements. */
  get opened(): ConsumerOpened {
    return this.#opened;
  }

  placed(placements: ConsumerOpened["placements"]): void {
    this.#opened = { ...this.#opened, placements };
  }

  /** The next modulator begins behind this event of a source. The first word on a source holds. */
  begins(source: TrackedSource, behind: number): void {
    this.#untold.delete(source.name);
    if (!this.#seams.has(source.name)) this.#seams.set(source.name, { source, behind, isOver: false });
  }

  /** Whether the next modulator's output of this source has replaced the former one's. */
  replaces(source: TrackedSource): boolean {
    return this.#seams.get(source.name)?.isOver === true;
  }

  /** Has `owed` called once the rest of the message has been taken. */
  check(): void {
    if (this.#isChecked) return;
    this.#isChecked = true;
    queueMicrotask(() => {
      this.#isChecked = false;
      this.#owed();
    });
  }

  /** Whether the former modulator has been through all events before this one begins, or is too late. */
  isDue(): boolean {
    let isDue = this.#untold.size === 0;
    for (const seam of this.#seams.values()) {
      seam.isOver ||= (this.#former.throughOf(seam.source) ?? seam.behind) >= seam.behind;
      isDue &&= seam.isOver;
    }
    return isDue || this.#isLate;
  }

  /** Ends the holding. */
  end(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }
}
