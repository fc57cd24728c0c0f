import { JechoError } from "@jecho/shared";
import { NumberTable, tokenOf } from "@jecho/shared/internal";
import { laterTurn } from "#platform";
import { Concentrator, type ConcentratorListener } from "../concentrator/concentrator.ts";
import type { ConcentratorOptions } from "../concentrator/parts.ts";
import type { CreateEnvironment } from "../platform/face.ts";
import type { ControlRequest, EventSource, PortListener, PortNotice } from "../port.ts";
import type { Visit } from "../ring.ts";
import { type Status, statusNow } from "../status.ts";
import { Attachment } from "./attachment.ts";

/** Whose endpoint it is, and the number that it has there. */
interface Owner {
  readonly attachment: Attachment;
  readonly number: number;
}

/**
 * A concentrator and the ports that lead to it: one for each session, and where it is shared by the tabs of a browser,
 * that is many. Each port's endpoints and queues have its own numbers; the concentrator's are the hub's.
 */
export class Hub {
  readonly #concentrator: Concentrator;
  readonly #attachments = new Set<Attachment>();
  /** Those that have gone, and whose last events are still to be sent. */
  readonly #leaving = new Set<Attachment>();
  /** By the concentrator's number of an endpoint. */
  readonly #owners = new NumberTable<Owner>();
  /** What events were written with, for ports that come later. */
  readonly #types = new Map<bigint, Uint8Array>();
  /** Who waits for an answer, by the concentrator's number of the question or flush. */
  readonly #asked = new Map<number, { readonly asker: Attachment; readonly number: number }>();
  /** Who has a token for a handover, by the concentrator's number of the question. */
  readonly #handing = new Map<number, Attachment>();
  #status: Status = statusNow("connecting");
  #nextEndpoint = 1;
  #nextQuestion = 1;
  #draining = false;
  #willDrain = false;
  #closed = false;

  /** @param createEnvironment of modulators; default: that of the platform */
  constructor(options: ConcentratorOptions, createEnvironment?: CreateEnvironment) {
    const listener: ConcentratorListener = {
      notify: notice => this.#tell(notice),
      receive: (endpoint, frame, first) => {
        const owner = this.#owners.get(endpoint);
        owner?.attachment.listener.receive(owner.number, frame, first);
      },
      yield: (request, question) => this.#yield(request, question),
    };
    this.#concentrator = new Concentrator(options, this.#source(), listener, createEnvironment);
  }

  /** May a port still be attached? Not when the last has gone, or the gateway will not have us. */
  get isUsable(): boolean {
    return !this.#closed && this.#status.state !== "refused";
  }

