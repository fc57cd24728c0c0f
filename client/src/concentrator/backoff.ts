/** When to try again. */
export interface BackoffOptions {
  /** Longest wait before the first new try, in milliseconds; 500 by default. */
  readonly firstMs?: number;
  /** Longest wait ever, in milliseconds; 20,000 by default. */
  readonly mostMs?: number;
  /** A number from 0 to below 1, each time another; `Math.random` by default. */
  readonly random?: () => number;
}

/**
 * Full jitter: a uniform wait between 0 and a bound that doubles, so that clients which lost the same gateway do not
 * come back at the same moment (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
 */
export class Backoff {
  readonly #firstMs: number;
  readonly #mostMs: number;
  readonly #random: () => number;
  #tries = 0;

  constructor(options: BackoffOptions = {}) {
    this.#firstMs = options.firstMs ?? 500;
    this.#mostMs = options.mostMs ?? 20_000;
    this.#random = options.random ?? Math.random;
  }

  nextMs(): number {
    const bound = Math.min(this.#mostMs, this.#firstMs * 2 ** this.#tries);
    this.#tries++;
    return this.#random() * bound;
  }

  reset(): void {
    this.#tries = 0;
  }
}
