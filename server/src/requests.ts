import { JechoError } from "@jecho/shared";
import type { Control } from "@jecho/shared/internal";

interface PendingRequest {
  resolve(answer: Control): void;
  reject(error: JechoError): void;
  readonly timer: NodeJS.Timeout;
}

/** What the gateway has asked of one concentrator and has no answer to yet. */
export class Requests {
  readonly #pending = new Map<number, PendingRequest>();
  #next = 1;

  /** @param send sends the request with this number. Rejects with `TIMED_OUT` or `PRODUCER_GONE` */
  ask(timeoutMs: number, send: (request: number) => void): Promise<Control> {
    const request = this.#next++;
    // Asked first: who is asked is at it while the books are kept here.
    send(request);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(request);
        reject(new JechoError("TIMED_OUT", "a producer did not answer in time"));
      }, timeoutMs);
      this.#pending.set(request, { resolve, reject, timer });
    });
  }

  /** Hands an answer to who asked. One that comes after its time ran out is nobody's any more. */
  answer(request: number, answer: Control): void {
    const pending = this.#pending.get(request);
    if (pending === undefined) return;
    this.#pending.delete(request);
    clearTimeout(pending.timer);
    pending.resolve(answer);
  }

  /** Nobody will answer any more. */
  lost(): void {
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(new JechoError("PRODUCER_GONE"));
    }
    this.#pending.clear();
  }
}
