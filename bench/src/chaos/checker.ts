import { type Channel, isKept, type Meaning, NOTICE, NOTICES, URGENT_LIFE } from "./event.ts";

/** Counts of what was wrong with what consumers saw, in events that they should have seen. */
export interface Verdict {
  /** Events that consumers saw. */
  events: number;
  /** Events that never came and that nobody was told of: has to be 0, as the next two have. */
  lostUntold: number;
  duplicated: number;
  reordered: number;
  /** Events that consumers were told to be missing; of one with a modulator, raised events. */
  told: number;
  /** Events told as missing that had come, or never were. */
  overtold: number;
  /** Events that were counted as lost in an earlier time and came in this one. */
  late: number;
  /** Times that a modulator began anew, and the consumer saw that without having been told. */
  restartedUntold: number;
  restarts: number;
  /** Events that a modulator had in its own fields when it was told to begin anew. */
  lostWithState: number;
  /** Events that a gathered one stands for which another one had stood for, before the modulator was told to begin anew. */
  repeatedInPart: number;
  /** Events that were not what had been raised. */
  corrupt: number;
}

export const emptyVerdict = (): Verdict => ({
  events: 0,
  lostUntold: 0,
  duplicated: 0,
  reordered: 0,
  told: 0,
  overtold: 0,
  late: 0,
  restartedUntold: 0,
  restarts: 0,
  lostWithState: 0,
  repeatedInPart: 0,
  corrupt: 0,
});

/** Consumers are judged by whether they have a modulator, and whether their channel has history; those that do not keep up by themselves. */
export const CATEGORIES = ["plain_kept", "plain_live", "modulated_kept", "modulated_live", "slow"] as const;
export type Category = (typeof CATEGORIES)[number];
export type Verdicts = Readonly<Record<Category, Verdict>>;

export const emptyVerdicts = (): Verdicts =>
  Object.fromEntries(CATEGORIES.map(category => [category, emptyVerdict()])) as Verdicts;

export function sumOf(verdicts: Verdicts): Verdict {
  const sum = emptyVerdict();
  for (const category of CATEGORIES) add(sum, verdicts[category]);
  return sum;
}

export function add(to: Verdict, more: Readonly<Verdict>): void {
  for (const key of Object.keys(to) as (keyof Verdict)[]) to[key] += more[key];
}

/** A producer's life on a channel, as the producer says. */
export interface Source {
  readonly producer: number;
  readonly life: number;
  readonly channel: Channel;
  /** Whether it offers what modulators need. */
  readonly serves: boolean;
  /** Whether it publishes into the channel of even events. */
  readonly isDirect: boolean;
  /** So many events have to come, or to be told: all that it raised, or, once it has been killed, what it was told to be taken. */
  due: number;
  /** So many may come, or be told: all that it raised. */
  raised: number;
  /** Whether it raises nothing more. */
  isOver: boolean;
  /** When events were raised: from the event `n` on, at that time. */
  readonly marks: { readonly n: number; readonly atMs: number }[];
}

/** From `from` to `to`, both included. */
interface Gap {
  readonly from: number;
  readonly to: number;
}

/** How far a consumer is in what a source raised. */
interface Progress {
  /** Everything up to this event has been seen, or is missing. */
  last: number;
  /** Everything up to this event has been waited for, and is not any more. */
  writtenOff: number;
  /** The first event that it saw, until it is clear whether that should have been an earlier one. */
  first: number | undefined;
  readonly gaps: Gap[];
  /** Number that the modulator had counted at the last event, and how often it had been told to begin anew by then. */
  count: number | undefined;
  restarts: number;
  /** Events since it was told last to begin anew, until that shows; undefined where it was not. */
  sinceTold: number | undefined;
  /** Number of times that events were told as missing when the newest one came. */
  tellings: number;
}

/**
 * Events that may come of the modulator before after a consumer was told of a new beginning: one modulator makes usual and urgent events, whose orders
 * are independent, and the first of either tells it.
 */
const MOST_AFTER_TOLD = 100;

