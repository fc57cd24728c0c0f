import { errorCode, JechoError } from "@jecho/shared";
import { EventsFrame, type Frame, tokenOf } from "@jecho/shared/internal";
import { onNetworkChange } from "#platform";
import { placementOf } from "../placement.ts";
import type { CreateEnvironment } from "../platform/face.ts";
import type { ControlRequest, SessionNotice } from "../port.ts";
import { statusNow } from "../status.ts";
import { atEndOfTurn } from "../turn.ts";
import { ConsumerEndpoint, CopyEndpoint, type Endpoint, type PortEnd, ProducerEndpoint } from "./endpoint.ts";
import type { RaisedEvents } from "./outgoing.ts";
import { assemble, type ConcentratorOptions, type Parts } from "./parts.ts";

/** How long what was raised is waited for, to be through the modulators and taken, where its producer or session ends. */
const LEAVING_MS = 30_000;

/** What a concentrator tells that is about no endpoint. */
export interface ConcentratorListener {
  /** All sessions are to hear of this. */
  notify(notice: SessionNotice): void;
  /** Another device has taken over all that belonged to this session. */
  yielded(port: PortEnd): void;
}

/** What sessions ask of their concentrator, besides to end. */
export type Asked = Exclude<ControlRequest, { is: "close" }>;

/**
 * The hub of a process: all its endpoints share one connection. It gives each event that is raised to the consumers in
 * this process, to the modulators, and, where somebody elsewhere listens, to the gateway. What its parts do stands with
 * them; here each request and each frame finds the one that it is for.
 */
export class Concentrator {
  readonly #listener: ConcentratorListener;
  readonly #events: RaisedEvents;
  readonly #parts: Parts;
  /** Producers to be closed once their events are out. */
  readonly #closing = new Set<ProducerEndpoint>();
  readonly #stopWatching: () => void;
  #wakes = false;

