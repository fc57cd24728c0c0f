import type { EventsFrame, Outgoing, Position, SourcePlace } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { Deadlines } from "../connections/deadlines.ts";
import type { History } from "../history/history.ts";
import type { GatewayCounts } from "../operations/gateway-counts.ts";
import type { Acknowledgements } from "./acknowledgements.ts";
import { ChannelDemand, type DemandNotices } from "./demand.ts";
import type { Gathering } from "./gathering.ts";
import type { SourceAt } from "./lane.ts";
import { GatewayLanes, type SourceEnd } from "./lanes.ts";
import type { QueuePolicy } from "./listener.ts";
import { Listeners } from "./listeners.ts";
import type { LaneName } from "./run-queue.ts";

const MINUTE_MS = 60_000;

/** Decisions that a channel leaves to its manager. */
export interface ChannelOwner {
  /** An event's key, where only the newest event of each key matters. */
  keyOf(run: EventsFrame, i: number): string;
  /** Number of a producer's process; 0 where it has gone. */
  processOf(producer: number): number;
  /**
   * The present number and process of a source's producer, or the last ones here. One that left elsewhere has the number under which its
   * events were raised, and process 0.
   */
  presentOf(producer: number, source: bigint): { readonly number: number; readonly process: number };
  /** The sources of all producers, also of those that publish into derived channels. */
  presentSources(): ReadonlySet<bigint>;
  /** The subject of a producer's token; "" where it has none, or has gone. */
  subjectOf(producer: number): string;
  /** Cuts off a consumer's process whose queue is full. */
  cutOff(channel: Channel, connection: Connection): void;
  /** Begins to keep a channel's events for consumers whose connections break. */
  keepForReturn(channel: Channel): void;
  /** Tells producers to wait, or to go on. */
  block(channel: Channel, ready: boolean): void;
  /** Whether producers of this connection send the channel's events. */
  isSentBy(channel: Channel, connection: Connection): boolean;
  /** Deadlines of queues for which producers wait: called when these have waited too long. */
  readonly blocking: Deadlines<() => void>;
  /** Called for a consumer's process for which producers have waited too long. */
  blockedTooLong(channel: Channel, connection: Connection): void;
}

/** A channel or a derived channel at the gateway: a number, listeners, and the count of events. */
export class Channel {
  // Fields that each run needs come first, so that they are adjacent in memory.
  readonly number: number;
  /** Epoch of the sequence numbers: a channel that was forgotten and comes back has another one. */
  readonly epoch: number;
  /** Sequence number that the next event gets. The first event of a channel is 1. */
  nextSeq = 1;
  /** Bytes of all runs taken, and events dropped for processes that did not keep up. */
  bytes = 0;
  dropped = 0;
  history: History | undefined;
  readonly lanes = new GatewayLanes();
  readonly listeners: Listeners;
  readonly owner: ChannelOwner;
  /** Whether the history is kept even while nobody listens. */
  isKept = false;
  readonly demand = new ChannelDemand();
  readonly #acknowledgements: Acknowledgements;
  readonly #notices: DemandNotices;
  readonly counts: GatewayCounts;

  constructor(
    number: number,
    epoch: number,
    owner: ChannelOwner,
    acknowledgements: Acknowledgements,
    gathering: Gathering,
    notices: DemandNotices,
    counts: GatewayCounts,
  ) {
    this.number = number;
    this.epoch = epoch;
    this.owner = owner;
    this.#acknowledgements = acknowledgements;
    this.#notices = notices;
    this.counts = counts;
    this.listeners = new Listeners(this, acknowledgements, gathering);
  }

  /** Number of consumers, including awaited ones, those still being sent the past, and a history that is kept in any case. */
  get consumers(): number {
    return this.demand.consumers + (this.isKept ? 1 : 0);
  }

  /** The requested history; undefined where events are only kept for returning consumers. */
  get past(): History | undefined {
    return this.history?.isTransient === true ? undefined : this.history;
  }

