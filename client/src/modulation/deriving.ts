import type { Provenance } from "@jecho/modulators/internal";
import { splitName } from "@jecho/shared";
import type { EventsFrame } from "@jecho/shared/internal";
import type { ConsumerEndpoint, Endpoint, ProducerEndpoint } from "../concentrator/endpoints/endpoint.ts";
import type { EndpointIndex } from "../concentrator/endpoints/endpoint-index.ts";
import type { Reception } from "../concentrator/incoming/reception.ts";
import type { Routes } from "../concentrator/incoming/routes.ts";
import type { SynchronousEvents } from "../concentrator/incoming/synchronous.ts";
import { TrackedSource } from "../concentrator/incoming/tracked-source.ts";
import type { Hold } from "../concentrator/outgoing/hold.ts";
import { Coverage, type Lane, type OwnLanes, placeOf } from "../concentrator/outgoing/lane.ts";
import type { Outbox } from "../concentrator/outgoing/outbox.ts";
import { Beginnings } from "./beginnings.ts";
import type { Feeds } from "./feeds.ts";
import { type Installation, newIncarnation } from "./installation.ts";
import { Kept } from "./kept.ts";
import type { Modulation } from "./modulation.ts";
import type { TracedRuns } from "./traced-runs.ts";

/** Parts that deriving uses. */
interface DerivingParts {
  readonly index: EndpointIndex;
  readonly lanes: OwnLanes;
  readonly outbox: Outbox;
  readonly hold: Hold;
  readonly routes: Routes;
  readonly reception: Reception;
  readonly modulation: Modulation;
  readonly feeds: Feeds;
  readonly synchronous: SynchronousEvents;
  readonly traced: TracedRuns | undefined;
}

/** Time after which a position accounts for what no run has accounted for. */
const STATED_MS = 1000;
/** Most positions in one message: some tens of KiB. */
const STATED_TOGETHER = 512;
/** The source of output made before any event. */
const NO_SOURCE = 0n;

/**
 * Counts the output of modulators here, adds its provenance, and gives it to the consumers of this process and, where it is
 * wanted elsewhere, to the gateway.
 */
