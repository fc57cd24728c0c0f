import { JechoError, type SplitName, type Type } from "@jecho/shared";
import {
  type CloseEndpoint,
  type Compared,
  type Departed,
  type Feed,
  FROM,
  type Modulator,
  type OpenConsumer,
  type OpenProducer,
  type Place,
  type SourcePlace,
  WHEN_FULL,
} from "@jecho/shared/internal";
import { ANYBODY } from "../access/subject.ts";
import type { ClientConnection } from "../connections/client-connection.ts";
import { ENDPOINT_BYTES } from "../connections/crowd.ts";
import type { Portions } from "../connections/portions.ts";
import type { Channel } from "../delivery/channel.ts";
import { checkCounts } from "../delivery/lane.ts";
import type { QueuePolicy } from "../delivery/listener.ts";
import type { WhenFull } from "../delivery/run-queue.ts";
import type { KnownLimits } from "../gateway/gateway-limits.ts";
import { LimitReached } from "../gateway/limit-reached.ts";
import { retentionOf } from "../history/event-log.ts";
import type { History } from "../history/history.ts";
import { type Beginning, beginningOf, Replay } from "../history/replay.ts";
import type { SharedObjects } from "../objects/shared-objects.ts";
import { ChannelManager } from "./channel-manager.ts";
import { type ConsumerPlace, type ConsumerTerms, GatewayConsumer } from "./consumer.ts";
import { comparedAs, type DerivedChannel } from "./derived-channel.ts";
import type { NameServer } from "./name-server.ts";
import { GatewayProducer } from "./producers.ts";

/** Longest name of a field, in characters. */
const MAX_KEY_LENGTH = 256;
/** Most shared objects of a modulator, whose states are sent with it however they have grown, and most capabilities. */
const MOST_BESIDE = 64;
/** Most characters of the modulators that a consumer is told of at once. */
const MAX_COMPARED_LENGTH = 256 * 1024;

/** The policies by their numbers. */
const POLICIES = Object.keys(WHEN_FULL).sort(
  (a, b) => WHEN_FULL[a as WhenFull] - WHEN_FULL[b as WhenFull],
) as readonly WhenFull[];

/** Whether a consumer was open before: it goes on with the producers that it can read. */
function comesBack({ from }: OpenConsumer): boolean {
  return from?.from === FROM.resume;
}

/** Whether one that is open is to have another modulator: it says its epoch. */
function changes(from: Place | undefined): boolean {
  return from !== undefined && from.from <= FROM.last && from.epoch !== 0;
}

/** Opens and closes the endpoints of connections. */
export class GatewayOpenings {
  readonly #names: NameServer;
  readonly #objects: SharedObjects;
  readonly #portions: Portions;
  readonly #limits: KnownLimits;
  readonly #usual: ConsumerTerms;

  constructor(names: NameServer, objects: SharedObjects, portions: Portions, limits: KnownLimits) {
    this.#names = names;
    this.#objects = objects;
    this.#portions = portions;
    this.#limits = limits;
    const queue: QueuePolicy = { whenFull: "drop-oldest", limitBytes: limits.consumerQueueBytes };
    this.#usual = { queue, label: "", as: "" };
  }

  /** @throws JechoError why it is not opened, or rejects with that */
  openProducer(connection: ClientConnection, frame: OpenProducer): void | Promise<void> {
    const former = this.#names.processes.formerOf(connection, frame.instance);
    const left = former && this.#portions.over(former);
    if (left === undefined)
      return this.#onceFetched(connection, frame, whole => this.#openProducer(connection, whole));
    const whole = lasting(frame);
    return left.then(() => (connection.isOpen ? this.openProducer(connection, whole) : undefined));
  }

