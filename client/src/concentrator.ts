import { LentRun } from "@jecho/modulators/internal";
import { errorCode, JechoError, splitName } from "@jecho/shared";
import {
  type Control,
  type CopyUpdate,
  type EventsFrame,
  FROM,
  type Frame,
  type Position,
} from "@jecho/shared/internal";
import { createEnvironment, onNetworkChange } from "#platform";
import {
  type ConsumerEntry,
  type EndpointEntry,
  type ObjectEntry,
  type ProducerEntry,
  wantedOf,
} from "./entries.ts";
import { Feeds } from "./feeds.ts";
import { Hold } from "./hold.ts";
import { Kept } from "./kept.ts";
import { type Lane, Lanes } from "./lane.ts";
import { Link, type LinkOptions } from "./link.ts";
import { type Installation, Modulation } from "./modulation.ts";
import type { ProducerModulatorOptions } from "./open-options.ts";
import { Outbox } from "./outbox.ts";
import { headerOf, outgoingRuns, quietRuns, type RaisedRun } from "./outgoing.ts";
import { placementOf } from "./placement.ts";
import type {
  Answer,
  ControlRequest,
  EventSource,
  PortListener,
  PortNotice,
  PortServer,
  Question,
} from "./port.ts";
import { Reception } from "./reception.ts";
import { SynchronousEvents } from "./synchronous.ts";
import { Tracker } from "./tracking.ts";

const REOPEN_MS = 1000;

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
 * this process, to the modulators, and, where somebody elsewhere listens, to the gateway.
 */
export class Concentrator implements PortServer {
  readonly #onYield: ConcentratorListener["yield"];
  /** Which question a token for a handover answered, by the request that asked for it at the present connection. */
  readonly #handovers = new Map<number, number>();
  readonly #notify: (notice: PortNotice) => void;
  readonly #events: EventSource;
  readonly #link: Link;
  readonly #outbox: Outbox;
  readonly #hold: Hold;
  readonly #modulation: Modulation;
  readonly #feeds: Feeds;
  readonly #kept = new Kept();
  /** May this process' producers have modulators? */
  readonly #modulates: boolean;
  readonly #reception: Reception;
  readonly #synchronous: SynchronousEvents;
  readonly #endpoints = new Map<number, EndpointEntry>();
  /** Producers by the name of their channel, and by its number at the present connection. */
  readonly #producersNamed = new Map<string, Set<ProducerEntry>>();
  readonly #producers = new Map<number, Set<ProducerEntry>>();
  /** Consumers by their numbers at the present connection. */
  readonly #consumers = new Map<number, ConsumerEntry>();
  /** Applications' copies of shared objects by theirs. */
  readonly #copies = new Map<number, ObjectEntry>();
  /** What waits for an answer of the gateway, by request. */
  readonly #pending = new Map<number, { endpoint: EndpointEntry; reset: number }>();
  /** Questions to the gateway, by request. */
  readonly #questions = new Map<number, number>();
  /** The sources of this process' own events. */
  readonly #sources = new Set<bigint>();
  /** Channels whose consumers asked the producers to wait. */
  readonly #blocked = new Set<number>();
  /** Who waits for everything that was raised before to be taken. */
  #flushes: number[] = [];
  /** Producers to be closed once their events are out. */
  readonly #closing = new Set<number>();
  readonly #stopWatching: () => void;
  #nextRequest = 1;
  #wakes = false;
  /** Is what was raised being handed out? Then what modulators make of it goes out together, at the end. */
  #drains = false;