  /** Whether any consumer listens. */
  get #listens(): boolean {
    return this.demand.consumers + this.demand.feeds > 0;
  }

  /** The demand has changed: keeps as many events as returning consumers may need. */
  reviewReturns(): void {
    if (this.history?.isTransient !== true) return;
    if (this.#listens || this.demand.isExpecting) this.owner.keepForReturn(this);
    else this.history = undefined;
  }

  /** Forgets events that are too old. */
  trimHistory(now: number): void {
    const { history } = this;
    history?.log.trim(now);
    if (history?.isTransient === true && history.log.bytes === 0 && !this.demand.isExpecting)
      this.history = undefined;
  }

  /**
   * Adds a listening consumer, and tells its process each producer's position.
   *
   * @param feed number of the process whose events it wants; 0 for all
   */
  enter(connection: Connection, policy: QueuePolicy, feed: number): void {
    this.demand.enter(feed);
    const listener = this.listeners.enter(connection, policy, feed);
    for (const position of this.positions()) listener.tell(this.#placed(position));
  }

  /** Positions for a consumer that begins now. */
  positions(): Iterable<Position> {
    return this.lanes.positions(this.nextSeq - 1, () => this.owner.presentSources());
  }

  /** The present position of a producer's usual or urgent events; undefined where nobody knows. */
  positionOf({ producer, urgent }: LaneName): Position | undefined {
    const position = this.lanes.positionAt(producer, urgent);
    return position && this.#placed(position);
  }

  /** A consumer is back at this event: tells its process the last positions of producers that have gone since. */
  tellEnds(connection: Connection, seq: number): void {
    for (const { position } of this.lanes.ends(seq))
      this.listeners.tellOne(connection, this.#placed(position));
  }

  /** The same of sources whose last events its queue dropped before the connection broke. @param places as the consumer says them */
  tellDropped(connection: Connection, places: readonly SourcePlace[], seq: number): void {
    for (const position of this.lanes.endsDropped(places, seq))
      this.listeners.tellOne(connection, this.#placed(position));
  }

  /** The same for one from another channel: of raw sources that it names, and any of the last minute. */
  tellEndsOf(connection: Connection, places: readonly SourcePlace[]): void {
    const raw = new Set(places.map(({ origin }) => origin));
    for (const { position } of this.lanes.ends(-1))
      if (position.agoMs < MINUTE_MS || raw.has(position.origin || position.source))
        this.listeners.tellOne(connection, this.#placed(position));
  }

  /** The same as `tellEnds`, for its past, which has another channel number: in the order in which they go between the events. */
  endsBehind(seq: number, number: number): SourceEnd[] {
    const ends = Array.from(this.lanes.ends(seq), ({ seq, position }) => ({
      seq,
      position: {
        ...this.#placed(position.process === 0 ? { ...position, producer: 0 } : position),
        channel: number,
      },
    }));
    return ends.sort((a, b) => a.seq - b.seq);
  }

  leave(connection: Connection, policy: QueuePolicy, feed: number): void {
    if (this.listeners.leave(connection, policy, feed)) this.demand.leave(feed);
  }

  /**
   * Number of consumers of this process' events, or of output made of them, at other connections than the
   * sender's, and the number of unheard modulators among them.
   */
  #demandOf(process: number, sender: Connection): { consumers: number; unheard: number } {
    const { demand, listeners } = this;
    const consumers = this.consumers - listeners.consumersAt(sender) + demand.expected(process);
    if (demand.feeds === 0) return { consumers, unheard: 0 };
    const { feeds, unheard } = listeners.feedsOn(process, sender);
    return { consumers: consumers + feeds, unheard };
  }

  /**
   * Tells the senders of some processes' events, at the end of the turn, how many consumers there are elsewhere.
   *
   * @param processes default: the connection's own
   */
  tellDemand(connection: Connection, processes: readonly number[] = [connection.process]): void {
    this.#notices.add(connection, this, processes);
  }

  /** The frames with the present demand. */
  takeDemand(connection: Connection, processes: readonly number[]): Outgoing[] {
    let [consumers, heard] = [0, 0];
    for (const process of processes) {
      const all = this.#demandOf(process, connection);
      consumers = Math.max(consumers, all.consumers);
      heard = Math.max(heard, all.consumers - all.unheard);
    }
    if (consumers === 0) this.lanes.rest(producer => processes.includes(this.owner.processOf(producer)));
    const unheard = consumers - heard;
    const demand: Outgoing = { kind: "Demand", channel: this.number, consumers, unheard };
    return this.listeners.isBlocking && this.owner.isSentBy(this, connection)
      ? [demand, { kind: "Flow", derived: this.number, ready: false }]
      : [demand];
  }

  /** Tells the demand. @param known called when the other side has it, or has gone @returns a function that ends the waiting */
  assureDemand(connection: Connection, process: number, known: () => void): () => void {
    return connection.ask(
      request => ({ kind: "Demand", request, channel: this.number, ...this.#demandOf(process, connection) }),
      known,
    );
  }

  /** A position, completed by the channel, and the producer's process and subject. A lane has that of one that has gone. */
  #placed(position: Position): Position {
    const { producer } = position;
    const process = position.process || this.owner.processOf(producer);
    return { ...position, channel: this.number, process, by: this.owner.subjectOf(producer) };
  }

  /**
   * Tells a derived channel's consumers that a raw source begins behind this event, without output so far.
   *
   * @param isFirst whether nothing of that source can wait for anybody
   */
  sourceBegins(from: Connection, at: SourceAt, isFirst: boolean): void {
    this.listeners.tell(this.#beginningOf(at), from, isFirst);
  }

  /** Tells a newly listening connection the same. */
  tellBeginning(connection: Connection, at: SourceAt): void {
    this.listeners.tellOne(connection, this.#beginningOf(at));
  }

  #beginningOf({ producer, source, urgent, raised }: SourceAt): Position {
    const counts = { raised: 0n, after: BigInt(raised), through: BigInt(raised) };
    const names = { channel: 0, producer, urgent, source, origin: source };
    return this.#placed({ kind: "Position", ...names, ...counts, process: 0, by: "", agoMs: 0 });
  }

  /** Tells a derived channel's consumers that a raw source has ended, with no further output. */
  sourceEnds(end: SourceAt): void {
    this.listeners.tellAll(this.#placed(this.lanes.endUnmade(end, this.nextSeq - 1)));
  }

  /** Notes that a source ended at another gateway. @returns whether that is new */
  departed(end: SourceAt, by: string): boolean {
    const position = this.lanes.departed(end, this.nextSeq - 1, by);
    if (position === undefined) return false;
    this.listeners.tellAll(this.#placed(position));
    return true;
  }

  /** Takes a producer's position in its count. @returns whether that is of a raw source whose events did not come until now */
  position(from: Connection, position: Position): boolean {
    const isRaw = position.origin === 0n;
    const isFirst = isRaw && !this.lanes.knows(position.source);
    const wasSilent = isRaw && !this.lanes.sends(position);
    const taken = this.lanes.place(position, this.nextSeq - 1, from.subject?.name ?? "");
    this.listeners.tell(this.#placed({ ...taken, process: 0 }), from, isFirst);
    return wasSilent;
  }

  /** Sends output of the last events of a producer that has gone. Its position goes first, for newer listeners do not know its source. */
  fanOutLate(frame: EventsFrame, from: Connection): void {
    const position = this.lanes.goneAt(frame.producer, frame.isUrgent);
    if (position !== undefined) this.listeners.tell(this.#placed(position), from);
    this.fanOut(frame, from, 0);
  }

  /**
   * Stamps the run in place and sends the same bytes to all listeners except its sender.
   *
   * @param process number of the process that raised the run, or its raw events
   * @throws JechoError `OVERLOADED` where too many synchronous events are under way
   */
  fanOut(frame: EventsFrame, from: Connection, process: number): void {
    const of = this.lanes.take(frame, this.nextSeq);
    if (of === undefined) return;
    // Later listeners do not know yet where it begins, but of one that has gone. A synchronous event is waited for.
    if (of.rests && !of.isOver && !frame.isSync) return;
    frame.stamp(this.epoch, this.nextSeq);
    this.nextSeq += frame.count;
    this.bytes += frame.end - frame.start;
    this.counts.events += frame.count;
    this.counts.bytes += frame.end - frame.start;
    if (this.history === undefined && this.#listens) this.owner.keepForReturn(this);
    const stored = this.history?.append(frame, of, this.owner.subjectOf(frame.producer), Date.now());
    if (stored !== undefined) from.awaitStored(stored);
    if (frame.isSync) this.#acknowledgements.expect(this, frame, from, process);
    this.listeners.send(frame, from, process);
  }
}
