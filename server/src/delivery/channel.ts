import type { EventsFrame, Outgoing, Position } from "@jecho/shared/internal";
import type { Connection } from "../connection.ts";
import type { History } from "../history/history.ts";
import type { Acknowledgements } from "./acknowledgements.ts";
import { Demand } from "./demand.ts";
import type { DemandNotices } from "./demand-notices.ts";
import type { Gathering } from "./gathering.ts";
import { Lanes } from "./lanes.ts";
import type { QueuePolicy } from "./listener.ts";
import { Listeners } from "./listeners.ts";

/** What a channel leaves to its manager. */
export interface ChannelOwner {
  /** What distinguishes events of which the newest matters. */
  keyOf(run: EventsFrame, i: number): string;
  /**
   * The process that a producer is of, as the gateway numbers them; 0 where that has gone.
   *
   * @param source of its events, where they were raised under another number
   */
  processOf(producer: number, source?: bigint): number;
  /** A consumer's process has to be cut off, for its queue is full. */
  cutOff(channel: Channel, connection: Connection): void;
  /** Producers should wait, or go on. */
  block(channel: Channel, ready: boolean): void;
}

/** What a channel and a derived channel have in common at the gateway: a number, listeners, and the count of events. */
export class Channel {
  // What each run needs comes first, for it to lie together in memory.
  readonly number: number;
  /** Which numbering this is; a channel that is forgotten and comes back has another one. */
  readonly epoch: number;
  /** Sequence number that the next event gets. The first event of a channel is 1. */
  nextSeq = 1;
  history: History | undefined;
  readonly lanes = new Lanes();
  readonly listeners: Listeners;
  readonly owner: ChannelOwner;
  /** Its history is kept whether anybody listens or not. */
  isKept = false;
  readonly demand = new Demand();
  readonly #acknowledgements: Acknowledgements;
  readonly #notices: DemandNotices;

  constructor(
    number: number,
    epoch: number,
    owner: ChannelOwner,
    acknowledgements: Acknowledgements,
    gathering: Gathering,
    notices: DemandNotices,
  ) {
    this.number = number;
    this.epoch = epoch;
    this.owner = owner;
    this.#acknowledgements = acknowledgements;
    this.#notices = notices;
    this.listeners = new Listeners(this, acknowledgements, gathering);
  }

  /** Consumers: those that are awaited, those that are still being sent the past, and a history that is to be whole, included. */
  get consumers(): number {
    return this.demand.consumers + (this.isKept ? 1 : 0);
  }

  /**
   * A consumer's process listens, and is told where each producer is.
   *
   * @param feed the process that it wants the events of; 0: all
   */
  enter(connection: Connection, policy: QueuePolicy, feed: number): void {
    this.demand.enter(feed);
    const listener = this.listeners.enter(connection, policy, feed);
    for (const position of this.lanes.positions(this.number)) listener.tell(this.#placed(position));
  }

  leave(connection: Connection, feed: number): void {
    if (this.listeners.leave(connection, feed)) this.demand.leave(feed);
  }

  /**
   * How many consumers want what this process raises, or what is made of that, at connections other than the one that sends it, and
   * how many of these are modulators that nobody listens to yet.
   */
  #demandOf(process: number, sender: Connection): { consumers: number; unheard: number } {
    const { demand, listeners } = this;
    const consumers = this.consumers - listeners.consumersAt(sender) + demand.expected(process);
    // Every consumer that comes or goes brings us here, and hardly ever is there one of these.
    if (demand.feeds === 0) return { consumers, unheard: 0 };
    const { feeds, unheard } = listeners.feedsOn(process, sender);
    return { consumers: consumers + feeds, unheard };
  }

  /**
   * Tells who sends the events of some processes how many consumers there are elsewhere; it knows its own. That goes out when
   * the turn is over.
   *
   * @param processes by default its own
   */
  tellDemand(connection: Connection, processes: readonly number[] = [connection.process]): void {
    this.#notices.add(connection, this, processes);
  }

  /** What is to be told now. */
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
    return this.listeners.isBlocking
      ? [demand, { kind: "Flow", derived: this.number, ready: false }]
      : [demand];
  }

  /** The same. @param known called when the other side knows it, or has gone @returns what ends the waiting */
  assureDemand(connection: Connection, process: number, known: () => void): () => void {
    return connection.ask(
      request => ({ kind: "Demand", request, channel: this.number, ...this.#demandOf(process, connection) }),
      known,
    );
  }

  /** A position, with the process that the producer is of. */
  #placed(position: Position): Position {
    return { ...position, process: this.owner.processOf(position.producer) };
  }

  /** A producer says where it is in the count of its events. */
  position(from: Connection, position: Position): void {
    this.listeners.tell(this.#placed({ ...this.lanes.place(position), channel: this.number }), from);
  }

  /**
   * Stamps the run where it lies and sends the very same bytes to everyone who listens, but not back to its sender.
   *
   * @param process who raised it, or what it was made of
   * @throws JechoError `OVERLOADED` where too many synchronous events are under way
   */
  fanOut(frame: EventsFrame, from: Connection, process: number): void {
    const of = this.lanes.take(frame);
    if (of === undefined) return;
    frame.stamp(this.epoch, this.nextSeq);
    this.nextSeq += frame.count;
    this.history?.append(frame, of, Date.now());
    if (frame.isSync) this.#acknowledgements.expect(this, frame, from, process);
    this.listeners.send(frame, from, process);
  }
}
