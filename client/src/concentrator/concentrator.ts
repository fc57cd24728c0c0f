import { errorCode, JechoError } from "@jecho/shared";
import { type Control, EventsFrame, type Fault, type Frame, refusal } from "@jecho/shared/internal";
import { onNetworkChange } from "#platform";
import { placementOf } from "../consumer/placement.ts";
import type { ConcentratorOptions } from "../options/concentrator-options.ts";
import type { ControlRequest, SessionNotice } from "../places/port.ts";
import type { QueueReaders, QueueReadersEvents } from "../queues/queue-readers.ts";
import {
  ConsumerEndpoint,
  CopyEndpoint,
  type Endpoint,
  type PortEnd,
  ProducerEndpoint,
} from "./endpoints/endpoint.ts";
import type { RaisedEvents } from "./outgoing/outgoing.ts";
import { assemble, type Parts, type PlaceWays } from "./parts.ts";
import type { Production, ProductionFrame } from "./production-parts.ts";

/** Time for raised events to pass the modulators and be confirmed before their producer or session ends. */
const LEAVING_MS = 30_000;

/** Requests of sessions to their concentrator, besides that to end. */
type SessionRequest = Exclude<ControlRequest, { is: "close" }>;

/**
 * The hub of a process: all its endpoints share one connection. Raised events go to the consumers in this process, to the modulators and, where
 * there are remote consumers, to the gateway. This class hands each request and frame to the part for it.
 */
export class Concentrator {
  readonly #notify: (notice: SessionNotice) => void;
  readonly #events: RaisedEvents;
  readonly #parts: Parts;
  /** Producers to be closed once their events are out. */
  readonly #closing = new Set<ProducerEndpoint>();
  readonly #stopWatching: () => void;

