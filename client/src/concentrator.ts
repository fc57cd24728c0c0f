import { errorCode, JechoError } from "@jecho/shared";
import {
  type Control,
  type EventsFrame,
  FLAG_SYNC,
  type Frame,
  type ObjectUpdate,
} from "@jecho/shared/internal";
import { createHost, onNetworkChange } from "#platform";
import { type ConsumerEntry, type EndpointEntry, type ProducerEntry, wantedOf } from "./entries.ts";
import { Link, type LinkOptions } from "./link.ts";
import { Modulation } from "./modulation.ts";
import { outgoingRuns } from "./outgoing.ts";
import type { PortNotice, PortRequest, PortServer, Question } from "./port.ts";
import type { Ring } from "./ring.ts";
import { SynchronousEvents } from "./synchronous.ts";
import type { Outcome } from "./tally.ts";

const REOPEN_MS = 1000;

export type ConcentratorOptions = LinkOptions;

/**
 * The hub of a process: all its endpoints share one connection. It gives each event that is raised to the consumers in
 * this process, to the modulators, and, where somebody elsewhere listens, to the gateway.
 */
export class Concentrator implements PortServer {
  readonly #notify: (notice: PortNotice) => void;
  readonly #ring: () => Ring | undefined;
  readonly #link: Link;
  readonly #modulation: Modulation;
  readonly #endpoints = new Map<number, EndpointEntry>();
  /** Consumers by the number of the channel that they are open on. */
  readonly #consumers = new Map<number, Set<ConsumerEntry>>();
  /** Producers by the number of their channel. */
  readonly #producers = new Map<number, Set<ProducerEntry>>();
  /** What waits for an answer of the gateway, by request. */
  readonly #pending = new Map<number, { endpoint: EndpointEntry; reset: number }>();
  /** Questions to the name server, by request. */
  readonly #questions = new Map<number, number>();
  readonly #synchronous: SynchronousEvents;
  readonly #stopWatching: () => void;
  #nextRequest = 1;
  #wakes = false;

