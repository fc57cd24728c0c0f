import { JechoError } from "@jecho/shared";
import type { Control } from "@jecho/shared/internal";
import { Numbers } from "../cluster/numbers.ts";
import { Deadlines } from "./deadlines.ts";

/** Called with the answer, or with `PRODUCER_GONE` or `TIMED_OUT`. */
export type Answered = (answer: Control | JechoError) => void;

/** The gateway's unanswered questions to one concentrator. */
export class Requests {
  readonly #pending = new Map<number, Answered>();
  readonly #deadlines: Deadlines<number>;
  readonly #numbers: Numbers;

  /**
   * @param timeoutMs longest time for an answer, unless the asker is patient
   * @param index the gateway's index in its cluster; undefined where it stands alone
   */
  constructor(timeoutMs: number, index?: number) {
    this.#numbers = new Numbers(index, number => this.#pending.has(number));
    this.#deadlines = new Deadlines(timeoutMs, request =>
      this.#take(request)?.(new JechoError("TIMED_OUT", "a process did not answer in time")),
    );
  }

  /**
   * @param send sends the request with this number
   * @param isPatient whether the answer may take as long as the connection lasts
   * @returns a function that ends the waiting
   */
  ask(send: (request: number) => void, answered: Answered, isPatient = false): () => void {
    const request = this.#numbers.next();
    this.#pending.set(request, answered);
    if (!isPatient) this.#deadlines.add(request);
    send(request);
    return () => this.#take(request);
  }

  /**
   * Hands an answer to the asker. An answer that nobody waits for any more is ignored.
   *
   * @throws JechoError `FRAME_UNEXPECTED` where nothing was asked
   */
  answer(request: number, answer: Control): void {
    if (!this.#numbers.hasGiven(request)) throw unasked(answer);
    this.#take(request)?.(answer);
  }

  /** Called when no more answers come. */
  lost(): void {
    this.#deadlines.clear();
    const all = [...this.#pending.values()];
    this.#pending.clear();
    for (const answered of all)
      answered(new JechoError("PRODUCER_GONE", "the producer left before it could answer"));
  }

  #take(request: number): Answered | undefined {
    const answered = this.#pending.get(request);
    this.#pending.delete(request);
    this.#deadlines.delete(request);
    return answered;
  }
}

export function unasked({ kind }: Control): JechoError {
  return new JechoError("FRAME_UNEXPECTED", `${kind} answers nothing that was asked`);
}