  constructor(
    options: ConcentratorOptions,
    events: RaisedEvents,
    listener: ConcentratorListener,
    createEnvironment?: CreateEnvironment,
  ) {
    this.#listener = listener;
    this.#events = events;
    this.#parts = assemble(options, events, createEnvironment, {
      onStatus: status => {
        if (status.state === "live") this.#live();
        else this.#interrupted(status.state !== "closed" && status.state !== "refused");
        listener.notify({ is: "status", status });
      },
      onFrame: frame => this.#receive(frame),
      onRoom: () => this.#drainSoon(),
      onAllBack: () => this.#stopHolding(),
    });
    this.#stopWatching = onNetworkChange(() => this.#parts.link.probe());
    this.#parts.link.connect();
  }

  /** A session asks for this. What is about an endpoint that is gone comes too late. */
  handle(request: Asked, port: PortEnd): void {
    this.#drainFirst();
    const { index, lanes, reception, openings, delegates, synchronous, flow, copies } = this.#parts;
    const producer = (act: (producer: ProducerEndpoint) => void): void => {
      const endpoint = endpointOf(request, port);
      if (endpoint?.is === "producer") act(endpoint);
    };
    const consumer = (act: (consumer: ConsumerEndpoint) => void): void => {
      const endpoint = endpointOf(request, port);
      if (endpoint?.is === "consumer") act(endpoint);
    };
    const copy = (act: (copy: CopyEndpoint) => void): void => {
      const endpoint = endpointOf(request, port);
      if (endpoint?.is === "object") act(endpoint);
    };
    switch (request.is) {
      case "openProducer":
        return this.#open(new ProducerEndpoint(request, port, lanes.create(), index));
      case "openConsumer": {
        const opened = new ConsumerEndpoint(request, port, index);
        reception.inherit(opened, request.sources);
        return this.#open(opened);
      }
      case "openObject":
        return this.#open(new CopyEndpoint(request, port, index));
      case "closeEndpoint": {
        const endpoint = endpointOf(request, port);
        return endpoint && this.#closeEndpoint(endpoint);
      }
      case "context":
        return producer(it => delegates.setContext(it, request.name, request.value));
      case "giveUp":
        return producer(it => this.#giveUp(it, request.raised));
      case "handled":
        return consumer(it => {
          const { channel, producer, raised, outcome } = request;
          synchronous.handled(it, channel, producer, raised, outcome);
        });
      case "resetConsumer":
        return consumer(it => openings.reset(it, request.reset, request.modulator));
      case "compared":
        return consumer(it => openings.compared(it, request));
      case "flow":
        return consumer(it => flow.setReady(it, request.ready));
      case "label":
        return consumer(it => {
          it.label = request.label;
        });
      case "updateObject":
        return copy(it => copies.update(it, request));
      case "writeObject":
        return copy(it => copies.write(it, request));
      case "pullObject":
        return copy(it => copies.pull(it));
      case "flush":
        return this.#parts.raising.whenThrough(true, () => {
          port.listener.notify({ is: "flushed", flush: request.flush });
        });
      case "ask":
        return this.#parts.questions.ask(port, request.question, request.about);
      case "probe":
        return this.#parts.link.probe();
    }
  }

  #open(endpoint: Endpoint): void {
    endpoint.port.endpoints.set(endpoint.id, endpoint);
    this.#parts.openings.add(endpoint);
  }

  /** A session's thread does not take the events of these consumers, or takes them again. */
  stall(consumers: readonly ConsumerEndpoint[], stalled: boolean): void {
    this.#drainFirst();
    this.#parts.flow.setStalled(consumers, stalled);
  }

  /** Events that were raised before a request go before it. */
  #drainFirst(): void {
    if (!this.#events.isEmpty()) this.drain();
  }

  /** A session has ended: what it raised goes out, and its endpoints leave their channels. */
  detach(port: PortEnd): void {
    this.#drainFirst();
    for (const [, endpoint] of [...port.endpoints]) this.#closeEndpoint(endpoint);
    this.#parts.questions.forget(port);
  }

  /** What these requests send besides events goes out in one message. */
  together(handle: () => void): void {
    this.#parts.link.together(handle);
  }

  /** Nothing more is read from the connection, or again. @returns false where its socket cannot do that */
  pause(isPaused: boolean): boolean {
    return this.#parts.link.pause(isPaused);
  }

  /** Sends everything that was raised since the last time, unless it has to wait where it is. */
  drain(): void {
    if (this.#parts.raising.drain()) this.#drained();
  }

  /** What waited for events to be out can go on. */
  #drained(): void {
    // One that still has events waiting is put back, to be tried the next time.
    for (const producer of [...this.#closing]) {
      this.#closing.delete(producer);
      this.#closeEndpoint(producer);
    }
    this.#parts.raising.checkFlushes();
  }

  #drainSoon(): void {
    if (this.#wakes) return;
    this.#wakes = true;
    atEndOfTurn(() => {
      this.#wakes = false;
      this.drain();
    });
  }

  #closeEndpoint(endpoint: Endpoint): void {
    // The gateway may have refused it meanwhile.
    if (endpoint.state.is === "gone") return;
    if (endpoint.is !== "producer") return this.#parts.openings.close(endpoint);
    if (!this.#events.isEmpty()) {
      this.#closing.add(endpoint);
      return;
    }
    const close = (): void => {
      if (endpoint.state.is !== "gone") this.#parts.openings.close(endpoint);
    };
    // What is made of its events is to be known for its own.
    if (!this.#parts.modulation.takes(endpoint.channel)) close();
    else void this.#within(done => this.#parts.raising.whenThrough(false, done)).then(close);
  }

  /** Ends the connection. Resolves when what was raised has been through the modulators here and taken, or after 30 s. */
  async close(): Promise<void> {
    const { hold, raising, link, modulation } = this.#parts;
    hold.end();
    // Whatever room there is: nothing is taken later.
    raising.takeAll();
    this.#drained();
    this.#stopWatching();
    if (link.isLive) await this.through();
    link.close();
    await modulation.close();
  }

  /** Resolves when what was raised so far has been through the modulators here and taken, or after 30 s. */
  through(): Promise<void> {
    return this.#within(done => this.#parts.raising.whenThrough(true, done));
  }

  /** Resolves when that is done, or after 30 s. */
  #within(act: (done: () => void) => void): Promise<void> {
    return new Promise(resolve => {
      const limit = setTimeout(resolve, LEAVING_MS);
      act(() => {
        clearTimeout(limit);
        resolve();
      });
    });
  }

  #giveUp(producer: ProducerEndpoint, raised: number): void {
    const answered = this.#parts.synchronous.giveUp(producer, raised);
    for (const { channel, producer, raised } of answered)
      this.#parts.link.send({ kind: "GiveUp", channel, producer, raised: BigInt(raised) });
  }

  /** The gateway has so many more messages with events. */
  #taken(messages: number): void {
    if (messages === 0) return;
    this.#parts.outbox.taken(messages);
    this.#parts.raising.checkFlushes();
    if (!this.#events.isEmpty()) this.#drainSoon();
  }

  #receive(frame: Frame): void {
    // By its class, which is one, where the kinds of all others are found in places of many kinds.
    if (frame instanceof EventsFrame) return this.#parts.reception.arrived(frame);
    switch (frame.kind) {
      case "Processed":
        this.#parts.synchronous.answered(frame);
        return this.#taken(frame.taken);
      case "Position":
        return this.#parts.reception.position(frame, this.#parts.lanes.has(frame.source));
      case "Taken":
        return this.#taken(frame.messages);
      case "Dropped":
        return this.#parts.reception.dropped(frame.channel, Number(frame.events));
      case "Flow":
        this.#parts.flow.told(frame.derived, frame.ready);
        return frame.ready ? this.#drainSoon() : undefined;
      case "Replayed":
        return this.#parts.openings.replayed(frame);
      case "ProducerOpened":
        this.#parts.openings.producerOpened(frame);
        if (!this.#parts.index.isAnyProducerAway()) this.#parts.hold.opened();
        return;
      case "ConsumerOpened":
        return this.#parts.openings.consumerOpened(frame);
      case "Compare":
        return this.#parts.openings.compare(frame);
      case "ConsumerLost":
        return this.#parts.openings.lost(frame.consumer, errorOf(frame));
      case "Refused": {
        const error = errorOf(frame);
        return this.#parts.questions.answered(frame.request, error)
          ? undefined
          : this.#parts.openings.refused(frame.request, error);
      }
      case "HandoverToken": {
        const { token, validMs } = frame;
        this.#parts.questions.answered(frame.request, { token, validMs });
        return;
      }
      case "TypeKnown":
        this.#parts.schemas.set(tokenOf(frame.schema), frame.schema.slice());
        this.#listener.notify({ is: "type", schema: frame.schema });
        this.#parts.questions.answered(frame.request, []);
        return;
      case "Types":
        this.#parts.questions.answered(frame.request, [...frame.tokens]);
        return;
      case "Yield":
        return this.#yield(frame.request, this.#parts.questions.handoverOf(frame.asked));
      case "Inheritance":
        return this.#listener.notify({ is: "inheritance", inheritance: frame });
      case "Demand":
        this.#parts.demands.told(frame);
        return frame.request === 0
          ? undefined
          : this.#parts.link.send({ kind: "Noted", request: frame.request });
      case "Install":
        this.#parts.hold.stir();
        return this.#parts.modulation.install(frame, this.#parts.delegates.ofNumber(frame.channel));
      case "Remove":
        return this.#parts.modulation.remove(frame.derived, frame.process);
      case "Drain":
        void this.#parts.modulation.runs.finished().then(() => {
          this.#parts.outbox.release();
          this.#parts.link.send({ kind: "Noted", request: frame.request });
        });
        return;
      case "Impaired":
        return this.#impaired(frame.derived, errorOf(frame));
      case "Placed":
        for (const { id, listener } of this.#parts.reception.membersOf(frame.derived))
          listener.notify({ is: "placed", endpoint: id, placements: frame.placements.map(placementOf) });
        return;
      case "ObjectUpdate":
        return this.#parts.modulation.update(frame);
      case "CopyUpdate":
        if (frame.request !== 0) this.#parts.openings.objectOpened(frame);
        return this.#parts.copies.updated(frame);
      case "ObjectWrite":
        return this.#parts.copies.written(frame);
      case "Fault":
        return this.#listener.notify({ is: "fault", error: errorOf(frame) });
      default:
        throw new JechoError("FRAME_UNEXPECTED", `${frame.kind} is not for a client`);
    }
  }

  /** Another device takes over the one session that got the token: nothing more is handed to it, and where it is is said. Others go on. */
  #yield(request: number, port: PortEnd | undefined): void {
    if (port === undefined) {
      const { number: code, message } = new JechoError("HANDOVER_INVALID");
      return this.#parts.link.send({ kind: "Refused", request, code, message });
    }
    const places = [];
    const copies = [];
    for (const [, endpoint] of [...port.endpoints]) {
      const { open } = endpoint;
      // What it produces ends with the session.
      if (endpoint.is === "producer") continue;
      if (open !== undefined) {
        if (endpoint.is === "object") copies.push(open.number);
        else places.push(this.#parts.reception.placeOf(endpoint, open.number));
      }
      // The gateway takes them out of its own books.
      this.#parts.openings.end(endpoint);
    }
    this.#parts.link.send({ kind: "Yielded", request, places, copies });
    port.listener.notify({ is: "status", status: statusNow("refused", new JechoError("HANDED_OVER")) });
    this.#listener.yielded(port);
  }

  /** A modulator began anew: that is told with the first word of what it makes then. Of everything else at once. */
  #impaired(derived: number, error: JechoError): void {
    for (const member of this.#parts.reception.membersOf(derived)) {
      if (error.code === "MODULATOR_RESTARTED") member.impaired = error;
      else member.listener.notify({ is: "impaired", endpoint: member.id, error });
    }
  }

  #live(): void {
    this.#parts.openings.live();
    this.#parts.hold.live();
  }

  /** The connection broke: consumers elsewhere are expected back, and what they want waits for them. */
  #interrupted(comesBack: boolean): void {
    const wereOpen = this.#parts.index.interrupted();
    this.#parts.questions.interrupted();
    this.#parts.synchronous.clear();
    this.#parts.outbox.interrupted();
    this.#parts.flow.interrupted();
    if (comesBack) this.#parts.hold.begin(this.#parts.demands.elsewhere());
    else this.#parts.hold.end();
    this.#parts.modulation.interrupted();
    this.#parts.feeds.interrupted();
    for (const { id, listener } of wereOpen) listener.notify({ is: "interrupted", endpoint: id });
    if (!this.#parts.hold.isHolding) this.#stopHolding();
  }

  /** All who were expected are back, or will not come: what was held goes out, to whoever is there. */
  #stopHolding(): void {
    this.#parts.modulation.removeUnwanted();
    this.#parts.demands.nobodyBack();
    this.drain();
  }
}

function errorOf({ code, message }: { readonly code: number; readonly message: string }): JechoError {
  return new JechoError(errorCode(code), message);
}

function endpointOf(request: Asked, { endpoints }: PortEnd): Endpoint | undefined {
  return "endpoint" in request ? endpoints.get(request.endpoint) : undefined;
}
