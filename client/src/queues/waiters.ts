interface Waiter {
  readonly endpoint: number;
  /** @returns false where it has to wait on */
  attempt(): boolean;
  reject(error: unknown): void;
}

/** Callers that wait for room in a queue, in the order in which they asked. */
export class Waiters {
  readonly #wantRoom: () => void;
  #waiting: Waiter[] = [];
  #isAdmitting = false;

  /** @param wantRoom asks for `admit` to be called when there is room */
  constructor(wantRoom: () => void) {
    this.#wantRoom = wantRoom;
  }

  /** Whether somebody has to wait because it is not its turn. */
  get areBefore(): boolean {
    return this.#waiting.length > 0 && !this.#isAdmitting;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /**
   * Tries until it is done; those that came before go first.
   *
   * @param attempt returns what it has done, or undefined where there is still no room
   * @throws what `attempt` throws, the signal's reason, or what its endpoint left with
   */
  wait<R>(
    endpoint: number,
    attempt: () => { readonly done: R } | undefined,
    signal?: AbortSignal,
  ): Promise<R> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = (): void => signal?.removeEventListener("abort", abort);
      const waiter: Waiter = {
        endpoint,
        attempt: () => {
          try {
            const attempted = attempt();
            if (attempted === undefined) return false;
            resolve(attempted.done);
          } catch (error) {
            reject(error);
          }
          stop();
          return true;
        },
        reject: error => {
          stop();
          reject(error);
        },
      };
      const abort = (): void => {
        this.#waiting = this.#waiting.filter(other => other !== waiter);
        waiter.reject(signal?.reason);
        this.admit();
      };
      signal?.addEventListener("abort", abort);
      this.#waiting.push(waiter);
      if (this.#waiting.length === 1) this.admit();
    });
  }

  /** Admits waiters: there is room again. */
  admit(): void {
    if (this.#isAdmitting) return;
    this.#isAdmitting = true;
    try {
      for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
        if (next.attempt()) {
          this.#waiting.shift();
          continue;
        }
        this.#wantRoom();
        // The reader may have made room before it saw that it was asked for.
        if (!next.attempt()) break;
        this.#waiting.shift();
      }
    } finally {
      this.#isAdmitting = false;
    }
  }

  /** Ends the waiting of one endpoint, or of all by default. */
  leave(error: unknown, endpoint?: number): void {
    const isLeaving = (waiter: Waiter): boolean => endpoint === undefined || waiter.endpoint === endpoint;
    const leaving = this.#waiting.filter(isLeaving);
    this.#waiting = this.#waiting.filter(waiter => !isLeaving(waiter));
    for (const waiter of leaving) waiter.reject(error);
    if (leaving.length > 0) this.admit();
  }
}