  /** @param notify tells all sessions what is about no endpoint */
  constructor(
    options: ConcentratorOptions,
    events: RaisedEvents,
    notify: (notice: SessionNotice) => void,
    ways: PlaceWays,
  ) {
    this.#notify = notify;
    this.#events = events;
    this.#parts = assemble(options, events, ways, {
      onStatus: status => {
        if (status.state === "live") this.#live();
        else this.#interrupted(status.state !== "closed" && status.state !== "refused");
        notify({ is: "status", status });
      },
      onGateway: gateway => notify({ is: "gateway", gateway }),
      onFrame: frame => this.#receive(frame),
      onNamed: (...named) => this.#named(...named),
      onAdmitted: subject => notify({ is: "admitted", subject }),
      onTokenWanted: () => notify({ is: "tokenWanted" }),
      onRoom: () => events.drainSoon(),
      onAllBack: () => this.#stopHolding(),
    });
    this.#stopWatching = onNetworkChange(() => this.#parts.link.probe());
    this.#parts.link.connect();
  }

  /** Acts on a session's request. A request about an endpoint that is gone comes too late, and does nothing. */
  handle(request: SessionRequest, port: PortEnd): void {
    this.#drainFirst();
    if (this.#waits(request, port)) return;
    const { index, link, openings, synchronous, flow, copies, questions } = this.#parts;
    const { lanes, delegates, raising } = this.#production ?? {};
    const endpoint = "endpoint" in request ? port.endpoints.get(request.endpoint) : undefined;
    const producer = endpoint?.is === "producer" ? endpoint : undefined;
    const consumer = endpoint?.is === "consumer" ? endpoint : undefined;
    const copy = endpoint?.is === "object" ? endpoint : undefined;
    switch (request.is) {
      case "openProducer":
        return lanes && this.#open(new ProducerEndpoint(request, port, lanes.create(), index));
      case "openConsumer": {
        const opened = new ConsumerEndpoint(request, port, index);
        opened.tracker.inherit(request.sources, request.sinceMs);
        opened.hasGaps = request.sources.length > 0;
        return this.#open(opened);
      }
      case "openObject":
        return this.#open(new CopyEndpoint(request, port, index));
      case "closeEndpoint":
        return endpoint && this.#closeEndpoint(endpoint);
      case "context":
        return producer && delegates?.setContext(producer, request.name, request.value);
      case "giveUp":
        return producer && this.#giveUp(producer, request.raised);
      case "handled": {
        const { channel, producer: number, raised, outcome } = request;
        return consumer && synchronous.handled(consumer, channel, number, raised, outcome);
      }
      case "resetConsumer":
        return consumer && openings.reset(consumer, request);
      case "compared":
        return consumer && openings.compared(consumer, request);
      case "flow":
        return consumer && flow.setReady(consumer, request.ready);
      case "label":
        if (consumer !== undefined) consumer.label = request.label;
        return;
      case "updateObject":
        return copy && copies.update(copy, request);
      case "writeObject":
        return copy && copies.write(copy, request);
      case "pullObject":
        return copy && copies.pull(copy);
      case "ask": {
        const { question, about } = request;
        if (!("flush" in about)) return questions.ask(port, question, about);
        const flushed = (): void => port.listener.notify({ is: "answer", question, answer: [] });
        return raising === undefined ? flushed() : raising.whenThrough(flushed);
      }
      case "token":
        return link.token(
          request.failure === "" ? request.token : new JechoError("TOKEN_INVALID", request.failure),
        );
      case "probe":
        return link.probe();
    }
  }

  /** Schemas of the types that the gateway has told of. */
  get schemas(): readonly Uint8Array[] {
    return this.#parts.schemas.all;
  }

  /** The reader of a session's queues. @returns undefined as long as it is not loaded */
  queuesOf(port: PortEnd, events: QueueReadersEvents): QueueReaders | undefined {
    return this.#production?.queuesOf(port, events);
  }

  get #production(): Production | undefined {
    return this.#parts.production.parts;
  }

  /** Whether a request waits for the parts that produce events: it needs them, or follows one about its endpoint that does. */
  #waits(request: SessionRequest, port: PortEnd): boolean {
    const { production, link } = this.#parts;
    if (production.parts !== undefined || !("endpoint" in request)) return false;
    const { endpoint } = request;
    const needs = needsProduction(request);
    if (!needs && !production.isAwaitedBy(port, endpoint)) return false;
    production.await({
      of: { port, endpoint },
      act: () => this.handle(request, port),
      refuse: error => {
        if (needs) port.listener.notify({ is: "refused", endpoint, reset: 0, error });
      },
    });
    // While the gateway is away, the server of its page may be away, too.
    if (link.isLive) production.load();
    return true;
  }

  #open(endpoint: Endpoint): void {
    endpoint.port.endpoints.set(endpoint.id, endpoint);
    this.#parts.openings.add(endpoint);
  }

  /** A session's thread stops taking the events of these consumers, or begins again. */
  stall(consumers: readonly ConsumerEndpoint[], stalled: boolean): void {
    this.#drainFirst();
    this.#parts.flow.setStalled(consumers, stalled);
  }

  /** Events that were raised before a request go before it. */
  #drainFirst(): void {
    if (!this.#events.isEmpty()) this.drain();
  }

  /** A session has ended: its events go out, and its endpoints leave their channels. */
  detach(port: PortEnd): void {
    this.#drainFirst();
    this.#parts.production.forget(port);
    for (const [, endpoint] of [...port.endpoints]) this.#closeEndpoint(endpoint);
    this.#parts.questions.forget(port);
  }

  /** Sends everything but events that these requests cause in one message. */
  together(handle: () => void): void {
    this.#parts.link.together(handle);
  }

  /** Stops reading the connection, or begins again. @returns false where its socket cannot */
  pause(isPaused: boolean): boolean {
    return this.#parts.link.pause(isPaused);
  }

  /** Sends all events that were raised since the last time, unless they have to wait in their rings. */
  drain(): void {
    if (this.#production?.raising.drain() !== false) this.#drained();
  }

  /** Goes on with everything that waited for events to be out. */
  #drained(): void {
    // A producer that still has waiting events is put back, and tried the next time.
    for (const producer of [...this.#closing]) {
      this.#closing.delete(producer);
      this.#closeEndpoint(producer);
    }
    this.#production?.raising.checkFlushes();
  }

  #closeEndpoint(endpoint: Endpoint): void {
    // The gateway may have refused it meanwhile.
    if (endpoint.state.is === "gone") return;
    const production = this.#production;
    if (endpoint.is !== "producer" || production === undefined) return this.#parts.openings.close(endpoint);
    if (!this.#events.isEmpty()) {
      this.#closing.add(endpoint);
      return;
    }
    production.departures.leave(endpoint, () => this.through());
  }

  /** Ends the connection. Resolves when what was raised has been through the modulators here and taken, or after 30 s. */
  async close(): Promise<void> {
    const { link, questions, production } = this.#parts;
    production.close();
    link.leave();
    const { hold, raising, departures, modulation } = this.#production ?? {};
    const until = performance.now() + LEAVING_MS;
    // The connection that broke may be back, and then the consumers.
    if (hold?.isHolding && raising?.owes) await this.through();
    hold?.end();
    this.drain();
    // Events go at the gateway's pace at first, not at that of consumers who have producers wait.
    if (link.isLive && !this.#events.isEmpty() && !hold?.isBlocked) await this.through(LEAVING_MS / 2);
    if (raising !== undefined) raising.takesAll = true;
    this.drain();
    this.#stopWatching();
    if (link.isLive) {
      await this.through(until - performance.now());
      await departures?.gone();
    }
    link.close();
    questions.close();
    await modulation?.close();
  }

  /** Resolves when what was raised so far has been through the modulators here and taken, or after 30 s. */
  through(limitMs = LEAVING_MS): Promise<void> {
    const { raising } = this.#production ?? {};
    if (raising === undefined) return Promise.resolve();
    return new Promise(resolve => {
      const limit = setTimeout(resolve, limitMs);
      raising.whenThrough(() => {
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

  /** Tells sessions the subject of a producer. A gateway without users has no names. */
  #named(channel: number, producer: number, name: string): void {
    if (this.#parts.link.subject !== "") this.#notify({ is: "named", channel, producer, name });
  }

  /** The gateway has confirmed this many more messages with events. */
  #taken(messages: number): void {
    const production = this.#production;
    if (messages === 0 || production === undefined) return;
    production.outbox.taken(messages);
    production.raising.checkFlushes();
    if (!this.#events.isEmpty()) this.#events.drainSoon();
  }

  #receive(frame: Frame): void {
    // The class is compared, for `kind` is a property of objects of many shapes, which is slower to read.
    if (frame instanceof EventsFrame) return this.#parts.reception.arrived(frame);
    this.#control(frame);
    this.#parts.questions.settled();
  }

  #control(frame: Control): void {
    const { link, synchronous, routes, reception, openings, copies, questions, schemas } = this.#parts;
    switch (frame.kind) {
      case "Processed":
        synchronous.answered(frame);
        return this.#taken(frame.taken);
      case "Position":
        if (this.#production?.ended.takes(frame)) return;
        return reception.position(frame, this.#production?.lanes.has(frame.source) ?? false);
      case "Taken":
        return this.#taken(frame.messages);
      case "Dropped":
        return reception.dropped(frame.channel, Number(frame.events));
      case "Flow":
        this.#production?.hold.told(frame.derived, frame.ready);
        return frame.ready ? this.#events.drainSoon() : undefined;
      case "Replayed":
        return openings.replayed(frame);
      case "ProducerOpened":
        this.#named(0, frame.producer, link.subject);
        return openings.producerOpened(frame);
      case "ConsumerOpened":
        return openings.consumerOpened(frame);
      case "Compare":
        return openings.compare(frame);
      case "ConsumerLost":
        return openings.lost(frame.consumer, errorOf(frame));
      case "Refused": {
        const error = errorOf(frame);
        return questions.answered(frame.request, error) ? undefined : openings.refused(frame.request, error);
      }
      case "TypeKnown":
        this.#notify({ is: "type", schema: schemas.add(frame.schema) });
        return questions.take(frame);
      case "HandoverToken":
      case "Kicked":
      case "Overview":
      case "Types":
        return questions.take(frame);
      case "Survey": {
        const uses = this.#production?.modulation.uses() ?? [];
        return link.send({ kind: "Surveyed", request: frame.request, uses });
      }
      case "Yield":
        return questions.yield(frame);
      case "Inheritance":
        return this.#notify({ is: "inheritance", inheritance: frame });
      case "Demand":
      case "Install":
      case "Remove":
      case "Drain":
      case "ObjectUpdate":
        return this.#produce(frame);
      case "Impaired":
        return this.#impaired(frame.derived, errorOf(frame));
      case "Placed":
        for (const { id, listener } of routes.membersOf(frame.derived))
          listener.notify({ is: "placed", endpoint: id, placements: frame.placements.map(placementOf) });
        for (const { successor } of routes.comingTo(frame.derived)) successor?.placed(frame.placements);
        return;
      case "CopyUpdate":
        if (frame.request !== 0) openings.objectOpened(frame);
        return copies.updated(frame);
      case "ObjectWrite":
        return copies.written(frame);
      case "Fault":
        return this.#fault(frame);
      default:
        throw new JechoError("FRAME_UNEXPECTED", `${frame.kind} is not for a client`);
    }
  }

  /** Acts on a frame for the parts that produce events, as soon as they are there. */
  #produce(frame: ProductionFrame): void {
    const { production, link } = this.#parts;
    const { parts } = production;
    if (parts === undefined) {
      production.await({
        act: () => this.#produce(frame),
        refuse: error => {
          if (frame.kind === "Install")
            link.send(refusal(frame.request, new JechoError("MODULATORS_NOT_SERVED", error.message)));
        },
      });
      return production.load();
    }
    parts.take(frame);
  }

  /** Tells consumers that their modulator is impaired: at once, but a restart with the first word of its new output. */
  #impaired(derived: number, error: JechoError): void {
    for (const member of this.#parts.routes.membersOf(derived)) {
      if (error.code === "MODULATOR_RESTARTED") member.impaired = error;
      else member.listener.notify({ is: "impaired", endpoint: member.id, error });
    }
  }

  /** Tells a fault that concerns one producer to its session alone. */
  #fault(frame: Fault): void {
    const fault = { is: "fault", error: errorOf(frame) } as const;
    const producer = this.#parts.index.producerOf(frame.producer);
    if (producer === undefined) this.#notify(fault);
    else producer.listener.notify(fault);
  }

  #live(): void {
    const { openings, production } = this.#parts;
    this.#production?.departures.tell();
    openings.live();
    this.#production?.hold.live();
    if (production.isAwaited) production.load();
  }

  /** The connection broke: where it comes back, events wait for the consumers that are expected back. */
  #interrupted(comesBack: boolean): void {
    const { index, questions, synchronous, flow, production } = this.#parts;
    const { deriving, outbox, hold, demands, modulation, feeds } = this.#production ?? {};
    const wanted = comesBack ? demands?.wanted(channel => feeds?.isFed(channel) ?? false) : undefined;
    deriving?.interrupted(index);
    const wereOpen = index.interrupted();
    questions.interrupted();
    synchronous.clear();
    outbox?.interrupted();
    flow.interrupted();
    hold?.interrupted(wanted);
    modulation?.interrupted();
    feeds?.interrupted();
    production.interrupted();
    for (const { id, listener } of wereOpen) listener.notify({ is: "interrupted", endpoint: id });
    if (!hold?.isHolding) this.#stopHolding();
  }

  /** All expected consumers are back, or will not come: the events that were held for them go out. */
  #stopHolding(): void {
    this.#production?.modulation.removeUnwanted();
    this.#production?.demands.nobodyBack();
    this.drain();
  }
}

/** Whether the request opens a producer, or a consumer whose past may have to be made here. */
function needsProduction(request: SessionRequest): boolean {
  if (request.is === "openProducer") return true;
  return request.is === "openConsumer" && request.modulator !== undefined && request.from !== undefined;
}

function errorOf({ code, message }: { readonly code: number; readonly message: string }): JechoError {
  return new JechoError(errorCode(code), message);
}
