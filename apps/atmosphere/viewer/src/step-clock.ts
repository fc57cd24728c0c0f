/** Number of newest steps whose times are remembered. */
const MOST_STEPS = 64;
/** For so long at least the quickest word counts; then the clocks may have been set, or have drifted apart. */
const WINDOW_MS = 300_000;

interface Made {
  readonly step: number;
  /** On the simulation's clock. */
  readonly at: number;
}

/**
 * How old a step is, by what the simulation says of when it made it. Nobody knows what its clock shows now: the word that came
 * quickest is taken to have come at once, so what is said is how much later than that a step is, never more than its age.
 */
export class StepClock {
  #steps: Made[] = [];
  /** By how much this machine's clock was ahead at least, in this window of time and in the one before. */
  #ahead = Number.POSITIVE_INFINITY;
  #aheadBefore = Number.POSITIVE_INFINITY;
  #windowAt = 0;

  /** @param at when the step was made, on the simulation's clock; @param now on this machine's */
  heard(step: number, at: number, now: number): void {
    const newest = this.#steps.at(-1);
    // A simulation that was started anew counts from 0, perhaps on another machine.
    if (newest !== undefined && step < newest.step) this.#forget();
    if (now - this.#windowAt > WINDOW_MS) {
      this.#aheadBefore = this.#ahead;
      this.#ahead = Number.POSITIVE_INFINITY;
      this.#windowAt = now;
    }
    this.#ahead = Math.min(this.#ahead, now - at);
    if (step !== this.#steps.at(-1)?.step) this.#steps = [...this.#steps.slice(1 - MOST_STEPS), { step, at }];
  }

  /** Milliseconds since the step was made, or less; undefined before that can be said. */
  ageMs(step: number, now: number): number | undefined {
    const at = this.#madeAt(step);
    if (at === undefined) return undefined;
    return Math.max(0, now - at - Math.min(this.#ahead, this.#aheadBefore));
  }

  /** Time at which a step was made; where it was not told, by the steps around it. */
  #madeAt(step: number): number | undefined {
    const after = this.#steps.findIndex(made => made.step >= step);
    const next = this.#steps.at(after);
    const before = after < 0 ? this.#steps.at(-2) : this.#steps[after - 1];
    if (next === undefined || before === undefined) return next?.at;
    return before.at + ((step - before.step) / (next.step - before.step)) * (next.at - before.at);
  }

  #forget(): void {
    this.#steps = [];
    this.#ahead = Number.POSITIVE_INFINITY;
    this.#aheadBefore = Number.POSITIVE_INFINITY;
  }
}
