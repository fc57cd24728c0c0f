import type { EventsFrame, SourcePlace } from "@jecho/shared/internal";
import { Had, MOST_REMEMBERED, Remembered, TrackedSource } from "./tracked-source.ts";

/** Result of a run's counts at one consumer. */
export interface CountedRun {
  /** Number of events at the run's beginning that the consumer has had before. */
  readonly had: number;
  /** Number of events before the run that never came. */
  readonly missing: number;
}

const ALL_NEW: CountedRun = { had: 0, missing: 0 };

/** A consumer's position in a raw source: the fate of the events up to there is known, whichever modulator they went through. */
interface Known {
  readonly source: TrackedSource;
  /** Count of the newest event whose fate is known, or has been told. */
  through: number;
  /** The source that said so last; 0n for none. */
  by: bigint;
  /** Count of the newest event that anything may have been made of. */
  made: number;
  /** Whether nothing was made of its events or told as missing yet. Where others were there before, the first output may begin earlier. */
  mayBeginEarlier: boolean;
  /** The incarnation of a modulator that makes its newest events' output. */
  maker?: bigint;
  /** The newest beginning or return of an incarnation, in any source, when this one last made events here; 0 for none. */
  turn: number;
  /** Whether anything was made of its events, by the present modulator or one before it. */
  wasMade: boolean;
  /** The newest turn of which output was handed on; 0 for none. */
  newest: number;
  heard: number;
}

interface Reached {
  source: TrackedSource;
  /** Count of the newest event. */
  raised: number;
  /** A derived source's position in its raw source. */
  readonly origin: Known | undefined;
  /** The raw source's turn in which this one was made of it; -1 for none yet. */
  turn: number;
  heard: number;
}

const NOTHING = new Had();

/**
 * One consumer's position in each source's count. Events before it do not come again; events that never came are told. Events of a
 * derived channel have two counts: their own, which finds repeated ones, and the modulator's position in the raw source, which says
 * how many raised events are missing.
 */
export class Tracker {
  /** Position in the newest run's source. Mostly the next run is of the same source, and is found here without its name. */
  #newest: Reached | undefined;
  readonly #reached = new Remembered<string, Reached>();
  readonly #known = new Remembered<string, Known>();
  readonly #before: Had;
  /** Whether the consumer has been away: an unknown source has begun meanwhile, and all its events are missing. */
  #hasBeenAway = false;
  /** When the consumer began: it misses nothing of sources that had ended by then. */
  #since = performance.now();
  /** Whether a modulator has begun anew without its state, and the application has not been told. */
  hasRestarted = false;
  /** Number of beginnings: an incarnation begins with each of its sources, and again where another one made its events meanwhile. */
  #turns = 0;
  /** Beginnings of incarnations that were told as restarts: for all sources at once, unless another one made their events since. */
  readonly #toldMakers = new Map<bigint, number>();

  /** @param before position of the one that this one replaces: events up to it do not come again, and none behind it are missing */
  constructor(before: Had = NOTHING) {
    this.#before = before;
  }

