import { JechoError } from "@jecho/shared";
import type { Answer, ControlRequest, Question } from "../places/port.ts";

interface Asker {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** Time that a closing producer waits for its events to be confirmed. */
const TAKEN_MS = 30_000;

/** Questions of a session that wait for an answer. */
export class Questions {
  readonly #post: (request: ControlRequest) => void;
  readonly #questions = new Map<number, Asker>();
  #next = 1;
  /** The error that ended the session. */
  #end: JechoError | undefined;

  constructor(post: (request: ControlRequest) => void) {
    this.#post = post;
  }

  /** @throws JechoError what the gateway answered, or what ended the connection, or the session */
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

  /** Resolves when everything that was raised before has been taken, but also after 30 s, and when the session has ended. */
  async taken(): Promise<void> {
    const limit = Promise.withResolvers<void>();
    const timer = setTimeout(limit.resolve, TAKEN_MS);
    await Promise.race([this.ask({ flush: true }).catch(() => {}), limit.promise]);
    clearTimeout(timer);
  }

  /** Rejects all questions: no answers will come. */
  end(error: JechoError): void {
    this.#end ??= error;
    for (const { reject } of this.#questions.values()) reject(error);
    this.#questions.clear();
  }
}
