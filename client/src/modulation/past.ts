import { JechoError } from "@jecho/shared";
import {
  type ConsumerOpened,
  type EventsFrame,
  FROM,
  type Modulator,
  NumberTable,
  type SourcePlace,
  sliceRun,
} from "@jecho/shared/internal";
import {
  ConsumerEndpoint,
  type InputTaker,
  type OwnPast,
  type PastEnd,
  type PortEnd,
  RAW,
  type StateIndexes,
} from "../concentrator/endpoints/endpoint.ts";
import type { CountedPlace, Reception } from "../concentrator/incoming/reception.ts";
import type { Counting } from "../concentrator/incoming/routes.ts";
import type { SynchronousEvents } from "../concentrator/incoming/synchronous.ts";
import { NOBODY } from "../concentrator/incoming/tally.ts";
import type { TrackedSource } from "../concentrator/incoming/tracked-source.ts";
import { Tracker } from "../concentrator/incoming/tracking.ts";
import type { Lane, OwnLanes } from "../concentrator/outgoing/lane.ts";
import { placementOf } from "../consumer/placement.ts";
import type { PortNotice } from "../places/port.ts";
import type { Deriving } from "./deriving.ts";
import { stretchOf } from "./feeds.ts";
import type { Installation } from "./installation.ts";
import type { Modulation } from "./modulation.ts";

/** Longest wait, once the past has come, for events that the derived channel does not account for. */
const LEVEL_MS = 5000;

/** The part of the past that was found; without fields where that is unknown. */
export interface PastFound {
  readonly recovered?: boolean;
  readonly missing?: number;
}

/** Listener of a past. */
export interface PastEvents {
  /** Called when the consumer is open: the extent of the past is known. */
  onFound(found: PastFound, replays: boolean): void;
  /** The gateway refuses to give the past. */
  onRefused(error: JechoError): void;
  /** Called when all of the past has been made. */
  onOver(): void;
}

/** Parts that pasts use. */
export interface PastParts {
  readonly indexes: StateIndexes;
  readonly lanes: OwnLanes;
  readonly modulation: Modulation;
  readonly deriving: Deriving;
  readonly reception: Reception;
  readonly synchronous: SynchronousEvents;
  open(entry: ConsumerEndpoint): void;
  close(entry: ConsumerEndpoint): void;
}

/** The numbers that a source's events came under last. */
interface Raiser {
  readonly channel: number;
  readonly producer: number;
}

const NO_RAISER: Raiser = { channel: 0, producer: 0 };

/**
 * The past of one consumer with a modulator, where its derived channel does not reach back that far. A separate consumer of the channel itself
 * begins there, and its events go through a separate modulator, up to where the derived channel accounts for them. The derived channel's
 * events wait until then.
 */
export class Past implements InputTaker, OwnPast {
  readonly #consumer: ConsumerEndpoint;
  readonly #parts: PastParts;
  readonly #events: PastEvents;
  readonly #entry: ConsumerEndpoint;
  readonly #name: string;
  /** Whether the consumer goes on at a place in the modulator's output; otherwise it begins in the raw channel's past. */
  readonly isOwed: boolean;
  /** Whether what other processes made is missing, too. */
  readonly #isAll: boolean;
  /** First event of each raw source that the derived channel accounts for. */
  readonly #begins = new Map<string, number>();
  /** Output of the derived channel that the modulator here is to make again. */
  readonly #remade: (PastEnd & { readonly source: TrackedSource; readonly origin: TrackedSource })[] = [];
  /** Sources of the derived channel that have said where they begin. */
  readonly #met = new Set<string>();
  /** Last event of each raw source that the modulator here was given. */
  readonly #reached = new Map<string, number>();
  /** Raw sources of producers in this process. */
  readonly #own = new Set<string>();
  /** Channel and producer numbers of the past's events, by their raw source. */
  readonly #raisers = new Map<bigint, Raiser>();
  /** Deliveries that came before the modulator was installed. */
  #early: ((modulator: Installation) => void)[] = [];
  #modulator: Installation | "none" | "installing" | "failed" = "none";
  #found: { readonly found: PastFound; readonly replays: boolean } | undefined;
  isTold = false;
  /** Whether all kept events have come. */
  #isLevel = false;
  #deadline: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  /**
   * @param isAll whether the gateway has nothing of it, wherever it was made
   * @param name of its input, which no other modulator has
   */
  constructor(
    consumer: ConsumerEndpoint,
    isAll: boolean,
    name: string,
    parts: PastParts,
    events: PastEvents,
  ) {
    this.#consumer = consumer;
    this.#isAll = isAll;
    this.#name = name;
    this.#parts = parts;
    this.#events = events;
    const places = consumer.tracker.places();
    this.isOwed = places.some(({ origin }) => origin !== 0n);
    const asked = { ...RAW, channel: consumer.channel, from: this.isOwed ? undefined : consumer.from };
    const listener = { notify: (notice: PortNotice) => this.#noticed(notice), receive: () => {} };
    const end: PortEnd = { endpoints: new NumberTable(), listener };
    const tracker = new Tracker();
    if (this.isOwed) tracker.inherit(places.map(rawPlace), consumer.tracker.sinceMs);
    for (const { source, through } of tracker.origins()) this.#reach(source, through);
    this.#entry = new ConsumerEndpoint(asked, end, parts.indexes, tracker, this);
  }

  begin(): void {
    this.#parts.open(this.#entry);
  }

  #noticed(notice: PortNotice): void {
    switch (notice.is) {
      case "opened": {
        const { recovered, missing, replays = false } = notice;
        this.#isLevel = !replays;
        this.#found ??= {
          found: { ...(recovered !== undefined && { recovered }), ...(missing !== undefined && { missing }) },
          replays,
        };
        if (!replays) this.#level();
        return;
      }
      case "replayed":
        return this.#level();
      case "interrupted":
        this.#isLevel = false;
        return clearTimeout(this.#deadline);
      case "refused":
        // Nobody asked for what is behind a place: it begins with what comes, and is told what it misses.
        if (this.isOwed) this.#found ??= { found: { recovered: false }, replays: false };
        if (this.isTold || this.isOwed) return void this.#finish();
        this.end();
        return this.#events.onRefused(notice.error);
      default:
    }
  }

