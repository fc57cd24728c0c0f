import { randomInt } from "node:crypto";
import { checkUserName, formatChannelName, JechoError, type SplitName, splitName } from "@jecho/shared";
import { NumberTable } from "@jecho/shared/internal";
import type { Connection } from "../connection.ts";
import { Deadlines } from "../deadlines.ts";
import type { Acknowledgements } from "../delivery/acknowledgements.ts";
import { Channel, type ChannelOwner } from "../delivery/channel.ts";
import { DemandNotices } from "../delivery/demand-notices.ts";
import type { Gathering } from "../delivery/gathering.ts";
import type { GatewayStats } from "../gateway.ts";
import type { GatewayLimits } from "../gateway-limits.ts";
import { HistoryBudget } from "../history/budget.ts";
import type { EventLog } from "../history/event-log.ts";
import type { Keeping } from "../history/keeper.ts";
import type { SharedObjects } from "../objects/shared-objects.ts";
import { ChannelManager } from "./channel-manager.ts";
import type { GatewayConsumer } from "./consumer.ts";
import type { DerivedChannel } from "./derived-channel.ts";
import type { Producer } from "./endpoints.ts";
import { TypeRegistry } from "./type-registry.ts";
import { Unanswered } from "./unanswered.ts";

export type NameLimits = Required<
  Pick<
    GatewayLimits,
    "channels" | "namesPerChannel" | "typesPerChannel" | "schemaBytes" | "historyTotalBytes"
  >
>;

/** Maps names to channel managers, and numbers to channels and producers. Names are the user's part: all of them live at this server. */
export class NameServer {
  readonly keeping: Keeping;
  readonly limits: NameLimits;
  /** What producers and modulators write at present. */
  readonly types: TypeRegistry;
  /** The process beside the gateway that runs modulators for producers that do not; undefined without any. */
  modulating: Connection | undefined;
  /** Processes that do not answer. */
  readonly unanswered: Unanswered;
  /** Consumers that wait for their modulators. */
  readonly joining: Deadlines<GatewayConsumer>;
  /** Resolves when that process, which starts with the gateway, is there, or is not expected any more. */
  modulatingStarts: Promise<void> | undefined;
  readonly #objects: SharedObjects;
  readonly #acknowledgements: Acknowledgements;
  readonly #gathering: Gathering;
  readonly #notices = new DemandNotices(channel => this.channel(channel.number) === channel);
  readonly #managers = new Map<string, ChannelManager>();
  readonly #derived = new Map<number, DerivedChannel>();
  /** Channels and derived channels. */
  readonly #channels = new NumberTable<Channel>();
  readonly #producers = new NumberTable<Producer>();
  #nextNumber = 1;
  #nextEndpoint = 1;
  // Random, so that a gateway that was started again does not continue its predecessor's numbering by chance.
  #nextEpoch = randomInt(1, 2 ** 31);

  constructor(
    objects: SharedObjects,
    acknowledgements: Acknowledgements,
    gathering: Gathering,
    keeping: Omit<Keeping, "budget">,
    limits: NameLimits,
    { installTimeoutMs, requestTimeoutMs }: { installTimeoutMs: number; requestTimeoutMs: number },
  ) {
    this.keeping = { ...keeping, budget: new HistoryBudget(limits.historyTotalBytes, () => this.#logs()) };
    this.limits = limits;
    this.types = new TypeRegistry(limits.schemaBytes);
    this.unanswered = new Unanswered(installTimeoutMs);
    this.joining = new Deadlines(requestTimeoutMs, consumer => consumer.late());
    this.#objects = objects;
    this.#acknowledgements = acknowledgements;
    this.#gathering = gathering;
  }

  /** The manager of the channel with this name, which comes into being when first asked for. @throws JechoError `CHANNEL_NAME_INVALID` */
  manager(name: string): ChannelManager {
    let manager = this.#managers.get(name);
    if (manager === undefined) {
      checkUserName(name);
      const { channels } = this.limits;
      if (this.#managers.size >= channels)
        throw new JechoError("OVERLOADED", `the gateway has at most ${channels} channels`);
      manager = new ChannelManager(name, this, this.#objects);
      this.#managers.set(name, manager);
    }
    return manager;
  }

  /** The manager of the channel with this name, where it is in use. @throws JechoError `CHANNEL_NAME_INVALID` */
  find(name: string): ChannelManager | undefined {
    const manager = this.#managers.get(name);
    if (manager === undefined) checkUserName(name);
    return manager;
  }

  /** As `splitName`, which a name that is in use need not be looked at for. @throws JechoError `CHANNEL_NAME_INVALID` */
  split(name: string): SplitName {
    return this.#managers.has(name) ? { base: name, derived: "" } : splitName(name);
  }

  newChannel(owner: ChannelOwner): Channel {
    const [number, epoch] = [this.newNumber(), this.#nextEpoch++];
    const channel = new Channel(number, epoch, owner, this.#acknowledgements, this.#gathering, this.#notices);
    this.#channels.set(channel.number, channel);
    return channel;
  }

  /** A number that no channel has: of one that is to be, or for runs that are sent to one consumer alone. */
  newNumber(): number {
    return this.#nextNumber++;
  }

  /** A number that no endpoint has. */
  newEndpoint(): number {
    return this.#nextEndpoint++;
  }

  registerProducer(producer: Producer): void {
    this.#producers.set(producer.number, producer);
  }

  forgetProducer({ number }: Producer): void {
    this.#producers.delete(number);
  }

  /** The producer with this number, whose connection that is. */
  producer(connection: Connection, number: number): Producer | undefined {
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

  /** Drops the books of a channel that nobody uses any more. */
  forget(manager: ChannelManager): void {
    // Another one may have the name by now.
    if (this.#managers.get(manager.name) === manager) this.#managers.delete(manager.name);
    this.#channels.delete(manager.channel.number);
  }

  /** That process has gone. */
  modulatingLost(): void {
    const { modulating } = this;
    this.modulating = undefined;
    if (modulating === undefined) return;
    for (const { placements } of [...this.#derived.values()]) placements.lostMaker(modulating);
  }

  get stats(): Omit<GatewayStats, "connections"> {
    let historyBytes = 0;
    for (const log of this.#logs()) historyBytes += log.bytes;
    return { channels: this.#managers.size, derivedChannels: this.#derived.size, historyBytes };
  }

  *#logs(): Generator<EventLog> {
    for (const [, { history }] of this.#channels) if (history !== undefined) yield history.log;
  }

  /** Names of the channels that are in use, in full. */
  names(server: string): string[] {
    return [...this.#managers.keys()].map(name => formatChannelName(server, name));
  }
}
