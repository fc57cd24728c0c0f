import type { Position } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { RunningTime } from "../connections/running-time.ts";
import type { Channel } from "../delivery/channel.ts";
import type { SourceAt } from "../delivery/lane.ts";
import type { GatewayLanes } from "../delivery/lanes.ts";
import type { GatewayDeparture } from "./departures.ts";
import type { GatewayProducer } from "./producers.ts";

/** The part of a derived channel that is used here. */
interface Derived {
  readonly channel: Channel;
  readonly placements: {
    hasPlace(producing: Connection): boolean;
    isElsewhere(producing: Connection): boolean;
  };
}

/** Producers of a channel, of which some may not have all modulators yet. */
interface JoiningProducers {
  joining(): Iterable<GatewayProducer>;
}

/** Waits for producers that were cut off, which may come back for so long. */
interface Returns {
  readonly returns: RunningTime;
  readonly keeping: { readonly resumeWindowMs: number };
}

/** Time that processes other than the producer's have for the output so far. */
const AT_WORK_MS = 5000;

/** Most time by which a process' word on a closed producer is late. By then consumers know the sources that were there when they began. */
const LATE_MS = 2000;

/**
 * The raw sources of one channel, or those that are published into one derived channel: tells consumers of what is derived the positions that no modulator accounts for (PROV-5).
 */
export class UnmadeSources {
  readonly #channel: Channel;
  readonly #lanes: GatewayLanes;
  readonly #producers: JoiningProducers;
  readonly #derivations: Iterable<Derived>;
  readonly #returns: RunningTime;
  readonly #resumeWindowMs: number;

  /**
   * @param channel that they are raised on, or published into
   * @param producers whose modulators may not be there yet
   * @param derivations what is derived from the channel
   */
  constructor(
    channel: Channel,
    producers: JoiningProducers,
    derivations: Iterable<Derived>,
    { returns, keeping }: Returns,
  ) {
    this.#channel = channel;
    this.#lanes = channel.lanes;
    this.#producers = producers;
    this.#derivations = derivations;
    this.#returns = returns;
    this.#resumeWindowMs = keeping.resumeWindowMs;
  }