/** Counts that are to be looked into; on a channel with history, `told` as well. */
const WRONG = ["lostUntold", "duplicated", "reordered", "overtold", "restartedUntold", "corrupt"] as const;
/** The first ones say what happened. */
const MOST_NOTES = 100;

const isPlain = ({ modulator, of }: Meaning): boolean => modulator === undefined && of === undefined;
const keyOf = (producer: number, life: number): number => producer * 0x1_0000 + life;

/** Judgement of what a consumer saw in some time: what was wrong, and where. */
export interface Judgement {
  readonly category: Category;
  readonly verdict: Verdict;
  readonly notes: readonly string[];
}

/** One consumer, from its subscription to its end, over all the processes that it lives in. */
export class Account {
  readonly name: string;
  readonly #category: Category;
  readonly #meaning: Meaning;
  readonly #isKept: boolean;
  /** When it was told to be subscribed: what is raised from then on has to come. */
  #sinceMs = Number.POSITIVE_INFINITY;
  /** The account has not been judged since then. */
  #isNew = false;
  readonly #progress = new Map<number, Progress>();
  /** Verdict on the time since the last call of `close`. */
  #verdict = emptyVerdict();
  #missing = 0;
  #spoilt = 0;
  /** Events of the past that it asked for of which its status said that they are not kept. */
  #lacking = 0;
  /** Events that came after they had been waited for. */
  #late = 0;
  /** Events that never came and were not told, in all times before. */
  #lost = 0;
  /** Events of killed producers which did not have to come, and may be told: a gateway waits for the producers' return, and so may the next ones. */
  #mayBeTold = 0;
  #notes: string[] = [];
  /** Number of times that it was told events as missing. */
  #tellings = 0;
  #restarts = 0;
  /** Number of restarts before the last call of `close`. */
  #restartsBefore = 0;
  /** Calls of `close` until a change of its modulator is in force for certain: what both had been through may come of both. */
  #changing = 0;

  /** @param isSlow whether it does not keep up, and so is told of what was dropped */
  constructor(name: string, channel: Channel, meaning: Meaning, isSlow = false) {
    const kind = isPlain(meaning) ? "plain" : "modulated";
    this.name = name;
    this.#isKept = isKept(channel);
    this.#category = isSlow ? "slow" : `${kind}_${this.#isKept ? "kept" : "live"}`;
    this.#meaning = meaning;
  }

  /** Notes that it was told to be subscribed: from now on it is owed what is raised. */
  subscribed(atMs: number): void {
    this.#isNew = true;
    this.#sinceMs = atMs;
  }

  /** So many events of the past that it asked for are not kept, as its status said. */
  lacks(events: number): void {
    this.#lacking = Math.max(this.#lacking, events);
  }

  /** Takes what was noted at `at` in a list of such. */
  take(seen: Readonly<Uint32Array>, at: number): void {
    const number = (i: number): number => seen[at + i] as number;
    if (number(1) === NOTICE) this.#notice(number(2), number(3));
    else this.#event(number(1), number(2), number(3), number(4), number(5));
  }