  /** Opens an endpoint when what is stored of its channel is at hand, which it mostly is. */
  #onceFetched<F extends OpenProducer | OpenConsumer>(
    connection: ClientConnection,
    frame: F,
    open: (frame: F) => void | Promise<void>,
  ): void | Promise<void> {
    const fetched = this.#names.fetch(this.#names.split(frame.channel).base);
    if (fetched === undefined) return open(frame);
    const whole = lasting(frame);
    return fetched.then(
      () => (connection.isOpen ? open(whole) : undefined),
      (error: JechoError) => {
        if (error.code !== "CHANNEL_MOVED") throw error;
        connection.end(error.code, error.message);
      },
    );
  }

  #openProducer(connection: ClientConnection, frame: OpenProducer): void {
    const keptBytes = ENDPOINT_BYTES + 2 * frame.schema.byteLength;
    this.#checkEndpoints(connection, keptBytes);
    if (frame.key.length > MAX_KEY_LENGTH)
      throw new JechoError("ARGUMENT_INVALID", `a field's name has at most ${MAX_KEY_LENGTH} characters`);
    if (frame.history?.durable === true && this.#names.keeping.store === undefined)
      throw new JechoError(
        "HISTORY_NOT_DURABLE",
        "this gateway has neither a file for histories (--history) nor NATS (--cluster-nats)",
      );
    const type = this.#typeOf(frame.schema);
    const { base, derived: name } = this.#names.split(frame.channel);
    this.#names.owners.check(base, frame.channel, connection.subject ?? ANYBODY);
    this.#names.processes.enter(connection, frame.instance);
    const manager = this.#names.manager(base, connection);
    const number = this.#names.newEndpoint();
    const outlet = name === "" ? undefined : manager.outlets.named(name);
    const token = type?.token ?? 0n;
    const producer = new GatewayProducer(number, connection, manager, token, frame, outlet);
    try {
      if (outlet === undefined) manager.addProducer(producer, type);
      else manager.outlets.add(producer, outlet, type);
    } catch (error) {
      manager.forgetIfUnused();
      throw error;
    }
    if (outlet === undefined) {
      manager.unmade.begins(producer);
      // The channel's own producers alone say what is kept of it.
      const { history, key } = frame;
      const wanted = retentionOf(history, key, this.#names.keeping.historyBytes);
      manager.retain(wanted, key, history?.onDemand === false);
    }
    connection.addProducer(producer);
    // The channel counts the types of its own producers, for as long as it has them.
    producer.keptBytes = outlet === undefined ? ENDPOINT_BYTES : keptBytes;
    connection.keep(producer.keptBytes);
    if (outlet !== undefined) return void manager.outlets.admit(producer, frame.request);
    const { channel } = manager;
    connection.send({
      kind: "ProducerOpened",
      request: frame.request,
      channel: channel.number,
      producer: number,
      epoch: channel.epoch,
    });
    manager.reviewUnread(producer);
    void manager.admit(producer);
  }

  /** A producer was closed at another gateway. @throws JechoError `RIGHT_MISSING`, `FRAME_MALFORMED` */
  departed({ subject = ANYBODY, address }: ClientConnection, { channel, agoMs, ...counts }: Departed): void {
    const { base } = this.#names.split(channel);
    this.#names.owners.check(base, channel, subject);
    checkCounts(counts.raised, counts.raisedUrgent);
    const { name } = subject;
    const at = performance.now() - agoMs;
    this.#names.departed({ ...counts, channel, by: name, whose: name === "" ? address : name, at });
  }

  /** Rejects with why it is not opened. */
  async openConsumer(connection: ClientConnection, frame: OpenConsumer): Promise<void> {
    if (frame.feed !== undefined) return this.#openFeed(connection, frame, frame.feed);
    return this.#onceFetched(connection, frame, async whole => {
      this.#checkEndpoints(connection, keptBytesOf(whole));
      const name = this.#names.split(whole.channel);
      try {
        await this.#openConsumer(connection, whole, name);
      } catch (error) {
        this.#names.find(name.base)?.forgetIfUnused();
        throw error;
      }
    });
  }

  async #openConsumer(
    connection: ClientConnection,
    frame: OpenConsumer,
    { base, derived: name }: SplitName,
  ): Promise<void> {
    const { modulator } = frame;
    if (name === "" && modulator === undefined) {
      const manager = this.#names.manager(base, connection);
      const reads = manager.typeReadBy(frame.schema);
      if (!comesBack(frame)) manager.checkReader(reads, "consumer");
      return this.#openPlain(connection, frame, manager.place, reads);
    }
    if (connection.modulators >= this.#limits.modulatorsPerConnection) {
      throw new LimitReached(
        "modulatorsPerConnection",
        "MODULATOR_QUOTA_EXCEEDED",
        `a connection has at most ${this.#limits.modulatorsPerConnection} modulators`,
      );
    }
    if (modulator !== undefined) this.#checkSize(modulator);
    const parent = name === "" ? undefined : this.#names.find(base)?.derivations.named(name);
    if (name !== "" && parent === undefined)
      throw new JechoError("DERIVED_UNKNOWN", `nobody derives ${frame.channel} at present`);
    const manager = parent?.manager ?? this.#names.manager(base, connection);
    const terms = this.#termsOf(connection, frame);
    // The message's bytes are gone when the modulator is there.
    const schema = frame.schema.slice();
    if (modulator?.compares === true && this.#compares(connection, frame, modulator, manager, parent)) return;
    const derived =
      modulator === undefined
        ? (parent as DerivedChannel)
        : this.#derive(connection, manager, modulator, parent);
    const isNew = !derived.placements.isJoined && manager.consumers.of(derived).length === 0;
    derived.know(frame.sources);
    const { from } = frame;
    const { epoch } = derived.channel;
    // Unless it was at this very channel and gateway. One that changes its modulator was not.
    const wasElsewhere = comesBack(frame)
      ? from?.epoch !== epoch || !this.#names.isOwnEpoch(epoch)
      : changes(from) && isNew;
    if (wasElsewhere) for (const sources of derived.sources()) sources.endedBefore(derived);
    const number = this.#names.newEndpoint();
    const consumer = new GatewayConsumer(number, connection, derived.place, terms, keptBytesOf(frame));
    try {
      if (frame.as !== "") manager.nameDerived(derived, frame.as);
      consumer.install(comesBack(frame), frame.sources);
      await derived.placements.answered(consumer);
      // Its connection may have gone.
      if (consumer.state.is !== "installing") return;
      if (!comesBack(frame)) {
        if (modulator === undefined) derived.checkReader(this.#typeOf(schema), "consumer");
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

  /** Opens a consumer that feeds modulators here in a producing process' stead. The channel may be about to move: its name may be another manager's. */
  #openFeed(connection: ClientConnection, frame: OpenConsumer, { process, channel: number }: Feed): void {
    this.#checkEndpoints(connection, keptBytesOf(frame));
    const channel = this.#names.channel(number);
    const manager = channel?.owner;
    const isOfBase = manager instanceof ChannelManager && manager.name === frame.channel;
    const isThere =
      isOfBase &&
      ([...manager.producers.connections()].some(one => one.process === process) ||
        manager.outlets.isAtProcess(process));
    if (channel === undefined || !isThere)
      throw new JechoError("PRODUCER_GONE", `nobody feeds a modulator of ${frame.channel}`);
    this.#openPlain(connection, frame, { manager, channel, derived: undefined, feed: process });
  }

  /**
   * A consumer that finds out itself which modulators are equal to its own is told of those that there are and that it has not
   * compared yet, and asks again.
   */
  #compares(
    connection: ClientConnection,
    { request, compared }: OpenConsumer,
    modulator: Modulator,
    manager: ChannelManager,
    parent: DerivedChannel | undefined,
  ): boolean {
    if (manager.derivations.find(modulator, parent) !== undefined) return false;
    const as = comparedAs(modulator);
    const others = [...manager.derivations]
      .filter(({ channel }) => channel.number > compared)
      .filter(derived => derived.isComparable(as, parent))
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

  #checkSize(modulator: Modulator): void {
    const { modulatorLength } = this.#limits;
    if (Math.max(modulator.source.length, lengthBeside(modulator)) > modulatorLength)
      throw new LimitReached(
        "modulatorLength",
        "MODULATOR_TOO_LARGE",
        `a modulator's source has at most ${modulatorLength} characters, and so has all else that it is made with`,
      );
    if (Math.max(modulator.objects.length, modulator.capabilities.length) > MOST_BESIDE)
      throw new JechoError(
        "MODULATOR_TOO_LARGE",
        `a modulator has at most ${MOST_BESIDE} shared objects, and as many capabilities`,
      );
  }

  #derive(
    connection: ClientConnection,
    manager: ChannelManager,
    modulator: Modulator,
    parent: DerivedChannel | undefined,
  ): DerivedChannel {
    const { modulatorsInARow } = this.#limits;
    if (parent !== undefined && parent.depth >= modulatorsInARow)
      throw new LimitReached(
        "modulatorsInARow",
        "MODULATOR_QUOTA_EXCEEDED",
        `an event goes through at most ${modulatorsInARow} modulators, one behind the other`,
      );
    if (modulator.objects.length > 0) this.#objects.bring(connection, modulator.objects);
    return manager.derivedChannels.derive(modulator, connection.subject?.name ?? "", parent);
  }

  #openPlain(connection: ClientConnection, frame: OpenConsumer, place: ConsumerPlace, reads?: Type): void {
    const terms = this.#termsOf(connection, frame);
    const number = this.#names.newEndpoint();
    const consumer = new GatewayConsumer(number, connection, place, terms, keptBytesOf(frame), reads);
    this.#open(consumer, { ...frame, from: frame.from ?? behind(place.channel, frame.sources) });
  }

  #open(consumer: GatewayConsumer, { request, from, channel: name, modulator, sources }: OpenConsumer): void {
    const { number, connection, channel, derived, feed } = consumer;
    // What came while it was away it may have in any case.
    const mayLookBack = connection.subject?.may("history", name) ?? true;
    const since = mayLookBack ? undefined : Date.now() - this.#names.keeping.resumeWindowMs;
    const asked = beginningOf(channel, from, feed !== 0, since);
    const isMade = modulator !== undefined && isLacking(consumer, from, asked, sources);
    const beginning = isMade ? { ...beginningOf(channel, undefined, false), had: asked.had } : asked;
    const { seq, had, newest, missing } = beginning;
    const unknown = beginning.unknown || isMadeAnew(consumer, from);
    const replays = channel.history !== undefined && (seq < channel.nextSeq || newest !== undefined);
    const replay = replays ? this.#names.newNumber() : 0;
    connection.send({
      kind: "ConsumerOpened",
      request,
      channel: channel.number,
      consumer: number,
      epoch: channel.epoch,
      seq: BigInt(seq),
      replay,
      recovered: beginning.recovered && !unknown,
      missing: BigInt(missing),
      unknown,
      past: isMade,
      placements: derived?.placements.describe(connection) ?? [],
      objects: derived?.objects ?? [],
    });
    const listen = (): void => {
      consumer.listen();
      if (derived !== undefined) for (const sources of derived.sources()) sources.tell(derived, connection);
      // Not sooner: what is kept for its return alone goes with that.
      if (from?.from === FROM.resume) channel.demand.returned(consumer);
      if (had !== undefined && feed === 0) {
        channel.tellEnds(connection, had);
        // A past that it makes itself has them.
        if (!isMade) channel.tellDropped(connection, sources, had);
      }
      if (changes(from)) channel.tellEndsOf(connection, sources);
    };
    if (!replays) return listen();
    const past = new Replay(
      connection,
      channel,
      channel.history as History,
      replay,
      feed !== 0,
      beginning,
      this.#portions,
      () => {
        connection.send({ kind: "Replayed", consumer: number, replay });
        listen();
      },
    );
    consumer.replays(past);
    past.start();
  }

  #termsOf({ accountable }: ClientConnection, { queue, label, as }: OpenConsumer): ConsumerTerms {
    const { consumerQueueBytes, labelLength } = this.#limits;
    if (label.length > labelLength)
      throw new LimitReached(
        "labelLength",
        "ARGUMENT_INVALID",
        `a label has at most ${labelLength} characters`,
      );
    const usual = this.#usual;
    const name = POLICIES[queue?.whenFull ?? 0];
    if (name === undefined)
      throw new JechoError("ARGUMENT_INVALID", `there is no policy ${queue?.whenFull} for a full queue`);
    if (name === "block") accountable?.checkBlocking(performance.now());
    const limitBytes = Math.min(queue?.limitBytes || consumerQueueBytes, consumerQueueBytes);
    const isUsual = name === usual.queue.whenFull && limitBytes === usual.queue.limitBytes;
    if (isUsual && label === "" && as === "") return usual;
    return { queue: isUsual ? usual.queue : { whenFull: name, limitBytes }, label, as };
  }

  /** Closes an endpoint, unless it was closed before. */
  close(connection: ClientConnection, { endpoint }: CloseEndpoint): void {
    if (this.#objects.close(connection, endpoint)) return;
    const consumer = connection.consumer(endpoint);
    if (consumer !== undefined) return consumer.end();
    const producer = this.#names.producer(connection, endpoint);
    if (producer === undefined) return;
    connection.removeProducer(producer);
    connection.keep(-producer.keptBytes);
    producer.manager.removeProducer(producer);
  }

  #typeOf(schema: Uint8Array): Type | undefined {
    return schema.byteLength === 0 ? undefined : this.#names.types.typeOf(schema);
  }

  #checkEndpoints(connection: ClientConnection, keptBytes: number): void {
    connection.checkKeeping(keptBytes);
    if (connection.endpoints >= this.#limits.endpointsPerConnection) {
      throw new LimitReached(
        "endpointsPerConnection",
        "OVERLOADED",
        `a connection has at most ${this.#limits.endpointsPerConnection} endpoints`,
      );
    }
  }
}