  constructor(
    options: ConcentratorOptions,
    ring: () => Ring | undefined,
    notify: (notice: PortNotice) => void,
  ) {
    this.#notify = notify;
    this.#ring = ring;
    this.#synchronous = new SynchronousEvents((endpoint, raised, outcome) =>
      notify({ is: "processed", endpoint, raised, outcome }),
    );
    this.#link = new Link(options, {
      onStatus: status => {
        if (status.state === "live") this.#reopenAll();
        else this.#interruptAll();
        notify({ is: "status", status });
      },
      onFrame: frame => this.#receive(frame),
      onReady: ready => this.#modulation.flow(ready),
    });
    this.#modulation = new Modulation(createHost, {
      onEvents: (frame, base, message, raising) => this.#derived(frame, base, message, raising),
      onDone: raising => this.#synchronous.settle(raising),
      onAnswer: answer => this.#link.send(answer),
      onDemand: channel => this.#tellDemand(channel),
      onNeeds: channel => this.#tellNeeds(channel),
      onCall: (channel, name, values) => {
        const endpoint = this.#offering(channel)?.endpoint;
        if (endpoint !== undefined) notify({ is: "called", endpoint, name, values });
      },
    });
    this.#stopWatching = onNetworkChange(() => this.#link.probe());
    this.#link.connect();
  }

  handle(request: PortRequest): void {
    // Events that were raised before this request go before it.
    this.drain();
    switch (request.is) {
      case "openProducer":
        return this.#add({
          ...request,
          is: "producer",
          channelNumber: 0,
          number: 0,
          raised: 1,
          context: new Map(request.context),
          elsewhere: 0,
        });
      case "openConsumer":
        return this.#add({ ...request, is: "consumer", channelNumber: 0, number: 0 });
      case "resetConsumer":
        return this.#reset(request);
      case "context":
        return this.#setContext(request);
      case "handled":
        return this.#synchronous.handled(request.channel, request.producer, request.raised, request.outcome);
      case "closeEndpoint":
        return this.#closeEndpoint(request.endpoint);
      case "ask":
        return this.#ask(request.question, request.about);
      case "updateObject":
        return this.#updateObject(request.update);
      case "close":
        return this.#close();
    }
  }

  wake(): void {
    if (this.#wakes) return;
    this.#wakes = true;
    queueMicrotask(() => {
      this.#wakes = false;
      this.drain();
    });
  }

  #add(entry: EndpointEntry): void {
    this.#endpoints.set(entry.endpoint, entry);
    if (this.#link.isLive) this.#open(entry, 0);
  }

  #open(entry: EndpointEntry, reset: number): void {
    const request = this.#nextRequest++;
    this.#pending.set(request, { endpoint: entry, reset });
    const { channel, schema } = entry;
    if (entry.is === "producer") {
      this.#link.send({
        kind: "OpenProducer",
        request,
        channel,
        schema,
        modulates: this.#modulation.isServed,
      });
    } else {
      const { modulator } = entry;
      this.#link.send({ kind: "OpenConsumer", request, channel, schema, modulator });
    }
  }

  #reset({ endpoint, reset, modulator }: Extract<PortRequest, { is: "resetConsumer" }>): void {
    const entry = this.#endpoints.get(endpoint);
    if (entry?.is !== "consumer") return;
    entry.before = { modulator: entry.modulator };
    entry.modulator = modulator;
    entry.reset = reset;
    // While there is no connection, the new modulator is simply the one that will be asked for.
    if (this.#link.isLive) this.#open(entry, reset);
  }

  #updateObject(update: ObjectUpdate): void {
    const { object, version, state } = update;
    for (const entry of this.#endpoints.values()) {
      if (entry.is !== "consumer" || entry.modulator === undefined) continue;
      // Should the modulator be installed again, then with the newest state.
      const objects = entry.modulator.objects.map(old =>
        old.object === object ? { ...old, version, state } : old,
      );
      entry.modulator = { ...entry.modulator, objects };
    }
    this.#link.send(update);
  }

  #closeEndpoint(endpoint: number): void {
    const entry = this.#endpoints.get(endpoint);
    if (entry === undefined) return;
    this.#endpoints.delete(endpoint);
    this.#leaveChannel(entry);
    if (entry.number !== 0) this.#link.send({ kind: "CloseEndpoint", endpoint: entry.number });
  }

  #close(): void {
    this.#stopWatching();
    this.#link.close();
    void this.#modulation.close();
  }

  /** Sends everything that was raised since the last time. */
  drain(): void {
    const ring = this.#ring();
    ring?.drain(records => {
      for (const { bytes, runs, wanted } of outgoingRuns(ring, records, endpoint =>
        this.#producerEntry(endpoint),
      )) {
        const sent = wanted && this.#link.sendMessage(bytes);
        for (const { producer, frame } of runs) this.#raise(producer, frame, sent);
      }
    });
  }

  #producerEntry(endpoint: number): ProducerEntry | undefined {
    const entry = this.#endpoints.get(endpoint);
    return entry?.is === "producer" ? entry : undefined;
  }

  /** One run within this process: its consumers here, and the modulators. */
  #raise(producer: ProducerEntry, frame: EventsFrame, sent: boolean): void {
    const { endpoint, channelNumber, elsewhere } = producer;
    if (channelNumber === 0 || (elsewhere > 0 && !sent)) {
      this.#notify({ is: "dropped", endpoint, raised: frame.raised, events: frame.count });
      return;
    }
    if ((frame.flags & FLAG_SYNC) === 0) {
      this.#deliver(frame);
      this.#modulation.enqueue(frame);
      return;
    }
    const name = this.#synchronous.begin(endpoint, frame, sent);
    this.#deliver(frame, outcome => this.#synchronous.settle(name, outcome));
    if (!this.#modulation.enqueue(frame, name)) this.#synchronous.settle(name);
  }

  /** What a modulator made: of which synchronous event, if of one. */
  #derived(frame: EventsFrame, base: number, message: Uint8Array, raising: string | undefined): void {
    // What was held may come after its producer has gone, and what a period makes is nobody's.
    const producers = [...(this.#producers.get(base) ?? [])];
    const [first] = producers;
    if (first === undefined) return;
    if (!producers.some(({ number }) => number === frame.producer)) frame.attribute(first.number);
    const sent = this.#modulation.isWantedElsewhere(frame.channel) && this.#link.sendMessage(message);
    if (raising === undefined || (frame.flags & FLAG_SYNC) === 0) {
      this.#deliver(frame);
      return;
    }
    this.#synchronous.derive(raising, frame, sent);
    this.#deliver(frame, outcome => this.#synchronous.settle(raising, outcome));
  }

  /** @param handled called for each event of a synchronous run, when all consumers here have handled it */
  #deliver(frame: EventsFrame, handled?: (outcome: Outcome, i: number) => void): void {
    const consumers = this.#consumers.get(frame.channel);
    if (handled !== undefined) this.#synchronous.deliver(frame, consumers?.size ?? 0, handled);
    if (consumers === undefined || consumers.size === 0) return;
    const endpoints = Array.from(consumers, ({ endpoint }) => endpoint);
    this.#notify({ is: "events", endpoints, frame: frame.raw() });
  }

  /** A run from elsewhere. */
  #arrived(frame: EventsFrame): void {
    if ((frame.flags & FLAG_SYNC) === 0) {
      this.#deliver(frame);
      return;
    }
    const { channel, seq } = frame;
    this.#deliver(frame, ({ consumers, failed, message }, i) =>
      this.#link.send({ kind: "Ack", channel, seq: BigInt(seq + i), consumers, failed, message }),
    );
  }

  #receive(frame: Frame): void {
    switch (frame.kind) {
      case "Events":
        return this.#arrived(frame);
      case "Processed":
        return this.#synchronous.answered(frame);
      case "ProducerOpened":
        return this.#answered(frame.request, entry => {
          if (entry.is !== "producer") return;
          entry.channelNumber = frame.channel;
          entry.number = frame.producer;
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
        const lost = [...this.#endpoints.values()].find(
          entry => entry.is === "consumer" && entry.number === frame.consumer,
        );
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
        return this.#demand(frame.channel, frame.consumers);
      case "Install": {
        return this.#modulation.install(frame, this.#offering(frame.channel));
      }
      case "Remove":
        return this.#modulation.remove(frame.derived);
      case "ObjectUpdate":
        return this.#modulation.update(frame);
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
    else this.#link.send({ kind: "WantTypes", request, channel: about.channel });
  }

  #answerQuestion(request: number, answer: readonly bigint[] | JechoError): void {
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
    entry.channelNumber = opened.channel;
    entry.number = opened.consumer;
    delete entry.before;
    entry.wasOpen = true;
    enter(this.#consumers, opened.channel, entry);
    this.#notify({ is: "opened", endpoint: entry.endpoint, reset });
    if (old !== 0) this.#link.send({ kind: "CloseEndpoint", endpoint: old });
  }

  #refused(entry: EndpointEntry, reset: number, error: JechoError): void {
    if (this.#endpoints.get(entry.endpoint) !== entry) return;
    if (entry.is === "consumer" && reset !== 0 && entry.number !== 0 && entry.before !== undefined) {
      // The old pair goes on.
      if (entry.reset === reset) entry.modulator = entry.before.modulator;
      delete entry.before;
    } else if (error.retry && entry.wasOpen) {
      // It has been open, and what hinders it passes: it is asked for again, as after a lost connection.
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
      this.#modulation.demand(channel, consumers);
      return;
    }
    for (const producer of producers) {
      producer.elsewhere = consumers;
      // The first word on demand says that all modulators are installed: the producer's events count.
      if (producer.open !== true) {
        producer.open = true;
        producer.wasOpen = true;
        this.#notify({ is: "opened", endpoint: producer.endpoint, reset: 0 });
      }
    }
    this.#tellDemand(channel);
  }

  #tellDemand(channel: number): void {
    const here = this.#consumers.get(channel)?.size ?? 0;
    const derived = this.#modulation.derivedOf(channel, number => this.#consumers.get(number)?.size ?? 0);
    for (const producer of this.#producers.get(channel) ?? []) {
      this.#notify({
        is: "demand",
        endpoint: producer.endpoint,
        demand: wantedOf(producer.elsewhere + here, derived),
      });
    }
  }

  /** The producer of a channel that modulators ask: the first with a delegate. */
  #offering(channel: number): ProducerEntry | undefined {
    const producers = [...(this.#producers.get(channel) ?? [])];
    return producers.find(({ offers }) => offers !== undefined) ?? producers[0];
  }

  #tellNeeds(channel: number): void {
    const producer = this.#offering(channel);
    if (producer?.offers === undefined) return;
    const names = this.#modulation.needsOf(channel);
    this.#notify({ is: "needs", endpoint: producer.endpoint, names });
  }

  #setContext({ endpoint, name, value }: Extract<PortRequest, { is: "context" }>): void {
    const producer = this.#producerEntry(endpoint);
    if (producer === undefined) return;
    producer.context.set(name, value);
    if (this.#offering(producer.channelNumber) === producer)
      this.#modulation.setContext(producer.channelNumber, name, value);
  }

  #leaveChannel(entry: EndpointEntry): void {
    if (entry.is === "producer") leave(this.#producers, entry.channelNumber, entry);
    else leave(this.#consumers, entry.channelNumber, entry);
    if (entry.is === "consumer") this.#tellDemand(entry.channelNumber);
  }

  #reopenAll(): void {
    const entries = [...this.#endpoints.values()];
    // Producers first, so that consumers of this process find the types that it writes.
    for (const entry of entries) if (entry.is === "producer") this.#open(entry, 0);
    for (const entry of entries) if (entry.is === "consumer") this.#open(entry, entry.reset ?? 0);
  }

  #interruptAll(): void {
    this.#pending.clear();
    for (const request of [...this.#questions.keys()])
      this.#answerQuestion(request, new JechoError("CONNECTION_LOST"));
    this.#synchronous.clear();
    this.#consumers.clear();
    this.#producers.clear();
    this.#modulation.removeAll();
    for (const entry of this.#endpoints.values()) {
      const wasOpen = entry.number !== 0;
      entry.channelNumber = 0;
      entry.number = 0;
      if (entry.is === "producer") {
        entry.open = false;
        entry.elsewhere = 0;
        this.#notify({ is: "demand", endpoint: entry.endpoint, demand: wantedOf(0, []) });
      }
      if (wasOpen) this.#notify({ is: "interrupted", endpoint: entry.endpoint });
    }
  }
}

function enter<E>(sets: Map<number, Set<E>>, channel: number, entry: E): void {
  const set = sets.get(channel);
  if (set === undefined) sets.set(channel, new Set([entry]));
  else set.add(entry);
}

function leave<E>(sets: Map<number, Set<E>>, channel: number, entry: E): void {
  const set = sets.get(channel);
  set?.delete(entry);
  if (set?.size === 0) sets.delete(channel);
}
