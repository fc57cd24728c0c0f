import type { Provenance } from "@jecho/modulators/internal";
import { JechoError } from "@jecho/shared";
import {
  type EventsFrame,
  type Feed as FeedTable,
  NumberTable,
  type SourcePlace,
} from "@jecho/shared/internal";
import { ConsumerEndpoint, type PortEnd, type StateIndexes } from "../concentrator/endpoint.ts";
import type { Counting } from "../concentrator/reception.ts";
import type { SynchronousEvents } from "../concentrator/synchronous.ts";
import { Had, type Source, Tracker } from "../concentrator/tracking.ts";
import { NOBODY } from "../tally.ts";
import type { Installation } from "./installation.ts";
import type { Modulation } from "./modulation.ts";

/** What a modulator takes that runs here in the stead of a producing process: a consumer of what that raises. */
interface Feed {
  readonly entry: ConsumerEndpoint;
  /** The base channel's name. */
  readonly base: string;
  /** It is this very process that raises it: what it raises does not come over the wire. */
  readonly isOwn: boolean;
  /** Whether all of it was there when it was opened again, and how much was not. */
  recovery: Recovery;
  opening: PromiseWithResolvers<void> | undefined;
}

/** What became of the past when something was opened again. */
interface Recovery {
  readonly recovered: boolean;
  readonly missing: number;
}

/** What the feeds need of their concentrator. */
export interface FeedEvents {
  open(entry: ConsumerEndpoint): void;
  close(entry: ConsumerEndpoint): void;
  /** Has this process consumers of the channel, or of what is made of it? They may be away. */
  isConsumed(base: string): boolean;
  /** Can the events of this run, which another process raised, be read without harm? */
  isSound(run: EventsFrame): boolean;
  /** A modulator takes this source's events, of that producer, from behind this one on. */
  begin(installation: Installation, producer: number, source: Source, reached: number): void;
}

/** The consumers that modulators are fed by which run here and not with the producer. They are no application's. */
export class Feeds {
  readonly #events: FeedEvents;
  readonly #modulation: Modulation;
  readonly #synchronous: SynchronousEvents;
  readonly #indexes: StateIndexes;
  readonly #feeds = new Map<string, Feed>();
  /** How far those were that are closed, by the base channel's name: what consumers here had of it does not come to them again. */
  readonly #had = new Map<string, Had>();
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
   * Opens a feed, or finds it open.
   *
   * @param name as the modulators know it
   * @param sources how far what was made before accounts for what it is fed with: it goes on there
   *
   * @throws JechoError `PRODUCER_GONE`, or what else the gateway refuses it with
   */
  async open(
    name: string,
    base: string,
    feed: FeedTable,
    isOwn: boolean,
    sources: readonly SourcePlace[],
  ): Promise<void> {
    let known = this.#feeds.get(name);
    if (known === undefined) {
      const entry = this.#newEntry(base, name, feed);
      entry.tracker.inherit(sources);
      known = { entry, base, isOwn, recovery: WHOLE, opening: undefined };
      this.#feeds.set(name, known);
    }
    if (known.entry.open !== undefined) return;
    if (known.opening === undefined) {
      known.opening = Promise.withResolvers();
      this.#events.open(known.entry);
    }
    await known.opening.promise;
  }

  #newEntry(channel: string, feedName: string, feed: FeedTable): ConsumerEndpoint {
    const asked = {
      endpoint: 0,
      channel,
      schema: new Uint8Array(0),
      modulator: undefined,
      queue: { whenFull: 0, limitBytes: 0 },
      label: "",
      as: "",
      from: undefined,
    };
    return new ConsumerEndpoint(
      asked,
      NOBODYS,
      this.#indexes,
      new Tracker(this.#hadOf(channel)),
      feed,
      feedName,
    );
  }

  /** The gateway feeds it. @param recovery of one that was open before */
  opened({ feedName }: ConsumerEndpoint, recovery: Recovery | undefined): void {
    const feed = this.#feeds.get(feedName);
    if (feed === undefined) return;
    feed.recovery = recovery ?? WHOLE;
    feed.opening?.resolve();
    feed.opening = undefined;
  }

