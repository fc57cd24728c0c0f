import { JechoError } from "@jecho/shared";
import type { Answer, ControlRequest, Question } from "../places/port.ts";

interface Asker<A> {
  resolve(answer: A): void;
  reject(error: unknown): void;
}

/** Time that a closing producer waits for its events to be confirmed. */
const TAKEN_MS = 30_000;

/** Questions of a session that wait for an answer: those to the gateway, and flushes. */
export class Questions {
  readonly #post: (request: ControlRequest) => void;
  readonly #questions = new Map<number, Asker<Answer>>();
  readonly #flushes = new Map<number, Asker<void>>();
  #next = 1;
  /** The error that ended the session. */
  #end: JechoError | undefined;

  constructor(post: (request: ControlRequest) => void) {
    this.#post = post;
  }

  /** @throws JechoError what the gateway answered, or what ended the connection */
  ask(about: Question): Promise<Answer> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
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

  /** Resolves when everything that was raised before has been taken. @throws JechoError what ended the session */
  flush(): Promise<void> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const flush = this.#next++;
    return new Promise((resolve, reject) => {
      this.#flushes.set(flush, { resolve, reject });
      this.#post({ is: "flush", flush });
    });
  }

  /** Resolves as `flush` does, but also after 30 s, and when the session has ended. */
  async taken(): Promise<void> {
    const limit = Promise.withResolvers<void>();
    const timer = setTimeout(limit.resolve, TAKEN_MS);
    await Promise.race([this.flush().catch(() => {}), limit.promise]);
    clearTimeout(timer);
  }

  flushed(flush: number): void {
    this.#flushes.get(flush)?.resolve();
    this.#flushes.delete(flush);
  }

  /** Rejects all questions: no answers will come. */
  end(error: JechoError): void {
    this.#end ??= error;
    for (const { reject } of [...this.#questions.values(), ...this.#flushes.values()]) reject(error);
    this.#questions.clear();
    this.#flushes.clear();
  }
}
