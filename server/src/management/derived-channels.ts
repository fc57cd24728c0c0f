import type { JechoError } from "@jecho/shared";
import type { Modulator } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { HistoryKeeper } from "../history/keeper.ts";
import type { SharedObjects } from "../objects/shared-objects.ts";
import type { ChannelManager } from "./channel-manager.ts";
import type { Derivations } from "./derivations.ts";
import { DerivedChannel } from "./derived-channel.ts";
import type { GatewayInstallation } from "./installation.ts";

/** One channel's derived channels: each begins with a modulator, which is installed at the processes that feed it, and goes with its last consumer. */
export class DerivedChannels {
  readonly #manager: ChannelManager;
  readonly #index: Derivations<DerivedChannel>;
  readonly #objects: SharedObjects;
  readonly #keeper: HistoryKeeper;

  constructor(manager: ChannelManager, objects: SharedObjects, keeper: HistoryKeeper) {
    this.#manager = manager;
    this.#index = manager.derivations;
    this.#objects = objects;
    this.#keeper = keeper;
  }

  /** A process feeds these derived channels from now on. @returns when all are settled; undefined where they are */
  installAt(
    connection: Connection,
    isMeant: (derived: DerivedChannel) => boolean,
  ): Promise<void> | undefined {
    // Modulators come before those behind them.
    for (const derived of this.#index) if (isMeant(derived)) derived.placements.feed(connection);
    return this.#settled(connection, isMeant);
  }

  /** Others may come meanwhile. */
  #settled(connection: Connection, isMeant: (derived: DerivedChannel) => boolean): Promise<void> | undefined {
    const installing: Promise<void>[] = [];
    for (const derived of this.#index) {
      const settled = isMeant(derived) ? derived.placements.settled(connection) : undefined;
      if (settled !== undefined) installing.push(settled);
    }
    if (installing.length === 0) return undefined;
    return Promise.all(installing).then(() => this.#settled(connection, isMeant));
  }

  /** A process publishes into this derived channel: has the modulators behind that installed there. */
  installBehind(derived: DerivedChannel, connection: Connection): Promise<void> | undefined {
    return this.installAt(connection, one => one.isBehind(derived));
  }

  /** A process no longer publishes into this derived channel. */
  leftBehind(derived: DerivedChannel, connection: Connection): void {
    for (const one of this.#index) {
      if (!one.isBehind(derived)) continue;
      if (!one.feeders.isAt(connection)) one.placements.remove(connection);
      this.announce(one);
    }
  }

  /** Tells the demand for everything behind a derived channel. */
  tellDemandBehind(derived: DerivedChannel): void {
    for (const one of this.#index) if (one.isBehind(derived)) this.#manager.tellDemand(one.channel);
  }

  /** The derived channel of this modulator, on this channel or a derived one: an existing or a new one. @param by the subject that brings it */
  derive(modulator: Modulator, by: string, parent?: DerivedChannel): DerivedChannel {
    const known = this.#index.find(modulator, parent);
    if (known !== undefined) return known;
    const derived = new DerivedChannel(
      this.#manager,
      this.#manager.names.newChannel(this.#manager),
      // The objects have the states, which change.
      { ...modulator, objects: modulator.objects.map(object => ({ ...object, state: "" })) },
      this.#objects,
      by,
      parent,
    );
    this.#index.add(derived);
    const isRestored = this.#keeper.keep(derived.channel, derived, true);
    derived.channel.history?.log.beginsLate();
    this.#manager.names.registerDerived(derived);
    if (isRestored) this.#holdRestored(derived);
    return derived;
  }

  /**
   * Keeps a restored derived channel for a while: a consumer of an earlier gateway may come back, and should find its
   * past even if others have left by then.
   */
  #holdRestored(derived: DerivedChannel): void {
    derived.isHeld = true;
    const { returns, keeping } = this.#manager.names;
    returns.wait(keeping.resumeWindowMs, () => {
      derived.isHeld = false;
      this.dropIfUnused(derived);
    });
  }

  /** A derived channel goes when its last consumer goes. */
  dropIfUnused(derived: DerivedChannel): void {
    const isUsed =
      derived.channel.consumers > 0 ||
      derived.placements.isJoined ||
      derived.children.size > 0 ||
      derived.isHeld;
    if (!isUsed) this.#remove(derived);
  }

  /** @param why the error for those that still wait to be its consumers */
  #remove(derived: DerivedChannel, why?: JechoError): void {
    if (!this.#index.remove(derived)) return;
    this.#manager.detach(derived);
    this.#manager.names.forgetDerived(derived);
    // Stored output is the next home's, where there is one.
    if (this.#manager.home === "here") derived.channel.history?.forget();
    derived.remove(why);
    if (derived.parent !== undefined) this.dropIfUnused(derived.parent);
    this.#manager.forgetIfUnused();
  }

  /** Ends the installation in a consumer's process when the last consumer that needs it there has gone. */
  leave(derived: DerivedChannel | undefined, connection: Connection): void {
    if (derived === undefined) return;
    if (derived.placements.isOwn(connection) && !this.#isTakenAt(derived, connection))
      derived.placements.leave(connection);
    this.leave(derived.parent, connection);
  }

  /** Whether the connection has, or will have, consumers of this derived channel or of those behind it. */
  #isTakenAt(derived: DerivedChannel, connection: Connection): boolean {
    for (const one of this.#index) {
      if (one !== derived && !one.isBehind(derived)) continue;
      if (one.placements.isJoining(connection) || this.#manager.consumers.connectionsOf(one).has(connection))
        return true;
    }
    return false;
  }

  /** An installation changed its state: tells the present senders of the derived channel, and its consumers. */
  placed(derived: DerivedChannel, { state, producing, consumer, whyOut }: GatewayInstallation): void {
    if (derived.channel.consumers === 0) return;
    if (state.is === "producer" || state.is === "gateway") this.#manager.tellDemand(derived.channel);
    if (consumer === undefined && whyOut !== undefined) derived.leftOut(producing, whyOut);
    this.announce(derived, consumer);
  }

  /**
   * Tells consumers of a derived channel where its modulator runs: its input there has consumers now.
   *
   * @param only the consumers' connection; undefined for all
   */
  announce(derived: DerivedChannel, only?: Connection): void {
    for (const connection of this.#manager.consumers.connectionsOf(derived)) {
      if (only !== undefined && connection !== only) continue;
      const placements = derived.placements.describe(connection);
      connection.send({ kind: "Placed", derived: derived.channel.number, placements });
    }
    for (const consumer of this.#manager.consumers)
      if (consumer.derived === derived || consumer.derived?.isBehind(derived)) this.#manager.hear(consumer);
  }

  /** A process no longer runs a modulator: tells the reason to consumers for which nobody runs it, and ends it where these are all. */
  checkOver(derived: DerivedChannel): void {
    for (const connection of this.#manager.consumers.connectionsOf(derived)) {
      const why = derived.placements.whyOver(connection);
      if (why === undefined) continue;
      for (const consumer of this.#manager.consumers.at(derived.channel, connection)) consumer.lose(why);
    }
    const why = derived.placements.whyOver();
    if (why !== undefined) this.#end(derived, why);
  }

  /** Ends a derived channel whose modulator nobody runs any more, with those behind it. */
  #end(derived: DerivedChannel, why: JechoError): void {
    for (const child of [...derived.children.values()]) this.#end(child, why);
    for (const consumer of this.#manager.consumers.of(derived)) consumer.lose(why);
    derived.channel.demand.stopAwaiting();
    // Consumers that still wait are refused; a later one has it installed again.
    this.#remove(derived, why);
  }

  /** A modulator goes on without its state or without some input: tells its consumers, and those behind it. */
  impaired(derived: DerivedChannel, code: number, message: string): void {
    for (const child of derived.children.values()) this.impaired(child, code, message);
    for (const connection of this.#manager.consumers.connectionsOf(derived))
      connection.send({ kind: "Impaired", derived: derived.channel.number, code, message });
  }
}
