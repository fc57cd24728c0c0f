import { randomInt } from "node:crypto";
import { errorCode, JechoError, splitName, type Type } from "@jecho/shared";
import {
  type CloseEndpoint,
  type EventsFrame,
  type Feed,
  FROM,
  type Frame,
  type Hello,
  type Modulator,
  type OpenConsumer,
  type OpenProducer,
  type Position,
  PROTOCOL,
  refusal,
  WHEN_FULL,
} from "@jecho/shared/internal";
import type { Acknowledgements } from "./acknowledgements.ts";
import type { ChannelManager } from "./channel-manager.ts";
import type { Connection } from "./connection.ts";
import type { DerivedChannel } from "./derived-channel.ts";
import { Consumer, type Place, type Producer, type Terms } from "./endpoints.ts";
import type { Gathering } from "./gathering.ts";
import type { Handovers } from "./handovers.ts";
import { retentionOf } from "./history/event-log.ts";
import type { History } from "./history/history.ts";
import { beginningOf, Replay } from "./history/replay.ts";
import type { QueuePolicy } from "./listener.ts";
import type { NameServer } from "./name-server.ts";
import type { WhenFull } from "./run-queue.ts";
import type { SharedObjects } from "./shared-objects.ts";

export interface DispatchOptions {
  readonly heartbeatMs: number;
  readonly limitBytes: number;
  readonly modulatorsPerConnection: number;
  readonly endpointsPerConnection: number;
  readonly consumerQueueBytes: number;
  /** What the gateway's process for modulators shows; undefined where it has none. */
  readonly modulatingToken: string | undefined;
}

const MAX_SOURCE_LENGTH = 256 * 1024;

/** Acts on what connections send. One arm for each kind of frame; what a connection may not send ends it. */
export class Dispatcher {
  readonly #names: NameServer;
  readonly #objects: SharedObjects;
  readonly #acknowledgements: Acknowledgements;
  readonly #handovers: Handovers;
  readonly #gathering: Gathering;
  readonly #options: DispatchOptions;
  readonly #usual: Terms;
  #nextEndpoint = 1;
  #nextSession = 1;
  // Random, so that processes at a gateway that was started again do not have the numbers that others had.
  #nextProcess = randomInt(1, 2 ** 31);

  constructor(
    names: NameServer,
    objects: SharedObjects,
    acknowledgements: Acknowledgements,
    handovers: Handovers,
    gathering: Gathering,
    options: DispatchOptions,
  ) {
    this.#names = names;
    this.#objects = objects;
    this.#acknowledgements = acknowledgements;
    this.#handovers = handovers;
    this.#gathering = gathering;
    this.#options = options;
    const queue: QueuePolicy = { whenFull: "drop-oldest", limitBytes: options.consumerQueueBytes };
    this.#usual = { queue, label: "", as: "" };
  }

