import { randomInt } from "node:crypto";
import { checkUserName, type SplitName, splitName } from "@jecho/shared";
import { NumberTable } from "@jecho/shared/internal";
import type { ChannelOwners } from "../access/owners.ts";
import { ANYBODY } from "../access/subject.ts";
import { Numbers } from "../cluster/numbers.ts";
import type { ClientConnection } from "../connections/client-connection.ts";
import type { Connection } from "../connections/connection.ts";
import { CHANNEL_BYTES } from "../connections/crowd.ts";
import { Deadlines } from "../connections/deadlines.ts";
import { RunningTime } from "../connections/running-time.ts";
import type { Acknowledgements } from "../delivery/acknowledgements.ts";
import { Channel, type ChannelOwner } from "../delivery/channel.ts";
import { DemandNotices } from "../delivery/demand.ts";
import type { Gathering } from "../delivery/gathering.ts";
import type { GatewayStats, KnownLimits } from "../gateway/gateway-limits.ts";
import { LimitReached } from "../gateway/limit-reached.ts";
import type { EventLog } from "../history/event-log.ts";
import { HistoryBudget } from "../history/history.ts";
import type { Keeping } from "../history/keeper.ts";
import type { SharedObjects } from "../objects/shared-objects.ts";
import type { GatewayCounts } from "../operations/gateway-counts.ts";
import { ChannelManager } from "./channel-manager.ts";
import type { GatewayConsumer } from "./consumer.ts";
import { type GatewayDeparture, GatewayDepartures } from "./departures.ts";
import type { DerivedChannel } from "./derived-channel.ts";
import { Processes } from "./processes.ts";
import type { GatewayProducer } from "./producers.ts";
import { TypeRegistry } from "./types.ts";
import { Unanswered } from "./unanswered.ts";

/** Time that modulators wait for the modulating process to come back before consumers run them for themselves. */
const MODULATING_RETURN_MS = 10_000;

/** Maps names to channel managers, and numbers to channels and producers. Names are the user's part: all of them live at this server. */
export class NameServer {
  readonly keeping: Keeping;
  readonly limits: KnownLimits;
  readonly counts: GatewayCounts;
  readonly owners: ChannelOwners;
  readonly processes = new Processes();
  /** Types that producers and modulators write at present. */
  readonly types: TypeRegistry;
  /** Processes that do not answer. */
  readonly unanswered: Unanswered;
  /** Consumers that wait for their modulators. */
  readonly joining: Deadlines<GatewayConsumer>;
  /** Waits for those that were cut off. */
  readonly returns = new RunningTime();
  /** Queues that have producers wait. */
  readonly blocking: Deadlines<() => void>;
  #modulating: Connection | undefined;
  /** Resolved when that process has come, or is not waited for any longer. */
  #modulatingAwaited: PromiseWithResolvers<void> | undefined;
  readonly #objects: SharedObjects;
  readonly #acknowledgements: Acknowledgements;
  readonly #gathering: Gathering;
  readonly #notices = new DemandNotices(channel => this.channel(channel.number) === channel);
  readonly #managers = new Map<string, ChannelManager>();
  readonly #departures = new GatewayDepartures();
  readonly #derived = new Map<number, DerivedChannel>();
  /** Channels and derived channels. */
  readonly #channels: NumberTable<Channel>;
  readonly #producers: NumberTable<GatewayProducer>;
  readonly #consumers: NumberTable<GatewayConsumer>;
  readonly #numbers: Numbers;
  readonly #endpoints: Numbers;
  /** Random, so that a gateway that was started again does not continue its predecessor's numbering by chance. */
  readonly firstEpoch = randomInt(1, 2 ** 31);
  #nextEpoch = this.firstEpoch;

