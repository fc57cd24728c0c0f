import { LentRun, type Provenance } from "@jecho/modulators/internal";
import { JechoError } from "@jecho/shared";
import { EventsFrame } from "@jecho/shared/internal";
import type { Feeds } from "../../modulation/feeds.ts";
import type { Modulation } from "../../modulation/modulation.ts";
import type { TracedRuns } from "../../modulation/traced-runs.ts";
import type { RingRecord } from "../../queues/ring.ts";
import type { ProducerEndpoint } from "../endpoints/endpoint.ts";
import type { EndpointIndex } from "../endpoints/endpoint-index.ts";
import type { Reception } from "../incoming/reception.ts";
import type { Routes } from "../incoming/routes.ts";
import type { SynchronousEvents } from "../incoming/synchronous.ts";
import type { Link } from "../link.ts";
import type { Hold } from "./hold.ts";
import { type Lane, placeOf } from "./lane.ts";
import type { MessageMemory } from "./message-memory.ts";
import type { Outbox } from "./outbox.ts";
import {
  gatherRuns,
  headerOf,
  type OutgoingMessage,
  type RaisedEvents,
  type RaisedQueue,
  type RaisedRun,
  type RunTaker,
} from "./outgoing.ts";

/** Parts that raising uses. */
interface RaisingParts {
  readonly index: EndpointIndex;
  readonly link: Link;
  readonly memory: MessageMemory;
  readonly outbox: Outbox;
  readonly hold: Hold;
  readonly modulation: Modulation;
  readonly routes: Routes;
  readonly reception: Reception;
  readonly feeds: Feeds;
  readonly synchronous: SynchronousEvents;
  readonly traced: TracedRuns | undefined;
}

/** A caller that waits for all events raised before. */
interface Flush {
  /** How far those events have come. */
  at: "raised" | "modulating" | "modulated";
  readonly done: () => void;
}

/** Takes raised events as soon as they may be sent, and gives them to consumers here, to modulators, and to the gateway. */
export class Raising {
  readonly #events: RaisedEvents;
  readonly #parts: RaisingParts;
  readonly #taker: RunTaker;
  readonly #take = (records: readonly RingRecord[], queue: RaisedQueue): number =>
    this.#hasRoom ? gatherRuns(records, queue, this.#taker) : 0;
  #flushes: Flush[] = [];
  /** Whether all goes, however little room there is. */
  takesAll = false;

