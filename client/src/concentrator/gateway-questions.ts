import { JechoError } from "@jecho/shared";
import type { HandoverToken, Kicked, Overview, TypeKnown, Types, Yield } from "@jecho/shared/internal";
import type { LinkOptions } from "../options/concentrator-options.ts";
import type { Answer, Question } from "../places/port.ts";
import type { PortEnd } from "./endpoints/endpoint.ts";
import type { Openings } from "./endpoints/openings.ts";
import { Link } from "./link.ts";
import type { SessionHandovers } from "./session-handovers.ts";

/** Frames that answer questions. */
type AnswerFrame = HandoverToken | TypeKnown | Types | Kicked | Overview;

/** A session, and its number for the question. */
interface AskedQuestion {
  readonly port: PortEnd;
  readonly question: number;
}

/** Sends sessions' questions to the gateway, and hands each answer to its session. */
export class GatewayQuestions {
  readonly #link: Link;
  readonly #openings: Openings;
  readonly #options: LinkOptions;
  readonly #nextRequest: () => number;
  /** Questions by request. */
  readonly #questions = new Map<number, AskedQuestion>();
  /** Undefined before a session has asked for a token. */
  #handovers: SessionHandovers | undefined;
  /** Connections that only ask which gateway is at another address. */
  readonly #inquiries = new Set<Link>();

  constructor(link: Link, openings: Openings, options: LinkOptions, nextRequest: () => number) {
    this.#link = link;
    this.#openings = openings;
    this.#options = options;
    this.#nextRequest = nextRequest;
  }

  ask(port: PortEnd, question: number, about: Exclude<Question, { flush: true }>): void {
    const request = this.#nextRequest();
    this.#questions.set(request, { port, question });
    if ("gatewayAt" in about) this.#inquire(request, about.gatewayAt);
    else if (!this.#link.isLive) this.answered(request, broken());
    else if ("token" in about) this.#link.send({ kind: "WantType", request, token: about.token });
    else if ("channel" in about) this.#link.send({ kind: "WantTypes", request, channel: about.channel });
    else if ("kick" in about) this.#link.send({ kind: "Kick", request, subject: about.kick });
    else if ("overview" in about) this.#link.send({ kind: "WantOverview", request, pattern: about.overview });
    else void this.#askHandover(port, request);
  }

  async #askHandover(port: PortEnd, request: number): Promise<void> {
    try {
      const { SessionHandovers } = await import("./session-handovers.ts");
      this.#handovers ??= new SessionHandovers(this.#link, this.#openings);
    } catch (error) {
      this.answered(request, JechoError.from(error, "CONNECTION_LOST"));
    }
    // The connection may have broken meanwhile.
    if (this.#questions.has(request)) this.#handovers?.ask(port, request);
  }

  /** Another device takes over a session. */
  yield({ request, asked }: Yield): void {
    this.#handovers?.yield(request, asked);
  }

  /** The gateway has said something: an endpoint may be open by now. */
  settled(): void {
    this.#handovers?.settle();
  }

  /** A session has ended. */
  forget(port: PortEnd): void {
    this.#handovers?.forget(port);
  }

  /** Connects to an address to ask which gateway is there, without telling it anything of this session. */
  #inquire(request: number, url: string): void {
    const end = (answer: Answer | JechoError): void => {
      this.#inquiries.delete(inquiry);
      this.answered(request, answer);
      // Later, for the link sets its timers after this call.
      queueMicrotask(() => inquiry.close());
    };
    const inquiry = new Link(
      {
        ...this.#options,
        url,
        others: [],
        name: "",
        handover: "",
        modulating: "",
        hasToken: false,
        inquires: true,
      },
      {
        onGateway: gateway => end({ gateway }),
        onStatus: ({ error }) => {
          if (error !== undefined && this.#inquiries.has(inquiry)) end(error);
        },
        onFrame: () => {},
        onTokenWanted: () => {},
        onAdmitted: () => {},
        onReady: () => {},
      },
    );
    this.#inquiries.add(inquiry);
    try {
      inquiry.connect();
    } catch (error) {
      // A page may not connect just anywhere.
      end(JechoError.from(error, "CONNECTION_LOST"));
    }
  }

  /** The gateway answers a question. */
  take(answer: AnswerFrame): void {
    this.answered(answer.request, answerOf(answer));
  }

  /** @returns false where the request was no question */
  answered(request: number, answer: Answer | JechoError): boolean {
    const asked = this.#questions.get(request);
    if (asked === undefined) return false;
    this.#questions.delete(request);
    asked.port.listener.notify({ is: "answer", question: asked.question, answer });
    return true;
  }

  /** Ends all questions. */
  close(): void {
    for (const inquiry of this.#inquiries) inquiry.close();
  }

  /** The connection broke: its questions will not be answered. */
  interrupted(): void {
    this.#handovers?.interrupted();
    for (const request of [...this.#questions.keys()]) this.answered(request, broken());
  }
}

function answerOf(frame: AnswerFrame): Answer {
  switch (frame.kind) {
    case "TypeKnown":
      // The type itself goes to all sessions.
      return [];
    case "Types":
      return [...frame.tokens];
    case "Overview":
      return { overview: frame };
    default:
      return frame;
  }
}

function broken(): JechoError {
  return new JechoError("CONNECTION_LOST", "the connection broke before the answer came");
}
