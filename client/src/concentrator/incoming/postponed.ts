/** Most bytes of runs that wait. */
const MOST_BYTES = 64 << 20;

/**
 * A run or position: its source's name, the run's bytes (0 for a position), what hands it on, and what hands on the position behind it.
 */
export type PostponedOutput = readonly [source: string, bytes: number, hand: () => void, place: () => void];

/**
 * Runs and positions that a consumer is handed later. Beyond a bound the oldest runs go, and a position behind them stays of each source.
 */
export class Postponed {
  #all: PostponedOutput[] = [];
  #bytes = 0;
  readonly #places = new Map<string, () => void>();

  add(...waiting: PostponedOutput): void {
    this.#all.push(waiting);
    this.#bytes += waiting[1];
    while (this.#bytes > MOST_BYTES) {
      const [source, bytes, , place] = this.#all.shift() as PostponedOutput;
      this.#bytes -= bytes;
      this.#places.set(source, place);
    }
  }

  /** Drops what waits. @returns functions that would have handed it on, in order */
  take(): (() => void)[] {
    const taken = [...this.#places.values(), ...this.#all.map(([, , hand]) => hand)];
    this.#places.clear();
    this.#all = [];
    this.#bytes = 0;
    return taken;
  }

  /** Hands on what has waited, in order. */
  hand(): void {
    for (const hand of this.take()) hand();
  }
}
