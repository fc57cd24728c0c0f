import { JechoError } from "@jecho/shared";
import type { Control } from "@jecho/shared/internal";

interface PendingRequest {
  resolve(answer: Control): void;
  reject(error: JechoError): void;
  /** When its time runs out, by `performance.now()`. */
  readonly endMs: number;
}

/** What the gateway has asked of one concentrator and has no answer to yet. */
export class Requests {
  readonly #pending = new Map<number, PendingRequest>();
  #next = 1;
  /** Goes on when the answer is there: until then another request may want it, and to start and stop one for each costs more than what else is done. */
  #timer: NodeJS.Timeout | undefined;

  /** @param send sends the request with this number. Rejects with `TIMED_OUT` or `PRODUCER_GONE` */
  ask(timeoutMs: number, send: (request: number) => void): Promise<Control> {
    const request = this.#next++;
    // Asked first: who is asked is at it while the books are kept here.
    send(request);
    return new Promise((resolve, reject) => {
      this.#pending.set(request, { resolve, reject, endMs: performance.now() + timeoutMs });
      this.#timer ??= setTimeout(() => this.#look(), timeoutMs);
    });
  }

  /** Hands an answer to who asked. One that comes after its time ran out is nobody's any more. */
  answer(request: number, answer: Control): void {
    const pending = this.#pending.get(request);
    if (pending === undefined) return;
    this.#pending.delete(request);
    pending.resolve(answer);
  }

  /** Nobody will answer any more. */
  lost(): void {
    clearTimeout(this.#timer);
    for (const { reject } of this.#pending.values()) reject(new JechoError("PRODUCER_GONE"));
    this.#pending.clear();
  }

  /** The time of some may have run out. They have as much of it each, so the first one's runs out first. */
  #look(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [request, { reject, endMs }] of this.#pending) {
      if (endMs > now) {
        this.#timer = setTimeout(() => this.#look(), endMs - now);
        return;
      }
      this.#pending.delete(request);
      reject(new JechoError("TIMED_OUT", "a producer did not answer in time"));
    }
  }
}
