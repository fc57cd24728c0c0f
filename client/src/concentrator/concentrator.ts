import { errorCode, JechoError } from "@jecho/shared";
import { EventsFrame, type Frame, tokenOf } from "@jecho/shared/internal";
import { createEnvironment as environmentHere, onNetworkChange } from "#platform";
import { Delegates } from "../modulation/delegates.ts";
import { Deriving } from "../modulation/deriving.ts";
import { Feeds } from "../modulation/feeds.ts";
import { Modulation } from "../modulation/modulation.ts";
import { RunChecker } from "../modulation/run-checker.ts";
import type { ProducerModulatorOptions } from "../open-options.ts";
import { placementOf } from "../placement.ts";
import type { CreateEnvironment } from "../platform/face.ts";
import type { ControlRequest, EventSource, PortListener, PortNotice, PortServer } from "../port.ts";
import { Demands } from "./demands.ts";
import { Entries } from "./entries.ts";
import { newConsumer, newObject, newProducer } from "./entry.ts";
import { Flow } from "./flow.ts";
import { GatewayQuestions } from "./gateway-questions.ts";
import { Hold } from "./hold.ts";
import { OwnLanes } from "./lane.ts";
import { Link, type LinkOptions } from "./link.ts";
import { ObjectCopies } from "./object-copies.ts";
import { Openings } from "./openings.ts";
import { Outbox } from "./outbox.ts";
import { Raising } from "./raising.ts";
import { Reception } from "./reception.ts";
import { SynchronousEvents } from "./synchronous.ts";

export interface ConcentratorOptions extends LinkOptions {
  readonly modulators: ProducerModulatorOptions;
}

/** Whom a concentrator tells what. */
export interface ConcentratorListener extends PortListener {
  /** Another device takes over what belongs to the asker of this question, if that is known: `yield` is to be called. */
  yield(request: number, question: number | undefined): void;
}

/**
 * The hub of a process: all its endpoints share one connection. It gives each event that is raised to the consumers in
 * this process, to the modulators, and, where somebody elsewhere listens, to the gateway. What its parts do stands with
 * them; here they are put together, and each request and each frame finds the one that it is for.
 */
export class Concentrator implements PortServer {
  readonly #notify: (notice: PortNotice) => void;
  readonly #onYield: ConcentratorListener["yield"];
  readonly #events: EventSource;
  readonly #link: Link;
  readonly #entries = new Entries();
  readonly #lanes = new OwnLanes();
  readonly #outbox: Outbox;
  readonly #hold: Hold;
  readonly #flow: Flow;
  readonly #synchronous: SynchronousEvents;
  readonly #reception: Reception;
  readonly #modulation: Modulation;
  readonly #feeds: Feeds;
  readonly #deriving: Deriving;
  readonly #raising: Raising;
  readonly #demands: Demands;
  readonly #delegates: Delegates;
  readonly #openings: Openings;
  readonly #copies: ObjectCopies;
  readonly #questions: GatewayQuestions;
  /** Of the types that the gateway has told of, by token: for what modulators here are fed with. */
  readonly #schemas = new Map<bigint, Uint8Array>();
  /** Producers to be closed once their events are out. */
  readonly #closing = new Set<number>();
  readonly #stopWatching: () => void;
  #wakes = false;

