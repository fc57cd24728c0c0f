import { JechoError } from "@jecho/shared";
import type { Answer, ControlRequest, Question } from "./port.ts";

interface Asker<A> {
  resolve(answer: A): void;
  reject(error: unknown): void;
}

/** What a session has asked and waits to be answered: questions to the gateway, and whether all that was raised was taken. */
export class Questions {
  readonly #post: (request: ControlRequest) => void;
  readonly #questions = new Map<number, Asker<Answer>>();
  readonly #flushes = new Map<number, Asker<void>>();
  #next = 1;

  constructor(post: (request: ControlRequest) => void) {
    this.#post = post;
  }

  /** @throws JechoError what the gateway answered, or what ended the connection */
  ask(about: Question): Promise<Answer> {
    const question = this.#next++;
    return new Promise((resolve, reject) => {
      this.#questions.set(question, { resolve, reject });
      this.#post({ is: "ask", question, about });
    });
  }

  answered(question: number, answer: Answer | JechoError): void {
    const asker = this.#questions.get(question);
    this.#questions.delete(question);
    if (answer instanceof JechoError) asker?.reject(answer);
    else asker?.resolve(answer);
  }

  /** Resolves when everything that was raised before has been taken. */
  flush(): Promise<void> {
    const flush = this.#next++;
    return new Promise((resolve, reject) => {
      this.#flushes.set(flush, { resolve, reject });
      this.#post({ is: "flush", flush });
    });
  }

  flushed(flush: number): void {
    this.#flushes.get(flush)?.resolve();
    this.#flushes.delete(flush);
  }

  /** Questions will not be answered any more. */
  fail(error: JechoError): void {
    for (const question of [...this.#questions.keys()]) this.answered(question, error);
  }

  /** What was raised will not be taken any more. */
  failFlushes(error: JechoError): void {
    for (const { reject } of this.#flushes.values()) reject(error);
    this.#flushes.clear();
  }
}