/** A frame whose message's bytes will be reused before it is acted on. */
function lasting<F extends OpenProducer | OpenConsumer>(frame: F): F {
  return { ...frame, schema: frame.schema.slice() };
}

/** The place from which on all is kept that is behind these places in raw sources. */
function behind({ history }: Channel, sources: readonly SourcePlace[]): Place | undefined {
  const seq = sources.length === 0 ? undefined : history?.log.behind(sources)?.seq;
  return seq === undefined ? undefined : { from: FROM.seq, epoch: 0, seq: BigInt(seq), at: 0, speed: 0 };
}

/**
 * Whether a consumer comes back to a gateway that was started again, beside which its modulator runs, or may run, behind another one: there that goes
 * on with what comes, so nobody knows what is missing.
 */
function isMadeAnew({ channel, derived }: GatewayConsumer, from: Place | undefined): boolean {
  if (derived?.parent === undefined || from?.from !== FROM.resume) return false;
  return from.epoch !== channel.epoch && derived.placements.mayBeAtGateway;
}

/** Bytes that are kept for a consumer. */
function keptBytesOf({ schema, label, modulator }: OpenConsumer): number {
  const texts = modulator === undefined ? 0 : modulator.source.length + lengthBeside(modulator);
  return ENDPOINT_BYTES + 2 * (schema.byteLength + label.length + texts);
}

