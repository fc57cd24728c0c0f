/** Acts at once as long as that is not too often, and else as soon as it may: whatever is asked for in between is one act. */
export class PacedAct {
  readonly #act: () => void;
  readonly #perSecond: number;
  #left: number;
  #thenMs = performance.now();
  #timer: NodeJS.Timeout | undefined;

  /** @param perSecond acts that are allowed in the long run, and at one time */
  constructor(perSecond: number, act: () => void) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
    this.#act = act;
  }

  ask(): void {
    if (this.#timer !== undefined) return;
    if (this.#left < 1) this.#gain();
    if (this.#left >= 1) {
      this.#left--;
      this.#act();
      // Nobody need wait for that.
      this.#gain();
      return;
    }
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.ask();
      },
      Math.ceil(1000 / this.#perSecond),
    );
    this.#timer.unref();
  }

  /** Time that has passed allows more. */
  #gain(): void {
    const nowMs = performance.now();
    this.#left = Math.min(this.#perSecond, this.#left + ((nowMs - this.#thenMs) / 1000) * this.#perSecond);
    this.#thenMs = nowMs;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
