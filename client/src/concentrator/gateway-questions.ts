import { JechoError } from "@jecho/shared";
import type { Answer, Question } from "../port.ts";
import type { PortEnd } from "./endpoint.ts";
import type { Link } from "./link.ts";

/** A session, and the number that it knows its question by. */
interface Asked {
  readonly port: PortEnd;
  readonly question: number;
}

/** What sessions ask the gateway, and what it has not answered yet. */
export class GatewayQuestions {
  readonly #link: Link;
  readonly #nextRequest: () => number;
  /** By request. */
  readonly #questions = new Map<number, Asked>();
  /** Which session asked for a token for a handover, by the request that asked for it at the present connection. */
  readonly #handovers = new Map<number, PortEnd>();

  constructor(link: Link, nextRequest: () => number) {
    this.#link = link;
    this.#nextRequest = nextRequest;
  }

  ask(port: PortEnd, question: number, about: Question): void {
    const request = this.#nextRequest();
    this.#questions.set(request, { port, question });
    if (!this.#link.isLive) this.answered(request, new JechoError("CONNECTION_LOST"));
    else if ("token" in about) this.#link.send({ kind: "WantType", request, token: about.token });
    else if ("channel" in about) this.#link.send({ kind: "WantTypes", request, channel: about.channel });
    else {
      this.#handovers.set(request, port);
      this.#link.send({ kind: "AskHandover", request });
    }
  }

  /** @returns false where that request was no question */
  answered(request: number, answer: Answer | JechoError): boolean {
    const asked = this.#questions.get(request);
    if (asked === undefined) return false;
    this.#questions.delete(request);
    asked.port.listener.notify({ is: "answer", question: asked.question, answer });
    return true;
  }

  /** The session that asked for the handover token which this request got, unless that has ended. */
  handoverOf(request: number): PortEnd | undefined {
    return this.#handovers.get(request);
  }

  /** A session has ended. */
  forget(port: PortEnd): void {
    for (const [request, asker] of this.#handovers) if (asker === port) this.#handovers.delete(request);
  }

  /** The connection broke: nothing that was asked is answered any more. */
  interrupted(): void {
    this.#handovers.clear();
    for (const request of [...this.#questions.keys()])
      this.answered(request, new JechoError("CONNECTION_LOST"));
  }
}
