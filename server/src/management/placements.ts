import { JechoError, type Type } from "@jecho/shared";
import { Few, type Install, type Placement, type SourcePlace } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { GatewayConsumer } from "./consumer.ts";
import type { DerivedChannel } from "./derived-channel.ts";
import { GatewayInstallation, type InstallationState } from "./installation.ts";
import type { GatewayProducer } from "./producers.ts";

/** A modulator's place for one producing process. `maker` runs it for all consumers; undefined where none does. */
export interface ModulatorStanding {
  readonly producing: Connection;
  readonly maker: Connection | undefined;
  readonly placement: Placement;
  readonly processes: number;
}

const NO_TIER = { tier: "", tierWhy: "" };
/** The wire's numbers of places, by the states of installations that have one. */
const AT = { producer: 0, gateway: 1, consumer: 2, consumers: 2, nowhere: 3 } as const;

/** A request to install a modulator, for whichever process. */
export type WantedInstallation = Pick<Install, "channel" | "derived" | "modulator" | "behind" | "by">;

/** A summary of installations: how many are in which states, and the first reasons why some are not running. */
interface Seen {
  running: number;
  asked: number;
  silent: number;
  refused: JechoError | undefined;
  removed: JechoError | undefined;
}

type ConsumersState = Extract<InstallationState, { is: "consumers" }>;

/** Time that consumers' processes keep modulators for a producing process that was cut off, in milliseconds (DEL-7). */
const KEPT_MS = 30_000;

/** One derived channel's installations: one for each producing process. What happens to one changes nothing for the others. */
export class Placements {
  readonly #derived: DerivedChannel;
  /** Installations by the producing process. */
  readonly #installations = new Few<Connection, GatewayInstallation>();
  /** Processes that were cut off, by number, whose modulators are kept by consumers' processes: why they run there, and until when they are kept. */
  readonly #kept = new Few<number, { readonly why: JechoError; readonly until: number }>();
  /** Consumers that are to be opened. */
  readonly #joining = new Set<GatewayConsumer>();
  /** Resolves when an answer has come. */
  #change: PromiseWithResolvers<void> | undefined;
  /** Processes that were ever asked to run it: a message from one of them may be late, but is allowed. */
  readonly #asked = new WeakSet<Connection>();
  #ended: JechoError | undefined;

  constructor(derived: DerivedChannel) {
    this.#derived = derived;
  }