  /** Notes that it goes on in another process, or with another installation, where its modulator's count may begin anywhere. */
  moved(): void {
    for (const progress of this.#progress.values()) progress.count = undefined;
  }

  /** Its modulator is being changed for an equal one. */
  changes(): void {
    // A connection that breaks, or a gateway that restarts, may put it off.
    this.#changing = 2;
  }

  /**
   * Whether the modulator's state is gone with all that it gathered of this source: it was restarted, and no output came since. Urgent output may
   * come of the modulator before when a usual one has told of the restart.
   */
  #isGone(producer: number, life: number): boolean {
    if (this.#meaning.gathers !== true) return false;
    const known = life >= URGENT_LIFE ? this.#restartsBefore : this.#restartsAt(keyOf(producer, life));
    return known < this.#restarts;
  }

  /** How many events it has neither seen nor been told of. */
  owed(all: readonly Source[]): number {
    const sources = this.#its(all);
    const tailOf = (source: Source): number =>
      this.#isGone(source.producer, source.life) ? 0 : this.#tail(source);
    const owed = sources.reduce((sum, source) => sum + this.#beginning(source) + tailOf(source), 0);
    return Math.max(0, this.#missing + owed - this.#verdict.told - this.#spoilt - this.#lacking);
  }

  /**
   * Nothing more comes of these sources for the time being.
   *
   * @param isFileWhole whether the history's file has all that was to be kept: else modulators begin behind what it has, and make some of it again
   * @param mayReturnLate whether a producer may have come back when it was waited for no more: what was told as missing may have come with it
   * @returns what was wrong since the last time, and where
   */
  close(all: readonly Source[], isFileWhole = true, mayReturnLate = false): Judgement {
    // Events that were raised before somebody had subscribed may have been on their way then.
    let mayMiss = 0;
    for (const source of this.#its(all)) {
      const key = keyOf(source.producer, source.life);
      const beginning = this.#beginning(source);
      if (beginning > 0) this.#noteOf(source.producer, source.life, `begins ${beginning} too late`);
      const isGone = this.#isGone(source.producer, source.life);
      const tail = isGone ? 0 : this.#tail(source);
      if (isGone) this.#verdict.lostWithState += this.#among(this.#reached(source), source.due - 1);
      if (tail > 0)
        this.#noteOf(
          source.producer,
          source.life,
          `nothing behind ${this.#reached(source)}, of ${source.due - 1}`,
        );
      this.#missing += beginning + tail;
      if (this.#isNew) mayMiss += this.#unitsAmong(-1, this.#firstDue(source) - 1);
      // Events that a killed producer had raised and was not told to be taken may have been taken all the same.
      this.#mayBeTold += this.#unitsAmong(Math.max(this.#reached(source), source.due - 1), source.raised - 1);
      const progress = this.#progress.get(key) ?? this.#enter(key, this.#reached(source));
      progress.first = undefined;
      progress.writtenOff = Math.max(progress.writtenOff, (source.isOver ? source.raised : source.due) - 1);
    }
    const verdict = this.#verdict;
    // What came spoilt is counted as that.
    verdict.lostUntold = Math.max(0, this.#missing - verdict.told - this.#spoilt - this.#lacking);
    if (!isFileWhole && this.#isKept && !isPlain(this.#meaning)) {
      // One that did not keep up has missed some of that, so that it comes behind what was made later.
      verdict.repeatedInPart += verdict.duplicated + verdict.reordered;
      verdict.duplicated = 0;
      verdict.reordered = 0;
    }
    // What had been told did come, in the end.
    verdict.late = Math.min(this.#late, this.#lost);
    this.#lost += verdict.lostUntold - verdict.late;
    if (this.#meaning.step === 1 && !this.#meaning.gathers) {
      const more = Math.max(0, verdict.told - this.#missing - mayMiss - verdict.lostWithState);
      const allowed = mayReturnLate ? more : Math.min(more, this.#mayBeTold);
      this.#mayBeTold = Math.max(0, this.#mayBeTold - allowed);
      verdict.overtold = more - allowed + this.#late - verdict.late;
    }
    const isToldToo = this.#isKept && this.#category !== "slow";
    const wrong = [...WRONG, ...(isToldToo ? (["told"] as const) : [])]
      .filter(what => verdict[what] !== 0)
      .map(what => `${what} ${verdict[what]}`);
    const notes = wrong.length === 0 ? [] : [`${this.name}: ${wrong.join(", ")}`, ...this.#notes];
    this.#verdict = emptyVerdict();
    this.#missing = 0;
    this.#spoilt = 0;
    this.#lacking = 0;
    this.#isNew = false;
    this.#restartsBefore = this.#restarts;
    this.#changing = Math.max(0, this.#changing - 1);
    this.#late = 0;
    this.#notes = [];
    return { category: this.#category, verdict, notes };
  }

  #its(sources: readonly Source[]): readonly Source[] {
    const { needsService = false, seesDirect = false } = this.#meaning;
    return sources.filter(({ serves, isDirect }) => (serves || !needsService) && (seesDirect || !isDirect));
  }

  #notice(kind: number, events: number): void {
    if (kind === NOTICES.missed) {
      this.#verdict.told += events;
      this.#tellings++;
      this.#note(`told ${events}`);
    } else if (kind === NOTICES.corrupt) {
      this.#verdict.corrupt++;
      this.#spoilt++;
    } else {
      this.#verdict.restarts++;
      this.#restarts++;
    }
  }

  #event(producer: number, life: number, gatheredFrom: number, n: number, count: number): void {
    const key = keyOf(producer, life);
    const first = this.#meaning.gathers ? gatheredFrom : n;
    const verdict = this.#verdict;
    const events = this.#among(first - 1, n);
    verdict.events += events;
    let progress = this.#progress.get(key);
    if (progress === undefined) {
      progress = this.#enter(key, first - 1);
      progress.first = first;
    }
    if (events === 0) {
      verdict.corrupt++;
      return this.#noteOf(producer, life, `${n} is none that should come`);
    }
    const { last, writtenOff } = progress;
    if (first <= last) {
      // A period's events go with the run of the usual ones: what stands for urgent ones may be repeated whole with a part of that.
      const isInPart = n > last || (this.#meaning.gathers === true && life >= URGENT_LIFE);
      // What a period made may come again where a modulator began anew; the sources that it is made of tell that in any order.
      const isAnew = progress.restarts < this.#restarts || this.#restartsBefore < this.#restarts;
      const isWithMore = isInPart && isAnew;
      this.#again(producer, life, progress, first, Math.min(n, last), isWithMore, this.#changing > 0);
    } else {
      const missing = this.#unitsAmong(Math.max(last, writtenOff), first - 1);
      if (missing > 0 && !this.#wentWithOthers(progress, life))
        this.#gap(producer, life, progress, first, missing);
      if (first <= writtenOff) this.#late += this.#unitsAmong(first - 1, Math.min(n, writtenOff));
    }
    if (n <= last) return;
    this.#compare(producer, life, progress, n, count);
    progress.last = n;
    progress.tellings = this.#tellings;
  }

  /** A period's output of urgent events has no number of its own where it is lost together with that of usual ones. */
  #wentWithOthers({ tellings }: Progress, life: number): boolean {
    return this.#meaning.gathers === true && life >= URGENT_LIFE && tellings < this.#tellings;
  }

  #gap(producer: number, life: number, progress: Progress, first: number, missing: number): void {
    const { last, writtenOff } = progress;
    progress.gaps.push({ from: Math.max(last, writtenOff) + 1, to: first - 1 });
    if (this.#meaning.gathers && (progress.restarts < this.#restarts || this.#isGone(producer, life)))
      this.#verdict.lostWithState += this.#among(Math.max(last, writtenOff), first - 1);
    else {
      this.#missing += missing;
      this.#noteOf(producer, life, `${first} behind ${last}`);
    }
  }

  /**
   * Events from `from` to `to` came that were not the next ones.
   *
   * @param isWithMore as a part of what a modulator that began anew gathered: that stands for later ones, too, and comes in its order
   * @param isChanging while a modulator takes another's place
   */
  #again(
    producer: number,
    life: number,
    { gaps }: Progress,
    from: number,
    to: number,
    isWithMore: boolean,
    isChanging: boolean,
  ): void {
    // However many notes there are: these are rare.
    if (!isWithMore && !isChanging)
      this.#notes.unshift(`  producer ${producer}.${life}: ${from} to ${to} again, or late`);
    let late = 0;
    for (const gap of [...gaps]) {
      const [begin, end] = [Math.max(from, gap.from), Math.min(to, gap.to)];
      if (begin > end) continue;
      late += this.#among(begin - 1, end);
      const left = [
        { from: gap.from, to: begin - 1 },
        { from: end + 1, to: gap.to },
      ];
      gaps.splice(gaps.indexOf(gap), 1, ...left.filter(({ from, to }) => from <= to));
    }
    const verdict = this.#verdict;
    // The next modulator may make what the former one's output lacks, behind what that made.
    verdict[isWithMore || isChanging ? "repeatedInPart" : "reordered"] += late;
    verdict[isWithMore || isChanging ? "repeatedInPart" : "duplicated"] += this.#among(from - 1, to) - late;
    this.#missing -= this.#meaning.gathers ? Math.min(1, late) : late;
  }

  /** A modulator that counts goes on counting, unless it has been told to begin anew. */
  #compare(producer: number, life: number, progress: Progress, n: number, count: number): void {
    if (this.#meaning.counts) {
      const more = count - (progress.count ?? count - 1);
      if (progress.restarts !== this.#restarts) progress.sinceTold = 0;
      const isAnew = more < 1 || more > n - progress.last;
      const isTold = progress.sinceTold !== undefined && progress.sinceTold++ <= MOST_AFTER_TOLD;
      if (isAnew && isTold) progress.sinceTold = undefined;
      else if (isAnew) {
        this.#verdict.restartedUntold++;
        const told =
          progress.sinceTold === undefined ? "" : `, ${progress.sinceTold} events behind a restart`;
        // However many notes there are: these are rare.
        this.#notes.unshift(
          `  producer ${producer}.${life}: at ${n} the count is ${count} after ${progress.count} at ${progress.last}${told}`,
        );
      }
      progress.count = count;
    }
    progress.restarts = this.#restarts;
  }

  /** So many of the events behind `last` and up to `to` should come. */
  #among(last: number, to: number): number {
    const { step } = this.#meaning;
    return Math.max(0, Math.floor(to / step) - Math.floor(last / step));
  }

  /** The same as they are counted when they are missing: of what stands for several one is, for nobody knows how many others it stood for. */
  #unitsAmong(last: number, to: number): number {
    const events = this.#among(last, to);
    return this.#meaning.gathers ? Math.min(1, events) : events;
  }

  /** Events that should have come before the first one that did. */
  #beginning(source: Source): number {
    const first = this.#progress.get(keyOf(source.producer, source.life))?.first;
    // What was gathered may have gone with the modulator's state.
    if (first === undefined || (this.#meaning.gathers && this.#restarts > 0)) return 0;
    return this.#unitsAmong(this.#firstDue(source) - 1, first - 1);
  }

  /** Events that should have come behind the last one that did. */
  #tail(source: Source): number {
    // What the modulator had in its own fields is gone with it.
    if (this.#meaning.gathers && source.isOver) return 0;
    const progress = this.#progress.get(keyOf(source.producer, source.life));
    if (progress !== undefined && this.#wentWithOthers(progress, source.life)) return 0;
    return this.#unitsAmong(this.#reached(source), source.due - 1);
  }

  #reached(source: Source): number {
    const progress = this.#progress.get(keyOf(source.producer, source.life));
    return progress === undefined ? this.#firstDue(source) - 1 : Math.max(progress.last, progress.writtenOff);
  }

  /** The restarts that it had been told of when it saw this source's newest event, or was judged. */
  #restartsAt(key: number): number {
    return Math.max(this.#progress.get(key)?.restarts ?? 0, this.#restartsBefore);
  }

  /** The first event that was raised after it had subscribed, for certain. */
  #firstDue({ marks, raised }: Source): number {
    return marks.find(({ atMs }) => atMs > this.#sinceMs)?.n ?? raised;
  }

  #enter(key: number, last: number): Progress {
    const progress: Progress = {
      last,
      writtenOff: -1,
      first: undefined,
      gaps: [],
      count: undefined,
      restarts: this.#restarts,
      sinceTold: undefined,
      tellings: this.#tellings,
    };
    this.#progress.set(key, progress);
    return progress;
  }

  #noteOf(producer: number, life: number, what: string): void {
    this.#note(`producer ${producer}.${life}: ${what}`);
  }

  #note(what: string): void {
    if (this.#notes.length < MOST_NOTES) this.#notes.push(`  ${what}`);
  }
}
