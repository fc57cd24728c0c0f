/** What came of an event at some of its consumers: how many had it, how many handlers failed, and the first reason. */
export interface Outcome {
  readonly consumers: number;
  readonly failed: number;
  readonly message: string;
}

export const NOBODY: Outcome = { consumers: 0, failed: 0, message: "" };

interface Open {
  waiting: number;
  consumers: number;
  failed: number;
  message: string;
  readonly done: (outcome: Outcome) => void;
}

/** Waits for several parts of one thing by key, and adds up their outcomes. */
export class Tally {
  readonly #open = new Map<string, Open>();

  /** Begins with so many parts to wait for. With none it is done at once. */
  begin(key: string, parts: number, done: (outcome: Outcome) => void): void {
    if (parts === 0) done(NOBODY);
    else this.#open.set(key, { waiting: parts, consumers: 0, failed: 0, message: "", done });
  }

  /** One more part has come up. */
  add(key: string): void {
    const open = this.#open.get(key);
    if (open !== undefined) open.waiting++;
  }

  /** One part is over. */
  settle(key: string, { consumers, failed, message }: Outcome): void {
    const open = this.#open.get(key);
    if (open === undefined) return;
    open.consumers += consumers;
    open.failed += failed;
    if (open.message === "") open.message = message;
    if (--open.waiting > 0) return;
    this.#open.delete(key);
    open.done({ consumers: open.consumers, failed: open.failed, message: open.message });
  }

  /** Nobody waits any more. */
  clear(): void {
    this.#open.clear();
  }
}