  /** A source begins. One that is known has begun before, and goes on. */
  begins(producer: GatewayProducer): void {
    if (producer.source === 0n || this.returns(producer)) return;
    const at = beginningsOf(producer);
    for (const { channel } of this.#derivations)
      for (const one of at) channel.sourceBegins(producer.connection, one, true);
  }

  /** A producer is here, perhaps again: then its source goes on. @returns whether that is known */
  returns({ number, source, connection }: GatewayProducer): boolean {
    if (!this.#lanes.knows(source)) return false;
    this.#lanes.returns(source, number, connection.subject?.name ?? "");
    return true;
  }

  /** A source of which nothing came until now says where it is: it may have been silent when consumers came whose modulators begin with it later. */
  speaks(connection: Connection, { producer, source, urgent, raised }: Position): void {
    const at = { producer, source, urgent, raised: Number(raised) };
    for (const { channel } of this.#derivations)
      if (channel.lanes.unheard([at]).length > 0) channel.sourceBegins(connection, at, false);
  }

  /** A consumer of something derived listens from now on. */
  tell({ channel }: Derived, connection: Connection): void {
    for (const at of channel.lanes.unheard(this.#begun())) channel.tellBeginning(connection, at);
  }

  /** Raw sources whose events come, or are to come once their producers are back, or have all modulators. */
  *#begun(): Generator<SourceAt> {
    yield* this.#lanes.published();
    yield* this.#lanes.awaited();
    for (const producer of this.#producers.joining())
      if (producer.source !== 0n && !this.#lanes.knows(producer.source)) yield* beginningsOf(producer);
  }

  /** A producer has gone: what nothing accounts for in time is told. Who runs a modulator in its stead takes as long as it needs. */
  left(producer: GatewayProducer): void {
    const { connection, number } = producer;
    this.#account(producer);
    const awaitedMs = connection.isCut ? this.#resumeWindowMs : 0;
    const ends = this.#lanes.leave(number, connection.process, awaitedMs > 0);
    if (awaitedMs > 0) this.#returns.wait(awaitedMs, () => this.#lanes.awaitNoMore(number, ends));
    const atWork = new Set<Derived>();
    for (const derived of this.#derivations) {
      const { channel, placements } = derived;
      const hasPlace = placements.hasPlace(connection);
      const isElsewhere = placements.isElsewhere(connection);
      if (hasPlace && isElsewhere) atWork.add(derived);
      else if (!hasPlace && !isElsewhere && awaitedMs === 0) this.#end(ends, channel);
    }
    this.#returns.wait(Math.max(awaitedMs, AT_WORK_MS), () => {
      for (const derived of this.#derivations)
        if (!atWork.has(derived)) this.#end(derived.channel.lanes.unmade(ends), derived.channel);
    });
  }

  /** Notes how far a producer is that leaves, as far as what was made of its events says that. */
  #account({ connection, number, source }: GatewayProducer): void {
    if (source === 0n) return;
    for (const urgent of [false, true]) {
      let raised = 0;
      for (const { channel } of this.#derivations)
        raised = Math.max(raised, channel.lanes.madeOf(source, urgent));
      const by = connection.subject?.name ?? "";
      this.#lanes.accounted({ source, urgent, producer: number, raised }, this.#channel.nextSeq - 1, by);
    }
  }

  /**
   * The producers that have gone for good since this gateway started: a channel of this name may come into being again before a consumer is back.
   *
   * @param address on whose account it is kept where the producer has no subject
   */
  *departures(channel: string, address: string): Generator<GatewayDeparture> {
    for (const { source, urgent, raised, endedAt: at, by = "" } of this.#lanes.ended()) {
      const [usual, urgents] = urgent ? [0n, BigInt(raised)] : [BigInt(raised), 0n];
      const whose = by === "" ? address : by;
      yield { channel, source, raised: usual, raisedUrgent: urgents, by, whose, at };
    }
  }

  /** A producer was closed at another gateway: whoever was there may not have had all that it raised. */
  departed({ source, raised, raisedUrgent, by, at }: GatewayDeparture): void {
    for (const [urgent, count] of [
      [false, raised],
      [true, raisedUrgent],
    ] as const) {
      const end = { source, urgent, producer: 0, raised: Number(count), endedAt: at - LATE_MS };
      if (!this.#channel.departed(end, by)) continue;
      for (const { channel } of this.#derivations) this.#end(channel.lanes.unmade([end]), channel);
    }
  }

  #end(ends: readonly SourceAt[], derived: Channel): void {
    for (const end of ends) if (this.#lanes.hasEnded(end)) derived.sourceEnds(end);
  }

  /** The same once those who may come back had the time for it. */
  #endLater(ends: readonly SourceAt[], derived: Channel): void {
    if (ends.length === 0) return;
    this.#returns.wait(this.#resumeWindowMs, () => this.#end(derived.lanes.unmade(ends), derived));
  }

  /**
   * The gateway's process for modulators has gone, or these modulators have failed there: what it had of producers that went before, nobody will account
   * for, unless they come back.
   *
   * @param process of the producers; 0: of all
   */
  makerLost(made: Iterable<Derived> = this.#derivations, process = 0): void {
    const over = [...this.#lanes.over(process)];
    if (over.length === 0) return;
    for (const { channel } of made) {
      const ends = channel.lanes.unmade(over);
      this.#end(ends, channel);
      this.#endLater(
        ends.filter(end => !this.#lanes.hasEnded(end)),
        channel,
      );
    }
  }

  /**
   * A consumer is back that was at an earlier gateway, or at a channel that was derived alike and has gone: no modulator has been through what ended here before it
   * came. Of what earlier gateways kept, those producers go on that are back in time.
   */
  endedBefore({ channel }: Derived): void {
    this.#end(channel.lanes.unmade(this.#lanes.ended()), channel);
    this.#endLater(channel.lanes.unmade(this.#lanes.kept()), channel);
  }
}

/** Where a new producer's sources begin. */
function beginningsOf({ number, source, raised, raisedUrgent }: GatewayProducer): SourceAt[] {
  return [
    { producer: number, source, urgent: false, raised: Number(raised) },
    { producer: number, source, urgent: true, raised: Number(raisedUrgent) },
  ];
}
