import type { Provenance } from "@jecho/modulators/internal";
import { JechoError } from "@jecho/shared";
import {
  type EventsFrame,
  type Feed as FeedTable,
  NumberTable,
  type SourcePlace,
  sliceRun,
} from "@jecho/shared/internal";
import { allRecovered, type Recovery, WHOLE } from "../concentrator/endpoints/asked-past.ts";
import {
  ConsumerEndpoint,
  type InputTaker,
  type PortEnd,
  RAW,
  type StateIndexes,
} from "../concentrator/endpoints/endpoint.ts";
import type { CountedPlace } from "../concentrator/incoming/reception.ts";
import type { Counting } from "../concentrator/incoming/routes.ts";
import type { SynchronousEvents } from "../concentrator/incoming/synchronous.ts";
import { NOBODY } from "../concentrator/incoming/tally.ts";
import { Had, type TrackedSource } from "../concentrator/incoming/tracked-source.ts";
import { Tracker } from "../concentrator/incoming/tracking.ts";
import type { Lane } from "../concentrator/outgoing/lane.ts";
import type { SourceBeginning } from "./beginnings.ts";
import type { Installation } from "./installation.ts";
import type { Modulation } from "./modulation.ts";

/** A modulator's input that runs here in the stead of a producing process: a consumer of what that raises. */
interface Feed {
  /** Another one where the gateway had refused it: modulators that are still there go on behind what they have had. */
  entry: ConsumerEndpoint;
  /** The base channel's name. */
  readonly base: string;
  /** Whether this very process raises the events, which then do not come over the wire. */
  readonly isOwn: boolean;
  /** Whether it is fed here, too, with what a modulator in this process makes: of that nothing comes over the wire. */
  isBeside: boolean;
  /** Whether the feed's past was complete when it was opened again, and how much was missing. */
  recovery: Recovery;
  opening: PromiseWithResolvers<void> | undefined;
  /** Positions of the sources that events have come from. */
  readonly met: Map<string, SourceBeginning>;
}

/** Openings and notices that the feeds need of their concentrator. */
export interface FeedEvents {
  open(entry: ConsumerEndpoint): void;
  close(entry: ConsumerEndpoint): void;
  /** Whether this process has consumers of the channel, or of channels derived from it. They may be away. */
  isConsumed(base: string): boolean;
  /** Events that those of this channel are made of were dropped. */
  dropped(channel: number, events: number): void;
  /** The same for a modulator that is being installed, and takes what comes by this name. */
  met(wire: string, producer: number, source: TrackedSource, reached: number): void;
  /** A modulator takes this source's events, of that producer, from behind this one on. */
  begin(installation: Installation, producer: number, source: TrackedSource, reached: number): void;
}

/** The past of a feed that is new: what its source raised before, consumers that come back may not have had. */
const UNKNOWN: Recovery = { recovered: undefined, missing: 0 };

/** The consumers that modulators are fed by which run here and not with the producer. They are no application's. */
export class Feeds {
  readonly #events: FeedEvents;
  readonly #modulation: Modulation;
  readonly #synchronous: SynchronousEvents;
  readonly #indexes: StateIndexes;
  readonly #feeds = new Map<string, Feed>();
  /** Positions of closed feeds, by the base channel's name: events that consumers here had do not come to them again. */
  readonly #had = new Map<string, Had>();
  /** Names of feeds that are not open yet, by the places where they begin. */
  readonly #planned = new Map<string, string>();
  #nextName = 1;
  #nextTag = 1;

  constructor(
    modulation: Modulation,
    synchronous: SynchronousEvents,
    indexes: StateIndexes,
    events: FeedEvents,
  ) {
    this.#indexes = indexes;
    this.#modulation = modulation;
    this.#synchronous = synchronous;
    this.#events = events;
  }

  /**
   * The name of the feed that a modulator is to have: one for all that begin with what comes, and one for those that go on at the
   * same places, as long as it is not open yet.
   *
   * @param source names what is fed
   */
  nameFor(source: string, places: readonly SourcePlace[]): string {
    if (places.length === 0) return source;
    const at = `${source} ${places.map(({ source, urgent, raised }) => `${source} ${urgent} ${raised}`).sort()}`;
    let name = this.#planned.get(at);
    if (name === undefined) {
      // No channel's name has this sign, and nothing else that is fed has this name.
      name = `${source}@${this.#nextName++}`;
      this.#planned.set(at, name);
    }
    return name;
  }

