import { errorCode, JechoError } from "@jecho/shared";
import { EventsFrame, type Frame, tokenOf } from "@jecho/shared/internal";
import { onNetworkChange } from "#platform";
import { placementOf } from "../placement.ts";
import type { CreateEnvironment } from "../platform/face.ts";
import type { ControlRequest, EventSource, PortListener, PortNotice, PortServer } from "../port.ts";
import { ConsumerEndpoint, CopyEndpoint, ProducerEndpoint } from "./endpoint.ts";
import { type ConcentratorOptions, Parts } from "./parts.ts";

/** How long what was raised is waited for, to be through the modulators and taken, where its producer or session ends. */
const LEAVING_MS = 30_000;

/** Whom a concentrator tells what. */
export interface ConcentratorListener extends PortListener {
  /** Another device takes over what belongs to the asker of this question, if that is known: `yield` is to be called. */
  yield(request: number, question: number | undefined): void;
}

/**
 * The hub of a process: all its endpoints share one connection. It gives each event that is raised to the consumers in
 * this process, to the modulators, and, where somebody elsewhere listens, to the gateway. What its parts do stands with
 * them; here each request and each frame finds the one that it is for.
 */
export class Concentrator implements PortServer {
  readonly #notify: (notice: PortNotice) => void;
  readonly #onYield: ConcentratorListener["yield"];
  readonly #events: EventSource;
  readonly #parts: Parts;
  /** Producers to be closed once their events are out. */
  readonly #closing = new Set<number>();
  readonly #stopWatching: () => void;
  #wakes = false;