  constructor(events: RaisedEvents, parts: RaisingParts) {
    this.#events = events;
    this.#parts = parts;
    const { link, memory } = parts;
    this.#taker = {
      get mostBytes() {
        return link.limitBytes;
      },
      hasRoom: () => this.#hasRoom,
      room: bytes => memory.take(bytes),
      send: message => this.#send(message),
      keep: run => this.#raiseQuietly(run),
      refuse: (producer, lane, event) => this.#refuse(producer, lane, event),
      skip: (producer, lane, raised) => this.#skip(producer, lane, raised),
    };
  }

  /** Sends raised events, as far as there is room. @returns false where they have to wait in their queues */
  drain(): boolean {
    if (this.#parts.hold.isHolding || !this.#hasRoom) return false;
    this.#parts.outbox.together(() => this.#events.drain(this.#take));
    return true;
  }

  /** Whether more may be sent; without a connection nothing waits for one. */
  get #hasRoom(): boolean {
    const { link, outbox, hold } = this.#parts;
    return this.takesAll || !link.isLive || (link.isReady && !outbox.isFull && !hold.isBlocked);
  }

  /** Whether events are still to be taken, or output: those that wait in their queues, and what a broken connection may have lost. */
  get owes(): boolean {
    if (!this.#events.isEmpty()) return true;
    const { index, modulation } = this.#parts;
    for (const endpoint of index) if (endpoint.is === "producer" && endpoint.lanes.owe) return true;
    for (const { lanes, former } of modulation.installed)
      for (const its of [...lanes.values(), ...former]) if (its.owe) return true;
    return false;
  }

  /** Calls back when earlier events are through the modulators here, and the gateway has them, too. */
  whenThrough(done: () => void): void {
    this.#flushes.push({ at: "raised", done });
    this.checkFlushes();
  }

  /** Ends the flushes whose conditions hold now. */
  checkFlushes(): void {
    // While consumers are expected back, runs that a broken connection may have lost are still to be sent again.
    if (this.#flushes.length === 0 || !this.#events.isEmpty() || this.#parts.hold.isHolding) return;
    const raised = this.#flushes.filter(({ at }) => at === "raised");
    const { installed, runs } = this.#parts.modulation;
    const isModulated = raised.length > 0 && installed.depth > 0;
    for (const flush of raised) flush.at = isModulated ? "modulating" : "modulated";
    if (isModulated)
      void runs.finished().then(() => {
        for (const flush of raised) flush.at = "modulated";
        this.checkFlushes();
      });
    const done = this.#flushes.filter(({ at }) => at === "modulated");
    if (done.length === 0) return;
    if (this.#parts.link.isLive && !this.#parts.outbox.isEmpty)
      return this.#parts.outbox.askForConfirmation();
    this.#flushes = this.#flushes.filter(({ at }) => at !== "modulated");
    for (const flush of done) flush.done();
  }

  #send({ bytes, view, runs }: OutgoingMessage): void {
    const isOwn = !runs.some(({ producer }) => this.#concerns(producer));
    const sent = this.#parts.outbox.gather(bytes, runs, isOwn);
    for (const run of runs) {
      if (!sent || run.sync || (!isOwn && this.#concerns(run.producer)))
        this.#raise(run, EventsFrame.at(bytes, run.start, view), sent);
    }
  }

  /** Whether anybody in this process may want the producer's events. */
  #concerns(producer: ProducerEndpoint): boolean {
    return this.#parts.modulation.takes(producer.channel) || this.#isHeard(producer);
  }

  /** Whether anybody but the modulators of its channel may. */
  #isHeard({ channel, channelNumber }: ProducerEndpoint): boolean {
    return (
      this.#parts.routes.takes(channelNumber) ||
      this.#parts.feeds.isFed(channelNumber) ||
      this.#parts.index.owed.has(channel)
    );
  }

  /** Hands one run to the consumers and modulators of this process. */
  #raise({ producer, lane, raised, behind }: RaisedRun, frame: EventsFrame, sent: boolean): void {
    const { id: endpoint, listener, channel, channelNumber, elsewhere } = producer;
    const of = provenanceOf(lane, frame);
    if (producer.open === undefined || (elsewhere > 0 && !sent)) {
      // An urgent event is never waited for, and has another count.
      const first = lane.urgent ? Number.NEGATIVE_INFINITY : raised;
      listener.notify({ is: "dropped", endpoint, raised: first, events: frame.count });
      return;
    }
    for (const consumer of this.#parts.index.owed.get(channel) ?? [])
      if (consumer.modulator === undefined) this.#parts.reception.raisedBefore(consumer, frame, lane);
    if (behind < raised - 1)
      this.#parts.reception.stated(channelNumber, { ...placeOf(lane), raised: behind });
    this.#parts.traced?.begin(of);
    if (!frame.isSync) {
      this.#parts.reception.raised(frame, lane);
      this.#parts.modulation.runs.enqueue(channel, frame, of);
      this.#parts.feeds.raised(frame, undefined, of, lane);
      return;
    }
    const tag = this.#parts.synchronous.begin(producer, raised, sent ? frame : undefined);
    this.#parts.feeds.raised(frame, tag, of, lane);
    this.#parts.reception.raised(frame, lane, outcome => this.#parts.synchronous.settle(tag, outcome));
    if (!this.#parts.modulation.runs.enqueue(channel, frame, of, tag)) this.#parts.synchronous.settle(tag);
  }

  /** The lane's events up to this one that did not come were dropped. */
  #skip({ channel, channelNumber, elsewhere }: ProducerEndpoint, lane: Lane, raised: number): void {
    if (raised <= lane.raised) return;
    // Whoever begins to listen later is told the position then.
    const isHeardElsewhere = elsewhere > 0 && lane.isAddressed && this.#parts.link.isLive;
    if (isHeardElsewhere && !lane.isPlaced) this.#parts.outbox.place(lane);
    this.#parts.reception.stated(channelNumber, placeOf(lane));
    lane.raised = raised;
    if (isHeardElsewhere) this.#parts.outbox.place(lane);
    this.#parts.reception.stated(channelNumber, placeOf(lane));
    const none = { source: lane.source, after: raised, through: raised };
    this.#parts.modulation.runs.pass(channel, none);
    this.#parts.feeds.passed(channelNumber, none, lane);
  }

  /** An event too large for the gateway is not sent, as without a connection. */
  #refuse(producer: ProducerEndpoint, lane: Lane, { sync, raised, start, end }: RingRecord): void {
    const { id: endpoint, listener } = producer;
    const most = this.#parts.link.limitBytes;
    const why = `an event of ${end - start} bytes: the gateway takes at most ${most}`;
    if (!sync) listener.notify({ is: "fault", error: new JechoError("FRAME_TOO_LARGE", why) });
    const first = lane.urgent ? Number.NEGATIVE_INFINITY : raised;
    listener.notify({ is: "dropped", endpoint, raised: first, events: 1, code: "FRAME_TOO_LARGE" });
    this.#skip(producer, lane, raised);
  }

  /** A run that nobody elsewhere wants: it is copied only for consumers here. */
  #raiseQuietly(run: RaisedRun): void {
    const { producer, lane, sync, raised } = run;
    const { channel } = producer;
    const lent = new LentRun(headerOf(run), run);
    const of = provenanceOf(lane, { raised, count: lent.count });
    if (this.#isHeard(producer) || producer.open === undefined) return this.#raise(run, lent.frame(), false);
    this.#parts.traced?.begin(of);
    if (!sync) {
      this.#parts.modulation.runs.enqueue(channel, lent, of);
      return;
    }
    const tag = this.#parts.synchronous.begin(producer, raised);
    this.#parts.synchronous.settle(tag);
    if (!this.#parts.modulation.runs.enqueue(channel, lent, of, tag)) this.#parts.synchronous.settle(tag);
  }
}

/** The provenance of a raised run: its own events. */
function provenanceOf({ source }: Lane, { raised, count }: { raised: number; count: number }): Provenance {
  return { source, after: raised - 1, through: raised + count - 1 };
}
