import { type EventsFrame, type History, type SourcePlace, sliceRun } from "@jecho/shared/internal";
import type { RunBlock } from "./run-memory.ts";
import { type EventsBehind, firstIndex, SourceIndex } from "./source-index.ts";

/** A stamped run. */
export interface LoggedRun {
  /** The run. Its bytes are valid as long as the log keeps it, for blocks are reused. */
  readonly frame: EventsFrame;
  /** Its block of memory; undefined where it has memory of its own. */
  readonly block?: RunBlock | undefined;
  /** The producer's source; 0n where unknown. */
  readonly source: bigint;
  /** The raw source of a modulator's output; 0n for none. */
  readonly origin: bigint;
  /** Subject of its producer; "" where it has none. */
  readonly by: string;
  /** Arrival, by `Date.now()`. */
  readonly at: number;
}

/** The newest event of a key. */
interface Newest {
  /** A run with that event alone. */
  readonly run: LoggedRun;
  /** Sequence number of the first event of its original run. */
  readonly from: number;
}

/** The beginning of a new numbering, after a gateway's restart. */
export interface EpochStart {
  readonly epoch: number;
  readonly firstSeq: number;
}

/**
 * Bounds of a channel's history, all of which hold. The newest event of each key is kept in addition, for the newest keys, up to as many
 * bytes as of runs.
 */
export interface Retention {
  readonly events: number;
  readonly seconds: number;
  readonly bytes: number;
  readonly latest: boolean;
  /** Name of the key field for `latest`; "" for none. */
  readonly key: string;
  /** Whether it should outlive the gateway. */
  readonly durable: boolean;
}

/** All events, and no more. */
export const UNBOUNDED: Omit<Retention, "bytes"> = {
  events: Number.POSITIVE_INFINITY,
  seconds: Number.POSITIVE_INFINITY,
  latest: false,
  key: "",
  durable: false,
};

export function retentionOf(
  history: History | undefined,
  key: string,
  limitBytes: number,
): Retention | undefined {
  if (history === undefined) return undefined;
  const { events, seconds, latest, durable } = history;
  if (events === 0 && seconds === 0 && !latest) return undefined;
  return {
    // If one bound is given, the other is infinite; without any, only the newest of each key is kept.
    events: events > 0 ? events : seconds > 0 ? Number.POSITIVE_INFINITY : 0,
    seconds: seconds > 0 ? seconds : Number.POSITIVE_INFINITY,
    bytes: limitBytes,
    latest,
    key,
    durable,
  };
}

/** The kept past of a channel, in memory. */
export class EventLog {
  retention: Retention;
  readonly #keyOf: (frame: EventsFrame, i: number) => string;
  #runs: (LoggedRun | undefined)[] = [];
  /** Index of the first kept run; the list is cut from time to time. */
  #head = 0;
  #events = 0;
  /** Arrival of the newest event that was dropped. */
  #goneAt = Number.NEGATIVE_INFINITY;
  #nextSeq: number;
  /** Stretches of stored runs that could not be read: sequence numbers from `first` to before `end`. */
  #gaps: { readonly first: number; readonly end: number }[] = [];
  #bytes = 0;
  #latestBytes = 0;
  readonly #latest = new Map<string, Newest>();
  /** Made once it is asked for, and anew when the list is cut. */
  #index: SourceIndex | undefined;

  /**
   * @param keyOf key of an event, where the newest of each key is kept
   * @param firstSeq sequence number of the first event to be kept
   */
  constructor(retention: Retention, keyOf: (frame: EventsFrame, i: number) => string, firstSeq: number) {
    this.retention = retention;
    this.#keyOf = keyOf;
    this.#nextSeq = firstSeq;
  }

  get bytes(): number {
    return this.#bytes + this.#latestBytes;
  }

