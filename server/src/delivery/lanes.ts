import { JechoError } from "@jecho/shared";
import { type EventsFrame, Few, type Position, type SourcePlace } from "@jecho/shared/internal";
import {
  account,
  ENDED,
  type GatewayLane,
  isOverNow,
  isUnmade,
  laneNumber,
  positionOf,
  type RunSource,
  type SourceAt,
  type SourceCount,
  sourceName,
} from "./lane.ts";

/** The last position of a source that has ended. */
export interface SourceEnd {
  /** Sequence number of the channel's newest event before it ended: consumers that are further have been told. */
  readonly seq: number;
  readonly position: Position;
}

const NOBODY: RunSource = { source: 0n, origin: 0n, rests: false, isOver: false };
/** Most lanes that are remembered after their producers have gone, which may come back and send events again. */
const MOST_REMEMBERED = 4096;

/** The positions of a channel's producers in their counts, over all their connections. */
export class GatewayLanes {
  /** Lane of the newest run, and mostly of the next one. */
  #newest: GatewayLane | undefined;
  readonly #bySource = new Few<string, GatewayLane>();
  readonly #byProducer = new Few<number, GatewayLane>();
  /** Lanes whose producers have gone, oldest first. */
  #gone: Map<string, GatewayLane> | undefined;
  /** How often a source has ended. */
  endings = 0;

  /** Restores the counts of an earlier gateway. */
  restore(lanes: Iterable<SourceCount>): void {
    for (const lane of lanes) {
      // Output belongs to the subject that runs the modulator, which may have changed.
      const by = lane.origin === 0n && lane.by !== "" ? lane.by : undefined;
      // A consumer that began before the newest event lacks that.
      const endedAt = lane.keptAt === 0 ? 0 : performance.now() - Math.max(1, Date.now() - lane.keptAt);
      this.#end({ ...ENDED, ...lane, began: lane.raised, seq: -1, isUnsent: false, endedAt, by });
    }
  }

  /**
   * Takes a producer's position.
   *
   * @param seq sequence number of the channel's newest event
   * @param by the subject of its producer
   * @returns the position behind which its events go on for consumers
   * @throws JechoError `FRAME_UNEXPECTED` for another subject's source, whose events could otherwise be taken for known ones
   */
  place(position: Position, seq: number, by: string): Position {
    const { producer, urgent, source, origin } = position;
    const raised = Number(position.raised);
    const [after, through] = [Number(position.after), Number(position.through)];
    const name = sourceName(position);
    let lane = this.#bySource.get(name);
    if (lane === undefined) {
      const isUnsent = raised > 0 || through > 0;
      lane = { ...ENDED, source, urgent, raised, began: raised, origin, after, through, seq, by, isUnsent };
      this.#bySource.set(name, lane);
    }
    lane.by ??= by;
    if (lane.by !== by) throw new JechoError("FRAME_UNEXPECTED", "a position of another subject's source");
    const number = laneNumber(producer, urgent);
    const former = this.#byProducer.get(number);
    // The producer has another source now.
    if (former !== undefined && former !== lane) this.#leave(former, producer);
    this.#gone?.delete(name);
    // Events in between were raised and never sent, or no modulator has been through them; taken ones must not be taken again.
    if (raised > lane.raised || after > lane.through) {
      lane.seq = seq;
      lane.isUnsent = true;
    }
    lane.endedAt = 0;
    lane.process = 0;
    lane.raised = Math.max(lane.raised, raised);
    lane.origin = origin;
    account(lane, after, through);
    this.#newest = undefined;
    lane.producer = producer;
    lane.live = true;
    lane.rests = false;
    lane.isOver = false;
    this.#byProducer.set(number, lane);
    // A producer that comes back states its former position; the lane may account for more.
    const [taken, from, to] = [lane.raised, lane.after, lane.through].map(BigInt) as [bigint, bigint, bigint];
    return { ...position, raised: taken, after: from, through: to };
  }