export class Deriving {
  readonly #parts: DerivingParts;
  readonly #kept = new Kept();
  /** Beginnings of modulators that are being installed, by their hosted numbers. */
  readonly #ordered = new Map<number, Beginnings>();
  /** Lanes whose modulators have been through more than was accounted for. */
  readonly #unstated = new Map<Lane, Installation>();
  #stating: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: DerivingParts) {
    this.#parts = parts;
  }

  /**
   * A modulator is being installed: it takes events from now on, even if its installation is reported later.
   *
   * @param hosted its hosted number
   * @param feed name of its input from this process
   * @param wire name of its feed over the wire; "" for none
   */
  ordered(hosted: number, feed: string, parent: Installation | undefined, wire: string): void {
    const beginnings = new Beginnings(wire);
    this.#ordered.set(hosted, beginnings);
    if (parent === undefined)
      for (const { number, lanes } of this.#parts.index.producersNamed(feed))
        for (const { source, raised } of lanes) beginnings.add(number, source, raised);
    else {
      for (const endpoint of this.#parts.index) if (endpoint.is === "producer") beginnings.addOwn(endpoint);
      const { runs } = this.#parts.modulation;
      runs.tellSeen(parent);
      for (const lanes of parent.lanes.values())
        for (const { coverage, producer } of lanes)
          if (coverage !== undefined) {
            const { source, through } = coverage;
            beginnings.add(producer, source, runs.reachedBehind(parent, source, through));
          }
    }
    for (const { producer, source, reached } of this.#parts.feeds.metBy(wire))
      beginnings.add(producer, source, reached);
  }

  /** Called when the modulator could not be installed. */
  refused(hosted: number): void {
    this.#ordered.delete(hosted);
  }

  /** A feed has a new source, which modulators that are being installed take, too. */
  met(wire: string, producer: number, source: TrackedSource, reached: number): void {
    for (const beginnings of this.#ordered.values())
      if (beginnings.wire === wire) beginnings.add(producer, source, reached);
  }

  /** A modulator is installed: it accounts for its input since `ordered`. */
  installed(installation: Installation): void {
    const beginnings = this.#ordered.get(installation.hosted);
    this.#ordered.delete(installation.hosted);
    for (const { producer, source, reached } of beginnings ?? [])
      this.begin(installation, producer, source, reached);
    if (installation.process !== 0) return;
    for (const name of this.#parts.modulation.installed.sourcesOf(installation))
      for (const producer of this.#parts.index.producersNamed(name))
        this.#beginOwn(installation, producer, beginnings);
  }

  /** A modulator that outlived its connection has a number at the present one. */
  again(installation: Installation): void {
    const { lanes, number, producers } = installation;
    lanes.get(NO_SOURCE)?.address(number, producers[0] ?? 0);
    // The sources that its feed has got meanwhile.
    for (const [source, { usual, urgent }] of lanes)
      if (source !== NO_SOURCE) this.#address(installation, source, usual.producer || urgent.producer);
  }

  /** A producer here is open: the modulators of its channel account for its events from now on. */
  opened(producer: ProducerEndpoint): void {
    for (const beginnings of this.#ordered.values()) beginnings.addOwn(producer);
    for (const installation of this.#parts.modulation.installed.madeOf(producer.channel).keys())
      if (installation.process === 0) this.#beginOwn(installation, producer);
  }

  /** @param since positions at which it takes what was raised while it was being installed */
  #beginOwn(installation: Installation, { number, lanes }: ProducerEndpoint, since?: Beginnings): void {
    for (const { source, raised } of lanes)
      this.begin(installation, number, source, since?.ofOwn(source) ?? raised);
  }

  /**
   * A modulator takes a source's events from now on.
   *
   * @param producer its number at the present connection
   * @param reached count of its newest event so far
   */
  begin(installation: Installation, producer: number, source: TrackedSource, reached: number): void {
    const lane = this.#laneOf(installation, source.id, source.urgent);
    const isNew = lane.coverage === undefined;
    lane.coverage ??= new Coverage(source, reached);
    this.#address(installation, source.id, producer);
    if (!isNew) return;
    lane.leftAt = this.#parts.index.producerOfSource(source.id)?.lanes.of(source.urgent).leftAt;
    const { number, isTold, former } = installation;
    if (number !== 0) this.#parts.reception.begun(number, placeOf(lane));
    // A coming consumer is told the modulator's first position, after the output of its earlier state.
    const waits = !isTold || former.some(lanes => lanes.owe) || this.#parts.hold.isHeld(installation);
    if (lane.isAddressed && !waits) this.#parts.outbox.place(lane);
  }

  /** The output made of a raw source has these numbers at the present connection. @param producer 0 where the source was not met there yet */
  #address(installation: Installation, source: bigint, producer: number): void {
    const { number, lanes, former, process, elsewhere, isTold } = installation;
    const present = lanes.get(source);
    if (producer === 0 || present === undefined || present.areAt(number, producer)) return;
    const isWanted = elsewhere > 0 && (process !== 0 || (isTold && !this.#parts.hold.isHeld(installation)));
    const before = former.filter(({ usual, urgent }) => (usual.origin ?? urgent.origin)?.id === source);
    for (const pair of [...before, present])
      for (const lane of pair) {
        lane.address(number, producer);
        if (lane.coverage !== undefined) this.#stateSoon(lane, installation);
        // Output waits for two messages: the demand for it, and that of its producer here, or the feed's position of the source.
        if (isWanted && lane.isAddressed && lane.owes) this.#parts.outbox.resume(lane);
      }
  }

  /** A modulator was restarted without its state: its output gets new sources, by which consumers see that. */
  restarted(installation: Installation): void {
    this.state();
    const former = [...installation.lanes.values()];
    installation.former = [...installation.former, ...former].filter(lanes => this.#parts.outbox.owes(lanes));
    installation.lanes.clear();
    installation.incarnation = newIncarnation();
    for (const lanes of former) {
      for (const { coverage, producer } of lanes)
        if (coverage !== undefined) {
          this.begin(installation, producer, coverage.source, coverage.through);
          this.#stateSoon(
            this.#laneOf(installation, coverage.source.id, coverage.source.urgent),
            installation,
          );
        }
    }
  }

  /** A modulator has been through a stretch of its input. */
  seen(installation: Installation, { source, after, through }: Provenance): void {
    const lane = this.#laneOf(installation, source.id, source.urgent);
    lane.coverage ??= new Coverage(source as TrackedSource, after);
    if (after > lane.coverage.through) {
      // A position behind a gap accounts for nothing before it.
      this.#state(lane, installation);
      if (!installation.isTold) lane.leftAt ??= lane.coverage.through;
    }
    lane.coverage.seen(after, through);
    this.#stateSoon(lane, installation);
  }

  #stateSoon(lane: Lane, installation: Installation): void {
    this.#unstated.set(lane, installation);
    this.stateLater();
  }

  /** Has `state` called soon, for modulators have been through something. */
  stateLater(): void {
    if (this.#stating !== undefined) return;
    this.#stating = setTimeout(() => {
      this.#stating = undefined;
      this.state();
    }, STATED_MS);
    (this.#stating as { unref?: () => void }).unref?.();
  }

  /** Sends the positions of modulators that no run has stated. @param only one modulator; undefined for all */
  state(only?: Installation): void {
    this.#parts.modulation.runs.tellSeen(only);
    const unstated = [...this.#unstated].filter(([, one]) => only === undefined || only === one);
    for (let first = 0; first < unstated.length; first += STATED_TOGETHER)
      this.#parts.outbox.placeTogether(() => {
        for (const [lane, installation] of unstated.slice(first, first + STATED_TOGETHER)) {
          const isGone = this.#parts.modulation.installed.get(installation.hosted) !== installation;
          if (this.#state(lane, installation) || isGone) this.#unstated.delete(lane);
        }
      });
  }

  /** @returns false where it cannot be said yet */
  #state(lane: Lane, installation: Installation): boolean {
    const { coverage } = lane;
    if (coverage === undefined) return true;
    const { source, start, through } = coverage;
    const of = { source, after: start, through };
    this.#parts.modulation.runs.passBehind(installation, coverage.passOn());
    if (installation.only !== undefined) {
      this.#parts.reception.statedFor(installation.only, placeOf(lane));
      return true;
    }
    if (installation.number === 0)
      for (const consumer of this.#takersBack(installation))
        this.#parts.reception.statedFor(consumer, placeOf(lane));
    // A held position is stated when it is sent.
    const { number, elsewhere, isTold, lanes } = installation;
    if (number === 0 || this.#parts.hold.isHeld(installation)) return false;
    this.#parts.reception.stated(number, placeOf(lane));
    this.#parts.feeds.passed(number, of);
    // A lane with runs to send again, or without a number, states its position with those. One of an earlier incarnation states none.
    const isSent = lane.isAddressed && lane.unconfirmed.length === 0;
    const isPresent = lanes.get(source.id)?.of(lane.urgent) === lane;
    if (elsewhere > 0 && isSent && isPresent) this.#parts.outbox.place(lane);
    else if (elsewhere === 0 && isTold) coverage.said();
    return true;
  }

  /**
   * A modulator made a run.
   *
   * @param frame the run, alone in its memory
   * @param raising tag of the synchronous event that it was made of, if any
   * @param isLast whether it is the last run of its call for this producer
   * @returns its provenance
   */
  made(
    installation: Installation,
    frame: EventsFrame,
    raising: string | undefined,
    isLast: boolean,
  ): Provenance | undefined {
    if (installation.only !== undefined) return this.#madeFor(installation.only, installation, frame, isLast);
    return installation.process === 0
      ? this.#madeOfOwn(installation, frame, raising, isLast)
      : this.#madeInstead(installation, frame, raising, isLast);
  }

  #madeOfOwn(
    installation: Installation,
    frame: EventsFrame,
    raising: string | undefined,
    isLast: boolean,
  ): Provenance | undefined {
    const producer = this.#producerOf(installation, frame);
    if (producer === undefined) return undefined;
    const lane = this.#laneOf(installation, producer.lanes.usual.source.id, frame.isUrgent);
    const of = this.#count(frame, lane, isLast);
    if (of !== undefined && isLast) this.#parts.traced?.made(producer, of, frame.count);
    frame.readdress(installation.number, producer.number);
    const { number, isTold } = installation;
    if (number === 0 || !isTold || producer.open === undefined || this.#parts.hold.isHeld(installation)) {
      frame.forgetSync();
      this.#keep(installation, frame, lane);
      if (number !== 0) this.#parts.reception.raised(frame, lane);
      this.#parts.outbox.hold(lane, frame);
      return of;
    }
    if (this.#parts.index.owed.size > 0) this.#kept.add(installation, frame, lane);
    this.#handOut(installation, frame, lane, raising);
    this.#parts.feeds.raised(frame, frame.isSync ? raising : undefined, of);
    return of;
  }

  /** The producer of an output run; undefined where it has gone, or for a period's output before any event. */
  #producerOf({ base }: Installation, frame: EventsFrame): ProducerEndpoint | undefined {
    const source = this.#parts.modulation.runs.sourceOf(frame);
    const its = source === undefined ? undefined : this.#parts.index.producerOfSource(source);
    if (its !== undefined) return its;
    const [first] = this.#parts.index.producersNamed(base);
    return first;
  }

  /** Takes a run of the past, made for one consumer. */
  #madeFor(
    consumer: ConsumerEndpoint,
    installation: Installation,
    frame: EventsFrame,
    isLast: boolean,
  ): Provenance | undefined {
    const source = this.#sourceOf(installation, frame);
    const lane = this.#laneOf(installation, source, frame.isUrgent);
    this.#coverUnsaid(lane, source, of => consumer.past?.reached(of));
    const of = this.#count(frame, lane, isLast);
    consumer.past?.made(frame, lane, source);
    return of;
  }

  /** Tells consumers here whose past is still being made where the next output of each modulator of their channel begins. */
  tellBegun(channel: number): void {
    for (const installation of this.#parts.modulation.installed) {
      const { number, lanes } = installation;
      if (number !== channel) continue;
      this.#parts.modulation.runs.tellSeen(installation);
      for (const pair of lanes.values())
        for (const lane of pair) {
          const { told: through = 0 } = lane.coverage ?? {};
          this.#parts.reception.begun(channel, { ...placeOf(lane), through });
        }
    }
  }

  /** Takes a run that was made of another process's events. */
  #madeInstead(
    installation: Installation,
    frame: EventsFrame,
    raising: string | undefined,
    isLast: boolean,
  ): Provenance | undefined {
    const { producers, number, own, isTold, wire } = installation;
    const source = this.#sourceOf(installation, frame);
    const lane = this.#laneOf(installation, source, frame.isUrgent);
    this.#coverUnsaid(lane, source, of => this.#parts.feeds.reached(wire, of));
    if (source === NO_SOURCE && !lane.isAddressed) lane.address(number, producers[0] ?? 0);
    const of = this.#count(frame, lane, isLast);
    frame.readdress(number, lane.producer);
    // Another process serves consumers elsewhere by now.
    if (own) this.#keep(installation, frame, lane);
    if (!own && (!isTold || !lane.isAddressed)) this.#parts.outbox.hold(lane, frame);
    else if (number !== 0) this.#handOut(installation, frame, lane, raising);
    return of;
  }

  /** A period's output of urgent events alone is counted with the usual ones: these go on where others left off. */
  #coverUnsaid(lane: Lane, source: bigint, reached: (of: TrackedSource) => number | undefined): void {
    if (lane.coverage !== undefined || source === NO_SOURCE) return;
    const of = new TrackedSource(source, lane.urgent);
    const at = reached(of);
    if (at !== undefined) lane.coverage = new Coverage(of, at);
  }

  /** Keeps a run for absent consumers of this process, and hands it to those that are back before their modulator. */
  #keep(installation: Installation, frame: EventsFrame, lane: Lane): void {
    if (this.#parts.index.isAnyAway()) this.#kept.add(installation, frame, lane);
    if (installation.number !== 0) return;
    for (const consumer of this.#takersBack(installation))
      this.#parts.reception.raisedBefore(consumer, frame, lane);
  }

  /** The raw source of a run that was made of another process's events; none for a period's output before any event. */
  #sourceOf({ lanes }: Installation, frame: EventsFrame): bigint {
    const source = this.#parts.modulation.runs.sourceOf(frame);
    if (source !== undefined) return source;
    const [first = NO_SOURCE] = lanes.keys();
    return first;
  }

  /** The consumers that are back before their modulator is installed again. */
  *#takersBack(installation: Installation): Generator<ConsumerEndpoint> {
    for (const endpoint of this.#parts.index)
      if (
        endpoint.is === "consumer" &&
        endpoint.open !== undefined &&
        this.#kept.isFor(endpoint, installation)
      )
        yield endpoint;
  }

  #handOut({ elsewhere }: Installation, frame: EventsFrame, lane: Lane, raising: string | undefined): void {
    const { channel, producer, raised, after } = frame;
    // A restarted gateway numbers producers differently.
    if (channel !== lane.channel || producer !== lane.producer) lane.isPlaced = false;
    lane.channel = channel;
    lane.producer = producer;
    const isOwn = !this.#parts.routes.takes(channel) && !this.#parts.feeds.isFed(channel);
    const sent = elsewhere > 0 && this.#parts.outbox.gather(frame.raw(), [{ lane, raised, after }], isOwn);
    if (raising === undefined || !frame.isSync) {
      this.#parts.reception.raised(frame, lane);
      return;
    }
    this.#parts.synchronous.derive(raising, frame, sent);
    this.#parts.reception.raised(frame, lane, outcome => this.#parts.synchronous.settle(raising, outcome));
  }

  /** The connection breaks. @param endpoints all of the process, in their states until then */
  interrupted(endpoints: Iterable<Endpoint>): void {
    for (const endpoint of endpoints)
      if (endpoint.is === "consumer" && endpoint.isApplications && endpoint.open !== undefined)
        this.#kept.leaves(endpoint, this.#parts.modulation.installed);
  }

  /** Hands a consumer that is back the output made here meanwhile. When all are back, nothing more is kept. */
  handKept(entry: ConsumerEndpoint): void {
    for (const { frame, lane } of this.#kept.of(entry))
      this.#parts.reception.raisedBefore(entry, frame, lane);
    if (!this.#parts.index.isAnyAway()) this.#kept.clear();
  }

  /** Whether modulators here are further than a new consumer's place, without that their output in between is kept for it. */
  isFurther(consumer: ConsumerEndpoint): boolean {
    // The input of a modulator behind another is not kept.
    if (splitName(consumer.channel).derived !== "") return false;
    const kept = this.#kept.of(consumer);
    for (const { number, lanes } of this.#parts.modulation.installed) {
      if (number !== consumer.channelNumber) continue;
      for (const pair of lanes.values())
        for (const lane of pair) {
          const { raised, coverage } = lane;
          if (coverage === undefined) continue;
          // Where nothing was made yet, nothing of its stretch has come to others.
          const reached = raised > 0 ? coverage.through : coverage.start;
          const next = kept.find(run => run.lane === lane)?.frame.after ?? reached;
          if (next > (consumer.tracker.throughOf(coverage.source, true) ?? next)) return true;
        }
    }
    return false;
  }

  /** A consumer is back and listens: modulators here may have stated the positions of its channel before. */
  listened({ channelNumber }: ConsumerEndpoint): void {
    for (const installation of this.#parts.modulation.installed)
      if (installation.number === channelNumber)
        for (const lanes of installation.lanes.values())
          for (const lane of lanes) if (lane.coverage !== undefined) this.#stateSoon(lane, installation);
  }

  #laneOf({ lanes, incarnation }: Installation, source: bigint, urgent: boolean): Lane {
    let pair = lanes.get(source);
    if (pair === undefined) {
      pair = this.#parts.lanes.create(incarnation);
      lanes.set(source, pair);
    }
    return pair.of(urgent);
  }

  /** Gives a run its counts and provenance. */
  #count(frame: EventsFrame, lane: Lane, isLast: boolean): Provenance | undefined {
    frame.recount(lane.raised + 1);
    lane.raised += frame.count;
    const { coverage } = lane;
    if (coverage === undefined) {
      frame.account(0, 0, false);
      return undefined;
    }
    coverage.accountIn(frame, isLast);
    if (isLast) this.#unstated.delete(lane);
    return { source: coverage.source, after: frame.after, through: frame.accounted };
  }
}
