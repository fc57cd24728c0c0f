import { randomInt } from "node:crypto";
import { JechoError, type SplitName, type Type } from "@jecho/shared";
import {
  type CloseEndpoint,
  type Compared,
  type Feed,
  FROM,
  type Modulator,
  type OpenConsumer,
  type OpenProducer,
  type SourcePlace,
  WHEN_FULL,
  type Place as WirePlace,
} from "@jecho/shared/internal";
import type { Connection } from "../connection.ts";
import type { Channel } from "../delivery/channel.ts";
import type { QueuePolicy } from "../delivery/listener.ts";
import type { WhenFull } from "../delivery/run-queue.ts";
import type { GatewayLimits } from "../gateway-limits.ts";
import { retentionOf } from "../history/event-log.ts";
import type { History } from "../history/history.ts";
import { beginningOf, Replay } from "../history/replay.ts";
import type { SharedObjects } from "../objects/shared-objects.ts";
import type { ChannelManager } from "./channel-manager.ts";
import { GatewayConsumer } from "./consumer.ts";
import type { DerivedChannel } from "./derived-channel.ts";
import { type Place, Producer, type Terms } from "./endpoints.ts";
import type { NameServer } from "./name-server.ts";

export type OpeningLimits = Required<
  Pick<
    GatewayLimits,
    | "modulatorsPerConnection"
    | "modulatorsInARow"
    | "modulatorLength"
    | "labelLength"
    | "endpointsPerConnection"
    | "consumerQueueBytes"
  >
>;

/** Of a field's name. */
const MAX_KEY_LENGTH = 256;
/** Of the modulators that a consumer is told of at once. */
const MAX_COMPARED_LENGTH = 256 * 1024;

/** By their numbers. */
const POLICIES = Object.keys(WHEN_FULL).sort(
  (a, b) => WHEN_FULL[a as WhenFull] - WHEN_FULL[b as WhenFull],
) as readonly WhenFull[];

/** Who was open before goes on with those whom it can read, as if its connection had not broken. */
function comesBack({ from }: OpenConsumer): boolean {
  return from?.from === FROM.resume;
}

/** Opens and closes the endpoints of connections. */
export class Openings {
  readonly #names: NameServer;
  readonly #objects: SharedObjects;
  readonly #limits: OpeningLimits;
  readonly #usual: Terms;
  // Random, so that processes at a gateway that was started again do not have the numbers that others had.
  #nextProcess = randomInt(1, 2 ** 31);

  constructor(names: NameServer, objects: SharedObjects, limits: OpeningLimits) {
    this.#names = names;
    this.#objects = objects;
    this.#limits = limits;
    const queue: QueuePolicy = { whenFull: "drop-oldest", limitBytes: limits.consumerQueueBytes };
    this.#usual = { queue, label: "", as: "" };
  }

