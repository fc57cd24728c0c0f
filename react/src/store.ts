/** State outside of React that components follow by `useSyncExternalStore`; what one turn changes is told once. */
export class Store<S> {
  #state: S;
  #isDue = false;
  readonly #listeners = new Set<() => void>();

  constructor(state: S) {
    this.#state = state;
  }

  readonly snapshot = (): S => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  set(state: S): void {
    if (Object.is(state, this.#state)) return;
    this.#state = state;
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      for (const listener of [...this.#listeners]) listener();
    });
  }
}