  constructor(
    options: ConcentratorOptions,
    events: EventSource,
    listener: ConcentratorListener,
    createEnvironment?: CreateEnvironment,
  ) {
    const { notify } = listener;
    this.#notify = notify;
    this.#onYield = listener.yield;
    this.#events = events;
    this.#parts = new Parts(options, events, listener, createEnvironment, {
      onStatus: status => {
        if (status.state === "live") this.#live();
        else this.#interrupted(status.state !== "closed" && status.state !== "refused");
        notify({ is: "status", status });
      },
      onFrame: frame => this.#receive(frame),
      onRoom: () => this.#drainSoon(),
      onAllBack: () => this.#stopHolding(),
    });
    this.#stopWatching = onNetworkChange(() => this.#parts.link.probe());
    this.#parts.link.connect();
  }

  handle(request: ControlRequest): void {
    // Events that were raised before this request go before it.
    if (!this.#events.isEmpty()) this.drain();
    const { index, openings, lanes } = this.#parts;
    switch (request.is) {
      case "openProducer":
        return openings.add(new ProducerEndpoint(request, lanes.create(), index));
      case "openConsumer": {
        const consumer = new ConsumerEndpoint(request, index);
        this.#parts.reception.inherit(consumer, request.sources);
        return openings.add(consumer);
      }
      case "openObject":
        return openings.add(new CopyEndpoint(request, index));
      case "closeEndpoint":
        return this.#closeEndpoint(request.endpoint);
      case "context":
        return this.#parts.delegates.setContext(request);
      case "handled":
        return this.#handled(request);
      case "giveUp":
        return this.#giveUp(request.endpoint, request.raised);
      case "resetConsumer":
      case "compared":
      case "flow":
      case "label": {
        const consumer = index.consumer(request.endpoint);
        return consumer && this.#handleFor(consumer, request);
      }
      case "stall": {
        const consumers = request.endpoints.flatMap(endpoint => index.consumer(endpoint) ?? []);
        return this.#parts.flow.setStalled(consumers, request.stalled);
      }
      case "flush":
        return this.#parts.raising.whenThrough(true, () =>
          this.#notify({ is: "flushed", flush: request.flush }),
        );
      case "ask":
        return this.#parts.questions.ask(request.question, request.about);
      case "updateObject":
        return this.#parts.copies.update(request);
      case "writeObject":
        return this.#parts.copies.write(request);
      case "pullObject":
        return this.#parts.copies.pull(request.endpoint);
      case "probe":
        return this.#parts.link.probe();
      case "close":
        return void this.close();
    }
  }

  #handleFor(
    consumer: ConsumerEndpoint,
    request: Extract<ControlRequest, { is: "resetConsumer" | "compared" | "flow" | "label" }>,
  ): void {
    switch (request.is) {
      case "resetConsumer":
        return this.#parts.openings.reset(consumer, request.reset, request.modulator);
      case "compared":
        return this.#parts.openings.compared(consumer, request);
      case "flow":
        return this.#parts.flow.setReady(consumer, request.ready);
      case "label":
        consumer.label = request.label;
    }
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
    for (const endpoint of [...this.#closing]) {
      this.#closing.delete(endpoint);
      this.#closeEndpoint(endpoint);
    }
    this.#parts.raising.checkFlushes();
  }

  #drainSoon(): void {
    if (this.#wakes) return;
    this.#wakes = true;
    queueMicrotask(() => {
      this.#wakes = false;
      this.drain();
    });
  }

  #closeEndpoint(endpoint: number): void {
    const entry = this.#parts.index.get(endpoint);
    if (entry === undefined) return;
    if (entry.is !== "producer") return this.#parts.openings.close(entry);
    if (!this.#events.isEmpty()) {
      this.#closing.add(endpoint);
      return;
    }
    const close = (): void => {
      if (entry.state.is === "gone") return;
      this.#parts.openings.close(entry);
    };
    // What is made of its events is to be known for its own.
    if (!this.#parts.modulation.takes(entry.channel)) close();
    else this.#within(done => this.#parts.raising.whenThrough(false, done)).then(close);
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

  #handled(request: Extract<ControlRequest, { is: "handled" }>): void {
    const { endpoint, channel, producer, raised, outcome } = request;
    this.#parts.synchronous.handled(endpoint, channel, producer, raised, outcome);
  }

  #giveUp(endpoint: number, raised: number): void {
    const answered = this.#parts.synchronous.giveUp(endpoint, raised);
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
        this.#notify({ is: "type", schema: frame.schema });
        this.#parts.questions.answered(frame.request, []);
        return;
      case "Types":
        this.#parts.questions.answered(frame.request, [...frame.tokens]);
        return;
      case "Yield":
        return this.#onYield(frame.request, this.#parts.questions.handoverOf(frame.asked));
      case "Inheritance":
        return this.#notify({ is: "inheritance", inheritance: frame });
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
        for (const { endpoint } of this.#parts.reception.membersOf(frame.derived))
          this.#notify({ is: "impaired", endpoint, error: errorOf(frame) });
        return;
      case "Placed":
        for (const { endpoint } of this.#parts.reception.membersOf(frame.derived))
          this.#notify({ is: "placed", endpoint, placements: frame.placements.map(placementOf) });
        return;
      case "ObjectUpdate":
        return this.#parts.modulation.update(frame);
      case "CopyUpdate":
        if (frame.request !== 0) this.#parts.openings.objectOpened(frame);
        return this.#parts.copies.updated(frame);
      case "ObjectWrite":
        return this.#parts.copies.written(frame);
      case "Fault":
        return this.#notify({ is: "fault", error: errorOf(frame) });
      default:
        throw new JechoError("FRAME_UNEXPECTED", `${frame.kind} is not for a client`);
    }
  }

  /**
   * Another device takes these endpoints over: nothing more is handed to them, and where they are is said. Without
   * endpoints the session that is asked for is no more.
   */
  yield(request: number, endpoints: readonly number[] | undefined): void {
    if (endpoints === undefined) {
      const { number: code, message } = new JechoError("HANDOVER_INVALID");
      return this.#parts.link.send({ kind: "Refused", request, code, message });
    }
    const places = [];
    const copies = [];
    for (const number of endpoints) {
      const endpoint = this.#parts.index.get(number);
      // What it produces ends with the session.
      if (endpoint === undefined || endpoint.is === "producer") continue;
      const { open } = endpoint;
      if (open !== undefined) {
        if (endpoint.is === "object") copies.push(open.number);
        else places.push(this.#parts.reception.placeOf(endpoint, open.number));
      }
      // The gateway takes them out of its own books.
      this.#parts.openings.end(endpoint);
    }
    this.#parts.link.send({ kind: "Yielded", request, places, copies });
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
    for (const endpoint of wereOpen) {
      const isFeed = endpoint.is === "consumer" && endpoint.feed !== undefined;
      if (!isFeed) this.#notify({ is: "interrupted", endpoint: endpoint.endpoint });
    }
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
