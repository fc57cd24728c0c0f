import { type EventsFrame, Few, type SourcePlace } from "@jecho/shared/internal";

/** A lane of some producer, as consumers know it: the same over connections. */
export class TrackedSource {
  readonly id: bigint;
  readonly urgent: boolean;
  #name: string | undefined;

  constructor(id: bigint, urgent: boolean) {
    this.id = id;
    this.urgent = urgent;
  }

  /** Equal for equal sources. */
  get name(): string {
    this.#name ??= `${this.id} ${this.urgent}`;
    return this.#name;
  }
}

/** More than a channel has producers, and few enough to be kept: nobody says of a source that it has gone for good. */
const MOST_REMEMBERED = 65_536;

/**
 * Remembers sources by key. Most often one source is asked for again and again, so the one that was asked for last is
 * at hand, and a map is made for more than one. When there are too many, the quarter is forgotten that was not asked
 * for for the longest time.
 */
export class Remembered<K, V extends { heard: number }> {
  #newestKey: K | undefined;
  #newest: V | undefined;
  /** All entries, if there is more than one. */
  #all: Map<K, V> | undefined;
  #clock = 0;

  get(key: K): V | undefined {
    if (key === this.#newestKey) return this.#newest;
    const known = this.#all?.get(key);
    if (known !== undefined) this.#hear(key, known);
    return known;
  }

  set(key: K, value: V): void {
    if (this.#all === undefined && this.#newest !== undefined && key !== this.#newestKey)
      this.#all = new Map([[this.#newestKey as K, this.#newest]]);
    this.#all?.set(key, value);
    this.#hear(key, value);
    if (this.#all !== undefined && this.#all.size > MOST_REMEMBERED) forgetSilent(this.#all);
  }

  #hear(key: K, known: V): void {
    known.heard = ++this.#clock;
    this.#newestKey = key;
    this.#newest = known;
  }

  values(): Iterable<V> {
    if (this.#all !== undefined) return this.#all.values();
    return this.#newest === undefined ? [] : [this.#newest];
  }

  clear(): void {
    this.#newestKey = undefined;
    this.#newest = undefined;
    this.#all = undefined;
  }
}

function forgetSilent<K, V extends { heard: number }>(all: Map<K, V>): void {
  const silent = [...all].sort(([, a], [, b]) => a.heard - b.heard);
  for (const [key] of silent.slice(0, MOST_REMEMBERED / 4)) all.delete(key);
}

/** Result of a run's counts at one consumer. */
export interface CountedRun {
  /** Events at the run's beginning that it has had before. */
  readonly had: number;
  /** Events before the run that never came. */
  readonly missing: number;
}

const ALL_NEW: CountedRun = { had: 0, missing: 0 };

/** The word on an end may be late by so much. A source that was there when a consumer began is known to it by then. */
const LATE_MS = 2000;
/** Incarnations that a consumer remembers. */
const MOST_INCARNATIONS = 4096;

/** A consumer's position in a raw source: the fate of the events up to there is known, whichever modulator they went through. */
interface Known {
  readonly source: TrackedSource;
  /** Count of the newest event of which that is known, or has been told. */
  through: number;
  /** The source that said so last; 0n for none. */
  by: bigint;
  /** Whether nothing was made of its events or told as missing yet: then what is made first may begin earlier, where others were there before. */
  mayBeginEarlier: boolean;
  /** Incarnations of the modulators whose output was made of its events. */
  readonly makers: Few<bigint, true>;
  /** Whether there were such, of the present modulator or of one before it. */
  wasMade: boolean;
  /** Sources that were heard to be made of it. */
  derived: number;
  /** The ordinal of the newest one among these whose events were handed on; 0 for none. */
  newest: number;
  heard: number;
}

interface Reached {
  source: TrackedSource;
  /** Count of the newest event. */
  raised: number;
  /** A derived source's position in its raw source. */
  readonly origin: Known | undefined;
  /** Its ordinal among those that are made of this raw source. */
  readonly ordinal: number;
  heard: number;
}

/** The furthest position that several consumers reached together in each source. */
export class Had {
  readonly #reached = new Remembered<
    string,
    { readonly source: TrackedSource; raised: number; heard: number }
  >();

  of(source: TrackedSource): number {
    return this.#reached.get(source.name)?.raised ?? 0;
  }

  /** Adds a consumer's position. */
  add(source: TrackedSource, raised: number): void {
    const reached = this.#reached.get(source.name);
    if (reached === undefined) this.#reached.set(source.name, { source, raised, heard: 0 });
    else reached.raised = Math.max(reached.raised, raised);
  }

  /** Adds all of that to another one. */
  leaveTo(after: Had): void {
    for (const { source, raised } of this.#reached.values()) after.add(source, raised);
  }
}

const NOTHING = new Had();

/**
 * One consumer's position in each source's count. Events before it do not come again; events that never came
 * are told. Events of a derived channel are counted twice: as they were made, which says whether one was had
 * before, and by what their modulator has been through of the raw source, which says how many raised events
 * are missing.
 */
export class Tracker {
  /** Position in the source that was heard last. Mostly that source is heard next, and found here without its name. */
  #newest: Reached | undefined;
  readonly #reached = new Remembered<string, Reached>();
  readonly #known = new Remembered<string, Known>();
  readonly #before: Had;
  /** Whether the consumer has been away: an unknown source has begun meanwhile, and all its events are missing. */
  #hasBeenAway = false;
  /** When the consumer began: what had ended by then it does not miss. */
  #since = performance.now();
  /** Whether a modulator has begun anew, without the state that it had, and that has not been told. */
  hasRestarted = false;
  /** Incarnations whose beginning was told as a restart: one makes events of several sources. */
  readonly #toldMakers = new Set<bigint>();

  /** @param before how far another one was, whose stead this one takes: that does not come again, but what is missing behind it was nobody's */
  constructor(before: Had = NOTHING) {
    this.#before = before;
  }

  /** The consumer is away: it will be back behind its place. */
  away(): void {
    this.#hasBeenAway = true;
  }

  /** A run came. @param origin the raw source that a derived one is made of */
  take(source: TrackedSource, run: EventsFrame, origin?: TrackedSource): CountedRun {
    const { raised, count } = run;
    const reached = this.#of(source);
    const newest = raised + count - 1;
    if (reached === undefined) return this.#begin(source, run, origin);
    const last = reached.raised;
    if (newest > last) reached.raised = newest;
    const known = reached.origin;
    if (known === undefined) {
      if (raised === last + 1) return ALL_NEW;
      return {
        had: Math.max(0, Math.min(count, last + 1 - raised)),
        missing: Math.max(0, raised - last - 1),
      };
    }
    if (isRepeated(known, source, run)) return { had: count, missing: 0 };
    const { after, through, accounted } = run;
    if (through > known.through || reached.ordinal > known.newest) known.newest = reached.ordinal;
    // The modulator had gathered these where it ran before, and output from where it runs now was handed on: they would be out of order.
    else if (reached.ordinal < known.newest && after === through) return { had: count, missing: count };
    const gap = Math.max(0, after - known.through);
    // A run is missing that says nothing which this one does not say: something of what this one accounts for was lost.
    const missing = raised > last + 1 && gap === 0 ? Math.max(1, through - known.through) : gap;
    // What is told of a stretch is known, too, before its last run is there.
    reach(known, source, missing > gap ? through : accounted);
    return { had: Math.max(0, Math.min(count, last + 1 - raised)), missing };
  }

  #begin(source: TrackedSource, run: EventsFrame, origin: TrackedSource | undefined): CountedRun {
    const { raised, count } = run;
    const before = this.#before.of(source);
    const known = origin && this.#knownOf(origin, run.after);
    if (known !== undefined) beginAt(known, run.after);
    this.#enter(source, Math.max(raised + count - 1, before), known);
    const had = Math.max(0, Math.min(count, before + 1 - raised));
    if (known === undefined) return { had, missing: this.#hasBeenAway && before === 0 ? raised - 1 : 0 };
    if (isRepeated(known, source, run)) return { had: count, missing: 0 };
    known.newest = known.derived;
    const missing = Math.max(0, run.after - known.through);
    reach(known, source, run.accounted);
    return { had, missing };
  }

  /**
   * The source goes on behind this event.
   *
   * @param agoMs how long ago it ended; 0 where that is not known
   * @returns how many never came
   */
  place(
    source: TrackedSource,
    raised: number,
    origin?: TrackedSource,
    after = 0,
    through = 0,
    agoMs = 0,
  ): number {
    const endedBefore = agoMs > 0 && performance.now() - agoMs < this.#since + LATE_MS;
    // It begins, and nothing was made of it yet; or it has ended, and nothing more will be.
    if (origin !== undefined && origin.id === source.id) {
      const known = this.#knownOf(origin, through, endedBefore);
      const missing = Math.max(0, raised - known.through);
      known.through += missing;
      if (missing > 0) known.mayBeginEarlier = false;
      return missing;
    }
    const reached = this.#of(source);
    if (origin !== undefined) {
      const isKnown = this.#hasBeenAway || this.#known.get(origin.name) !== undefined;
      const known = reached?.origin ?? this.#knownOf(origin, through);
      beginAt(known, through);
      // Whatever was made of these events and is not here is lost.
      const isBroken = raised > (reached?.raised ?? (isKnown ? 0 : raised));
      // Of what its modulator had gathered all was accounted for before: each of its events that is missing stands for one at least.
      const gathered = isBroken && through <= known.through ? raised - (reached?.raised ?? raised) : 0;
      const missing = Math.max(gathered, (isBroken ? through : after) - known.through);
      reach(known, source, through);
      if (reached === undefined) this.#enter(source, raised, known);
      else reached.raised = Math.max(reached.raised, raised);
      return missing;
    }
    if (reached === undefined) {
      const before = this.#before.of(source);
      this.#enter(source, Math.max(raised, before), undefined);
      return this.#hasBeenAway && before === 0 && !endedBefore ? raised : 0;
    }
    const missing = Math.max(0, raised - reached.raised);
    reached.raised += missing;
    return missing;
  }

  /** Adds how far this one is, for those that come after it. */
  leaveTo(after: Had): void {
    for (const { source, raised } of this.#reached.values()) after.add(source, raised);
  }

  /** The consumer's positions, for another device. Of several sources made of one, the one that was heard last comes first (`inherit`). */
  places(): SourcePlace[] {
    const isNewest = ({ source, origin }: Reached): boolean => origin?.by === source.id;
    const reached = [...this.#reached.values()];
    const places = [...reached.filter(isNewest), ...reached.filter(one => !isNewest(one))].map(
      ({ source: { id, urgent }, raised, origin }) => ({
        source: id,
        raised: BigInt(raised),
        urgent,
        origin: origin?.source.id ?? 0n,
        through: BigInt(origin?.through ?? 0),
      }),
    );
    // Of these the present modulator has made nothing yet: the consumer began there, or the modulator before it had been so far.
    const said = new Set(reached.map(({ source, origin }) => (origin?.source ?? source).name));
    for (const { source, through } of this.#known.values()) {
      const { id, urgent, name } = source;
      if (!said.has(name))
        places.push({ source: id, raised: 0n, urgent, origin: id, through: BigInt(through) });
    }
    return places;
  }

  /** Time since the consumer began, or the first of those in whose stead it goes on; Infinity where nobody knows. */
  get sinceMs(): number {
    return performance.now() - this.#since;
  }

  /** Goes on where another device was, which began so long ago. */
  inherit(places: readonly SourcePlace[], sinceMs = Number.POSITIVE_INFINITY): void {
    // Several modulators may have made what it has had of one source: the newest of them comes last here.
    for (const { source, urgent, raised, origin, through } of [...places].reverse()) {
      const known =
        origin === 0n ? undefined : this.#knownOf(new TrackedSource(origin, urgent), Number(through));
      const of = new TrackedSource(source, urgent);
      // A modulator that has made nothing yet begins here: its first events may be told as a restart.
      if (known === undefined || raised > 0n)
        this.#enter(of, Math.max(Number(raised), this.#before.of(of)), known);
      // Whoever has a modulator by now goes on behind that, too.
      if (known === undefined) this.#knownOf(of, Number(raised)).mayBeginEarlier = false;
      if (known !== undefined) {
        known.mayBeginEarlier = false;
        known.wasMade = true;
        known.newest = known.derived;
        if (Number(through) >= known.through) known.by = source;
        reach(known, of, Number(through));
      }
    }
    this.hasRestarted = false;
    this.#toldMakers.clear();
    if (places.length === 0) return;
    this.#hasBeenAway = true;
    this.#since = performance.now() - sinceMs;
  }

  /** The count up to which the fate of a raw source's events is known; undefined where nothing was made of them, or heard of them. */
  throughOf(source: TrackedSource): number | undefined {
    const known = this.#known.get(source.name);
    if (known?.wasMade) return known.through;
    const reached = this.#reached.get(source.name);
    return reached === undefined || reached.origin !== undefined ? undefined : reached.raised;
  }

  /** Raw sources of which something was made for the consumer, each with the count up to which the fate of its events is known. */
  *origins(): Generator<{ readonly source: TrackedSource; readonly through: number }> {
    for (const { source, raised, origin } of this.#reached.values())
      if (origin === undefined) yield { source, through: raised };
    for (const { source, through, wasMade } of this.#known.values()) if (wasMade) yield { source, through };
  }

  /**
   * Another modulator makes what comes next, or none does: it goes on where the former one was, and is no restart of that.
   *
   * @param isPlain whether what comes next are the raw events themselves
   */
  changed(isPlain: boolean): void {
    const origins = [...this.origins()];
    this.clear();
    for (const { source, through } of origins) {
      if (isPlain) this.#enter(source, through, undefined);
      else {
        // All that the new one makes is news, also of events that the former one had been through.
        const known = this.#knownOf(source, through);
        known.mayBeginEarlier = false;
        known.wasMade = true;
      }
    }
  }

  clear(): void {
    this.#newest = undefined;
    this.#reached.clear();
    this.#known.clear();
    this.#hasBeenAway = false;
    this.hasRestarted = false;
    this.#toldMakers.clear();
  }

  #of(source: TrackedSource): Reached | undefined {
    if (this.#newest?.source === source) return this.#newest;
    const reached = this.#reached.get(source.name);
    if (reached === undefined) return undefined;
    // Equal sources may be several objects.
    reached.source = source;
    this.#newest = reached;
    return reached;
  }

  #enter(source: TrackedSource, raised: number, origin: Known | undefined): void {
    if (origin !== undefined) {
      const maker = makerOf(source);
      origin.wasMade = true;
      if (!origin.makers.has(maker)) this.#madeBy(maker, origin.makers);
    }
    const ordinal = origin === undefined ? 0 : ++origin.derived;
    this.#newest = { source, raised, origin, ordinal, heard: 0 };
    this.#reached.set(source.name, this.#newest);
  }

  /** A further incarnation of a modulator makes events of a raw source. */
  #madeBy(maker: bigint, makers: Few<bigint, true>): void {
    if (makers.size > 0 && !this.#toldMakers.has(maker)) {
      this.hasRestarted = true;
      this.#toldMakers.add(maker);
      if (this.#toldMakers.size > MOST_INCARNATIONS) this.#toldMakers.clear();
    }
    if (makers.size >= MOST_INCARNATIONS) makers.clear();
    makers.set(maker, true);
  }

  /**
   * @param begin where one begins that was not known, unless it has begun while the consumer was away
   * @param endedBefore whether it had ended before the consumer began
   */
  #knownOf(source: TrackedSource, begin: number, endedBefore = false): Known {
    let known = this.#known.get(source.name);
    if (known === undefined) {
      const [through, mayBeginEarlier] = this.#hasBeenAway && !endedBefore ? [0, false] : [begin, true];
      known = { source, through, by: 0n, mayBeginEarlier, ...unmade(), heard: 0 };
      this.#known.set(source.name, known);
    }
    return known;
  }
}

function unmade(): Pick<Known, "makers" | "wasMade" | "derived" | "newest"> {
  return { makers: new Few(), wasMade: false, derived: 0, newest: 0 };
}

/** The first word on what is made of a raw source begins behind this event. */
function beginAt(known: Known, after: number): void {
  if (known.mayBeginEarlier) known.through = Math.min(known.through, after);
  known.mayBeginEarlier = false;
}

/** The incarnation of the modulator that makes a derived source's events. */
function makerOf({ id }: TrackedSource): bigint {
  return id >> 32n;
}

function reach(known: Known, { id }: TrackedSource, through: number): void {
  // One that only says again what another one made is not who made it: what it makes of that has been had.
  if (through <= known.through && known.by !== 0n) return;
  known.through = Math.max(known.through, through);
  known.by = id;
}

/** Where a modulator comes to run at another place, what was made of the same events before may be made again there. */
function isRepeated(known: Known, { id }: TrackedSource, { after, through }: EventsFrame): boolean {
  return after < through && through <= known.through && known.by !== id && known.by !== 0n;
}