  /** Called when all kept events have come. */
  #level(): void {
    this.#isLevel = true;
    if (this.#modulator !== "installing") this.#waitForRest();
  }

  /** Called when all events that the modulator still lacks are on their way. */
  #waitForRest(): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => void this.#finish(), LEVEL_MS);
    (this.#deadline as { unref?: () => void }).unref?.();
    this.#tell();
    this.#checkDone();
  }

  #tell(): void {
    if (this.isTold || this.#found === undefined) return;
    this.isTold = true;
    const { found, replays } = this.#found;
    this.#events.onFound(this.#modulator === "failed" ? { recovered: false } : found, replays);
  }

  begins(at: PastEnd): void {
    const { source, origin } = at.of ?? {};
    if (source === undefined || origin === undefined || this.#met.has(source.name)) return;
    const { lanes } = this.#parts;
    // The gateway sends what was made elsewhere.
    if (this.isOwed && !this.#isAll && !lanes.has(source.id)) return;
    this.#met.add(source.name);
    if (this.isOwed) this.#remade.push({ source, origin, ...at });
    if (this.#begins.has(origin.name)) return;
    this.#begins.set(origin.name, at.through);
    // This process's own events come with the kept ones, or not at all.
    if (lanes.has(origin.id)) this.#own.add(origin.name);
  }

  take(frame: EventsFrame, first: number, counting: Counting | undefined, missing: number): void {
    const { isSync, channel, producer, raised, count } = frame;
    if (isSync)
      for (let i = 0; i < count; i++)
        this.#parts.synchronous.handled(this.#entry, channel, producer, raised + i, NOBODY);
    if (counting === undefined || this.#isOver) return;
    const { source, origin = source } = counting;
    const isRaw = origin === source;
    const after = isRaw ? raised + first - 1 : frame.after;
    const through = isRaw ? raised + count - 1 : frame.through;
    const end = this.#endOf(origin);
    // The events of a derived run that goes beyond come with the derived channel.
    const last = through <= end ? count : isRaw ? first + Math.max(0, end - after) : first;
    const reached = Math.min(isRaw ? through : frame.accounted, end);
    const run = last > first ? sliceRun(frame, first, last).copy() : undefined;
    // If some events that it accounts for may be missing, it accounts for none.
    const of = { source: origin, after: missing > 0 && !isRaw ? reached : after, through: reached };
    this.#reach(origin, reached);
    if (after < end)
      this.#give(run !== undefined, modulator => {
        const { modulation } = this.#parts;
        const { runs } = modulation;
        this.#begin(modulator, origin, { channel, producer }, after - missing);
        if (run === undefined) return runs.pass(this.#name, of);
        run.forgetSync();
        // A run that is not sound counts as lost.
        if (modulation.isSound(run)) runs.enqueue(this.#name, run, of);
      });
    this.#checkDone();
  }

  placed(at: CountedPlace, missing: number): void {
    if (this.#isOver) return;
    const { after, through: reached, ...of } = stretchOf(at, missing);
    const origin = of.source as TrackedSource;
    const through = Math.min(reached, this.#endOf(origin));
    this.#reach(origin, through);
    this.#give(false, modulator => {
      this.#begin(
        modulator,
        origin,
        { channel: 0, producer: at.producer },
        Math.min(reached - missing, through),
      );
      const of = { source: origin, after: Math.min(after, through), through };
      this.#parts.modulation.runs.pass(this.#name, of);
    });
    this.#checkDone();
  }

  /** Count of this source's last event for the modulator here. What the modulator of a place does not account for, others send. */
  #endOf({ name }: TrackedSource): number {
    return this.#begins.get(name) ?? (this.isOwed && !this.#isAll ? 0 : Number.POSITIVE_INFINITY);
  }

  reached({ name }: TrackedSource): number | undefined {
    return this.#reached.get(name);
  }

  #reach({ name }: TrackedSource, reached: number): void {
    this.#reached.set(name, Math.max(this.#reached.get(name) ?? 0, reached));
  }

  /** The modulator takes this source's events. */
  #begin(modulator: Installation, origin: TrackedSource, raiser: Raiser, reached: number): void {
    this.#raisers.set(origin.id, raiser);
    this.#parts.deriving.begin(modulator, raiser.producer, origin, reached);
  }

