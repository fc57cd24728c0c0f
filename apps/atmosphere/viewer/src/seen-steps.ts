/** Most ranges that are told; older ones are forgotten. */
const MOST_RANGES = 16;

/**
 * The steps whose events came, in their order, as ranges without gap or repeat: `12-80 40-95` says that after step 80 it went
 * on with step 40, and then with each step up to 95.
 */
export class SeenSteps {
  #ranges: { readonly first: number; last: number }[] = [];
  #layer = 0;

  /** Adds a step; of its layers only the first one counts. */
  add(step: number, layer: number): void {
    const range = this.#ranges.at(-1);
    if (range?.last === step && layer !== this.#layer) return;
    this.#layer = layer;
    if (range !== undefined && step === range.last + 1) range.last = step;
    else this.#ranges = [...this.#ranges.slice(1 - MOST_RANGES), { first: step, last: step }];
  }

  /** The newest step that came; undefined before any. */
  get last(): number | undefined {
    return this.#ranges.at(-1)?.last;
  }

  toString(): string {
    return this.#ranges.map(({ first, last }) => `${first}-${last}`).join(" ");
  }
}
