import { JechoError } from "@jecho/shared";
import type { Control } from "@jecho/shared/internal";
import { Deadlines } from "./deadlines.ts";

interface PendingRequest {
  resolve(answer: Control): void;
  reject(error: JechoError): void;
}

/** What the gateway has asked of one concentrator and has no answer to yet. */
export class Requests {
  readonly #pending = new Map<number, PendingRequest>();
  readonly #deadlines: Deadlines<number>;
  #next = 1;

  /** @param timeoutMs that an answer may take */
  constructor(timeoutMs: number) {
    this.#deadlines = new Deadlines(timeoutMs, request => {
      this.#pending.get(request)?.reject(new JechoError("TIMED_OUT", "a producer did not answer in time"));
      this.#pending.delete(request);
    });
  }

  /** @param send sends the request with this number. Rejects with `TIMED_OUT` or `PRODUCER_GONE` */
  ask(send: (request: number) => void): Promise<Control> {
    const request = this.#next++;
    return new Promise((resolve, reject) => {
      this.#pending.set(request, { resolve, reject });
      this.#deadlines.add(request);
      send(request);
    });
  }

  /** Hands an answer to who asked. One that comes after its time ran out is nobody's any more. */
  answer(request: number, answer: Control): void {
    const pending = this.#pending.get(request);
    if (pending === undefined) return;
    this.#pending.delete(request);
    this.#deadlines.delete(request);
    pending.resolve(answer);
  }

  /** Nobody will answer any more. */
  lost(): void {
    this.#deadlines.clear();
    for (const { reject } of this.#pending.values()) reject(new JechoError("PRODUCER_GONE"));
    this.#pending.clear();
  }
}