  /** Gives the modulator something; it is installed at the first run. */
  #give(isRun: boolean, act: (modulator: Installation) => void): void {
    if (typeof this.#modulator === "object") return act(this.#modulator);
    if (this.#modulator === "failed") return;
    this.#early.push(act);
    if (isRun && this.#modulator === "none") void this.#install();
  }

  async #install(): Promise<void> {
    this.#modulator = "installing";
    // The wait begins again when the modulator is there: what has come for it meanwhile is not given up.
    clearTimeout(this.#deadline);
    const { modulation } = this.#parts;
    const { channel, modulator } = this.#consumer;
    try {
      const number = this.#entry.channelNumber ?? 0;
      const installed = await modulation.installer.installFor(
        this.#consumer,
        this.#name,
        number,
        modulator as Modulator,
      );
      if (this.#isOver) return modulation.removeFor(installed);
      this.#modulator = installed;
      for (const act of this.#early.splice(0)) act(installed);
      if (this.#isLevel) this.#waitForRest();
      else this.#tell();
    } catch (error) {
      const why = JechoError.from(error, "MODULATOR_FAILED");
      this.failed(new JechoError(why.code, `the past of ${channel} is not modulated: ${why.message}`));
    }
  }

  made(frame: EventsFrame, lane: Lane, source: bigint): void {
    const { channel, producer } = this.#raisers.get(source) ?? NO_RAISER;
    frame.readdress(channel, producer);
    frame.forgetSync();
    this.#parts.reception.madeFor(this.#consumer, frame, lane);
  }

  failed(error: JechoError): void {
    if (this.#isOver) return;
    this.#modulator = "failed";
    this.#early = [];
    this.#tell();
    if (!this.isOwed) this.#consumer.listener.notify({ is: "impaired", endpoint: this.#consumer.id, error });
    void this.#finish();
  }

  /** Ends the past once the derived channel accounts for all further events. */
  #checkDone(): void {
    if (!this.#isLevel || this.#modulator === "installing") return;
    for (const [name, end] of this.#begins)
      if (!this.#own.has(name) && (this.#reached.get(name) ?? 0) < end) return;
    void this.#finish();
  }

  async #finish(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#deadline);
    this.#parts.close(this.#entry);
    const { modulation, deriving } = this.#parts;
    if (typeof this.#modulator === "object") {
      await modulation.runs.finished();
      deriving.state(this.#modulator);
      modulation.removeFor(this.#modulator);
    }
    this.#skipRemade();
    this.#tell();
    // The consumer may have been closed meanwhile, or have another modulator.
    if (this.#consumer.past === this) this.#events.onOver();
  }

  /** Output of the derived channel does not come where other output of all its raw events did. */
  #skipRemade(): void {
    const { tracker } = this.#consumer;
    for (const { source, origin, raised, through } of this.#remade)
      if ((tracker.throughOf(origin, true) ?? 0) >= through)
        tracker.place(source, raised, origin, through, through);
  }

  end(): void {
    clearTimeout(this.#deadline);
    if (!this.#isOver) this.#parts.close(this.#entry);
    this.#isOver = true;
    this.#consumer.past = undefined;
    if (typeof this.#modulator === "object") this.#parts.modulation.removeFor(this.#modulator);
  }
}

/** Whether a newly opened consumer with a modulator has to make its past itself, as nobody else has all that was asked for. */
export function lacksPast(
  consumer: ConsumerEndpoint,
  { replay, recovered, unknown, placements }: ConsumerOpened,
  deriving: Deriving,
): boolean {
  const { from, modulator, tracker } = consumer;
  if (modulator === undefined || replay !== 0) return false;
  switch (from?.from) {
    case FROM.seq:
      return true;
    case FROM.time:
      // Output that this process makes for itself is not kept.
      return !recovered || placements.some(one => placementOf(one).at === "consumer");
    case FROM.resume:
      // The place may be one in the raw channel.
      if (tracker.places().every(({ origin }) => origin === 0n)) return unknown;
      return deriving.isFurther(consumer);
    default:
      return false;
  }
}

/** The position in raw events behind a place. */
function rawPlace(place: SourcePlace): SourcePlace {
  const { origin, through } = place;
  return origin === 0n ? place : { ...place, source: origin, raised: through, origin: 0n, through: 0n };
}
