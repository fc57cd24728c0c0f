import { MOST_PER_RUN } from "./cost.ts";

/** Milliseconds that all modulators together may hold the producer's thread for one run: as long as one alone may. */
const MOST_MS = MOST_PER_RUN / 1e6;

/** A modulator's part in the budget of the runs that it is given. */
export interface RunShare {
  /** Whether it took most of a run that took too long: it takes no further one here. */
  isTooDear: boolean;
}

/**
 * The time that one run may take in all its compiled modulators. Each alone may take `MOST_PER_RUN` steps of it, and many would hold the producer for
 * as many times that. Where they may take more together, and have taken more than that time, those leave that take more than an equal share, the dearest
 * first. Steps are counted, as bounds or as they are taken, for what a clock says of one modulator is what else the machine does.
 */
export class RunBudget {
  /** Whether the run's modulators may take more than it has. */
  #isTight = false;
  #began = 0;
  #spent = 0;
  /** Steps of an equal share. */
  #equal = MOST_PER_RUN;
  #dearest: { readonly share: RunShare; readonly steps: number } | undefined;

  /** A run begins. @param modulators number of those that it may be given to @param most steps that one of them may take */
  begin(modulators: number, most: number): void {
    this.#isTight = modulators > 1 && modulators * most > MOST_PER_RUN;
    if (!this.#isTight) return;
    this.#began = performance.now();
    this.#spent = 0;
    this.#equal = MOST_PER_RUN / modulators;
    this.#dearest = undefined;
  }

  /** All have been given the run. */
  end(): void {
    if (this.#isTight && this.#isOver && this.#dearest !== undefined) this.#dearest.share.isTooDear = true;
    this.#isTight = false;
    this.#dearest = undefined;
  }

  /** Steps that a modulator may count down in the run. */
  get fuel(): number {
    return this.#isTight && this.#isOver ? this.#equal : MOST_PER_RUN;
  }

  /** Whether a modulator may take the run, with so many steps at most besides those that it counts down. */
  allows({ isTooDear }: RunShare, steps: number): boolean {
    return !isTooDear && (!this.#isTight || steps <= this.#equal || !this.#isOver);
  }

  /** A modulator has taken so many steps. */
  spend(share: RunShare, steps: number): void {
    if (!this.#isTight) return;
    this.#spent += steps;
    if (steps > this.#equal && steps > (this.#dearest?.steps ?? 0)) this.#dearest = { share, steps };
  }

  /** Both are wanted: bounds are far above what most programs take, and a busy machine takes time without any steps. */
  get #isOver(): boolean {
    return this.#spent > MOST_PER_RUN && performance.now() - this.#began > MOST_MS;
  }
}