  /** A consumer is to be opened: asks each present producing process to run the modulator, unless it does. */
  join(consumer: GatewayConsumer): void {
    const { feeders, manager } = this.#derived;
    this.#joining.add(consumer);
    manager.names.joining.add(consumer);
    for (const producing of feeders.connections()) this.of(producing);
    for (const installation of this.#installations.values())
      if (installation.state.is === "consumers")
        this.ownOf(installation, installation.state, consumer.connection);
  }

  /** A joining consumer is open, or will not be. */
  joinNoMore(consumer: GatewayConsumer): void {
    this.#joining.delete(consumer);
    this.#derived.manager.names.joining.delete(consumer);
    this.wake();
  }

  /** Positions in raw sources of the consumers at this connection that are to be opened. */
  *placesOf(connection: Connection): Generator<SourcePlace> {
    for (const { connection: theirs, state } of this.#joining)
      if (theirs === connection && state.is === "installing")
        for (const place of state.sources) if (place.origin !== 0n) yield place;
  }

  /** Connections of consumers that are to be opened. */
  *joining(): Generator<Connection> {
    for (const { connection } of this.#joining) yield connection;
  }

  /** Whether any consumer is to be opened. */
  get isJoined(): boolean {
    return this.#joining.size > 0;
  }

  /**
   * Resolves when a joining consumer may be opened: each present producing process runs the modulator or is left out; or when the consumer is
   * no longer wanted.
   *
   * @throws JechoError why the modulator runs for none of them
   */
  async answered(consumer: GatewayConsumer): Promise<void> {
    while (this.#isAwaited(consumer)) {
      this.#change ??= Promise.withResolvers();
      await this.#change.promise;
    }
  }

  /** Has all waiting callers look again. */
  wake(): void {
    this.#change?.resolve();
    this.#change = undefined;
  }

  /** @throws JechoError why it runs for nobody */
  #isAwaited({ state, connection }: GatewayConsumer): boolean {
    if (state.is !== "installing") return false;
    if (this.#ended !== undefined) throw this.#ended;
    const { running, asked, silent, refused, removed } = this.#seenBy(connection);
    // While nobody runs it, silent processes are waited for, too.
    if (!state.isLate && (asked > 0 || (running === 0 && silent > 0))) return true;
    // For a returning process, the process that ran its modulator may return, too.
    const why = removed ?? (state.comesBack ? undefined : refused);
    if (running === 0 && why !== undefined) throw why;
    return false;
  }

  /** @param consumer undefined for all consumers, where these run it for themselves */
  #seenBy(consumer: Connection | undefined): Seen {
    const seen: Seen = { running: 0, asked: 0, silent: 0, refused: undefined, removed: undefined };
    for (const one of this.#installations.values()) {
      const installation = consumer === undefined ? one : one.seenBy(consumer);
      const state = installation?.state;
      if (installation?.isSilent) seen.silent++;
      else if (state?.is === "waiting" || state?.is === "asked") seen.asked++;
      else if (state?.is === "refused") seen.refused ??= state.why;
      else if (state?.is === "removed") seen.removed ??= state.why;
      else seen.running++;
    }
    return seen;
  }

  /**
   * Why nobody runs the modulator, and nobody will until another producer comes: it was removed, and has no
   * other place. Undefined otherwise.
   *
   * @param consumer the consumers' connection; default: all
   */
  whyOver(consumer?: Connection): JechoError | undefined {
    const { running, asked, silent, removed } = this.#seenBy(consumer);
    return running + asked + silent === 0 ? removed : undefined;
  }

  /** The type made of this process's events, by the first process that makes it; undefined for the input's type. */
  madeOf(producing: Connection): Type | undefined {
    const shared = this.#installations.get(producing);
    if (shared?.state.is !== "consumers") return shared?.made;
    for (const { made } of shared.state.own.values()) if (made !== undefined) return made;
    return undefined;
  }

  /** The installation for this process, an existing or a new one. */
  of(producing: Connection): GatewayInstallation {
    let installation = this.#installations.get(producing);
    if (installation === undefined) {
      installation = new GatewayInstallation(this.#derived, producing);
      this.#installations.set(producing, installation);
      installation.begin();
    }
    return installation;
  }

  /** The installation in this consumer's process, where consumers run it for themselves. */
  ownOf(
    { producing }: GatewayInstallation,
    { own, why }: ConsumersState,
    consumer: Connection,
  ): GatewayInstallation {
    let installation = own.get(consumer);
    if (installation === undefined) {
      installation = new GatewayInstallation(this.#derived, producing, { consumer, why });
      own.set(consumer, installation);
      installation.begin();
    }
    return installation;
  }

  #keep({ process }: Connection, why: JechoError): void {
    const now = performance.now();
    for (const [number, { until }] of [...this.#kept]) if (until < now) this.#kept.delete(number);
    this.#kept.set(process, { why, until: now + KEPT_MS });
  }

  /** The reason why consumers' processes run it for this one, where they have kept it for its return; that is over then. */
  takeKept({ process }: Connection): JechoError | undefined {
    const kept = this.#kept.get(process);
    this.#kept.delete(process);
    return kept !== undefined && kept.until >= performance.now() ? kept.why : undefined;
  }

  /** A process begins to feed it, or does so in a second way. */
  feed(producing: Connection): void {
    const known = this.#installations.get(producing);
    if (known === undefined) this.of(producing);
    else known.fedAnew();
  }

  /** Resolves when the installation for this process was answered, with yes or no; undefined where there is nothing to wait for. */
  settled(producing: Connection): Promise<void> | undefined {
    const installation = this.#installations.get(producing);
    return installation?.isSettled === false ? installation.settled() : undefined;
  }

  /** The modulator before this one changed its state for a process, or in a consumer's process. */
  inputChanged({ producing, consumer }: GatewayInstallation, before: InstallationState): void {
    const shared = this.#installations.get(producing);
    const own = consumer !== undefined && shared?.state.is === "consumers" && shared.state.own.get(consumer);
    if (own) own.inputChanged(before);
    // A consumer's installation may settle the one for all consumers.
    shared?.inputChanged(before);
  }

  /** An installation has changed from this state: tells everybody concerned. Only called by `become`. */
  changed(installation: GatewayInstallation, before: InstallationState): void {
    const { producing, consumer, state } = installation;
    const { manager } = this.#derived;
    const shared = this.#installations.get(producing);
    if (state.is === "gone") {
      if (consumer === undefined) {
        this.#installations.delete(producing);
        if (before.is === "consumers" && producing.isCut) this.#keep(producing, before.why);
      } else if (shared?.state.is === "consumers") shared.state.own.delete(consumer);
    } else if (state.is === "consumers")
      for (const taker of this.#takers()) this.ownOf(installation, state, taker);
    if (consumer !== undefined) shared?.tellSettled();
    for (const child of [...this.#derived.children.values()])
      child.placements.inputChanged(installation, before);
    this.wake();
    // Consumers that run it for themselves are told when each has it.
    const isTold = state.is !== "gone" && state.is !== "asked" && state.is !== "consumers";
    if (state.is === "refused" || state.is === "removed") manager.derivedChannels.checkOver(this.#derived);
    if (isTold && (state.is !== "waiting" || installation.isSilent))
      manager.derivedChannels.placed(this.#derived, installation);
  }

  /** Whether this connection has a consumer that is to be opened. */
  isJoining(connection: Connection): boolean {
    for (const consumer of this.#joining) if (consumer.connection === connection) return true;
    return false;
  }

  /** Whether this connection had no consumer before. */
  isNew(connection: Connection): boolean {
    for (const { connection: theirs, state } of this.#joining)
      if (theirs === connection && state.is === "installing" && state.comesBack) return false;
    return !this.#derived.manager.consumers.connectionsOf(this.#derived).has(connection);
  }

  /** Connections that have consumers of it, or are to. */
  #takers(): Set<Connection> {
    const takers = this.#derived.manager.consumers.connectionsOf(this.#derived);
    for (const consumer of this.#joining) takers.add(consumer.connection);
    for (const taker of takers) if (!taker.isOpen) takers.delete(taker);
    return takers;
  }

  /**
   * The process that runs the modulator, or was asked to, reports a failure.
   *
   * @throws JechoError `FRAME_UNEXPECTED` where it was never asked to
   */
  failed(from: Connection, process: number, why: JechoError): void {
    if (!this.wasAsked(from))
      throw new JechoError("FRAME_UNEXPECTED", "Removed of a modulator that it was not asked to install");
    const installation = this.#madeBy(from, process);
    const { manager } = this.#derived;
    if (installation !== undefined) installation.failed(why);
    else if (from === manager.names.modulating) this.makerLost(process);
  }

  /** The gateway's process runs it no more for this one: what that had still to do of producers that have gone, nobody does. */
  makerLost(process: number): void {
    for (const sources of this.#derived.sources()) sources.makerLost([this.#derived], process);
  }

  /** The process that runs the modulator has moved it to another tier. */
  tiered(from: Connection, process: number, tier: string, why: string): void {
    this.#madeBy(from, process)?.tiered(tier, why);
  }

  /** The installation that this connection runs for a process, or was asked to; 0: for its own. */
  #madeBy(maker: Connection, process: number): GatewayInstallation | undefined {
    for (const shared of this.#installations.values()) {
      if (process === 0 ? shared.producing !== maker : shared.producing.process !== process) continue;
      const own = process === 0 ? undefined : shared.seenBy(maker);
      return [shared, own].find(one => one?.maker === maker);
    }
    return undefined;
  }

  /** Whether this connection was ever asked to run the modulator. */
  wasAsked(connection: Connection): boolean {
    return this.#asked.has(connection);
  }

  /** Notes that this connection is being asked to run the modulator. */
  asks(connection: Connection): void {
    this.#asked.add(connection);
  }

  /** The producer in whose stead this connection makes derived events. */
  standIn(maker: Connection, producer: GatewayProducer | undefined): GatewayProducer | undefined {
    if (producer === undefined || this.#installations.get(producer.connection)?.maker !== maker)
      return undefined;
    return producer;
  }

  /** Whether the gateway's process for modulators runs it for anybody, or may come to: where a producer is not back yet, too. */
  get mayBeAtGateway(): boolean {
    for (const { state } of this.#installations.values())
      if (state.is !== "producer" && state.is !== "consumers") return true;
    return this.#installations.size === 0;
  }

  /** Whether the connection runs it for its own producers, or was asked to. */
  isAtProducer(connection: Connection): boolean {
    return this.#installations.get(connection)?.maker === connection;
  }

  /** Whether the modulator runs somewhere for this process: whoever runs it says how far it is. */
  hasPlace(producing: Connection): boolean {
    const installation = this.#installations.get(producing);
    return installation?.isSettled === true && installation.whyOut === undefined;
  }

  /** Whether another process runs it for this one, or was asked to. */
  isElsewhere(producing: Connection): boolean {
    const maker = this.#installations.get(producing)?.maker;
    return maker !== undefined && maker !== producing;
  }

  /** Whether the connection runs it for all consumers, or was asked to. */
  isMaker(connection: Connection): boolean {
    return this.isAtProducer(connection) || this.makers().has(connection);
  }

  /** Whether the connection runs the modulator for its own consumers only. */
  isOwn(consumer: Connection): boolean {
    for (const { state } of this.#installations.values())
      if (state.is === "consumers" && state.own.has(consumer)) return true;
    return false;
  }

  /** All connections that run it, or were asked to. */
  connections(): Set<Connection> {
    const all = new Set<Connection>();
    for (const { maker, state } of this.#installations.values()) {
      if (maker !== undefined) all.add(maker);
      if (state.is !== "consumers") continue;
      for (const own of state.own.values()) if (own.maker !== undefined) all.add(own.maker);
    }
    return all;
  }

  /** Connections that make the derived channel's events in producers' stead, each with the producing processes. */
  makers(): Map<Connection, number[]> {
    const makers = new Map<Connection, number[]>();
    for (const { maker, producing } of this.#installations.values()) {
      if (maker === undefined || maker === producing) continue;
      makers.set(maker, [...(makers.get(maker) ?? []), producing.process]);
    }
    return makers;
  }

  /** Connections that make events for this consumer's process in producers' stead, each with the producing processes. */
  *standInsFor(consumer: Connection): Generator<{ maker: Connection; process: number }> {
    for (const installation of this.#installations.values()) {
      const { maker, producing } = installation.seenBy(consumer) ?? installation;
      const isOwn = installation.state.is === "consumers";
      if (maker !== undefined && (isOwn || maker !== producing)) yield { maker, process: producing.process };
    }
  }

  /** The modulator's place for each producing process, for operators. */
  *standings(): Generator<ModulatorStanding> {
    const numbers = this.#derived.feeders.numbers();
    for (const installation of this.#installations.values()) {
      const { producing, state, whyOut } = installation;
      const placement = placementOf(installation, numbers.get(producing));
      if (placement === undefined) continue;
      const maker = whyOut === undefined ? installation.maker : undefined;
      const processes = state.is === "consumers" ? state.own.size : maker === undefined ? 0 : 1;
      yield { producing, maker, placement, processes };
    }
  }

  /** The placements for consumers at this connection. */
  describe(consumer: Connection): Placement[] {
    const numbers = this.#derived.feeders.numbers();
    return [...this.#installations.values()].flatMap(shared => {
      const installation = shared.seenBy(consumer);
      return (installation && placementOf(installation, numbers.get(shared.producing))) ?? [];
    });
  }

  /** The processes that are left out, each with the reason. */
  *leftOut(): Generator<[Connection, JechoError]> {
    for (const [producing, { whyOut }] of this.#installations)
      if (whyOut !== undefined) yield [producing, whyOut];
  }

  /** A process no longer produces here. */
  remove(producing: Connection): void {
    this.#installations.get(producing)?.gone();
  }

  /** A process has no more consumers of this channel or of those derived from it. */
  leave(consumer: Connection): void {
    for (const { state } of this.#installations.values())
      if (state.is === "consumers") state.own.get(consumer)?.gone();
  }

  /** The gateway's process for modulators has gone, or has another connection: its modulators are asked for again. */
  lostMaker(maker: Connection): void {
    for (const installation of [...this.#installations.values()])
      if (installation.maker === maker && installation.producing !== maker) installation.begin();
  }

  /** @param why the error for those that still wait to be its consumers */
  end(why: JechoError | undefined): void {
    this.#ended = why;
    for (const installation of [...this.#installations.values()]) installation.gone();
    this.wake();
  }
}

/** Where the modulator runs, or why it does not; undefined where that is not known yet. @param producers of the process that it is for */
function placementOf(
  installation: GatewayInstallation,
  producers: readonly number[] = [],
): Placement | undefined {
  const { state, whyOut } = installation;
  const is = whyOut !== undefined ? "nowhere" : state.is;
  if (!(is in AT)) return undefined;
  const why = whyOut ?? ("why" in state ? state.why : undefined);
  const { tier, tierWhy } = is === "nowhere" || is === "consumers" ? NO_TIER : installation;
  return {
    producers,
    at: AT[is as keyof typeof AT],
    code: why?.number ?? 0,
    message: why?.message ?? "",
    tier,
    tierWhy,
  };
}