  constructor(options: ConcentratorOptions, events: EventSource, listener: ConcentratorListener) {
    const { notify } = listener;
    this.#notify = notify;
    this.#onYield = listener.yield;
    this.#events = events;
    this.#synchronous = new SynchronousEvents((endpoint, raised, outcome) =>
      notify({ is: "processed", endpoint, raised, outcome }),
    );
    this.#reception = new Reception(listener, this.#synchronous, {
      take: (entry, frame, first) => this.#feeds.take(entry, frame, first),
      missing: (entry, events) => this.#feeds.missing(entry, events),
    });
    this.#link = new Link(options, {
      onStatus: status => {
        if (status.state === "live") this.#reopenAll();
        else this.#interruptAll(status.state !== "closed" && status.state !== "refused");
        notify({ is: "status", status });
      },
      onFrame: frame => this.#receive(frame),
      onReady: ready => {
        this.#modulation.flow(ready);
        if (ready) this.#drainSoon();
      },
    });
    this.#outbox = new Outbox(this.#link);
    this.#hold = new Hold(() => this.#stopHolding());
    const { most = Number.POSITIVE_INFINITY, ...running } = options.modulators;
    this.#modulates = most > 0;
    this.#modulation = new Modulation(events => createEnvironment(running, events), most, {
      onEvents: (installation, frame, message, raising) =>
        this.#derived(installation, frame, message, raising),
      onDone: raising => this.#synchronous.settle(raising),
      onFurther: raising => this.#synchronous.further(raising),
      onAnswer: answer => {
        // It is about what was made before.
        this.#outbox.release();
        this.#link.send(answer);
      },
      onDemand: base => this.#tellDemand(base),
      onNeeds: base => this.#tellNeeds(base),
      onFeed: (name, { process, base, producers }, channel) => {
        const isOwn = producers.some(number => this.#hasProducer(number));
        return this.#feeds.open(name, base, { process, channel }, isOwn);
      },
      onUnfed: name => this.#feeds.close(name),
      onCall: (base, name, values) => {
        const endpoint = this.#offering(base)?.endpoint;
        if (endpoint !== undefined) notify({ is: "called", endpoint, name, values });
      },
    });
    this.#feeds = new Feeds(this.#modulation, this.#synchronous, {
      open: entry => {
        this.#endpoints.set(entry.endpoint, entry);
        this.#open(entry, 0);
      },
      close: ({ endpoint }) => this.#closeEndpoint(endpoint),
      isConsumed: base => this.#isConsumed(base),
      lanesBehind: (feed, producer, urgent) =>
        this.#modulation.fedBy(feed).map(installation => this.#laneOf(installation, producer, urgent)),
    });
    this.#stopWatching = onNetworkChange(() => this.#link.probe());
    this.#link.connect();
  }

  handle(request: ControlRequest): void {
    // Events that were raised before this request go before it.
    if (!this.#events.isEmpty()) this.drain();
    switch (request.is) {
      case "openProducer":
        return this.#add({
          ...request,
          is: "producer",
          channelNumber: 0,
          number: 0,
          lanes: this.#newLanes(),
          context: new Map(request.context),
          elsewhere: 0,
        });
      case "openConsumer": {
        const entry: ConsumerEntry = {
          ...request,
          is: "consumer",
          channelNumber: 0,
          number: 0,
          place: { epoch: 0, seq: 0 },
          fromSeq: 0,
          tracker: new Tracker(),
          replay: 0,
          waiting: [],
          dropped: 0,
          isPaused: false,
        };
        this.#reception.inherit(entry, request.sources);
        return this.#add(entry);
      }
      case "resetConsumer":
        return this.#reset(request);
      case "context":
        return this.#setContext(request);
      case "handled":
        return this.#synchronous.handled(request.channel, request.producer, request.raised, request.outcome);
      case "giveUp":
        return this.#giveUp(request.endpoint, request.raised);
      case "flow":
        return this.#flow(request.endpoint, request.ready);
      case "label": {
        const entry = this.#endpoints.get(request.endpoint);
        if (entry?.is === "consumer") entry.label = request.label;
        return;
      }
      case "flush":
        this.#flushes.push(request.flush);
        return this.#checkFlushes();
      case "closeEndpoint":
        return this.#closeEndpoint(request.endpoint);
      case "ask":
        return this.#ask(request.question, request.about);
      case "openObject":
        return this.#add({ ...request, is: "object", term: 0, number: 0 });
      case "updateObject":
        return this.#updateObject(request);
      case "writeObject":
        return this.#toCopy(request.endpoint, copy =>
          this.#link.send({ kind: "ObjectWrite", copy, write: request.write, patch: request.patch }),
        );
      case "pullObject":
        return this.#toCopy(request.endpoint, copy => this.#link.send({ kind: "PullObject", copy }));
      case "probe":
        return this.#link.probe();
      case "close":
        return this.#close();
    }
  }

  #add(entry: EndpointEntry): void {
    this.#endpoints.set(entry.endpoint, entry);
    if (entry.is === "producer") {
      const [other] = this.#producersNamed.get(entry.channel) ?? [];
      if (other !== undefined && other.token !== entry.token)
        return this.#refused(entry, 0, new JechoError("TYPE_MISMATCH", oneType(entry.channel)));
      enter(this.#producersNamed, entry.channel, entry);
    }
    if (this.#link.isLive) this.#open(entry, 0);
  }

  #open(entry: EndpointEntry, reset: number): void {
    const request = this.#nextRequest++;
    this.#pending.set(request, { endpoint: entry, reset });
    if (entry.is === "object") {
      const { object, lazy, term, version, state } = entry;
      this.#link.send({ kind: "OpenObject", request, object, lazy, term, version, state });
      return;
    }
    const { channel, schema } = entry;
    if (entry.is === "producer") {
      const { history, key } = entry;
      this.#link.send({
        kind: "OpenProducer",
        request,
        channel,
        schema,
        modulates: this.#modulates,
        history,
        key,
      });
    } else {
      const { modulator, queue, label, as, place, wasOpen, feed } = entry;
      // What was open before goes on behind the newest event that it has had.
      const resume = { from: FROM.resume, epoch: place.epoch, seq: BigInt(place.seq), agoMs: 0, speed: 0 };
      const from = wasOpen && reset === (entry.opened ?? 0) ? resume : entry.from;
      this.#link.send({
        kind: "OpenConsumer",
        request,
        channel,
        schema,
        modulator,
        from,
        queue,
        label,
        as,
        feed,
      });
    }
  }

  #reset({ endpoint, reset, modulator }: Extract<ControlRequest, { is: "resetConsumer" }>): void {
    const entry = this.#endpoints.get(endpoint);
    if (entry?.is !== "consumer") return;
    entry.before = { modulator: entry.modulator, as: entry.as };
    entry.modulator = modulator;
    // The name stays with what the old one makes, for those who subscribed to that.
    entry.as = "";
    entry.reset = reset;
    // While there is no connection, the new modulator is simply the one that will be asked for.
    if (this.#link.isLive) this.#open(entry, reset);
  }

  #updateObject({ endpoint, version, state, taken }: Extract<ControlRequest, { is: "updateObject" }>): void {
    const entry = this.#endpoints.get(endpoint);
    if (entry?.is !== "object") return;
    this.#know(entry, version, state);
    for (const { copy, write } of taken) this.#link.send({ kind: "ObjectTaken", copy, write });
    this.#link.send({ kind: "ObjectUpdate", object: entry.object, version, state });
  }

  /** Should a copy, or a modulator that reads the object, be opened again, then with the newest state. */
  #know(entry: ObjectEntry, version: number, state: string): void {
    entry.version = version;
    entry.state = state;
    const { object } = entry;
    for (const consumer of this.#endpoints.values()) {
      if (consumer.is !== "consumer" || consumer.modulator === undefined) continue;
      const objects = consumer.modulator.objects.map(old =>
        old.object === object ? { ...old, version, state } : old,
      );
      consumer.modulator = { ...consumer.modulator, objects };
    }
  }

  #toCopy(endpoint: number, send: (copy: number) => void): void {
    const entry = this.#endpoints.get(endpoint);
    if (entry?.is === "object" && entry.number !== 0) send(entry.number);
  }

  #copyUpdated(update: CopyUpdate): void {
    if (update.request !== 0) {
      this.#answered(update.request, entry => {
        if (entry.is !== "object") return;
        if (this.#endpoints.get(entry.endpoint) !== entry)
          return this.#link.send({ kind: "CloseEndpoint", endpoint: update.copy });
        entry.number = update.copy;
        entry.wasOpen = true;
        this.#copies.set(update.copy, entry);
      });
    }
    const entry = this.#copies.get(update.copy);
    if (entry === undefined) return;
    entry.term = update.term;
    const isNewer = update.version > entry.version || !update.master;
    if (update.state !== "" && isNewer) this.#know(entry, update.version, update.state);
    const { endpoint } = entry;
    this.#notify({ is: "object", endpoint, update });
    if (update.request !== 0) this.#notify({ is: "opened", endpoint, reset: 0 });
  }

  #closeEndpoint(endpoint: number): void {
    const entry = this.#endpoints.get(endpoint);
    if (entry === undefined) return;
    if (entry.is === "producer" && !this.#events.isEmpty()) {
      this.#closing.add(endpoint);
      return;
    }
    this.#endpoints.delete(endpoint);
    if (entry.is === "producer") leave(this.#producersNamed, entry.channel, entry);
    this.#leaveChannel(entry);
    if (entry.number !== 0) this.#link.send({ kind: "CloseEndpoint", endpoint: entry.number });
  }

  #close(): void {
    this.#hold.end();
    this.drain();
    this.#stopWatching();
    this.#link.close();
    void this.#modulation.close();
  }

  /** Sends everything that was raised since the last time, unless it has to wait where it is. */
  drain(): void {
    if (this.#hold.isHolding) return;
    if (this.#link.isLive && (!this.#link.isReady || this.#outbox.isFull || this.#blocked.size > 0)) return;
    const producerOf = (endpoint: number): ProducerEntry | undefined => this.#producerEntry(endpoint);
    this.#events.drain(records => {
      this.#drains = true;
      try {
        const messages = outgoingRuns(records, producerOf);
        for (const { bytes, runs } of messages) {
          const sent = this.#outbox.send(bytes, runs);
          for (const { producer, lane, frame } of runs) this.#raise(producer, lane, frame, sent);
        }
        for (const run of quietRuns(records, producerOf)) this.#raiseQuietly(run);
        return records.length;
      } finally {
        this.#drains = false;
        this.#outbox.release();
      }
    });
    // One that still has events waiting is put back, to be tried the next time.
    for (const endpoint of [...this.#closing]) {
      this.#closing.delete(endpoint);
      this.#closeEndpoint(endpoint);
    }
    this.#checkFlushes();
  }

  #drainSoon(): void {
    if (this.#wakes) return;
    this.#wakes = true;
    queueMicrotask(() => {
      this.#wakes = false;
      this.drain();
    });
  }

  #producerEntry(endpoint: number): ProducerEntry | undefined {
    const entry = this.#endpoints.get(endpoint);
    return entry?.is === "producer" ? entry : undefined;
  }

  /** One run within this process: its consumers here, and the modulators. */
  #raise(producer: ProducerEntry, lane: Lane, frame: EventsFrame, sent: boolean): void {
    const { endpoint, channel, channelNumber, elsewhere } = producer;
    if (channelNumber === 0 || (elsewhere > 0 && !sent)) {
      // Nobody waits for an urgent one, and its count is another.
      const raised = frame.isUrgent ? Number.NEGATIVE_INFINITY : frame.raised;
      this.#notify({ is: "dropped", endpoint, raised, events: frame.count });
      return;
    }
    if (!frame.isSync) {
      this.#reception.raised(frame, lane);
      this.#modulation.enqueue(channel, frame);
      this.#feeds.raised(frame, undefined);
      return;
    }
    const name = this.#synchronous.begin(endpoint, frame.raised, sent ? frame : undefined);
    this.#feeds.raised(frame, name);
    this.#reception.raised(frame, lane, outcome => this.#synchronous.settle(name, outcome));
    if (!this.#modulation.enqueue(channel, frame, name)) this.#synchronous.settle(name);
  }

  /** A run that nobody elsewhere wants: it stays where it lies, unless consumers here have to be told. */
  #raiseQuietly(run: RaisedRun): void {
    const { producer, lane, sync, raised, events } = run;
    const { endpoint, channel, channelNumber } = producer;
    const lent = new LentRun(headerOf(run), events);
    const isHeard = this.#reception.consumersOf(channelNumber) > 0 || this.#feeds.isFed(channelNumber);
    if (channelNumber === 0 || isHeard) return this.#raise(producer, lane, lent.frame(), false);
    if (!sync) {
      this.#modulation.enqueue(channel, lent);
      return;
    }
    const name = this.#synchronous.begin(endpoint, raised);
    this.#synchronous.settle(name);
    if (!this.#modulation.enqueue(channel, lent, name)) this.#synchronous.settle(name);
  }

  /** What a modulator made: of which synchronous event, if of one. */
  #derived(
    installation: Installation,
    frame: EventsFrame,
    message: Uint8Array,
    raising: string | undefined,
  ): void {
    if (installation.process !== 0) return this.#derivedInstead(installation, frame, message, raising);
    // What was held may come after its producer has gone, and what a period makes is nobody's.
    const producers = [...(this.#producersNamed.get(installation.base) ?? [])];
    const producer = producers.find(({ number }) => number === frame.producer) ?? producers[0];
    if (producer === undefined) return;
    const lane = this.#laneOf(installation, producer.endpoint, frame.isUrgent);
    frame.recount(lane.raised + 1);
    lane.raised += frame.count;
    frame.readdress(installation.number, producer.number);
    if (installation.number === 0 || this.#hold.isHeld(installation)) {
      frame.forgetSync();
      this.#outbox.hold(lane, frame);
      return;
    }
    lane.channel = installation.number;
    lane.producer = producer.number;
    const sent = installation.elsewhere > 0 && this.#outbox.gather(message, [{ lane, frame }]);
    if (!this.#drains) this.#outbox.release();
    if (raising === undefined || !frame.isSync) {
      this.#reception.raised(frame, lane);
      this.#feeds.raised(frame, undefined);
      return;
    }
    this.#synchronous.derive(raising, frame, sent);
    this.#reception.raised(frame, lane, outcome => this.#synchronous.settle(raising, outcome));
    this.#feeds.raised(frame, raising);
  }

  /** What a modulator made of what another process raised. */
  #derivedInstead(
    installation: Installation,
    frame: EventsFrame,
    message: Uint8Array,
    raising: string | undefined,
  ): void {
    const { producers, number, own } = installation;
    const producer = frame.producer || (producers[0] ?? 0);
    const lane = this.#laneOf(installation, producer, frame.isUrgent);
    frame.recount(lane.raised + 1);
    lane.raised += frame.count;
    frame.readdress(number, producer);
    lane.channel = number;
    lane.producer = producer;
    // Consumers here may be expected back. Those elsewhere are served by another process by now.
    if (own && this.#isAnyAway()) this.#kept.add(installation, frame, lane);
    if (number === 0) return;
    const sent = installation.elsewhere > 0 && this.#outbox.gather(message, [{ lane, frame }]);
    if (!this.#drains) this.#outbox.release();
    if (raising === undefined || !frame.isSync) {
      this.#reception.raised(frame, lane);
      return;
    }
    this.#synchronous.derive(raising, frame, sent);
    this.#reception.raised(frame, lane, outcome => this.#synchronous.settle(raising, outcome));
  }

  /** Is there a consumer of this process that was open and is not yet again? */
  #isAnyAway(): boolean {
    for (const entry of this.#endpoints.values())
      if (entry.is === "consumer" && entry.feed === undefined && entry.wasOpen && entry.number === 0)
        return true;
    return false;
  }

  /** Hands a consumer that is back what was made here meanwhile; when all are back, nothing more is kept. */
  #handKept(entry: ConsumerEntry): void {
    for (const { frame, lane } of this.#kept.of(entry)) this.#reception.raisedBefore(entry, frame, lane);
    if (!this.#isAnyAway()) this.#kept.clear();
  }

  #isConsumed(base: string): boolean {
    for (const entry of this.#endpoints.values()) {
      if (entry.is !== "consumer" || entry.feed !== undefined) continue;
      if (splitName(entry.channel).base === base) return true;
    }
    return false;
  }

  #hasProducer(number: number): boolean {
    for (const entry of this.#endpoints.values())
      if (entry.is === "producer" && entry.number === number) return true;
    return false;
  }

  #receive(frame: Frame): void {
    switch (frame.kind) {
      case "Events":
        return this.#reception.arrived(frame, ({ consumers, failed, message }, i) => {
          const seq = frame.seq + i;
          this.#link.send({ kind: "Ack", channel: frame.channel, seq, consumers, failed, message });
        });
      case "Processed":
        return this.#synchronous.answered(frame);
      case "Position":
        return this.#reception.position(frame, this.#isOurs(frame));
      case "Taken":
        this.#outbox.taken(frame.messages);
        this.#checkFlushes();
        return !this.#events.isEmpty() ? this.#drainSoon() : undefined;
      case "Dropped":
        return this.#reception.dropped(frame.channel, Number(frame.events));
      case "Flow":
        if (frame.ready) this.#blocked.delete(frame.derived);
        else this.#blocked.add(frame.derived);
        return frame.ready ? this.#drainSoon() : undefined;
      case "Replayed": {
        const entry = this.#consumers.get(frame.consumer);
        if (entry === undefined || entry.replay !== frame.replay) return;
        this.#reception.replayed(entry);
        return this.#notify({ is: "replayed", endpoint: entry.endpoint });
      }
      case "HandoverToken":
        return this.#answerQuestion(frame.request, { token: frame.token, validMs: frame.validMs });
      case "Yield":
        return this.#onYield(frame.request, this.#handovers.get(frame.asked));
      case "Inheritance":
        return this.#notify({ is: "inheritance", inheritance: frame });
      case "ProducerOpened":
        return this.#answered(frame.request, entry => {
          if (entry.is !== "producer") return;
          entry.channelNumber = frame.channel;
          entry.number = frame.producer;
          entry.lanes.address(frame.channel, frame.producer);
          enter(this.#producers, frame.channel, entry);
        });
      case "ConsumerOpened":
        return this.#answered(frame.request, (entry, reset) => this.#consumerOpened(entry, reset, frame));
      case "Refused":
        if (this.#questions.has(frame.request))
          return this.#answerQuestion(frame.request, new JechoError(errorCode(frame.code), frame.message));
        return this.#answered(frame.request, (entry, reset) =>
          this.#refused(entry, reset, new JechoError(errorCode(frame.code), frame.message)),
        );
      case "ConsumerLost": {
        const lost = this.#consumers.get(frame.consumer);
        if (lost === undefined) return;
        this.#leaveChannel(lost);
        lost.channelNumber = 0;
        lost.number = 0;
        this.#refused(lost, 0, new JechoError(errorCode(frame.code), frame.message));
        return;
      }
      case "TypeKnown":
        this.#notify({ is: "type", schema: frame.schema });
        return this.#answerQuestion(frame.request, []);
      case "Types":
        return this.#answerQuestion(frame.request, [...frame.tokens]);
      case "Demand":
        this.#demand(frame.channel, frame.consumers);
        return frame.request === 0 ? undefined : this.#link.send({ kind: "Noted", request: frame.request });
      case "Placed":
        for (const { endpoint, channelNumber } of this.#consumers.values()) {
          if (channelNumber !== frame.derived) continue;
          this.#notify({ is: "placed", endpoint, placements: frame.placements.map(placementOf) });
        }
        return;
      case "Install": {
        const parent = this.#modulation.ofNumber(frame.channel);
        const producers =
          parent === undefined ? this.#producers.get(frame.channel) : this.#producersNamed.get(parent.base);
        const [producer] = producers ?? [];
        return this.#modulation.install(frame, producer && this.#offering(producer.channel));
      }
      case "Remove":
        return this.#modulation.remove(frame.derived, frame.process);
      case "ObjectUpdate":
        return this.#modulation.update(frame);
      case "CopyUpdate":
        return this.#copyUpdated(frame);
      case "ObjectWrite": {
        const endpoint = this.#copies.get(frame.copy)?.endpoint;
        return endpoint === undefined ? undefined : this.#notify({ is: "written", endpoint, write: frame });
      }
      case "Fault":
        return this.#notify({ is: "fault", error: new JechoError(errorCode(frame.code), frame.message) });
      default:
        throw new JechoError("FRAME_UNEXPECTED", `${frame.kind} is not for a client`);
    }
  }

  #ask(question: number, about: Question): void {
    const request = this.#nextRequest++;
    this.#questions.set(request, question);
    if (!this.#link.isLive) this.#answerQuestion(request, new JechoError("CONNECTION_LOST"));
    else if ("token" in about) this.#link.send({ kind: "WantType", request, token: about.token });
    else if ("channel" in about) this.#link.send({ kind: "WantTypes", request, channel: about.channel });
    else {
      this.#handovers.set(request, question);
      this.#link.send({ kind: "AskHandover", request });
    }
  }

  #answerQuestion(request: number, answer: Answer | JechoError): void {
    const question = this.#questions.get(request);
    if (question === undefined) return;
    this.#questions.delete(request);
    this.#notify({ is: "answer", question, answer });
  }

  #answered(request: number, act: (entry: EndpointEntry, reset: number) => void): void {
    const pending = this.#pending.get(request);
    if (pending === undefined) return;
    this.#pending.delete(request);
    act(pending.endpoint, pending.reset);
  }

  #consumerOpened(
    entry: EndpointEntry,
    reset: number,
    opened: Extract<Control, { kind: "ConsumerOpened" }>,
  ): void {
    if (entry.is !== "consumer") return;
    const stale = this.#endpoints.get(entry.endpoint) !== entry || (entry.reset ?? 0) !== reset;
    if (stale) {
      this.#link.send({ kind: "CloseEndpoint", endpoint: opened.consumer });
      return;
    }
    // From here on no event of the old modulator reaches the consumer, and the first of the new one comes next.
    const old = entry.number;
    this.#leaveChannel(entry);
    this.#consumers.set(opened.consumer, entry);
    const wasOpen = entry.wasOpen && (entry.opened ?? 0) === reset;
    // What another modulator makes is counted anew.
    if (!wasOpen && entry.wasOpen) entry.tracker.clear();
    entry.channelNumber = opened.channel;
    entry.number = opened.consumer;
    entry.replay = opened.replay;
    entry.place.epoch = opened.epoch;
    entry.place.seq = Number(opened.seq) - 1;
    // A run is sent whole. The newest of each key, which a first opening may ask for, are older than what comes behind them.
    entry.fromSeq = !wasOpen && entry.from?.from === FROM.last ? 0 : Number(opened.seq);
    delete entry.before;
    entry.wasOpen = true;
    entry.opened = reset;
    if (!wasOpen) entry.waiting = [];
    this.#reception.enter(entry);
    const { recovered, missing } = opened;
    if (entry.feed !== undefined)
      return this.#feeds.opened(entry, wasOpen ? { recovered, missing: Number(missing) } : undefined);
    if (wasOpen) this.#handKept(entry);
    if (entry.isPaused) this.#tellFlow(entry.channelNumber);
    const { endpoint } = entry;
    const replays = opened.replay !== 0;
    const asksForPast = wasOpen || (reset === 0 && entry.from !== undefined && entry.from.from !== FROM.last);
    const placements = opened.placements.map(placementOf);
    if (!asksForPast) this.#notify({ is: "opened", endpoint, reset, replays, placements });
    else {
      const behind = this.#feeds.recoveryOf(this.#modulation.feedsOf(opened.channel));
      const resumed = {
        recovered: recovered && behind.recovered,
        missing: Number(missing) + behind.missing,
      };
      this.#notify({ is: "opened", endpoint, reset, replays, placements, ...resumed });
    }
    if (old !== 0) this.#link.send({ kind: "CloseEndpoint", endpoint: old });
  }

  #refused(entry: EndpointEntry, reset: number, error: JechoError): void {
    if (this.#endpoints.get(entry.endpoint) !== entry) return;
    if (entry.is === "consumer" && entry.feed !== undefined && error.code !== "SLOW_CONSUMER") {
      this.#endpoints.delete(entry.endpoint);
      return this.#feeds.refused(entry, error);
    }
    if (entry.is === "consumer" && reset !== 0 && entry.number !== 0 && entry.before !== undefined) {
      // The old pair goes on.
      if (entry.reset === reset) {
        entry.modulator = entry.before.modulator;
        entry.as = entry.before.as;
      }
      delete entry.before;
    } else if (error.retry && entry.wasOpen) {
      // It has been open, and what hinders it passes: it is asked for again, as after a lost connection.
      if (entry.is !== "consumer" || entry.feed === undefined)
        this.#notify({ is: "interrupted", endpoint: entry.endpoint });
      setTimeout(() => this.#openAgain(entry), REOPEN_MS);
      return;
    } else {
      this.#endpoints.delete(entry.endpoint);
    }
    this.#notify({ is: "refused", endpoint: entry.endpoint, reset, error });
  }

  #openAgain(entry: EndpointEntry): void {
    const isWaiting = this.#endpoints.get(entry.endpoint) === entry && entry.number === 0;
    if (isWaiting && this.#link.isLive) this.#open(entry, entry.is === "consumer" ? (entry.reset ?? 0) : 0);
  }

  #demand(channel: number, consumers: number): void {
    const producers = this.#producers.get(channel);
    if (producers === undefined) {
      this.#demandInstead(channel, consumers);
      const installation = this.#modulation.ofNumber(channel);
      if (installation === undefined) return;
      const begins = installation.elsewhere === 0 || this.#hold.isHolding;
      installation.elsewhere = consumers;
      for (const [endpoint, lanes] of installation.lanes) {
        const producer = this.#producerEntry(endpoint);
        if (producer === undefined) continue;
        if (begins) lanes.address(channel, producer.number);
        this.#wanted(lanes, consumers, begins);
      }
      if (consumers > 0) this.#hold.back(installation);
      this.#tellDemand(installation.base);
      return;
    }
    for (const producer of producers) {
      const begins = producer.elsewhere === 0 || this.#hold.isHolding;
      producer.elsewhere = consumers;
      // The first word on demand says that all modulators are installed: the producer's events count.
      if (producer.open !== true) {
        producer.open = true;
        producer.wasOpen = true;
        this.#notify({ is: "opened", endpoint: producer.endpoint, reset: 0 });
      }
      this.#wanted(producer.lanes, consumers, begins);
      if (consumers > 0) this.#hold.back(producer);
      this.#tellDemand(producer.channel);
    }
  }

  /** The same of what runs here in the stead of other processes, unless that is for the consumers here alone. */
  #demandInstead(channel: number, consumers: number): void {
    for (const installation of this.#modulation) {
      if (installation.number !== channel || installation.process === 0 || installation.own) continue;
      const begins = installation.elsewhere === 0;
      installation.elsewhere = consumers;
      for (const [producer, lanes] of installation.lanes) {
        if (begins) lanes.address(channel, producer);
        this.#wanted(lanes, consumers, begins);
      }
    }
  }

  /** So many consumers elsewhere want the events of these lanes. */
  #wanted(lanes: Lanes, consumers: number, begins: boolean): void {
    for (const lane of lanes) {
      if (consumers === 0) lane.isPlaced = false;
      else if (begins && (lane.raised > 0 || lane.unconfirmed.length > 0)) this.#outbox.resume(lane);
    }
  }

  #tellDemand(base: string): void {
    const derived = this.#modulation.derivedOf(base, number => this.#reception.consumersOf(number));
    for (const producer of this.#producersNamed.get(base) ?? []) {
      const { endpoint, channelNumber, elsewhere } = producer;
      const here = channelNumber === 0 ? 0 : this.#reception.consumersOf(channelNumber);
      this.#notify({ is: "demand", endpoint, demand: wantedOf(elsewhere + here, derived) });
    }
  }

  /** The producer of a channel that modulators ask: the first with a delegate. */
  #offering(base: string): ProducerEntry | undefined {
    const producers = [...(this.#producersNamed.get(base) ?? [])];
    return producers.find(({ offers }) => offers !== undefined) ?? producers[0];
  }

  #tellNeeds(base: string): void {
    const producer = this.#offering(base);
    if (producer?.offers === undefined) return;
    const names = this.#modulation.needsOf(base);
    this.#notify({ is: "needs", endpoint: producer.endpoint, names });
  }

  #setContext({ endpoint, name, value }: Extract<ControlRequest, { is: "context" }>): void {
    const producer = this.#producerEntry(endpoint);
    if (producer === undefined) return;
    producer.context.set(name, value);
    if (this.#offering(producer.channel) === producer)
      this.#modulation.setContext(producer.channel, name, value);
  }

  #leaveChannel(entry: EndpointEntry): void {
    if (entry.is === "object") {
      this.#copies.delete(entry.number);
      return;
    }
    if (entry.is === "producer") {
      leave(this.#producers, entry.channelNumber, entry);
      return;
    }
    this.#reception.leave(entry);
    this.#consumers.delete(entry.number);
    for (const producer of this.#producers.get(entry.channelNumber) ?? []) this.#tellDemand(producer.channel);
    const base = this.#modulation.ofNumber(entry.channelNumber)?.base;
    if (base !== undefined) this.#tellDemand(base);
  }

  /** Is it the count of a producer of this process? */
  #isOurs({ source }: Position): boolean {
    return this.#sources.has(source);
  }

  #giveUp(endpoint: number, raised: number): void {
    const answered = this.#synchronous.giveUp(endpoint, raised);
    for (const { channel, producer, raised } of answered)
      this.#link.send({ kind: "GiveUp", channel, producer, raised: BigInt(raised) });
  }

  #flow(endpoint: number, ready: boolean): void {
    const entry = this.#endpoints.get(endpoint);
    if (entry?.is !== "consumer") return;
    entry.isPaused = !ready;
    if (entry.channelNumber !== 0) this.#tellFlow(entry.channelNumber);
  }

  /** A channel's events wait at the gateway as long as one of its consumers here can take no more. */
  #tellFlow(channel: number): void {
    const ready = ![...this.#endpoints.values()].some(
      entry => entry.is === "consumer" && entry.channelNumber === channel && entry.isPaused,
    );
    this.#link.send({ kind: "Flow", derived: channel, ready });
  }

  #checkFlushes(): void {
    // While consumers are expected back, what a broken connection may have swallowed is still to be sent again.
    if (this.#flushes.length === 0 || !this.#events.isEmpty() || this.#hold.isHolding) return;
    if (this.#link.isLive && !this.#outbox.isEmpty) return;
    const flushes = this.#flushes;
    this.#flushes = [];
    for (const flush of flushes) this.#notify({ is: "flushed", flush });
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
      const entry = this.#endpoints.get(endpoint);
      // What it produces ends with the session.
      if (entry === undefined || entry.is === "producer") continue;
      if (entry.is === "object") copies.push(entry.number);
      else {
        if (entry.number !== 0) places.push(this.#reception.placeOf(entry));
        this.#leaveChannel(entry);
      }
      // The gateway takes them out of its own books.
      this.#endpoints.delete(endpoint);
    }
    this.#link.send({ kind: "Yielded", request, places, copies });
  }

  #reopenAll(): void {
    const entries = [...this.#endpoints.values()];
    // Objects first, so that their masters are known before modulators bring them. Producers next, so that consumers of this process find the types that it writes.
    for (const entry of entries) if (entry.is === "object") this.#open(entry, 0);
    for (const entry of entries) if (entry.is === "producer") this.#open(entry, 0);
    // What feeds modulators is opened again when they are asked for.
    for (const entry of entries)
      if (entry.is === "consumer" && entry.feed === undefined) this.#open(entry, entry.reset ?? 0);
    this.#hold.live();
  }

  /** The connection broke: consumers elsewhere are expected back, and what they want waits for them. */
  #interruptAll(comesBack: boolean): void {
    this.#pending.clear();
    this.#handovers.clear();
    for (const request of [...this.#questions.keys()])
      this.#answerQuestion(request, new JechoError("CONNECTION_LOST"));
    this.#synchronous.clear();
    this.#reception.interrupted();
    this.#outbox.interrupted();
    this.#blocked.clear();
    if (comesBack) this.#hold.begin(this.#wantedElsewhere());
    else this.#hold.end();
    this.#producers.clear();
    this.#consumers.clear();
    this.#copies.clear();
    this.#modulation.interrupted();
    this.#feeds.interrupted();
    for (const entry of this.#endpoints.values()) {
      const wasOpen = entry.number !== 0;
      entry.number = 0;
      if (entry.is === "consumer" && entry.channelNumber !== 0) entry.lastChannel = entry.channelNumber;
      if (entry.is !== "object") entry.channelNumber = 0;
      if (entry.is === "producer") entry.open = false;
      else if (entry.is === "consumer") entry.replay = 0;
      const isFeed = entry.is === "consumer" && entry.feed !== undefined;
      if (wasOpen && !isFeed) this.#notify({ is: "interrupted", endpoint: entry.endpoint });
    }
    if (!this.#hold.isHolding) this.#stopHolding();
  }

  /** @param producer its endpoint, or, of another process, its number at the gateway */
  #laneOf({ lanes }: Installation, producer: number, urgent: boolean): Lane {
    let pair = lanes.get(producer);
    if (pair === undefined) {
      pair = this.#newLanes();
      lanes.set(producer, pair);
    }
    return pair.of(urgent);
  }

  #newLanes(): Lanes {
    const lanes = new Lanes();
    this.#sources.add(lanes.usual.source);
    return lanes;
  }

  *#wantedElsewhere(): Generator<ProducerEntry | Installation> {
    for (const entry of this.#endpoints.values()) {
      if (entry.is === "producer" && entry.elsewhere > 0) yield entry;
    }
    for (const installation of this.#modulation)
      if (installation.elsewhere > 0 && installation.process === 0) yield installation;
  }

  /** All who were expected are back, or will not come: what was held goes out, to whoever is there. */
  #stopHolding(): void {
    this.#modulation.removeUnwanted();
    for (const entry of this.#endpoints.values()) {
      if (entry.is !== "producer" || entry.open === true) continue;
      entry.elsewhere = 0;
      for (const lane of entry.lanes) lane.unconfirmed = [];
      this.#tellDemand(entry.channel);
    }
    this.drain();
  }
}

/** Modulators here read what one type says; producers of others are at other connections. */
function oneType(channel: string): string {
  return `this session has a producer of ${channel} already that writes another type; a session of its own can have both`;
}

function enter<K, E>(sets: Map<K, Set<E>>, channel: K, entry: E): void {
  const set = sets.get(channel);
  if (set === undefined) sets.set(channel, new Set([entry]));
  else set.add(entry);
}

function leave<K, E>(sets: Map<K, Set<E>>, channel: K, entry: E): void {
  const set = sets.get(channel);
  set?.delete(entry);
  if (set?.size === 0) sets.delete(channel);
}