  /** @throws JechoError why it is not opened */
  openProducer(connection: Connection, frame: OpenProducer): void {
    this.#checkEndpoints(connection);
    if (frame.key.length > MAX_KEY_LENGTH)
      throw new JechoError("ARGUMENT_INVALID", `a field's name has at most ${MAX_KEY_LENGTH} characters`);
    const type = this.#typeOf(frame.schema);
    const { base, derived: name } = this.#names.split(frame.channel);
    const manager = this.#names.manager(base);
    const number = this.#names.newEndpoint();
    const outlet = name === "" ? undefined : manager.outlets.named(name);
    const token = type?.token ?? 0n;
    const { modulates, source } = frame;
    const producer = new Producer(number, connection, manager, token, modulates, source, outlet);
    connection.process ||= this.#nextProcess++;
    if (outlet === undefined) manager.addProducer(producer, type);
    else manager.outlets.add(producer, outlet, type);
    // A history that is to be whole is the channel's producers' to ask for.
    const always = outlet === undefined && frame.history?.onDemand === false;
    manager.retain(
      retentionOf(frame.history, frame.key, this.#names.keeping.historyBytes),
      frame.key,
      always,
    );
    connection.addProducer(producer);
    if (outlet !== undefined) return void manager.outlets.admit(producer, frame.request);
    const { channel } = manager;
    connection.send({
      kind: "ProducerOpened",
      request: frame.request,
      channel: channel.number,
      producer: number,
      epoch: channel.epoch,
    });
    void manager.admit(producer);
  }

  /** Rejects with why it is not opened. */
  async openConsumer(connection: Connection, frame: OpenConsumer): Promise<void> {
    this.#checkEndpoints(connection);
    const name = this.#names.split(frame.channel);
    try {
      await this.#openConsumer(connection, frame, name);
    } catch (error) {
      this.#names.find(name.base)?.forgetIfUnused();
      throw error;
    }
  }

  async #openConsumer(
    connection: Connection,
    frame: OpenConsumer,
    { base, derived: name }: SplitName,
  ): Promise<void> {
    const { modulator, feed } = frame;
    if (feed !== undefined) return this.#openFeed(connection, frame, base, feed);
    if (name === "" && modulator === undefined) {
      const manager = this.#names.manager(base);
      if (!comesBack(frame)) manager.checkReader(this.#typeOf(frame.schema), "consumer");
      return this.#openPlain(connection, frame, manager.place);
    }
    if (connection.modulators >= this.#limits.modulatorsPerConnection) {
      throw new JechoError(
        "MODULATOR_QUOTA_EXCEEDED",
        `a connection has at most ${this.#limits.modulatorsPerConnection} modulators`,
      );
    }
    const parent = name === "" ? undefined : this.#names.find(base)?.derivations.named(name);
    if (name !== "" && parent === undefined)
      throw new JechoError("DERIVED_UNKNOWN", `nobody derives ${frame.channel} at present`);
    const manager = parent?.manager ?? this.#names.manager(base);
    const terms = this.#termsOf(frame);
    if (modulator?.compares === true && this.#compares(connection, frame, modulator, manager, parent)) return;
    const derived =
      modulator === undefined
        ? (parent as DerivedChannel)
        : this.#derive(connection, manager, modulator, parent);
    derived.know(frame.sources);
    const consumer = new GatewayConsumer(this.#names.newEndpoint(), connection, derived.place, terms);
    try {
      if (frame.as !== "") manager.nameDerived(derived, frame.as);
      consumer.install(comesBack(frame));
      await derived.placements.answered(consumer);
      // Its connection may have gone.
      if (consumer.state.is !== "installing") return;
      if (!comesBack(frame)) {
        if (modulator === undefined) derived.checkReader(this.#typeOf(frame.schema), "consumer");
        else derived.checkInput();
      }
      this.#open(consumer, frame);
    } catch (error) {
      consumer.end();
      throw error;
    } finally {
      if (modulator !== undefined) this.#objects.forgetUnused(modulator.objects);
    }
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
    const isThere =
      [...(manager?.producers.connections() ?? [])].some(one => one.process === process) ||
      manager?.outlets.isAtProcess(process) === true;
    if (manager === undefined || channel === undefined || !isOfBase || !isThere)
      throw new JechoError("PRODUCER_GONE", `nobody feeds a modulator of ${base}`);
    const place = { manager, channel, derived: undefined, feed: process };
    this.#openPlain(connection, { ...frame, from: frame.from ?? behind(channel, frame.sources) }, place);
  }

  /**
   * A consumer that finds out itself which modulators are equal to its own is told of those that there are and that it has not
   * compared yet, and asks again.
   */
  #compares(
    connection: Connection,
    { request, compared }: OpenConsumer,
    modulator: Modulator,
    manager: ChannelManager,
    parent: DerivedChannel | undefined,
  ): boolean {
    if (manager.derivations.find(modulator, parent) !== undefined) return false;
    const others = [...manager.derivations]
      .filter(({ channel }) => channel.number > compared)
      .filter(derived => derived.isComparable(modulator, parent))
      .sort((a, b) => a.channel.number - b.channel.number);
    const modulators: Compared[] = [];
    let newest = 0;
    let length = 0;
    for (const { modulator: other, channel } of others) {
      const { parameters, key } = other;
      length += parameters.length + key.length;
      // The others come with the next answer.
      if (modulators.length > 0 && length > MAX_COMPARED_LENGTH) break;
      modulators.push({ parameters, key });
      newest = channel.number;
    }
    if (modulators.length === 0) return false;
    connection.send({ kind: "Compare", request, newest, modulators });
    return true;
  }

  #derive(
    connection: Connection,
    manager: ChannelManager,
    modulator: Modulator,
    parent: DerivedChannel | undefined,
  ): DerivedChannel {
    const { modulatorLength, modulatorsInARow } = this.#limits;
    if (Math.max(modulator.source.length, lengthBeside(modulator)) > modulatorLength)
      throw new JechoError(
        "MODULATOR_TOO_LARGE",
        `a modulator's source has at most ${modulatorLength} characters, and so has all else that it is made with`,
      );
    if (parent !== undefined && parent.depth >= modulatorsInARow)
      throw new JechoError(
        "MODULATOR_QUOTA_EXCEEDED",
        `an event goes through at most ${modulatorsInARow} modulators, one behind the other`,
      );
    if (modulator.objects.length > 0) this.#objects.bring(connection, modulator.objects);
    return manager.derive(modulator, parent);
  }

  #openPlain(connection: Connection, frame: OpenConsumer, place: Place): void {
    const terms = this.#termsOf(frame);
    this.#open(new GatewayConsumer(this.#names.newEndpoint(), connection, place, terms), frame);
  }

  #open(consumer: GatewayConsumer, { request, from }: OpenConsumer): void {
    const { number, connection, channel, derived, feed } = consumer;
    const beginning = beginningOf(channel, from);
    const { seq, newest, recovered, missing } = beginning;
    const replays = channel.history !== undefined && (seq < channel.nextSeq || newest.length > 0);
    const replay = replays ? this.#names.newNumber() : 0;
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
      placements: derived?.placements.describe(connection) ?? [],
      objects: derived?.objects ?? [],
    });
    const listen = (): void => {
      consumer.listen();
      // Not sooner: what is kept for its return alone goes with that.
      if (from?.from === FROM.resume) channel.demand.returned(feed);
    };
    if (!replays) return listen();
    const past = new Replay(connection, channel, channel.history as History, replay, beginning, () => {
      connection.send({ kind: "Replayed", consumer: number, replay });
      listen();
    });
    consumer.replays(past);
    past.start(newest);
  }

  #termsOf({ queue, label, as }: OpenConsumer): Terms {
    const { consumerQueueBytes, labelLength } = this.#limits;
    if (label.length > labelLength)
      throw new JechoError("ARGUMENT_INVALID", `a label has at most ${labelLength} characters`);
    const usual = this.#usual;
    const name = POLICIES[queue?.whenFull ?? 0];
    if (name === undefined)
      throw new JechoError("ARGUMENT_INVALID", `no policy ${queue?.whenFull} for a full queue`);
    const limitBytes = Math.min(queue?.limitBytes || consumerQueueBytes, consumerQueueBytes);
    const isUsual = name === usual.queue.whenFull && limitBytes === usual.queue.limitBytes;
    if (isUsual && label === "" && as === "") return usual;
    return { queue: isUsual ? usual.queue : { whenFull: name, limitBytes }, label, as };
  }

  /** One that is not there was closed before. */
  close(connection: Connection, { endpoint }: CloseEndpoint): void {
    if (this.#objects.close(connection, endpoint)) return;
    const consumer = connection.consumer(endpoint);
    if (consumer !== undefined) return consumer.end();
    const producer = this.#names.producer(connection, endpoint);
    if (producer === undefined) return;
    connection.removeProducer(producer);
    producer.manager.removeProducer(producer);
  }

  #typeOf(schema: Uint8Array): Type | undefined {
    return schema.byteLength === 0 ? undefined : this.#names.types.typeOf(schema);
  }

  #checkEndpoints(connection: Connection): void {
    if (connection.endpoints >= this.#limits.endpointsPerConnection) {
      throw new JechoError(
        "OVERLOADED",
        `a connection has at most ${this.#limits.endpointsPerConnection} endpoints`,
      );
    }
  }
}

/** The place from which on a feed that goes on for another is to have all that is kept. */
function behind({ history }: Channel, sources: readonly SourcePlace[]): WirePlace | undefined {
  const seq = sources.length === 0 ? undefined : history?.log.seqBehind(sources);
  return seq === undefined ? undefined : { from: FROM.seq, epoch: 0, seq: BigInt(seq), at: 0, speed: 0 };
}

/** Characters of what a modulator is made with, besides its source and the states of its objects. */
function lengthBeside({ parameters, key, capabilities, objects }: Modulator): number {
  let length = parameters.length + key.length;
  for (const capability of capabilities) length += capability.length;
  for (const { name, object } of objects) length += name.length + object.length;
  return length;
}