  /**
   * Counts a run.
   *
   * @param seq the sequence number that its first event gets
   * @returns its source, or undefined where it was taken before
   */
  take(run: EventsFrame, seq: number): RunSource | undefined {
    const lane = this.#of(run.producer, run.isUrgent) ?? this.#goneOf(run.producer, run.isUrgent);
    if (lane === undefined) return NOBODY;
    const last = run.raised + run.count - 1;
    if (last <= lane.raised) return undefined;
    lane.raised = last;
    lane.seq = seq + run.count - 1;
    lane.isUnsent = false;
    if (lane.origin !== 0n) account(lane, run.after, run.accounted);
    return lane;
  }

  #of(producer: number, urgent: boolean): GatewayLane | undefined {
    const newest = this.#newest;
    if (newest?.producer === producer && newest.urgent === urgent) return newest;
    const lane = this.#byProducer.get(laneNumber(producer, urgent));
    if (lane !== undefined) this.#newest = lane;
    return lane;
  }

  /** The lane of a producer that has gone: a modulator elsewhere may still send output of its last events. */
  #goneOf(producer: number, urgent: boolean): GatewayLane | undefined {
    let newest: GatewayLane | undefined;
    for (const lane of this.#gone?.values() ?? [])
      if (lane.producer === producer && lane.urgent === urgent && !isUnmade(lane)) newest = lane;
    return newest;
  }

  /** A producer's position, also of one that has gone; undefined where that is not known. */
  positionAt(producer: number, urgent: boolean): Position | undefined {
    const lane = this.#of(producer, urgent) ?? this.#goneOf(producer, urgent);
    return lane && positionOf(lane);
  }

  /** The position of a producer that has gone; undefined where it is here, or forgotten. */
  goneAt(producer: number, urgent: boolean): Position | undefined {
    const lane = this.#of(producer, urgent) === undefined ? this.#goneOf(producer, urgent) : undefined;
    return lane && positionOf(lane);
  }

  /**
   * A producer is leaving whose events nobody wanted lately. Output accounts for them up to this count, and says alone how far it was: they will not come.
   *
   * @param seq sequence number of the channel's newest event
   * @param by the subject of the producer
   */
  accounted(at: Omit<SourceAt, "endedAt">, seq: number, by: string): void {
    const { source, urgent, producer, raised } = at;
    const name = sourceName(at);
    const known = this.#bySource.get(name);
    if (known?.live || raised <= (known?.raised ?? 0) || (known?.by ?? by) !== by) return;
    const lane = known ?? {
      ...ENDED,
      source,
      urgent,
      producer,
      began: raised,
      raised,
      seq,
      by,
      isOver: false,
    };
    if (lane.producer !== producer || lane.isOver) return;
    Object.assign(lane, { raised, seq, isUnsent: true });
    this.#bySource.set(name, lane);
    this.#byProducer.set(laneNumber(producer, urgent), lane);
  }

  /** For a derived channel: the count up to which output accounts for this raw source. */
  madeOf(source: bigint, urgent: boolean): number {
    let made = 0;
    for (const lane of this.#bySource.values())
      if (lane.origin === source && lane.urgent === urgent) made = Math.max(made, lane.through);
    return made;
  }

  /** The producer of this process has gone. @param mayReturn until `awaitNoMore` @returns its last positions */
  leave(producer: number, process: number, mayReturn = false): SourceAt[] {
    this.#newest = undefined;
    const ends: SourceAt[] = [];
    for (const urgent of [false, true]) {
      const lane = this.#byProducer.get(laneNumber(producer, urgent));
      this.#byProducer.delete(laneNumber(producer, urgent));
      if (lane === undefined) continue;
      lane.isOver = true;
      lane.endedAt = performance.now();
      lane.awaited = mayReturn ? producer : 0;
      lane.process = process;
      // Its last event may have come to an earlier gateway.
      lane.seq = Math.max(lane.seq, 0);
      this.#leave(lane, producer);
      ends.push(lane);
    }
    return ends;
  }

  /** A producer is back, under another number: its sources have not ended. It says how far they are once somebody listens. */
  returns(source: bigint, producer: number, by: string): void {
    for (const urgent of [false, true]) {
      const lane = this.#bySource.get(sourceName({ source, urgent }));
      // Nobody goes on with another subject's source.
      if (lane?.isOver !== true || (lane.by ?? by) !== by) continue;
      this.#gone?.delete(sourceName(lane));
      this.#newest = undefined;
      Object.assign(lane, { producer, rests: false, isOver: false, endedAt: 0, awaited: 0, process: 0 });
      this.#byProducer.set(laneNumber(producer, urgent), lane);
    }
  }

  /** A producer that was cut off is waited for no more. @param producer its number then: it may have come back, and gone again under another one */
  awaitNoMore(producer: number, ends: Iterable<SourceAt>): void {
    for (const end of ends) {
      const lane = this.#bySource.get(sourceName(end));
      if (lane?.awaited === producer) lane.awaited = 0;
    }
  }

  /** Whether this source has ended for good. */
  hasEnded(end: SourceAt): boolean {
    const lane = this.#bySource.get(sourceName(end));
    return lane !== undefined && isOverNow(lane);
  }

  /** For a derived channel: those of these raw sources whose last events no run or position accounts for. */
  unmade(ends: Iterable<SourceAt>): SourceAt[] {
    const all = [...ends];
    const sources = new Set(all.map(({ source }) => source));
    const through = new Map<string, number>();
    for (const lane of this.#bySource.values()) {
      if (!sources.has(lane.origin)) continue;
      const name = sourceName({ source: lane.origin, urgent: lane.urgent });
      through.set(name, Math.max(through.get(name) ?? 0, lane.through));
    }
    return all.filter(end => (through.get(sourceName(end)) ?? 0) < end.raised);
  }

  /**
   * For a derived channel: whether the output right behind the place in one of these raw sources, by name, has neither come nor is to come. A modulator that has not said
   * yet where it goes on may go on there, but one that goes on for others alone has gone on.
   *
   * @param raw the lanes of the channel itself
   */
  lacks(places: ReadonlyMap<string, number>, raw: GatewayLanes): boolean {
    const whole = new Set<string>();
    const heard = new Set<string>();
    for (const { origin, urgent, after, through, live, rests } of this.#bySource.values()) {
      const name = sourceName({ source: origin, urgent });
      const place = places.get(name);
      if (place === undefined) continue;
      const hasGoneOn = rests && through < raw.raisedOf(origin, urgent);
      if (live || hasGoneOn) heard.add(name);
      const reaches = hasGoneOn ? through > place : through >= place;
      if (after <= place && (live || reaches)) whole.add(name);
    }
    for (const name of places.keys())
      if (!whole.has(name) && (heard.has(name) || raw.#bySource.get(name)?.live !== true)) return true;
    return false;
  }

  /** The sources whose events come. */
  *counting(): Generator<SourceAt> {
    for (const lane of this.#byProducer.values()) if (lane.live) yield lane;
  }

  /** The sources that producers raise on the channel, or publish into a derived one, and whose events come. */
  *published(): Generator<SourceAt> {
    for (const lane of this.#byProducer.values()) if (lane.live && lane.origin === 0n) yield lane;
  }

  /** Sources whose producers were cut off, and may come back. */
  *awaited(): Generator<SourceAt> {
    for (const lane of this.#rawGone()) if (lane.isOver && !isOverNow(lane)) yield lane;
  }

  /** Sources whose producers have gone since this gateway started, even if they may come back. @param process that they were in; 0: any */
  *over(process: number): Generator<SourceAt> {
    for (const lane of this.#rawGone())
      if (lane.seq >= 0 && lane.isOver && (process === 0 || lane.process === process)) yield lane;
  }

  /** Sources that have ended for good since this gateway started, with events. */
  *ended(): Generator<GatewayLane> {
    for (const lane of this.#rawGone()) if (lane.seq >= 0 && lane.raised > 0 && isOverNow(lane)) yield lane;
  }

  /** Absent sources of which earlier gateways kept events. */
  *kept(): Generator<SourceAt> {
    for (const lane of this.#rawGone()) if (lane.keptAt > 0 && lane.isOver) yield lane;
  }

  /** Absent sources that are no modulator's. */
  *#rawGone(): Generator<GatewayLane> {
    for (const lane of this.#gone?.values() ?? []) if (lane.origin === 0n) yield lane;
  }

  /** For a derived channel: those of these raw sources for which no modulator runs at present, so that `positions` does not name them. */
  unheard(raw: Iterable<SourceAt>): SourceAt[] {
    const heard = new Set<string>();
    for (const { origin, urgent, live } of this.#bySource.values())
      if (origin !== 0n && live) heard.add(sourceName({ source: origin, urgent }));
    return [...raw].filter(at => !heard.has(sourceName(at)));
  }

  /**
   * For a derived channel: marks a raw source as ended, with the rest of its events unaccounted for.
   *
   * @param seq sequence number of the channel's newest event
   */
  endUnmade({ source, urgent, producer, raised, endedAt = 0 }: SourceAt, seq: number): Position {
    const counts = { began: raised, raised, origin: source, after: raised, through: raised };
    return this.#end({ ...ENDED, source, urgent, producer, seq, ...counts, endedAt });
  }

  /**
   * Notes that a source ended at another gateway.
   *
   * @param seq sequence number of the channel's newest event
   * @param by the subject of its producer
   * @returns its last position; undefined where that is known, or it goes on, or belongs to another subject
   */
  departed(end: SourceAt, seq: number, by: string): Position | undefined {
    const known = this.#bySource.get(sourceName(end));
    if (known === undefined ? end.raised === 0 : !known.isOver || known.raised >= end.raised)
      return undefined;
    if ((known?.by ?? by) !== by) return undefined;
    const { began, keptAt } = known ?? { began: end.raised, keptAt: 0 };
    return this.#end({ ...ENDED, ...end, seq, by, began, keptAt });
  }

  /** A source has ended that is not sent here. @returns its last position */
  #end(lane: GatewayLane): Position {
    this.#bySource.set(sourceName(lane), lane);
    this.#forgetLater(lane);
    return positionOf(lane);
  }

  /** The producer does not send it any more. Another one may, by now, which has come in its stead. */
  #leave(lane: GatewayLane, producer: number): void {
    if (lane.producer !== producer) return;
    lane.live = false;
    this.#forgetLater(lane);
  }

  /** Marks producers without listeners: they do not send their events, and tell their positions when somebody listens again. */
  rest(isMeant: (producer: number) => boolean): void {
    for (const lane of this.#byProducer.values()) {
      if (!isMeant(lane.producer)) continue;
      lane.live = false;
      lane.rests = true;
    }
  }

  /** Whether there is a producer whose events nobody wanted lately. */
  get areResting(): boolean {
    for (const { rests } of this.#byProducer.values()) if (rests) return true;
    return false;
  }

  /** The counts of modulators' output. */
  *made(): Generator<SourceCount> {
    for (const lane of this.#bySource.values()) if (lane.origin !== 0n && !isUnmade(lane)) yield lane;
  }

  /** Whether this source is known. */
  knows(source: bigint): boolean {
    return this.#bySource.has(sourceName({ source, urgent: false }));
  }

  /** Whether this source's events come. */
  sends(at: Pick<SourceCount, "source" | "urgent">): boolean {
    return this.#bySource.get(sourceName(at))?.live === true;
  }

  /** Count behind which a source began here; 0 for an unknown one. */
  beganAt(source: bigint, urgent: boolean): number {
    return this.#bySource.get(sourceName({ source, urgent }))?.began ?? 0;
  }

  /** Number and process of a source's producer when it left here; undefined where it is here, or left elsewhere. */
  leftBy(source: bigint): { readonly number: number; readonly process: number } | undefined {
    for (const urgent of [false, true]) {
      const { producer: number, process } = this.#bySource.get(sourceName({ source, urgent })) ?? ENDED;
      if (process !== 0) return { number, process };
    }
    return undefined;
  }

  /** Count of a source's newest taken event; 0 for none. */
  raisedOf(source: bigint, urgent: boolean): number {
    return this.#bySource.get(sourceName({ source, urgent }))?.raised ?? 0;
  }

  /**
   * Positions of the sending producers, for a consumer that begins now.
   *
   * @param seq sequence number of the channel's newest event: sources that ended unsent behind it are told, too, for later nobody can know
   * whether the consumer was there
   * @param presentSources raw sources whose producers are here: what is made of these goes on, once somebody wants it, further than it was when they were cut off
   */
  *positions(seq: number, presentSources: () => ReadonlySet<bigint>): Generator<Position> {
    for (const lane of this.#byProducer.values()) if (lane.live) yield positionOf(lane);
    const ends = this.#unsent(seq);
    const present = ends.length === 0 ? undefined : presentSources();
    for (const lane of ends) if (present?.has(lane.origin || lane.source) === false) yield this.#endOf(lane);
  }

  /** Last positions of sources that went on behind this event and have ended, which nobody else tells; each with the newest event before its end. */
  *ends(seq: number): Generator<SourceEnd> {
    for (const lane of this.#gone?.values() ?? [])
      if (lane.isOver && lane.seq > seq) yield { seq: lane.seq, position: this.#endOf(lane) };
    for (const lane of this.#unsent(seq)) yield { seq, position: this.#endOf(lane) };
  }

  /**
   * Last positions of sources that have ended, each once, which a consumer that is at these places and had this event lacks all the same: its queue dropped
   * them.
   */
  *endsDropped(places: readonly SourcePlace[], seq: number): Generator<Position> {
    if (places.length === 0) return;
    const reached = new Map(places.map(place => [sourceName(place), place]));
    for (const [name, lane] of this.#gone ?? []) {
      const place = reached.get(name);
      if (place === undefined || !lane.isOver || lane.seq > seq || lane.origin !== place.origin) continue;
      const lacks = lane.origin === 0n ? lane.raised > place.raised : lane.through > place.through;
      if (lacks) yield this.#endOf(lane);
    }
  }

  /** Sources that ended unsent behind this event. Of all that is made of a raw source, what accounts for most of it says enough. */
  #unsent(seq: number): GatewayLane[] {
    const unsent = [...(this.#gone?.values() ?? [])].filter(
      lane => lane.isOver && lane.isUnsent && lane.seq === seq,
    );
    if (!unsent.some(({ origin }) => origin !== 0n)) return unsent;
    const furthest = new Map<string, GatewayLane>();
    for (const lane of this.#bySource.values()) {
      const name = sourceName({ source: lane.origin, urgent: lane.urgent });
      if (lane.through >= (furthest.get(name)?.through ?? 0)) furthest.set(name, lane);
    }
    return unsent.filter(
      lane =>
        lane.origin === 0n || furthest.get(sourceName({ source: lane.origin, urgent: lane.urgent })) === lane,
    );
  }

  /** A last position. It is nobody's where what its producer sends is of another source by now, as output of a modulator that has begun anew. */
  #endOf(lane: GatewayLane): Position {
    const present = this.#byProducer.get(laneNumber(lane.producer, lane.urgent));
    return {
      ...positionOf(lane),
      ...(present !== undefined && present !== lane && { producer: 0 }),
    };
  }

  #forgetLater(lane: GatewayLane): void {
    this.endings++;
    this.#gone ??= new Map();
    this.#gone.set(sourceName(lane), lane);
    for (const name of this.#gone.keys()) {
      if (this.#gone.size <= MOST_REMEMBERED) return;
      this.#gone.delete(name);
      this.#bySource.delete(name);
    }
  }
}