  /** Forgets the planned name of a feed that has begun: the feed is for those alone that have it. */
  #begun(name: string): void {
    for (const [at, planned] of this.#planned) if (planned === name) this.#planned.delete(at);
  }

  /**
   * Opens a feed, or finds it open.
   *
   * @param name as the modulators know it
   * @param sources how far what was made before accounts for what it is fed with: it goes on there
   * @param isBeside whether the modulator that makes the channel runs here
   *
   * @throws JechoError `PRODUCER_GONE`, or what else the gateway refuses it with
   */
  async open(
    name: string,
    base: string,
    feed: FeedTable,
    isOwn: boolean,
    sources: readonly SourcePlace[],
    isBeside: boolean,
  ): Promise<void> {
    let known = this.#feeds.get(name);
    if (known === undefined) {
      // Who goes on at places says what it has had; others may be further.
      const tracker = new Tracker(sources.length === 0 ? this.#hadOf(base) : undefined);
      tracker.inherit(sources);
      const entry = this.#newEntry(base, name, feed, tracker);
      known = { entry, base, isOwn, isBeside, recovery: WHOLE, opening: undefined, met: new Map() };
      this.#feeds.set(name, known);
    }
    known.isBeside = isBeside;
    if (known.entry.state.is === "gone") {
      const { tracker } = known.entry;
      tracker.away();
      known.entry = this.#newEntry(base, name, feed, tracker);
    }
    if (known.entry.open !== undefined) return;
    // A gateway that was started again has other numbers.
    known.entry.feed = feed;
    if (known.opening === undefined) {
      known.opening = Promise.withResolvers();
      this.#events.open(known.entry);
    }
    await known.opening.promise;
  }

  #newEntry(channel: string, feedName: string, feed: FeedTable, tracker: Tracker): ConsumerEndpoint {
    const taker: InputTaker = {
      take: (...taken) => this.#take(entry, ...taken),
      placed: (...placed) => this.#placed(feedName, ...placed),
      dropped: events => this.#dropped(feedName, events),
    };
    const asked = { ...RAW, channel };
    const entry = new ConsumerEndpoint(asked, NOBODYS, this.#indexes, tracker, taker, feed, feedName);
    return entry;
  }

  /** The gateway feeds it. @param recovery of one that was open before */
  opened({ feedName }: ConsumerEndpoint, recovery: Recovery | undefined): void {
    const feed = this.#feeds.get(feedName);
    this.#begun(feedName);
    if (feed === undefined) return;
    feed.recovery = recovery ?? UNKNOWN;
    feed.opening?.resolve();
    feed.opening = undefined;
  }

  /** Whether what is behind these feeds misses some of its input, for a consumer that comes back. */
  recoveryOf(names: readonly string[]): Recovery {
    const all = names.map(name => this.#feeds.get(name)?.recovery ?? WHOLE);
    return {
      recovered: allRecovered(all.map(({ recovered }) => recovered)),
      missing: all.reduce((sum, { missing }) => sum + missing, 0),
    };
  }

  /**
   * The gateway does not feed it. Modulators stay, unless another gateway is the home of what feeds them.
   */
  refused({ feedName }: ConsumerEndpoint, error: JechoError): void {
    const feed = this.#feeds.get(feedName);
    feed?.opening?.reject(error);
    if (feed !== undefined) feed.opening = undefined;
    if (error.code === "CHANNEL_MOVED") this.#modulation.keepNone(feedName);
  }

  /** The connection broke. */
  interrupted(): void {
    for (const feed of this.#feeds.values()) {
      feed.opening?.reject(
        new JechoError("CONNECTION_LOST", "the connection broke before modulators here were fed"),
      );
      feed.opening = undefined;
      feed.met.clear();
    }
  }

  /** No modulator needs it any more. */
  close(name: string): void {
    const feed = this.#feeds.get(name);
    if (feed === undefined) return;
    const { base, entry, opening } = feed;
    this.#begun(name);
    this.#feeds.delete(name);
    opening?.reject(new JechoError("CLOSED", "nothing is to be fed by it any more"));
    if (entry.state.is !== "gone") this.#events.close(entry);
    if (this.#events.isConsumed(base)) this.#had.set(base, this.#hadOf(base, entry.tracker));
    else this.#had.delete(base);
  }

  /** See `InputTaker.take`. */
  #take(
    entry: ConsumerEndpoint,
    frame: EventsFrame,
    first: number,
    counting: Counting | undefined,
    missing: number,
  ): void {
    const { feedName } = entry;
    if (!this.#takes(feedName, counting)) return;
    // Consumers may have what another modulator made of a feed's past, or at an earlier gateway.
    const isAgain = entry.open?.is === "replaying" || frame.epoch !== entry.open?.epoch;
    const run = first > 0 ? sliceRun(frame, first) : isAgain ? frame.copy() : frame;
    if (isAgain) run.goAgain();
    const { channel, producer, raised, count } = run;
    const of = counting && provenanceOf(counting, run, missing);
    if (of !== undefined)
      this.#begin(feedName, producer, of.source as TrackedSource, of.after - missing, of.through);
    // One that is not sound is as if it had been lost on the way.
    const isSound = this.#modulation.isSound(run);
    if (!run.isSync) {
      if (isSound) this.#modulation.runs.enqueue(feedName, run, of);
      return;
    }
    const tag = this.#synchronous.begin(entry, raised, undefined, outcome => {
      for (let i = 0; i < count; i++)
        this.#synchronous.handled(entry, channel, producer, raised + i, i === 0 ? outcome : NOBODY);
    });
    this.#synchronous.settle(tag);
    if (!isSound || !this.#modulation.runs.enqueue(feedName, run, of, tag)) this.#synchronous.settle(tag);
  }

  /** Whether this feed is there, and for events of this source: the past has those, too, that were made here. */
  #takes(feedName: string, of: Counting | undefined): boolean {
    const feed = this.#feeds.get(feedName);
    return feed !== undefined && !(feed.isBeside && of?.origin !== undefined);
  }

  /** Input of modulators here was dropped: so the output made of it is missing. */
  #dropped(feedName: string, events: number): void {
    for (const { number } of this.#modulation.installed.madeOf(feedName).keys())
      this.#events.dropped(number, events);
  }

  /**
   * See `InputTaker.placed`. A modulator that is less far than the stretch, or than what it was given before, lacks what is before that.
   */
  #placed(feedName: string, at: CountedPlace, missing: number): void {
    if (!this.#takes(feedName, at.of)) return;
    const placed = stretchOf(at, missing);
    const before = this.#feeds.get(feedName)?.met.get((placed.source as TrackedSource).name)?.reached ?? 0;
    const of = { ...placed, after: Math.min(placed.through, Math.max(placed.after, before)) };
    this.#begin(feedName, at.producer, of.source as TrackedSource, of.through - missing, of.through);
    this.#modulation.runs.pass(feedName, of);
  }

  /** Count up to which this feed has had a source's events: 0 for a source of which it has heard nothing, since whoever is further says so. */
  reached(name: string, source: TrackedSource): number | undefined {
    const feed = this.#feeds.get(name);
    return feed && (feed.entry.tracker.throughOf(source) ?? 0);
  }

  /** Positions of the sources that this feed has met at the present connection. */
  *metBy(name: string): Generator<SourceBeginning> {
    for (const met of this.#feeds.get(name)?.met.values() ?? []) yield met;
  }

  /**
   * @param before count of the source's newest event until now
   * @param reached and of the newest one that comes now
   */
  #begin(feedName: string, producer: number, source: TrackedSource, before: number, reached: number): void {
    this.#feeds.get(feedName)?.met.set(source.name, { producer, source, reached });
    this.#events.met(feedName, producer, source, before);
    for (const installation of this.#modulation.installed.madeOf(feedName).keys())
      this.#events.begin(installation, producer, source, before);
  }

  /**
   * This process has raised or made a run.
   *
   * @param raising names the synchronous event that it is of
   * @param lane of a raised run: its past may come over the wire, too
   */
  raised(frame: EventsFrame, raising: string | undefined, of: Provenance | undefined, lane?: Lane): void {
    for (const [name, feed] of this.#feeds)
      if (takesOwn(feed, frame.channel)) this.#raisedFor(name, feed, frame, raising, of, lane);
  }

  #raisedFor(
    name: string,
    feed: Feed,
    frame: EventsFrame,
    raising: string | undefined,
    of: Provenance | undefined,
    lane: Lane | undefined,
  ): void {
    let run = frame;
    let stretch = of;
    if (lane !== undefined) {
      const { entry } = feed;
      if (entry.open?.is !== "live") {
        // Behind its past, which may have it.
        const copy = frame.copy();
        copy.forgetSync();
        const hand = (): void => this.#raisedFor(name, feed, copy, undefined, of, lane);
        return entry.waiting.add(lane.source.name, frame.end - frame.start, hand, () => {});
      }
      const { had } = entry.tracker.take(lane.source, frame);
      if (had >= frame.count) return;
      if (had > 0) {
        run = sliceRun(frame, had);
        stretch = of && { ...of, after: of.after + had };
      }
    }
    // Each run that is waited for has a tag of its own.
    const tag = raising === undefined ? undefined : `${raising}>feed ${this.#nextTag++}`;
    if (raising !== undefined) this.#synchronous.further(raising);
    const isTaken = this.#modulation.runs.enqueue(name, run, stretch, tag);
    if (!isTaken && raising !== undefined) this.#synchronous.settle(raising);
  }

  /** The same of a stretch without events. */
  passed(channel: number, of: Provenance, lane?: Lane): void {
    for (const [name, feed] of this.#feeds)
      if (takesOwn(feed, channel)) this.#passedFor(name, feed, of, lane);
  }

  #passedFor(name: string, feed: Feed, of: Provenance, lane: Lane | undefined): void {
    const { entry } = feed;
    if (lane !== undefined && entry.open?.is !== "live") {
      const pass = (): void => this.#passedFor(name, feed, of, lane);
      return entry.waiting.add(lane.source.name, 0, pass, pass);
    }
    if (lane !== undefined) entry.tracker.place(lane.source, of.through);
    this.#modulation.runs.pass(name, of);
  }

  /** Whether modulators here take this very process' events of the channel. */
  isFed(channel: number): boolean {
    if (this.#feeds.size === 0) return false;
    for (const feed of this.#feeds.values()) if (takesOwn(feed, channel)) return true;
    return false;
  }

  /** Counts of a source that modulators have had, whatever feeds it by now: a gateway that was started again has other numbers. */
  #hadOf(base: string, closed?: Tracker): Had {
    const had = new Had();
    this.#had.get(base)?.leaveTo(had);
    closed?.leaveTo(had);
    for (const feed of this.#feeds.values()) if (feed.base === base) feed.entry.tracker.leaveTo(had);
    return had;
  }
}

/** Whether a feed takes this very process' events of the channel, be they to wait until it is open. One that was refused takes none. */
function takesOwn({ isOwn, entry }: Feed, channel: number): boolean {
  return isOwn && entry.feed?.channel === channel && entry.state.is !== "gone";
}

/** The stretch that a run from the wire accounts for: its own events, or the raw events that its modulator has been through. */
function provenanceOf({ source, origin }: Counting, run: EventsFrame, missing: number): Provenance {
  const { raised, count, after, accounted: through } = run;
  // Where some of what it accounts for may be missing, it accounts for nothing.
  if (origin !== undefined) return { source: origin, after: missing > 0 ? through : after, through };
  return { source, after: raised - 1, through: raised + count - 1 };
}

/** The stretch without events that a place accounts for: of raw events, or where some never came, none. */
export function stretchOf({ of, raised, after, through }: CountedPlace, missing: number): Provenance {
  const { source, origin } = of;
  if (origin === undefined) return { source, after: raised, through: raised };
  return { source: origin, after: missing > 0 ? through : after, through };
}

/** The port of a feed, which is no session's: notices about it are handled here. */
const NOBODYS: PortEnd = { endpoints: new NumberTable(), listener: { notify: () => {}, receive: () => {} } };