  attach(listener: PortListener): Attachment {
    const attachment = new Attachment(this, listener);
    this.#attachments.add(attachment);
    for (const schema of this.#types.values()) listener.notify({ is: "type", schema });
    listener.notify({ is: "status", status: this.#status });
    return attachment;
  }

  /** For attachments. */
  handle(request: ControlRequest): void {
    this.#concentrator.handle(request);
  }

  /** For attachments: what is sent on account of these requests goes out in one message. */
  together(handle: () => void): void {
    this.#concentrator.together(handle);
  }

  /** For attachments: nothing more is read for now, or again. @returns false where others have this connection, too, or it cannot be had */
  pause(attachment: Attachment, isPaused: boolean): boolean {
    const isAlone = this.#attachments.size === 1 && this.#attachments.has(attachment);
    return (isAlone || !isPaused) && this.#concentrator.pause(isPaused);
  }

  /** For attachments: the number that a new endpoint of theirs has at the concentrator. */
  own(attachment: Attachment, number: number): number {
    const endpoint = this.#nextEndpoint++;
    this.#owners.set(endpoint, { attachment, number });
    return endpoint;
  }

  /** For attachments. */
  disown(endpoint: number): void {
    this.#owners.delete(endpoint);
  }

  /** For attachments: the number that a question or flush of theirs has at the concentrator. */
  ask(asker: Attachment, number: number): number {
    const asked = this.#nextQuestion++;
    this.#asked.set(asked, { asker, number });
    return asked;
  }

  /** For attachments. With the last, the concentrator ends. Resolves when what was raised has been taken, or after 30 s. */
  async detach(attachment: Attachment): Promise<void> {
    if (!this.#attachments.delete(attachment)) return;
    for (const [question, asker] of this.#handing) if (asker === attachment) this.#handing.delete(question);
    this.#leaving.add(attachment);
    if (this.#attachments.size > 0) {
      this.drainSoon();
      return this.#concentrator.through();
    }
    this.#closed = true;
    return this.#concentrator.close();
  }

  drain(): void {
    // What a handler in this thread raises while its event is being raised goes out next.
    if (this.#draining) this.drainSoon();
    else this.#concentrator.drain();
  }

  /** At the end of the turn: what one turn raises goes out together. */
  drainSoon(defer: (drain: () => void) => void = queueMicrotask): void {
    if (this.#willDrain) return;
    this.#willDrain = true;
    defer(this.#drainNow);
  }

  readonly #drainNow = (): void => {
    this.#willDrain = false;
    this.drain();
  };

  #source(): EventSource {
    const areEmpty = (attachments: Iterable<Attachment>): boolean => {
      for (const attachment of attachments) if (!attachment.isEmpty) return false;
      return true;
    };
    return {
      isEmpty: () => areEmpty(this.#attachments) && areEmpty(this.#leaving),
      drain: visit => this.#drainQueues(visit),
    };
  }

  #drainQueues(visit: Visit): void {
    if (this.#draining) return;
    this.#draining = true;
    const drain = (attachment: Attachment): void => {
      // A writer that is as fast as this must not keep the connection's own messages from being read.
      if (!attachment.drain(visit)) this.drainSoon(laterTurn);
    };
    try {
      for (const attachment of this.#leaving) {
        drain(attachment);
        if (attachment.isEmpty) this.#leaving.delete(attachment);
      }
      for (const attachment of this.#attachments) drain(attachment);
    } finally {
      this.#draining = false;
    }
  }

  #tell(notice: PortNotice): void {
    switch (notice.is) {
      case "processed": {
        const owner = this.#owners.get(notice.endpoint);
        const { raised, outcome } = notice;
        owner?.attachment.listener.notify({ is: "processed", endpoint: owner.number, raised, outcome });
        return;
      }
      case "status":
        this.#status = notice.status;
        break;
      case "type": {
        const schema = notice.schema.slice();
        this.#types.set(tokenOf(schema), schema);
        for (const attachment of this.#attachments) attachment.listener.notify({ is: "type", schema });
        return;
      }
      case "answer": {
        const asked = this.#answered(notice.question);
        if (asked !== undefined && "token" in notice.answer) this.#handing.set(notice.question, asked.asker);
        asked?.asker.listener.notify({ ...notice, question: asked.number });
        return;
      }
      case "flushed": {
        const asked = this.#answered(notice.flush);
        asked?.asker.listener.notify({ ...notice, flush: asked.number });
        return;
      }
      default:
        if ("endpoint" in notice) {
          const owner = this.#owners.get(notice.endpoint);
          owner?.attachment.listener.notify({ ...notice, endpoint: owner.number });
          return;
        }
    }
    for (const attachment of [...this.#attachments]) attachment.listener.notify(notice);
  }

  /** Another device takes over the one session that got the token; what else there is here goes on. */
  #yield(request: number, question: number | undefined): void {
    const attachment = question === undefined ? undefined : this.#handing.get(question);
    this.#concentrator.yield(request, attachment?.endpoints);
    if (attachment === undefined) return;
    const status = statusNow("refused", new JechoError("HANDED_OVER"));
    attachment.listener.notify({ is: "status", status });
    attachment.detach();
  }

  #answered(number: number): { readonly asker: Attachment; readonly number: number } | undefined {
    const asked = this.#asked.get(number);
    this.#asked.delete(number);
    return asked;
  }
}