  /** @throws JechoError that ends the connection */
  frame(connection: Connection, frame: Frame): void {
    if (!connection.greeted && frame.kind !== "Hello") {
      throw new JechoError("FRAME_UNEXPECTED", `the first frame is Hello, not ${frame.kind}`);
    }
    // What others are sent on account of this comes behind the runs before it.
    if (frame.kind !== "Events") this.#gathering.flush();
    switch (frame.kind) {
      case "Events":
        return this.#events(connection, frame);
      case "Hello":
        return this.#hello(connection, frame);
      case "Ping":
        return connection.send({ kind: "Pong", time: frame.time });
      case "OpenProducer":
        return this.#openProducer(connection, frame);
      case "OpenConsumer":
        return this.#openConsumer(connection, frame);
      case "CloseEndpoint":
        return this.#closeEndpoint(connection, frame);
      case "ObjectUpdate":
        return this.#attempt(connection, 0, () => this.#objects.update(connection, frame));
      case "OpenObject":
        return this.#attempt(connection, frame.request, () =>
          this.#objects.open(connection, this.#nextEndpoint++, frame),
        );
      case "PullObject":
        return this.#attempt(connection, 0, () => this.#objects.pull(connection, frame.copy));
      case "ObjectWrite":
        return this.#attempt(connection, 0, () => this.#objects.write(connection, frame));
      case "ObjectTaken":
        return this.#objects.taken(connection, frame);
      case "Ack":
        return this.#attempt(connection, 0, () => this.#acknowledgements.receive(connection, frame));
      case "WantType":
        return this.#attempt(connection, frame.request, () => {
          const { schema } = this.#names.types.find(frame.token);
          connection.send({ kind: "TypeKnown", schema, request: frame.request });
        });
      case "WantTypes":
        return this.#attempt(connection, frame.request, () => {
          const { base, derived } = splitName(frame.channel);
          const manager = this.#names.find(base);
          const tokens = (derived === "" ? manager?.tokens : manager?.named(derived)?.tokens) ?? [];
          connection.send({ kind: "Types", request: frame.request, tokens });
        });
      case "Position":
        return this.#position(connection, frame);
      case "GiveUp":
        return this.#acknowledgements.giveUp(connection, frame);
      case "Flow":
        return this.#names.channel(frame.derived)?.flow(connection, frame.ready);
      case "AskHandover":
        return this.#attempt(connection, frame.request, () =>
          connection.send({
            kind: "HandoverToken",
            request: frame.request,
            ...this.#handovers.offer(connection, frame.request),
          }),
        );
      case "Yielded":
      case "Noted":
      case "Installed":
        return this.#answer(connection, frame.request, frame);
      case "Refused":
        return this.#answer(connection, frame.request, frame);
      case "Removed": {
        const derived = this.#names.derived(frame.derived);
        const error = new JechoError(errorCode(frame.code), frame.message);
        // Who runs it for its own consumers alone says nothing about others.
        if (derived?.placements.makers().has(connection)) derived.manager.modulatorRemoved(derived, error);
        else derived?.manager.modulatorRemovedAt(derived, connection, error);
        return;
      }
      case "Welcome":
      case "Pong":
      case "Fault":
      case "ProducerOpened":
      case "ConsumerOpened":
      case "ConsumerLost":
      case "TypeKnown":
      case "Types":
      case "Processed":
      case "Demand":
      case "Install":
      case "Remove":
      case "Placed":
      case "Taken":
      case "Replayed":
      case "Dropped":
      case "HandoverToken":
      case "Yield":
      case "Inheritance":
      case "CopyUpdate":
      case "Done":
      case "Period":
      case "Context":
      case "Clock":
      case "Calls":
        throw new JechoError("FRAME_UNEXPECTED", `${frame.kind} is not for a gateway`);
    }
  }

  /**
   * Takes everything of a lost connection out of the books.
   *
   * @param isCut the other side did not take leave: it may come back
   */
  lost(connection: Connection, isCut: boolean): void {
    connection.lost();
    this.#acknowledgements.lost(connection);
    this.#handovers.lost(connection);
    for (const consumer of connection.consumers) {
      if (isCut) consumer.manager.awaitReturn(consumer);
      consumer.manager.removeConsumer(consumer);
    }
    for (const producer of connection.producers) producer.manager.removeProducer(producer);
    this.#objects.forgetConnection(connection);
    if (this.#names.modulating === connection) this.#names.modulatingLost();
  }

  #hello(connection: Connection, { protocol, handover, modulating }: Hello): void {
    if (connection.greeted) throw new JechoError("FRAME_UNEXPECTED", "a second Hello");
    if (protocol !== PROTOCOL) {
      throw new JechoError(
        "PROTOCOL_UNSUPPORTED",
        `this gateway speaks version ${PROTOCOL}, not ${protocol}`,
      );
    }
    if (modulating !== "") {
      if (modulating !== this.#options.modulatingToken)
        throw new JechoError("MODULATORS_NOT_SERVED", "this gateway has not asked for modulators to be run");
      this.#names.modulating = connection;
      connection.willPublish();
    }
    connection.greeted = true;
    const { heartbeatMs, limitBytes } = this.#options;
    connection.send({ kind: "Welcome", session: String(this.#nextSession++), heartbeatMs, limitBytes });
    if (handover === "") return;
    this.#handovers.take(handover, connection).then(
      inheritance => connection.send(inheritance),
      (error: unknown) => {
        const { code, message } = JechoError.from(error);
        connection.end(code === "PRODUCER_GONE" ? "HANDOVER_INVALID" : code, message);
      },
    );
  }

  /** A producer says where it is in the count of its events on a channel, or on one that its modulator derives. */
  #position(connection: Connection, position: Position): void {
    const derived = this.#names.derived(position.channel);
    const producer = connection.producer(position.producer) ?? this.#standIn(connection, derived, position);
    const manager = producer?.manager ?? this.#goneBehind(connection, derived);
    if (manager === undefined) return;
    if (position.raised > Number.MAX_SAFE_INTEGER)
      throw new JechoError("FRAME_MALFORMED", "a count is beyond 2^53");
    const { channel } = manager;
    if (position.channel === channel.number) return channel.position(connection, position);
    if (derived?.manager === manager) derived.channel.position(connection, position);
  }

  /** Whose events this connection makes derived ones of, in that process' stead. */
  #standIn(
    connection: Connection,
    derived: DerivedChannel | undefined,
    { producer }: { readonly producer: number },
  ): Producer | undefined {
    return derived?.placements.standIn(connection, derived.manager.producer(producer));
  }

  /** The gateway's own process may be at events of a producer that has just gone, which will not come again. */
  #goneBehind(connection: Connection, derived: DerivedChannel | undefined): ChannelManager | undefined {
    return connection === this.#names.modulating ? derived?.manager : undefined;
  }

  #events(connection: Connection, frame: EventsFrame): void {
    const producer = connection.producer(frame.producer);
    if (producer === undefined) return this.#eventsInstead(connection, frame);
    const { manager } = producer;
    if (frame.channel === manager.channel.number) {
      if (frame.token !== producer.token)
        throw new JechoError("TYPE_MISMATCH", "a run of another type than its producer's");
      return manager.channel.fanOut(frame, connection, connection.process);
    }
    const derived = this.#names.derived(frame.channel);
    if (derived === undefined) {
      // Its last consumer left while this was under way, and so did the word that it is gone.
      if (frame.isSync) this.#acknowledgements.unheard(frame, connection);
      return;
    }
    if (derived.manager !== manager || !derived.allows(connection, frame.token)) {
      throw new JechoError(
        "FRAME_UNEXPECTED",
        "a run of a derived channel that this producer does not serve",
      );
    }
    derived.channel.fanOut(frame, connection, connection.process);
  }

  /** What a modulator made in another process than the producer's. */
  #eventsInstead(connection: Connection, frame: EventsFrame): void {
    const derived = this.#names.derived(frame.channel);
    const producer = this.#standIn(connection, derived, frame);
    const manager = producer?.manager ?? this.#goneBehind(connection, derived);
    // Events of an endpoint that was just closed may still be under way.
    if (derived === undefined || manager === undefined) return;
    // With its last producer goes what the channel's types are known by.
    if (producer !== undefined && !derived.mayBe(frame.token))
      throw new JechoError("FRAME_UNEXPECTED", "a run of a type that its modulator did not declare");
    derived.channel.fanOut(frame, connection, producer?.connection.process ?? 0);
  }

  #openProducer(connection: Connection, frame: OpenProducer): void {
    this.#attempt(connection, frame.request, () => {
      this.#checkEndpoints(connection);
      const type = this.#typeOf(frame.schema);
      const manager = this.#names.manager(frame.channel);
      const number = this.#nextEndpoint++;
      const producer = { number, connection, manager, token: type?.token ?? 0n, modulates: frame.modulates };
      connection.process ||= this.#nextProcess++;
      manager.addProducer(producer, type);
      manager.retain(
        retentionOf(frame.history, this.#names.keeping.historyBytes),
        frame.key,
        frame.history?.onDemand === false,
      );
      connection.addProducer(producer);
      const { channel } = manager;
      connection.send({
        kind: "ProducerOpened",
        request: frame.request,
        channel: channel.number,
        producer: number,
        epoch: channel.epoch,
      });
      void manager.admit(producer);
    });
  }

  #openConsumer(connection: Connection, frame: OpenConsumer): void {
    this.#attempt(connection, frame.request, async () => {
      this.#checkEndpoints(connection);
      const { base, derived: name } = splitName(frame.channel);
      const { modulator, feed } = frame;
      if (feed !== undefined) return this.#openFeed(connection, frame, base, feed);
      if (name === "" && modulator === undefined) {
        const manager = this.#names.manager(base);
        manager.checkReader(this.#typeOf(frame.schema));
        this.#enterConsumer(connection, frame, manager.place);
        return;
      }
      if (connection.modulators >= this.#options.modulatorsPerConnection) {
        throw new JechoError(
          "MODULATOR_QUOTA_EXCEEDED",
          `a connection has at most ${this.#options.modulatorsPerConnection} modulators`,
        );
      }
      const parent = name === "" ? undefined : this.#names.find(base)?.named(name);
      if (name !== "" && parent === undefined)
        throw new JechoError("DERIVED_UNKNOWN", `nobody derives ${frame.channel} at present`);
      const manager = parent?.manager ?? this.#names.manager(base);
      const derived =
        modulator === undefined
          ? (parent as DerivedChannel)
          : this.#derive(connection, manager, modulator, parent);
      derived.joining++;
      connection.modulators++;
      try {
        if (frame.as !== "") manager.nameDerived(derived, frame.as);
        await derived.placements.install(connection);
        if (modulator === undefined) derived.checkReader(this.#typeOf(frame.schema));
        if (connection.isOpen) this.#enterConsumer(connection, frame, derived.place);
      } catch (error) {
        connection.modulators--;
        throw error;
      } finally {
        derived.joining--;
        manager.dropIfUnused(derived);
      }
    });
  }

  /** For modulators that run at this connection in the stead of a producing process. */
  #openFeed(
    connection: Connection,
    frame: OpenConsumer,
    base: string,
    { process, channel: number }: Feed,
  ): void {
    const manager = this.#names.find(base);
    const channel = this.#names.channel(number);
    const isOfBase = channel === manager?.channel || this.#names.derived(number)?.manager === manager;
    const isThere = [...(manager?.producingConnections() ?? [])].some(one => one.process === process);
    if (manager === undefined || channel === undefined || !isOfBase || !isThere)
      throw new JechoError("PRODUCER_GONE", `nobody feeds a modulator of ${base}`);
    this.#enterConsumer(connection, frame, { manager, channel, derived: undefined, feed: process });
  }

  #derive(
    connection: Connection,
    manager: ChannelManager,
    modulator: Modulator,
    parent: DerivedChannel | undefined,
  ): DerivedChannel {
    if (modulator.source.length > MAX_SOURCE_LENGTH) {
      throw new JechoError(
        "MODULATOR_TOO_LARGE",
        `a modulator's source has at most ${MAX_SOURCE_LENGTH} characters`,
      );
    }
    this.#objects.bring(connection, modulator.objects);
    return manager.derive(modulator, parent);
  }

  #enterConsumer(connection: Connection, frame: OpenConsumer, place: Place): void {
    const { request, from } = frame;
    const number = this.#nextEndpoint++;
    const { channel, manager } = place;
    const consumer = new Consumer(number, connection, place, this.#termsOf(frame));
    const beginning = beginningOf(channel, from, Date.now());
    const { seq, newest, recovered, missing } = beginning;
    const replays = channel.history !== undefined && (seq < channel.nextSeq || newest.length > 0);
    const replay = replays ? this.#names.newNumber() : 0;
    connection.addConsumer(consumer);
    connection.send({
      kind: "ConsumerOpened",
      request,
      channel: channel.number,
      consumer: number,
      epoch: channel.epoch,
      seq: BigInt(seq),
      replay,
      recovered,
      missing: BigInt(missing),
      placements: place.derived?.placements.describe() ?? [],
    });
    manager.addConsumer(consumer);
    const listen = (): void => {
      manager.listen(consumer);
      // Not sooner: what is kept for its return alone goes with that.
      if (from?.from === FROM.resume) channel.returned(place.feed);
    };
    if (!replays) return listen();
    consumer.replay = new Replay(connection, channel, channel.history as History, replay, beginning, () => {
      consumer.replay = undefined;
      connection.send({ kind: "Replayed", consumer: number, replay });
      listen();
    });
    consumer.replay.start(newest);
  }

  #termsOf({ queue, label, as }: OpenConsumer): Terms {
    const { consumerQueueBytes } = this.#options;
    const usual = this.#usual;
    const name = Object.entries(WHEN_FULL).find(([, number]) => number === (queue?.whenFull ?? 0))?.[0];
    if (name === undefined)
      throw new JechoError("ARGUMENT_INVALID", `no policy ${queue?.whenFull} for a full queue`);
    const limitBytes = Math.min(queue?.limitBytes || consumerQueueBytes, consumerQueueBytes);
    const isUsual = name === usual.queue.whenFull && limitBytes === usual.queue.limitBytes;
    if (isUsual && label === "" && as === "") return usual;
    return { queue: isUsual ? usual.queue : { whenFull: name as WhenFull, limitBytes }, label, as };
  }

  #closeEndpoint(connection: Connection, { endpoint }: CloseEndpoint): void {
    if (this.#objects.close(connection, endpoint)) return;
    const consumer = connection.consumer(endpoint);
    if (consumer !== undefined) {
      connection.removeConsumer(consumer);
      if (consumer.derived !== undefined) connection.modulators--;
      consumer.manager.removeConsumer(consumer);
      return;
    }
    const producer = connection.producer(endpoint);
    if (producer === undefined) return;
    connection.removeProducer(producer);
    producer.manager.removeProducer(producer);
  }

  #answer(
    connection: Connection,
    request: number,
    answer: Extract<Frame, { kind: "Installed" | "Noted" | "Refused" | "Yielded" }>,
  ): void {
    connection.answer(request, answer);
  }

  #typeOf(schema: Uint8Array): Type | undefined {
    return schema.byteLength === 0 ? undefined : this.#names.types.typeOf(schema);
  }

  #checkEndpoints(connection: Connection): void {
    if (connection.endpoints >= this.#options.endpointsPerConnection) {
      throw new JechoError(
        "OVERLOADED",
        `a connection has at most ${this.#options.endpointsPerConnection} endpoints`,
      );
    }
  }

  /** What fails inside is the asker's to know, by a coded answer; the connection goes on. */
  #attempt(connection: Connection, request: number, act: () => void | Promise<void>): void {
    const refuse = (error: unknown): void => {
      const refused = refusal(request, error);
      if (request !== 0 || refused.kind !== "Refused") connection.send(refused);
      else connection.send({ kind: "Fault", code: refused.code, message: refused.message });
    };
    try {
      const acting = act();
      if (acting !== undefined) acting.catch(refuse);
    } catch (error) {
      refuse(error);
    }
  }
}