  /** Whether what is behind these feeds misses some of its input since it was opened again. */
  recoveryOf(names: readonly string[]): Recovery {
    const all = names.map(name => this.#feeds.get(name)?.recovery ?? WHOLE);
    return {
      recovered: all.every(({ recovered }) => recovered),
      missing: all.reduce((sum, { missing }) => sum + missing, 0),
    };
  }

  /** The gateway does not. */
  refused({ feedName }: ConsumerEndpoint, error: JechoError): void {
    const feed = this.#feeds.get(feedName);
    if (feed === undefined) return;
    this.#forget(feedName, feed);
    feed.opening?.reject(error);
  }

  /** The connection broke. */
  interrupted(): void {
    for (const feed of this.#feeds.values()) {
      feed.opening?.reject(new JechoError("CONNECTION_LOST"));
      feed.opening = undefined;
    }
  }

  /** No modulator needs it any more. */
  close(name: string): void {
    const feed = this.#feeds.get(name);
    if (feed === undefined) return;
    this.#forget(name, feed);
    feed.opening?.reject(new JechoError("CLOSED", "nothing is to be fed by it any more"));
    this.#events.close(feed.entry);
  }

  #forget(name: string, { base, entry }: Feed): void {
    this.#feeds.delete(name);
    if (this.#events.isConsumed(base)) this.#had.set(base, this.#hadOf(base, entry.tracker));
    else this.#had.delete(base);
  }

  /**
   * A run came for it, of which the events before `first` were had before.
   *
   * @param missing so many events before the run never came
   */
  take(
    entry: ConsumerEndpoint,
    frame: EventsFrame,
    first: number,
    counting: Counting | undefined,
    missing: number,
  ): void {
    const { feedName } = entry;
    if (!this.#feeds.has(feedName)) return;
    const run = first === 0 ? frame : frame.slice(first);
    const { channel, producer, raised, count } = run;
    const of = counting && provenanceOf(counting, run, missing);
    if (of !== undefined) this.#begin(feedName, producer, of.source as Source, of.after - missing);
    // One that is not sound is as if it had been lost on the way.
    const isSound = this.#events.isSound(run);
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

  /**
   * What becomes of a source's events up to `reached` is known.
   *
   * @param missing so many of them never came
   */
  placed(
    { feedName }: ConsumerEndpoint,
    producer: number,
    { source, origin }: Counting,
    reached: number,
    missing: number,
  ): void {
    if (!this.#feeds.has(feedName)) return;
    this.#begin(feedName, producer, origin ?? source, reached - missing);
    const { runs } = this.#modulation;
    if (missing > 0) runs.pass(feedName, { source: origin ?? source, after: reached, through: reached });
    else if (origin !== undefined) runs.pass(feedName, { source: origin, after: 0, through: reached });
  }

  #begin(feedName: string, producer: number, source: Source, reached: number): void {
    for (const installation of this.#modulation.installed.madeOf(feedName).keys()) {
      installation.sources.set(producer, source.id);
      this.#events.begin(installation, producer, source, reached);
    }
  }

  /** This process has raised or made a run. @param raising names the synchronous event that it is of */
  raised(frame: EventsFrame, raising: string | undefined, of: Provenance | undefined): void {
    for (const [name, { isOwn, entry }] of this.#feeds) {
      if (!isOwn || entry.channelNumber !== frame.channel) continue;
      // Each run that is waited for has a tag of its own.
      const tag = raising === undefined ? undefined : `${raising}>feed ${this.#nextTag++}`;
      if (raising !== undefined) this.#synchronous.further(raising);
      const isTaken = this.#modulation.runs.enqueue(name, frame, of, tag);
      if (!isTaken && raising !== undefined) this.#synchronous.settle(raising);
    }
  }

  /** The same of a stretch without events. */
  passed(channel: number, of: Provenance): void {
    for (const [name, { isOwn, entry }] of this.#feeds)
      if (isOwn && entry.channelNumber === channel) this.#modulation.runs.pass(name, of);
  }

  /** Do modulators here take what this very process raises on the channel? */
  isFed(channel: number): boolean {
    if (this.#feeds.size === 0) return false;
    for (const { isOwn, entry } of this.#feeds.values())
      if (isOwn && entry.channelNumber === channel) return true;
    return false;
  }

  /** What was had of a source was had, whatever it is fed by now: a gateway that was started again has other numbers. */
  #hadOf(base: string, closed?: Tracker): Had {
    const had = new Had();
    this.#had.get(base)?.leaveTo(had);
    closed?.leaveTo(had);
    for (const feed of this.#feeds.values()) if (feed.base === base) feed.entry.tracker.leaveTo(had);
    return had;
  }
}

/** The stretch that a run from the wire accounts for: its own events, or the raw events that its modulator has been through. */
function provenanceOf({ source, origin }: Counting, run: EventsFrame, missing: number): Provenance {
  const { raised, count, after, through } = run;
  // Where some of what it accounts for may be missing, it accounts for nothing.
  if (origin !== undefined) return { source: origin, after: missing > 0 ? through : after, through };
  return { source, after: raised - 1, through: raised + count - 1 };
}

/** What feeds modulators is no session's: what is to be told of it is told here. */
const NOBODYS: PortEnd = { endpoints: new NumberTable(), listener: { notify: () => {}, receive: () => {} } };
const WHOLE: Recovery = { recovered: true, missing: 0 };
