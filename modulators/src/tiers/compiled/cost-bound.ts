import type { CostFormula } from "./cost.ts";

/** Bytes of a vector's elements. */
const SIZES = [1, 2, 4, 8] as const;

/** An upper bound of the cost of each of many programs: a run that it allows need not be looked at for each of them. */
export class CostBound {
  #steps = 0;
  /** Greatest sums of the steps for each element, by the elements' size. */
  readonly #perElement = SIZES.map(() => 0);
  /** Bytes of an event that no capped vector fits into beyond its cap. */
  #mostBytes = Number.POSITIVE_INFINITY;

  add({ steps, perElement, caps }: CostFormula): void {
    this.#steps = Math.max(this.#steps, steps);
    for (const [i, size] of SIZES.entries()) {
      let each = 0;
      for (const [{ elementBytes }, more] of perElement) if (elementBytes === size) each += more;
      this.#perElement[i] = Math.max(this.#perElement[i] as number, each);
    }
    for (const [{ elementBytes }, cap] of caps)
      this.#mostBytes = Math.min(this.#mostBytes, cap * elementBytes);
  }

  /** Most steps that one of the programs takes for events of so many bytes; infinitely many where that is not known. */
  stepsFor(events: number, bytes: number): number {
    if (bytes > this.#mostBytes) return Number.POSITIVE_INFINITY;
    let most = events * this.#steps;
    for (let i = 0; i < SIZES.length; i++)
      most += (this.#perElement[i] as number) * Math.floor(bytes / (SIZES[i] as number));
    return most;
  }
}
