import { JechoError } from "@jecho/shared";
import type { Answer, PortNotice, Question } from "../port.ts";
import type { Link } from "./link.ts";

/** What sessions ask the gateway, and what it has not answered yet. */
export class GatewayQuestions {
  readonly #link: Link;
  readonly #nextRequest: () => number;
  readonly #notify: (notice: PortNotice) => void;
  /** By request. */
  readonly #questions = new Map<number, number>();
  /** Which question a token for a handover answered, by the request that asked for it at the present connection. */
  readonly #handovers = new Map<number, number>();

  constructor(link: Link, nextRequest: () => number, notify: (notice: PortNotice) => void) {
    this.#link = link;
    this.#nextRequest = nextRequest;
    this.#notify = notify;
  }

  ask(question: number, about: Question): void {
    const request = this.#nextRequest();
    this.#questions.set(request, question);
    if (!this.#link.isLive) this.answered(request, new JechoError("CONNECTION_LOST"));
    else if ("token" in about) this.#link.send({ kind: "WantType", request, token: about.token });
    else if ("channel" in about) this.#link.send({ kind: "WantTypes", request, channel: about.channel });
    else {
      this.#handovers.set(request, question);
      this.#link.send({ kind: "AskHandover", request });
    }
  }

  /** @returns false where that request was no question */
  answered(request: number, answer: Answer | JechoError): boolean {
    const question = this.#questions.get(request);
    if (question === undefined) return false;
    this.#questions.delete(request);
    this.#notify({ is: "answer", question, answer });
    return true;
  }

  /** The question that asked for the handover token which this request got. */
  handoverOf(request: number): number | undefined {
    return this.#handovers.get(request);
  }

  /** The connection broke: nothing that was asked is answered any more. */
  interrupted(): void {
    this.#handovers.clear();
    for (const request of [...this.#questions.keys()])
      this.answered(request, new JechoError("CONNECTION_LOST"));
  }
}
