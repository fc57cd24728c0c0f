import type { ConsumerOpened } from "@jecho/shared/internal";
import type { TrackedSource, Tracker } from "./tracking.ts";

/** Bytes of the new modulator's runs that are held; beyond, the oldest go, which is told as missing. */
const HELD_BYTES = 16 << 20;
/** The gateway says of each present source where the next modulator begins, right behind its answer: of one that is silent for so long it will not. */
const TOLD_MS = 250;
/** The former modulator has so long to make what it owes: one that lets nothing through says each second how far it has been. */
const OWED_MS = 3000;

/** Something that the new modulator has brought. */
interface HeldOutput {
  readonly bytes: number;
  readonly hand: () => void;
}

/** The place of the change in one raw source. */
interface Seam {
  readonly source: TrackedSource;
  /** The next modulator begins behind this event. */
  readonly behind: number;
  /** What the former one makes of later events is not handed on any more. */
  isOver: boolean;
}

/**
 * The output of a consumer's next modulator, while the present one still owes events from before the next one begins. Of each raw source
 * the consumer is handed what the present one makes up to there, and then all that the next one makes. So a change of modulators loses no event.
 */
export class Successor {
  #opened: ConsumerOpened;
  readonly #former: Tracker;
  readonly #owed: () => void;
  readonly #timers: readonly ReturnType<typeof setTimeout>[];
  /** Names of sources of which the gateway has not said yet where it begins. */
  readonly #untold = new Set<string>();
  /** Seams by the source's name. */
  readonly #seams = new Map<string, Seam>();
  #held: HeldOutput[] = [];
  #heldBytes = 0;
  #isLate = false;
  #isChecked = false;

  /**
   * @param former the position of the present one
   * @param owed called when that may owe nothing any more
   */
  constructor(opened: ConsumerOpened, former: Tracker, owed: () => void) {
    // What an array of the message lies in is used for others.
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

  /** The gateway's answer, with the placements as they are by now. */
  get opened(): ConsumerOpened {
    return this.#opened;
  }

  placed(placements: ConsumerOpened["placements"]): void {
    this.#opened = { ...this.#opened, placements };
  }

  /** The next modulator begins behind this event of a source; what was said of that first holds. */
  begins(source: TrackedSource, behind: number): void {
    this.#untold.delete(source.name);
    if (!this.#seams.has(source.name)) this.#seams.set(source.name, { source, behind, isOver: false });
  }

  /** Whether what the former one makes of this source is not for the consumer any more. */
  replaces(source: TrackedSource): boolean {
    return this.#seams.get(source.name)?.isOver === true;
  }

  /** A run of so many bytes, or a position, waits. */
  hold(bytes: number, hand: () => void): void {
    this.#held.push({ bytes, hand });
    this.#heldBytes += bytes;
    while (this.#heldBytes > HELD_BYTES) this.#heldBytes -= (this.#held.shift() as HeldOutput).bytes;
  }

  /** Has `owed` called soon, when all that came with it is here, too. */
  check(): void {
    if (this.#isChecked) return;
    this.#isChecked = true;
    queueMicrotask(() => {
      this.#isChecked = false;
      this.#owed();
    });
  }

  /** Whether the former one has been through all events from before this one begins, or will not be in time. */
  isDue(): boolean {
    let isDue = this.#untold.size === 0;
    for (const seam of this.#seams.values()) {
      seam.isOver ||= (this.#former.throughOf(seam.source) ?? seam.behind) >= seam.behind;
      isDue &&= seam.isOver;
    }
    return isDue || this.#isLate;
  }

  /** It takes the place of the former one, or will not: gives up what waits. */
  end(): readonly (() => void)[] {
    for (const timer of this.#timers) clearTimeout(timer);
    const held = this.#held.map(({ hand }) => hand);
    this.#held = [];
    return held;
  }
}