  /** @param index of the gateway in its cluster; undefined: it stands alone */
  constructor(
    objects: SharedObjects,
    acknowledgements: Acknowledgements,
    gathering: Gathering,
    keeping: Omit<Keeping, "budget">,
    limits: KnownLimits,
    owners: ChannelOwners,
    counts: GatewayCounts,
    { installTimeoutMs, requestTimeoutMs }: { installTimeoutMs: number; requestTimeoutMs: number },
    index?: number,
  ) {
    this.#numbers = new Numbers(index, number => this.#channels.get(number) !== undefined);
    this.#endpoints = new Numbers(index, number => this.hasEndpoint(number));
    this.#channels = new NumberTable(this.#numbers.first);
    this.#producers = new NumberTable(this.#endpoints.first);
    this.#consumers = new NumberTable(this.#endpoints.first);
    this.keeping = {
      ...keeping,
      budget: new HistoryBudget(limits.historyTotalBytes, () => this.#logs(), counts),
    };
    this.limits = limits;
    this.counts = counts;
    this.owners = owners;
    this.types = new TypeRegistry(limits.schemaBytes);
    this.unanswered = new Unanswered(installTimeoutMs);
    this.joining = new Deadlines(requestTimeoutMs, consumer => consumer.late());
    this.blocking = new Deadlines(limits.blockMs, tooLong => tooLong());
    this.#objects = objects;
    this.#acknowledgements = acknowledgements;
    this.#gathering = gathering;
  }

  /**
   * The manager of the channel with this name, which comes into being when first asked for.
   *
   * @param asker on whose account it is kept then
   * @throws JechoError `CHANNEL_NAME_INVALID`, `OVERLOADED`
   */
  manager(name: string, asker: ClientConnection): ChannelManager {
    let manager = this.#managers.get(name);
    if (manager === undefined) {
      checkUserName(name);
      const { channels } = this.limits;
      if (this.#managers.size >= channels)
        throw new LimitReached("channels", "OVERLOADED", `the gateway has at most ${channels} channels`);
      asker.checkKeeping(CHANNEL_BYTES);
      asker.keep(CHANNEL_BYTES);
      manager = new ChannelManager(name, this, this.#objects, asker);
      this.#managers.set(name, manager);
      for (const departure of this.departuresFrom(name)) manager.unmade.departed(departure);
    }
    return manager;
  }

  /**
   * Has what is stored of a channel at hand before it is used.
   *
   * @returns undefined where it is @throws JechoError why it cannot be
   */
  fetch(name: string): Promise<void> | undefined {
    return this.#managers.has(name) ? undefined : this.keeping.store?.fetch(name);
  }

  /** A producer was closed at another gateway. */
  departed(departure: GatewayDeparture): void {
    const { base, derived } = this.split(departure.channel);
    const manager = this.find(base);
    const at = derived === "" ? manager : manager?.derivations.named(derived);
    if (at === undefined) this.#departures.add(departure);
    else at.unmade.departed(departure);
  }

  /** Departures from a channel that comes into being, or from a derived one that gets its name. */
  departuresFrom(channel: string): GatewayDeparture[] {
    return this.#departures.take(channel);
  }

  /** The manager of the channel with this name, where it is in use. @throws JechoError `CHANNEL_NAME_INVALID` */
  find(name: string): ChannelManager | undefined {
    const manager = this.#managers.get(name);
    if (manager === undefined) checkUserName(name);
    return manager;
  }

  /** Splits a name as `splitName` does, which need not check a name that is in use. @throws JechoError `CHANNEL_NAME_INVALID` */
  split(name: string): SplitName {
    return this.#managers.has(name) ? { base: name, derived: "" } : splitName(name);
  }

  newChannel(owner: ChannelOwner): Channel {
    const [number, epoch] = [this.newNumber(), this.#nextEpoch++];
    const channel = new Channel(
      number,
      epoch,
      owner,
      this.#acknowledgements,
      this.#gathering,
      this.#notices,
      this.counts,
    );
    this.#channels.set(channel.number, channel);
    return channel;
  }

  /** Whether this gateway began that numbering, and no earlier one. */
  isOwnEpoch(epoch: number): boolean {
    return epoch >= this.firstEpoch && epoch < this.#nextEpoch;
  }

  /** A number that no channel has: of one that is to be, or for runs that are sent to one consumer alone. */
  newNumber(): number {
    return this.#numbers.next();
  }

  /** Whether a producer, a consumer, or a copy of a shared object has this number. */
  hasEndpoint(number: number): boolean {
    const endpoint = this.#producers.get(number) ?? this.#consumers.get(number);
    return endpoint !== undefined || this.#objects.hasCopy(number);
  }

  /** A number that no endpoint has. */
  newEndpoint(): number {
    return this.#endpoints.next();
  }

  registerProducer(producer: GatewayProducer): void {
    const { number, manager, connection, outlet } = producer;
    this.#producers.set(number, producer);
    // A producer behind the channel may have the right to no more than that.
    if (outlet === undefined) this.owners.entered(manager.name, connection.subject ?? ANYBODY);
  }

  forgetProducer({ number, manager, outlet }: GatewayProducer): void {
    this.#producers.delete(number);
    if (outlet === undefined) this.owners.left(manager.name);
  }

  registerConsumer(consumer: GatewayConsumer): void {
    this.#consumers.set(consumer.number, consumer);
  }

  forgetConsumer({ number }: GatewayConsumer): void {
    this.#consumers.delete(number);
  }

  /** The producer with this number, whose connection that is. */
  producer(connection: Connection, number: number): GatewayProducer | undefined {
    const producer = this.#producers.get(number);
    return producer?.connection === connection ? producer : undefined;
  }

  registerDerived(derived: DerivedChannel): void {
    this.#derived.set(derived.channel.number, derived);
  }

  forgetDerived(derived: DerivedChannel): void {
    this.#derived.delete(derived.channel.number);
    this.#channels.delete(derived.channel.number);
  }

  /** The channel or derived channel with this number. */
  channel(number: number): Channel | undefined {
    return this.#channels.get(number);
  }

  derived(number: number): DerivedChannel | undefined {
    return this.#derived.get(number);
  }

  /**
   * Has those who use channels whose home is another gateway by now look for them there. Producers are the first: they keep their events until they are there, and are
   * not to hear that their modulators go.
   *
   * @param finish waits until what was taken has reached these connections
   */
  async moveOut(
    isHome: (channel: string) => boolean,
    finish: (users: Iterable<Connection>) => Promise<void>,
  ): Promise<void> {
    const moved = [...this.#managers.values()].filter(({ name }) => !isHome(name));
    if (moved.length === 0) return;
    for (const manager of moved) {
      manager.home = "leaving";
      // It may be the home again before all have left.
      this.#managers.delete(manager.name);
    }
    const usersNow = (): Set<Connection> => {
      const users = new Set(moved.flatMap(({ producers }) => [...producers.connections()]));
      for (const manager of moved)
        for (const connection of [...manager.consuming(), ...manager.departing()]) users.add(connection);
      // The gateway's own process serves other channels, too.
      users.delete(this.#modulating as Connection);
      return users;
    };
    const leaving = usersNow();
    for (const user of leaving) user.stopTaking();
    await finish(leaving);
    for (const user of usersNow()) user.end("CHANNEL_MOVED");
    for (const manager of moved) manager.movedOut();
  }

  /** Forgets a channel that nobody uses any more. */
  forget(manager: ChannelManager): void {
    const present = this.#managers.get(manager.name);
    // Another one may have the name by now, and what is stored under it.
    if (present === undefined || present === manager) {
      this.#managers.delete(manager.name);
      for (const departure of manager.unmade.departures(manager.name, manager.maker.address))
        this.#departures.add(departure);
      this.keeping.store?.leave(manager.name);
    }
    const { number } = manager.channel;
    if (this.#channels.get(number) === undefined) return;
    this.#channels.delete(number);
    manager.maker.keep(-CHANNEL_BYTES);
  }

  /** The process beside the gateway that runs modulators for producers that do not; undefined while there is none. */
  get modulating(): Connection | undefined {
    return this.#modulating;
  }

  /** Resolves when that process has come, or is not waited for any longer; undefined where nobody waits for it. */
  get modulatingAwaited(): Promise<void> | undefined {
    return this.#modulatingAwaited?.promise;
  }

  /** Called while the modulating process starts. @param until resolves when it is not waited for any longer */
  awaitModulating(until: Promise<unknown>): void {
    const awaited = Promise.withResolvers<void>();
    this.#modulatingAwaited = awaited;
    void until.then(() => {
      if (this.#modulatingAwaited === awaited) this.#modulatingAwaited = undefined;
      awaited.resolve();
    });
  }

  /** Called when the modulating process has come, or has another connection. */
  modulatingCame(connection: Connection): void {
    const former = this.#modulating;
    this.#modulating = connection;
    if (former !== undefined) {
      former.end("CONNECTION_LOST", "its process has another connection by now");
      this.#lostMaker(former);
    }
    this.#modulatingAwaited?.resolve();
    this.#modulatingAwaited = undefined;
  }

  /** A connection has gone. Where it was that of this process, what ran there waits for it to come back, with its modulators as they are. */
  modulatingLost(connection: Connection): void {
    if (connection !== this.#modulating) return;
    this.#modulating = undefined;
    this.awaitModulating(new Promise<void>(over => this.returns.wait(MODULATING_RETURN_MS, over)));
    this.#lostMaker(connection);
  }

  #lostMaker(maker: Connection): void {
    for (const { placements } of [...this.#derived.values()]) placements.lostMaker(maker);
    for (const manager of this.#managers.values()) manager.makerLost();
  }

  /** The managers of all channels that are in use, or whose history is kept in memory. */
  managers(): Iterable<ChannelManager> {
    return this.#managers.values();
  }

  get stats(): Omit<GatewayStats, "connections" | "queueBytes" | "gateways"> {
    let historyBytes = 0;
    for (const log of this.#logs()) historyBytes += log.bytes;
    return {
      channels: this.#managers.size,
      derivedChannels: this.#derived.size,
      historyBytes,
      historyWaitingBytes: this.keeping.store?.waitingBytes ?? 0,
      blocking: this.blocking.size,
    };
  }

  /** Lets go of what histories keep that is too old. */
  *trimHistories(): Generator<void> {
    const now = Date.now();
    for (const [, channel] of this.#channels) yield channel.trimHistory(now);
  }

  *#logs(): Generator<EventLog> {
    for (const [, { history }] of this.#channels) if (history !== undefined) yield history.log;
  }
}
