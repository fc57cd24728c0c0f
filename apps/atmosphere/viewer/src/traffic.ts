/** Adds up what the subscriptions of the page receive. */
export class Traffic {
  readonly #subscriptions = new Set<{ readonly bytes: number }>();
  #goneBytes = 0;

  /** Counts a subscription until the returned function is called; what it received stays counted. */
  add(subscription: { readonly bytes: number }): () => void {
    this.#subscriptions.add(subscription);
    return () => {
      if (this.#subscriptions.delete(subscription)) this.#goneBytes += subscription.bytes;
    };
  }

  get bytes(): number {
    let sum = this.#goneBytes;
    for (const { bytes } of this.#subscriptions) sum += bytes;
    return sum;
  }
}