  /** First sequence numbers of those runs before the first kept one that have the newest event of a key. */
  get keptBefore(): Set<number> {
    const first = this.firstSeq ?? this.#nextSeq;
    const before = new Set<number>();
    for (const { from } of this.#latest.values()) if (from < first) before.add(from);
    return before;
  }

  /** Sequence number of the oldest kept event; undefined where none is. */
  get firstSeq(): number | undefined {
    return this.#runs[this.#head]?.frame.seq;
  }

  /** Sequence number behind the newest run that came. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  /** Notes that not all events up to this time are kept. */
  lost(until: number): void {
    this.#goneAt = Math.max(this.#goneAt, until);
  }

  /** Arrival of the oldest kept run, in milliseconds of Unix time; undefined where none is kept. */
  get oldestAt(): number | undefined {
    return this.#runs[this.#head]?.at;
  }

  /** Notes that events before the first that is kept were never to be: what they would have been made of was there before. */
  beginsLate(): void {
    this.lost(this.#runs[this.#head]?.at ?? Date.now());
  }

  /** Whether all events since this time are kept. */
  reaches(time: number): boolean {
    return this.#goneAt < time;
  }

  /** Number of kept events from this one on. */
  countFrom(seq: number): number {
    const { firstSeq } = this;
    if (firstSeq === undefined) return 0;
    const from = Math.max(seq, firstSeq);
    let count = Math.max(0, this.#nextSeq - from);
    for (const { first, end } of this.#gaps) count -= Math.max(0, end - Math.max(first, from));
    return count;
  }

  /** @returns whether older ones were dropped for the bound in bytes */
  append(run: LoggedRun): boolean {
    const { frame } = run;
    if (frame.seq > this.#nextSeq) {
      this.#gaps.push({ first: this.#nextSeq, end: frame.seq });
      this.lost(run.at);
    }
    this.#nextSeq = frame.seq + frame.count;
    this.#runs.push(run);
    this.#index?.add(run);
    this.#events += frame.count;
    this.#bytes += sizeOf(run);
    if (this.retention.latest) {
      for (let i = 0; i < frame.count; i++) {
        const key = this.#keyOf(frame, i);
        // Deleted first: the map's order is that of the newest events.
        this.#forgetKey(key);
        const event = alone(run, i);
        this.#latest.set(key, { run: event, from: frame.seq });
        this.#latestBytes += sizeOf(event);
      }
      this.#keepKeys(this.retention.bytes);
    }
    const isTooMuch = this.#bytes > this.retention.bytes;
    this.trim(run.at);
    return isTooMuch;
  }

  /** Drops the oldest until at most this much is kept. */
  letGo(mostBytes: number): void {
    while (this.bytes > mostBytes && this.#dropOldest());
    this.#keepKeys(mostBytes);
    this.#tidy();
  }

  #keepKeys(mostBytes: number): void {
    for (const key of this.#latest.keys()) {
      if (this.#latestBytes <= mostBytes) return;
      this.#forgetKey(key);
    }
  }

  #forgetKey(key: string): void {
    const newest = this.#latest.get(key);
    if (newest === undefined) return;
    this.#latest.delete(key);
    this.#latestBytes -= sizeOf(newest.run);
  }

  /** @returns false where there is none */
  #dropOldest(): boolean {
    const oldest = this.#runs[this.#head];
    if (oldest === undefined) return false;
    // The run is freed now; its slot only when the list is cut.
    this.#runs[this.#head++] = undefined;
    this.lost(oldest.at);
    this.#events -= oldest.frame.count;
    this.#bytes -= sizeOf(oldest);
    oldest.block?.letGo(sizeOf(oldest));
    return true;
  }

  /** Drops events beyond the bounds. */
  trim(now: number): void {
    const { events, seconds, bytes } = this.retention;
    for (;;) {
      const oldest = this.#runs[this.#head];
      if (oldest === undefined) break;
      const { frame, at } = oldest;
      const fits = this.#events - frame.count < events && this.#bytes <= bytes && now - at <= seconds * 1000;
      if (fits) break;
      this.#dropOldest();
    }
    this.#tidy();
  }

  #tidy(): void {
    const { firstSeq } = this;
    while (this.#gaps.length > 0 && (firstSeq === undefined || (this.#gaps[0]?.end as number) <= firstSeq))
      this.#gaps.shift();
    if (this.#head > 1024 && this.#head * 2 > this.#runs.length) {
      this.#runs = this.#runs.slice(this.#head);
      this.#head = 0;
      this.#index = undefined;
    }
  }

  /** The run with this event, or the first one behind it. */
  find(seq: number): LoggedRun | undefined {
    return this.#runs[this.#indexOf(seq)];
  }

  /** The kept runs from the one with this event on. */
  *from(seq: number): Generator<LoggedRun> {
    for (let i = this.#indexOf(seq); i < this.#runs.length; i++) yield this.#runs[i] as LoggedRun;
  }

  #indexOf(seq: number): number {
    return this.#firstIndex(({ frame }) => frame.seq + frame.count > seq);
  }

  #firstIndex(holds: (run: LoggedRun) => boolean): number {
    return firstIndex(this.#head, this.#runs.length, i => holds(this.#runs[i] as LoggedRun));
  }

  /** Sequence number of the first event at or after this time; undefined where there is none. */
  seqSince(time: number): number | undefined {
    return this.#runs[this.#firstIndex(({ at }) => at >= time)]?.frame.seq;
  }

  /** Size of the kept runs from this event on, in bytes, or any size above `most`. */
  bytesFrom(seq: number, most: number): number {
    let bytes = 0;
    for (let i = this.#indexOf(seq); i < this.#runs.length && bytes <= most; i++)
      bytes += sizeOf(this.#runs[i] as LoggedRun);
    return bytes;
  }

  /**
   * The kept events behind places in their sources, and those of sources that began behind all that the places say; undefined where there are none.
   */
  behind(places: readonly SourcePlace[]): EventsBehind | undefined {
    const { firstSeq } = this;
    if (firstSeq === undefined) return undefined;
    if (this.#index === undefined) {
      this.#index = new SourceIndex();
      for (const run of this.all()) this.#index.add(run);
    }
    return this.#index.behind(places, firstSeq, seq => this.find(seq));
  }

  /** Whether any newest event is kept. */
  get hasNewest(): boolean {
    return this.retention.latest ? this.#latest.size > 0 : this.#head < this.#runs.length;
  }

  /**
   * The newest event of each key, in the channel's order, or the newest event where no keys are kept. Events that come during the iteration are
   * included.
   */
  *newest(): Generator<LoggedRun> {
    if (this.retention.latest) for (const { run } of this.#latest.values()) yield run;
    else if (this.hasNewest) {
      const last = this.#runs.at(-1) as LoggedRun;
      yield alone(last, last.frame.count - 1);
    }
  }

  /** The kept runs, oldest first. */
  all(): readonly LoggedRun[] {
    return this.#runs.slice(this.#head) as LoggedRun[];
  }
}

/** A copy of event `i` of the run, which may outlive the other runs by far. */
function alone(run: LoggedRun, i: number): LoggedRun {
  const { frame } = run;
  return { ...run, frame: frame.count === 1 ? frame.copy() : sliceRun(frame, i, i + 1), block: undefined };
}

function sizeOf({ frame }: LoggedRun): number {
  return frame.end - frame.start;
}