  constructor(
    options: ConcentratorOptions,
    events: EventSource,
    listener: ConcentratorListener,
    createEnvironment: CreateEnvironment = environmentHere,
  ) {
    const { notify } = listener;
    this.#notify = notify;
    this.#onYield = listener.yield;
    this.#events = events;
    this.#link = new Link(options, {
      onStatus: status => {
        if (status.state === "live") this.#live();
        else this.#interrupted(status.state !== "closed" && status.state !== "refused");
        notify({ is: "status", status });
      },
      onFrame: frame => this.#receive(frame),
      onReady: ready => {
        this.#modulation.runs.flow(ready);
        if (ready) this.#drainSoon();
      },
    });
    this.#outbox = new Outbox(this.#link);
    this.#hold = new Hold(() => this.#stopHolding());
    this.#flow = new Flow(this.#entries, this.#link);
    this.#synchronous = new SynchronousEvents((endpoint, raised, outcome) =>
      notify({ is: "processed", endpoint, raised, outcome }),
    );
    this.#reception = new Reception(listener, this.#synchronous, {
      onTaken: (entry, frame, first) => this.#feeds.take(entry, frame, first),
      onMissing: (entry, events) => this.#feeds.missing(entry, events),
      onHandled: ({ channel, seq }, i, { consumers, failed, message }) =>
        this.#link.send({ kind: "Ack", channel, seq: seq + i, consumers, failed, message }),
    });
    const schemaOf = (token: bigint): Uint8Array | undefined =>
      this.#entries.schemaOf(token) ?? this.#schemas.get(token);
    const checker = new RunChecker(schemaOf);
    const { most = Number.POSITIVE_INFINITY, ...running } = options.modulators;
    this.#modulation = new Modulation(events => createEnvironment(running, events), most, {
      onEvents: (installation, frame, raising) => this.#deriving.made(installation, frame, raising),
      onDone: raising => this.#synchronous.settle(raising),
      onFurther: raising => this.#synchronous.further(raising),
      onAnswer: answer => {
        // It is about what was made before.
        this.#outbox.release();
        this.#link.send(answer);
      },
      onDemand: base => this.#demands.tell(base),
      onState: (base, state) => this.#demands.tellState(base, state),
      schemaOf,
      onNeeds: base => this.#delegates.tellNeeds(base),
      onFeed: (name, { process, base, producers }, channel) => {
        const isOwn = producers.some(number => this.#entries.producerOf(number) !== undefined);
        return this.#feeds.open(name, base, { process, channel }, isOwn);
      },
      onUnfed: name => this.#feeds.close(name),
      onCall: (base, name, values) => this.#delegates.called(base, name, values),
      onPull: (derived, object) => this.#link.send({ kind: "PullObject", derived, object }),
    });
    this.#feeds = new Feeds(this.#modulation, this.#synchronous, {
      open: entry => this.#openings.add(entry),
      close: entry => this.#openings.close(entry),
      isSound: run => checker.isSound(run),
      isConsumed: base => this.#entries.isConsumed(base),
      lanesBehind: (feed, producer, urgent) =>
        this.#modulation.installed
          .fedBy(feed)
          .map(installation => this.#deriving.laneOf(installation, producer, urgent)),
    });
    const parts = {
      entries: this.#entries,
      lanes: this.#lanes,
      link: this.#link,
      outbox: this.#outbox,
      hold: this.#hold,
      flow: this.#flow,
      synchronous: this.#synchronous,
      reception: this.#reception,
      modulation: this.#modulation,
      feeds: this.#feeds,
    };
    this.#deriving = new Deriving(parts);
    this.#raising = new Raising(events, parts, notify);
    this.#demands = new Demands(parts, notify);
    this.#delegates = new Delegates(this.#entries, this.#modulation, notify);
    let request = 0;
    const nextRequest = (): number => ++request;
    this.#openings = new Openings(
      { modulates: most > 0, nextRequest },
      { ...parts, deriving: this.#deriving, demands: this.#demands },
      notify,
    );
    this.#copies = new ObjectCopies(this.#entries, this.#link, notify);
    this.#questions = new GatewayQuestions(this.#link, nextRequest, notify);
    this.#stopWatching = onNetworkChange(() => this.#link.probe());
    this.#link.connect();
  }

  handle(request: ControlRequest): void {
    // Events that were raised before this request go before it.
    if (!this.#events.isEmpty()) this.drain();
    switch (request.is) {
      case "openProducer":
        return this.#openings.add(newProducer(request, this.#lanes.create()));
      case "openConsumer": {
        const entry = newConsumer(request);
        this.#reception.inherit(entry, request.sources);
        return this.#openings.add(entry);
      }
      case "openObject":
        return this.#openings.add(newObject(request));
      case "resetConsumer":
        return this.#openings.reset(request.endpoint, request.reset, request.modulator);
      case "compared":
        return this.#openings.compared(request);
      case "closeEndpoint":
        return this.#closeEndpoint(request.endpoint);
      case "context":
        return this.#delegates.setContext(request);
      case "handled":
        return this.#handled(request);
      case "giveUp":
        return this.#giveUp(request.endpoint, request.raised);
      case "flow":
        return this.#flow.setReady(request.endpoint, request.ready);
      case "stall":
        return this.#flow.setStalled(request.endpoint, request.stalled);
      case "label": {
        const entry = this.#entries.consumer(request.endpoint);
        if (entry !== undefined) entry.label = request.label;
        return;
      }
      case "flush":
        return this.#raising.flush(request.flush);
      case "ask":
        return this.#questions.ask(request.question, request.about);
      case "updateObject":
        return this.#copies.update(request);
      case "writeObject":
        return this.#copies.write(request);
      case "pullObject":
        return this.#copies.pull(request.endpoint);
      case "probe":
        return this.#link.probe();
      case "close":
        return this.#close();
    }
  }

  /** What these requests send besides events goes out in one message. */
  together(handle: () => void): void {
    this.#link.together(handle);
  }

  /** Nothing more is read from the connection, or again. @returns false where its socket cannot do that */
  pause(isPaused: boolean): boolean {
    return this.#link.pause(isPaused);
  }

  /** Sends everything that was raised since the last time, unless it has to wait where it is. */
  drain(): void {
    if (this.#raising.drain()) this.#drained();
  }

  /** What waited for events to be out can go on. */
  #drained(): void {
    // One that still has events waiting is put back, to be tried the next time.
    for (const endpoint of [...this.#closing]) {
      this.#closing.delete(endpoint);
      this.#closeEndpoint(endpoint);
    }
    this.#raising.checkFlushes();
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
    const entry = this.#entries.get(endpoint);
    if (entry === undefined) return;
    if (entry.is === "producer" && !this.#events.isEmpty()) {
      this.#closing.add(endpoint);
      return;
    }
    this.#openings.close(entry);
    if (entry.is === "producer") this.#lanes.forget(entry.lanes);
  }

  #close(): void {
    this.#hold.end();
    // Whatever room there is: nothing is taken later.
    this.#raising.takeAll();
    this.#drained();
    this.#stopWatching();
    this.#link.close();
    void this.#modulation.close();
  }

  #handled(request: Extract<ControlRequest, { is: "handled" }>): void {
    const { endpoint, channel, producer, raised, outcome } = request;
    this.#synchronous.handled(endpoint, channel, producer, raised, outcome);
  }

  #giveUp(endpoint: number, raised: number): void {
    const answered = this.#synchronous.giveUp(endpoint, raised);
    for (const { channel, producer, raised } of answered)
      this.#link.send({ kind: "GiveUp", channel, producer, raised: BigInt(raised) });
  }

  /** The gateway has so many more messages with events. */
  #taken(messages: number): void {
    if (messages === 0) return;
    this.#outbox.taken(messages);
    this.#raising.checkFlushes();
    if (!this.#events.isEmpty()) this.#drainSoon();
  }

  #receive(frame: Frame): void {
    // By its class, which is one, where the kinds of all others are found in places of many kinds.
    if (frame instanceof EventsFrame) return this.#reception.arrived(frame);
    switch (frame.kind) {
      case "Processed":
        this.#synchronous.answered(frame);
        return this.#taken(frame.taken);
      case "Position":
        return this.#reception.position(frame, this.#lanes.has(frame.source));
      case "Taken":
        return this.#taken(frame.messages);
      case "Dropped":
        return this.#reception.dropped(frame.channel, Number(frame.events));
      case "Flow":
        this.#flow.told(frame.derived, frame.ready);
        return frame.ready ? this.#drainSoon() : undefined;
      case "Replayed": {
        const entry = this.#entries.consumerOf(frame.consumer);
        if (entry === undefined || entry.replay !== frame.replay) return;
        this.#reception.replayed(entry);
        return this.#notify({ is: "replayed", endpoint: entry.endpoint });
      }
      case "ProducerOpened":
        return this.#openings.producerOpened(frame);
      case "ConsumerOpened":
        return this.#openings.consumerOpened(frame);
      case "Compare":
        return this.#openings.compare(frame);
      case "ConsumerLost":
        return this.#openings.lost(frame.consumer, errorOf(frame));
      case "Refused": {
        const error = errorOf(frame);
        return this.#questions.answered(frame.request, error)
          ? undefined
          : this.#openings.refused(frame.request, error);
      }
      case "HandoverToken": {
        const { token, validMs } = frame;
        this.#questions.answered(frame.request, { token, validMs });
        return;
      }
      case "TypeKnown":
        this.#schemas.set(tokenOf(frame.schema), frame.schema.slice());
        this.#notify({ is: "type", schema: frame.schema });
        this.#questions.answered(frame.request, []);
        return;
      case "Types":
        this.#questions.answered(frame.request, [...frame.tokens]);
        return;
      case "Yield":
        return this.#onYield(frame.request, this.#questions.handoverOf(frame.asked));
      case "Inheritance":
        return this.#notify({ is: "inheritance", inheritance: frame });
      case "Demand":
        this.#demands.told(frame.channel, frame.consumers);
        return frame.request === 0 ? undefined : this.#link.send({ kind: "Noted", request: frame.request });
      case "Install":
        return this.#modulation.install(frame, this.#delegates.ofNumber(frame.channel));
      case "Remove":
        return this.#modulation.remove(frame.derived, frame.process);
      case "Drain":
        void this.#modulation.runs.finished().then(() => {
          this.#outbox.release();
          this.#link.send({ kind: "Noted", request: frame.request });
        });
        return;
      case "Impaired":
        for (const { endpoint } of this.#entries.consumersOf(frame.derived))
          this.#notify({ is: "impaired", endpoint, error: errorOf(frame) });
        return;
      case "Placed":
        for (const { endpoint } of this.#entries.consumersOf(frame.derived))
          this.#notify({ is: "placed", endpoint, placements: frame.placements.map(placementOf) });
        return;
      case "ObjectUpdate":
        return this.#modulation.update(frame);
      case "CopyUpdate":
        if (frame.request !== 0) this.#openings.objectOpened(frame);
        return this.#copies.updated(frame);
      case "ObjectWrite":
        return this.#copies.written(frame);
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
      return this.#link.send({ kind: "Refused", request, code, message });
    }
    const places = [];
    const copies = [];
    for (const endpoint of endpoints) {
      const entry = this.#entries.get(endpoint);
      // What it produces ends with the session.
      if (entry === undefined || entry.is === "producer") continue;
      if (entry.is === "object") copies.push(entry.number);
      else if (entry.number !== 0) places.push(this.#reception.placeOf(entry));
      // The gateway takes them out of its own books.
      this.#openings.leave(entry);
      this.#openings.forget(entry);
    }
    this.#link.send({ kind: "Yielded", request, places, copies });
  }

  #live(): void {
    this.#openings.live();
    this.#hold.live();
  }

  /** The connection broke: consumers elsewhere are expected back, and what they want waits for them. */
  #interrupted(comesBack: boolean): void {
    this.#openings.interrupted();
    this.#questions.interrupted();
    this.#synchronous.clear();
    this.#reception.interrupted();
    this.#outbox.interrupted();
    this.#flow.interrupted();
    if (comesBack) this.#hold.begin(this.#demands.elsewhere());
    else this.#hold.end();
    this.#modulation.interrupted();
    this.#feeds.interrupted();
    for (const entry of this.#entries.interrupted()) {
      const isFeed = entry.is === "consumer" && entry.feed !== undefined;
      if (!isFeed) this.#notify({ is: "interrupted", endpoint: entry.endpoint });
    }
    if (!this.#hold.isHolding) this.#stopHolding();
  }

  /** All who were expected are back, or will not come: what was held goes out, to whoever is there. */
  #stopHolding(): void {
    this.#modulation.removeUnwanted();
    this.#demands.nobodyBack();
    this.drain();
  }
}

function errorOf({ code, message }: { readonly code: number; readonly message: string }): JechoError {
  return new JechoError(errorCode(code), message);
}