  /** The consumer is away, and will come back behind its place. */
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
      return { had: hadOf(run, last), missing: Math.max(0, raised - last - 1) };
    }
    return this.#takeMade(known, reached, run, last, hadOf(run, last));
  }

  #begin(source: TrackedSource, run: EventsFrame, origin: TrackedSource | undefined): CountedRun {
    const { raised, count } = run;
    const before = this.#before.of(source);
    const known = origin && this.#knownOf(origin, run.after);
    const reached = this.#enter(source, Math.max(raised + count - 1, before), known);
    const had = hadOf(run, before);
    if (known === undefined) return { had, missing: this.#hasBeenAway && before === 0 ? raised - 1 : 0 };
    beginAt(known, run.after);
    return this.#takeMade(known, reached, run, raised - 1, had);
  }

  /** A modulator's output came. @param last count of the event before which nothing of this source is missing */
  #takeMade(known: Known, reached: Reached, run: EventsFrame, last: number, had: number): CountedRun {
    const { raised, count, after, through, accounted } = run;
    const { source } = reached;
    const isOthers = after < through && known.by !== source.id && known.by !== 0n;
    // Another incarnation has already made this output, or a part of it: a modulator that moves may make it again at its next place.
    if (isOthers && (through <= known.through || after < known.made)) {
      // Nobody knows which events the part is: none comes, and the raw events behind it are missing.
      const missing = Math.max(0, accounted - known.through);
      reach(known, source, accounted);
      return { had: count, missing };
    }
    // Another incarnation had gathered these events while it was less far than this consumer, who may have them from one before.
    const isEarlier =
      reached.turn < 0 && through < known.through && known.by !== 0n && known.by !== source.id;
    if (after === through && isEarlier) return { had: count, missing: count };
    if (through > known.through || reached.turn < 0) this.#takeTurn(reached);
    // Events that were gathered at the modulator's former place would be out of order, since output of its present place was handed on.
    else if (reached.turn < known.newest && after === through) return { had: count, missing: count };
    known.newest = reached.turn;
    known.made = Math.max(known.made, through);
    const gap = Math.max(0, after - known.through);
    // The missing run accounts for no more than this one does, whose events were lost in part. What was gathered accounts for none.
    const lost = gap === 0 ? raised - last - 1 : 0;
    const missing = lost <= 0 ? gap : after === through ? lost : Math.max(1, through - known.through);
    // A stretch that is told as missing is known before its last run is there.
    reach(known, source, missing > gap ? through : accounted);
    return { had, missing };
  }

  /**
   * The source goes on behind this event.
   *
   * @param agoMs how long ago it ended, at most; 0 where that is not known
   * @returns number of events that never came
   */
  place(
    source: TrackedSource,
    raised: number,
    origin?: TrackedSource,
    after = 0,
    through = 0,
    agoMs = 0,
  ): number {
    const endedBefore = agoMs > 0 && performance.now() - agoMs < this.#since;
    // Nothing was made of the source yet; or it has ended, and nothing more will be made of it.
    if (origin !== undefined && origin.id === source.id) {
      const known = this.#knownOf(origin, through, endedBefore);
      const missing = Math.max(0, raised - known.through);
      known.through += missing;
      if (missing > 0) known.mayBeginEarlier = false;
      return missing;
    }
    let reached = this.#of(source);
    if (origin !== undefined) {
      const isKnown = this.#hasBeenAway || this.#known.get(origin.name) !== undefined;
      const known = reached?.origin ?? this.#knownOf(origin, through, endedBefore);
      beginAt(known, through);
      // Output of these events that has not come is lost.
      const isBroken = raised > (reached?.raised ?? (isKnown ? 0 : raised));
      // The raw events of gathered output were accounted for before. Each missing event stands for at least one of them.
      const gathered = isBroken && through <= known.through ? raised - (reached?.raised ?? raised) : 0;
      const missing = Math.max(gathered, (isBroken ? through : after) - known.through);
      reached ??= this.#enter(source, raised, known);
      reached.raised = Math.max(reached.raised, raised);
      if (through > known.through || reached.turn < 0) this.#takeTurn(reached);
      reach(known, source, through);
      return missing;
    }
    if (reached === undefined) {
      const before = this.#before.of(source);
      this.#enter(source, Math.max(raised, before));
      return this.#hasBeenAway && before === 0 && !endedBefore ? raised : 0;
    }
    const missing = Math.max(0, raised - reached.raised);
    reached.raised += missing;
    return missing;
  }

  /** Adds this consumer's positions to those that its successors do not get again. */
  leaveTo(after: Had): void {
    for (const { source, raised } of this.#reached.values()) after.add(source, raised);
  }

  /** The consumer's positions, for another device. Of several sources made of one, the newest comes first (`inherit`). */
  places(): SourcePlace[] {
    const rank = ({ source, origin }: Reached): number => (origin?.by === source.id ? 0 : 1);
    const reached = [...this.#reached.values()].sort((a, b) => rank(a) - rank(b));
    const places = reached.map(({ source: { id, urgent }, raised, origin }) => ({
      source: id,
      raised: BigInt(raised),
      urgent,
      origin: origin?.source.id ?? 0n,
      through: BigInt(origin?.through ?? 0),
    }));
    // Sources of which the present modulator has made nothing yet: positions where the consumer began, or of a modulator before it.
    const said = new Set(reached.map(({ source, origin }) => (origin?.source ?? source).name));
    for (const { source, through } of this.#known.values()) {
      const { id, urgent, name } = source;
      if (!said.has(name))
        places.push({ source: id, raised: 0n, urgent, origin: id, through: BigInt(through) });
    }
    return places;
  }

  /** Time since the consumer began, or the first of those that it continues; Infinity where nobody knows. */
  get sinceMs(): number {
    return performance.now() - this.#since;
  }

  /** Goes on at another device's positions. @param sinceMs how long ago that device began; Infinity where nobody knows */
  inherit(places: readonly SourcePlace[], sinceMs = Number.POSITIVE_INFINITY): void {
    // Several modulators may have made events of one source: the newest comes last here.
    for (const { source, urgent, raised, origin, through } of [...places].reverse()) {
      const reached = Number(through);
      const known = origin === 0n ? undefined : this.#knownOf(new TrackedSource(origin, urgent), reached);
      const of = new TrackedSource(source, urgent);
      // A modulator that has made nothing yet begins here: its first events may be told as a restart.
      if (known === undefined || raised > 0n)
        this.#takeTurn(this.#enter(of, Math.max(Number(raised), this.#before.of(of)), known));
      // A consumer that has a modulator by now goes on behind this event, too.
      if (known === undefined) this.#knownOf(of, Number(raised)).mayBeginEarlier = false;
      else {
        known.mayBeginEarlier = false;
        known.wasMade = true;
        known.newest = known.turn;
        if (reached >= known.through) known.by = source;
        reach(known, of, reached);
        known.made = known.through;
      }
    }
    this.hasRestarted = false;
    this.#toldMakers.clear();
    // A consumer without positions is a new one, unless somebody knows since when it is there.
    if (places.length === 0 && sinceMs === Number.POSITIVE_INFINITY) return;
    this.#hasBeenAway = true;
    this.#since = performance.now() - sinceMs;
  }

  /**
   * Count up to which the fate of a raw source's events is known; undefined where nothing of them has come.
   *
   * @param all also where nothing was made of them yet
   */
  throughOf(source: TrackedSource, all?: boolean): number | undefined {
    const known = this.#known.get(source.name);
    if (all || known?.wasMade) return known?.through;
    const reached = this.#reached.get(source.name);
    return reached === undefined || reached.origin !== undefined ? undefined : reached.raised;
  }

  /**
   * Raw sources, each with the count up to which the fate of its events is known.
   *
   * @param all those, too, of which nothing was made for the consumer yet
   */
  *origins(all?: boolean): Generator<{ readonly source: TrackedSource; readonly through: number }> {
    for (const { source, raised, origin } of this.#reached.values())
      if (origin === undefined) yield { source, through: raised };
    for (const { source, through, wasMade } of this.#known.values())
      if (all || wasMade) yield { source, through };
  }

  /**
   * The output of another modulator, or raw events, come next. They go on at the former position, which is no restart.
   *
   * @param isPlain whether what comes next are the raw events themselves
   */
  changed(isPlain: boolean): void {
    const origins = [...this.origins(true)];
    const hasBeenAway = this.#hasBeenAway;
    this.clear();
    for (const { source, through } of origins) {
      if (isPlain) this.#enter(source, through);
      else {
        // All output of the new modulator is news, also of events that the former one had been through.
        const known = this.#knownOf(source, through);
        known.mayBeginEarlier = false;
        known.wasMade = true;
      }
    }
    this.#hasBeenAway = hasBeenAway;
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

  #enter(source: TrackedSource, raised: number, origin?: Known): Reached {
    if (origin !== undefined) origin.wasMade = true;
    const reached: Reached = { source, raised, origin, turn: -1, heard: 0 };
    this.#newest = reached;
    this.#reached.set(source.name, reached);
    return reached;
  }

  /** The incarnation of a modulator that makes this derived source makes the output of its raw source's newest events. */
  #takeTurn(reached: Reached): void {
    const { origin: of, source } = reached;
    if (of === undefined) return;
    // Where another one has only begun, this one goes on with what it owes.
    if (reached.turn > 0 && of.by === source.id) {
      if (reached.turn === of.turn) reached.turn = of.turn = this.#turns;
      return;
    }
    // The first half of a derived source is the incarnation of the modulator that makes it.
    const maker = source.id >> 32n;
    if (maker !== of.maker) {
      const { turn } = of;
      of.maker = maker;
      of.turn = ++this.#turns;
      // The state of one that made events before lacks those that another one had meanwhile.
      if (turn > 0 && (this.#toldMakers.get(maker) ?? 0) <= turn) {
        this.hasRestarted = true;
        this.#toldMakers.set(maker, of.turn);
        if (this.#toldMakers.size > MOST_REMEMBERED) this.#toldMakers.clear();
      }
    }
    reached.turn = of.turn;
  }

  /**
   * @param begin position of a source that was not known, unless it began while the consumer was away
   * @param endedBefore whether the source had ended before the consumer began
   */
  #knownOf(source: TrackedSource, begin: number, endedBefore = false): Known {
    let known = this.#known.get(source.name);
    if (known === undefined) {
      const [through, mayBeginEarlier] = this.#hasBeenAway && !endedBefore ? [0, false] : [begin, true];
      known = {
        source,
        through,
        by: 0n,
        made: 0,
        mayBeginEarlier,
        turn: 0,
        wasMade: false,
        newest: 0,
        heard: 0,
      };
      this.#known.set(source.name, known);
    }
    return known;
  }
}

/** Number of events at the run's beginning that one who is behind this event has had. */
function hadOf({ raised, count }: EventsFrame, last: number): number {
  return Math.max(0, Math.min(count, last + 1 - raised));
}

/** The first output of a raw source begins behind this event. */
function beginAt(known: Known, after: number): void {
  if (known.mayBeginEarlier) known.through = Math.min(known.through, after);
  known.mayBeginEarlier = false;
}

function reach(known: Known, { id }: TrackedSource, through: number): void {
  // A modulator that only repeats another's output is not its maker.
  if (through <= known.through && known.by !== 0n) return;
  known.through = Math.max(known.through, through);
  known.by = id;
}