/** Characters of what a modulator is made with, besides its source and the states of its objects. */
function lengthBeside({ parameters, key, capabilities, objects }: Modulator): number {
  let length = parameters.length + key.length;
  for (const capability of capabilities) length += capability.length;
  for (const { name, object } of objects) length += name.length + object.length;
  return length;
}

/** Whether a consumer makes the past itself, since the channel keeps more of it than of the output of the consumer's modulator (HIST-7). */
function isLacking(
  { channel, connection, derived, manager, terms }: GatewayConsumer,
  from: Place | undefined,
  { recovered }: Beginning,
  sources: readonly SourcePlace[],
): boolean {
  const { channel: base } = manager;
  if (from?.from === FROM.time)
    return channel.past === undefined || (!recovered && reachesFurther(base, channel));
  if (from?.from !== FROM.resume || base.history === undefined) return false;
  // All that came of its modulator is kept; but that may have gone on while nobody wanted what it made.
  if (recovered && !channel.lanes.areResting) return false;
  // One behind another has no past.
  if (derived === undefined || derived.parent !== undefined) return false;
  const { log } = base.history;
  const behind = log.behind(
    sources.map(one => (one.origin === 0n ? one : { ...one, source: one.origin, raised: one.through })),
  );
  if (behind === undefined) return false;
  // A modulator in a producer's stead goes on at the consumer's place in that one's events; of others, the consumer's process has what comes.
  const isUnnamed = derived.placements.isOwn(connection) && [...behind.sources.values()].includes(0);
  if (!isUnnamed && !channel.lanes.lacks(behind.sources, base.lanes)) return false;
  // Whoever has its events filtered is not sent all of them at once because it was away.
  const { limitBytes } = terms.queue;
  return log.bytesFrom(behind.seq, limitBytes) <= limitBytes;
}

/** Whether more of the past is kept of a channel than of one that is derived of it. */
function reachesFurther(base: Channel, derived: Channel): boolean {
  const oldest = base.past?.log.oldestAt ?? Number.POSITIVE_INFINITY;
  return oldest < (derived.past?.log.oldestAt ?? Number.POSITIVE_INFINITY);
}
