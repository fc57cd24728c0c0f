/** Acts at once, unless that is too often; then as soon as it may, with all requests in between as one act. */
export class PacedAct {
  readonly #act: () => void;
  readonly #perSecond: number;
  #left: number;
  #thenMs = performance.now();
  #timer: NodeJS.Timeout | undefined;

  /** @param perSecond most acts per second, and most at one time */
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
      // The timer does not keep the process alive.
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

  /** Refills the allowance by the time that has passed. */
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
