import { JechoError } from "@jecho/shared";
import { tokenOf } from "@jecho/shared/internal";
import { laterTurn } from "#platform";
import { Concentrator, type ConcentratorOptions } from "../concentrator.ts";
import type { ControlRequest, EventSource, PortListener, PortNotice, PortRequest } from "../port.ts";
import type { Visit } from "../ring.ts";
import { type Status, statusNow } from "../status.ts";
import { QueueReader } from "./queue-reader.ts";

/** Whose endpoint it is, and the number that it has there. */
interface Owner {
  readonly attachment: Attachment;
  readonly number: number;
}

interface Queue {
  readonly reader: QueueReader;
  readonly batchDelayMs: number;
  timer: ReturnType<typeof setTimeout> | undefined;
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
  readonly #owners = new Map<number, Owner>();
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

  constructor(options: ConcentratorOptions) {
    this.#concentrator = new Concentrator(options, this.#source(), {
      notify: notice => this.#tell(notice),
      receive: (endpoint, frame, first) => {
        const owner = this.#owners.get(endpoint);
        owner?.attachment.listener.receive(owner.number, frame, first);
      },
      yield: (request, question) => this.#yield(request, question),
    });
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

  /** For attachments. With the last, the concentrator ends. */
  detach(attachment: Attachment): void {
    if (!this.#attachments.delete(attachment)) return;
    for (const [question, asker] of this.#handing) if (asker === attachment) this.#handing.delete(question);
    this.#leaving.add(attachment);
    if (this.#attachments.size > 0) {
      this.drainSoon();
      return;
    }
    this.#closed = true;
    this.#concentrator.handle({ is: "close" });
  }

  drain(): void {
    // What a handler in this thread raises while its event is being raised goes out next.
    if (this.#draining) this.drainSoon();
    else this.#concentrator.drain();
  }

  /** At the end of the turn: what one turn raises goes out together. */
  drainSoon(defer: (drain: () => void) => void = microtask): void {
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

/** One port's place at a hub. */
export class Attachment {
  readonly listener: PortListener;
  readonly #hub: Hub;
  readonly #queues = new Map<number, Queue>();
  /** Those of urgent events first. */
  #readers: readonly QueueReader[] = [];
  /** The concentrator's numbers of this port's endpoints by its own. */
  readonly #endpoints = new Map<number, number>();
  readonly #leavingEndpoints = new Set<number>();
  readonly #leavingQueues = new Set<number>();
  #handled = 0;
  /** Is there an event that waits for a request which was posted before it? */
  #isHeld = false;

  /** Made by `Hub.attach`. */
  constructor(hub: Hub, listener: PortListener) {
    this.#hub = hub;
    this.listener = listener;
  }

  handle(request: PortRequest): void {
    this.#act(request);
    this.#handled++;
    // Events may have come over shared memory before what they follow.
    if (this.#isHeld) this.#hub.drainSoon();
  }

  #act(request: PortRequest): void {
    switch (request.is) {
      case "openQueue": {
        const { queue, memory, drops, batchDelayMs, urgent } = request;
        const reader = new QueueReader(
          { memory, drops, urgent },
          {
            hasHandled: requests => {
              const is = ((this.#handled - requests) | 0) >= 0;
              if (!is) this.#isHeld = true;
              return is;
            },
            endpointOf: endpoint => this.#endpoints.get(endpoint) ?? 0,
            room: () => this.listener.notify({ is: "room", queue }),
            taken: bytes => this.listener.notify({ is: "recordsTaken", queue, bytes }),
          },
        );
        this.#queues.set(queue, { reader, batchDelayMs, timer: undefined });
        this.#sortReaders();
        this.#hub.drainSoon();
        return;
      }
      case "wake":
        this.#wake(request.queue, request.now);
        return;
      case "records":
        this.#queues.get(request.queue)?.reader.put(request.bytes);
        this.#wake(request.queue, false);
        return;
      case "closeQueue":
        this.#leavingQueues.add(request.queue);
        this.#hub.drainSoon();
        return;
      case "openProducer":
      case "openConsumer":
      case "openObject": {
        const endpoint = this.#hub.own(this, request.endpoint);
        this.#endpoints.set(request.endpoint, endpoint);
        this.#hub.handle({ ...request, endpoint });
        return;
      }
      case "closeEndpoint":
        this.#closeEndpoint(request.endpoint);
        return;
      case "ask":
        this.#hub.handle({ ...request, question: this.#hub.ask(this, request.question) });
        return;
      case "flush":
        this.#hub.handle({ ...request, flush: this.#hub.ask(this, request.flush) });
        return;
      case "close":
        this.detach();
        return;
      default:
        if (!("endpoint" in request)) this.#hub.handle(request);
        else {
          const endpoint = this.#endpoints.get(request.endpoint);
          if (endpoint !== undefined) this.#hub.handle({ ...request, endpoint });
        }
    }
  }

  /** Ends all of this port: what it raised goes out, and its endpoints leave their channels. */
  detach(): void {
    for (const endpoint of [...this.#endpoints.keys()]) this.#closeEndpoint(endpoint);
    for (const { timer } of this.#queues.values()) clearTimeout(timer);
    this.#hub.detach(this);
  }

  /** The concentrator's numbers of this port's endpoints. */
  get endpoints(): number[] {
    return [...this.#endpoints.values()];
  }

  get isEmpty(): boolean {
    for (const reader of this.#readers) if (!reader.isEmpty) return false;
    return true;
  }

  #sortReaders(): void {
    const readers = [...this.#queues.values()].map(({ reader }) => reader);
    this.#readers = [...readers.filter(isUrgent), ...readers.filter(reader => !isUrgent(reader))];
  }

  /** For the hub. @returns false where there is more by now */
  drain(visit: Visit): boolean {
    let rests = true;
    this.#isHeld = false;
    for (const reader of this.#readers) {
      // What the concentrator leaves there it asks for itself.
      if (reader.drain(visit) && !reader.sleep()) rests = false;
    }
    if (this.isEmpty) this.#tidy();
    return rests;
  }

  /** What has gone is forgotten only when no event of it is left. */
  #tidy(): void {
    if (this.#leavingEndpoints.size + this.#leavingQueues.size === 0) return;
    for (const number of this.#leavingEndpoints) this.#endpoints.delete(number);
    this.#leavingEndpoints.clear();
    for (const number of this.#leavingQueues) {
      clearTimeout(this.#queues.get(number)?.timer);
      this.#queues.delete(number);
    }
    if (this.#leavingQueues.size > 0) this.#sortReaders();
    this.#leavingQueues.clear();
  }

  #wake(number: number, now: boolean): void {
    const queue = this.#queues.get(number);
    if (queue === undefined) return;
    if (now || queue.batchDelayMs === 0) {
      this.#hub.drainSoon();
      return;
    }
    queue.timer ??= setTimeout(() => {
      queue.timer = undefined;
      this.#hub.drain();
    }, queue.batchDelayMs);
  }

  #closeEndpoint(number: number): void {
    const endpoint = this.#endpoints.get(number);
    if (endpoint === undefined) return;
    this.#hub.handle({ is: "closeEndpoint", endpoint });
    this.#hub.disown(endpoint);
    this.#leavingEndpoints.add(number);
    if (this.isEmpty) this.#tidy();
  }
}

function isUrgent({ isUrgent }: QueueReader): boolean {
  return isUrgent;
}

const DONE = Promise.resolve();

/** As `queueMicrotask`, whose bookkeeping in Node takes longer than what is done here. */
function microtask(act: () => void): void {
  void DONE.then(act);
}
