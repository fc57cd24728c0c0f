import type { SourcePlace } from "@jecho/shared/internal";
import { sourceName } from "../delivery/lane.ts";
import type { LoggedRun } from "./event-log.ts";

/** Kept events behind places in raw sources. */
export interface EventsBehind {
  /** Sequence number of the first one. */
  readonly seq: number;
  /** The place in each source that has some, by its name. */
  readonly sources: ReadonlyMap<string, number>;
}

/** One source's runs, in their order. */
interface SourceRuns {
  /** Sequence number of each run's first event. */
  readonly seqs: number[];
  /** Count of each run's last event. */
  readonly lasts: number[];
}

/** Where each source's runs are in a log, so that places are found without a look at every run. */
export class SourceIndex {
  readonly #bySource = new Map<string, SourceRuns>();
  #newest: { readonly source: bigint; readonly urgent: boolean; readonly runs: SourceRuns } | undefined;

  add({ frame, source }: LoggedRun): void {
    const { seqs, lasts } = this.#runsOf(source, frame.isUrgent);
    seqs.push(frame.seq);
    lasts.push(frame.raised + frame.count - 1);
  }

  #runsOf(source: bigint, urgent: boolean): SourceRuns {
    const newest = this.#newest;
    if (newest?.source === source && newest.urgent === urgent) return newest.runs;
    const name = sourceName({ source, urgent });
    let runs = this.#bySource.get(name);
    if (runs === undefined) {
      runs = { seqs: [], lasts: [] };
      this.#bySource.set(name, runs);
    }
    this.#newest = { source, urgent, runs };
    return runs;
  }

  /**
   * The kept events behind places in their sources, and those of sources that began behind all that the places say; undefined where there are none.
   *
   * @param firstSeq sequence number of the oldest kept event
   * @param find the kept run with an event
   */
  behind(
    places: readonly SourcePlace[],
    firstSeq: number,
    find: (seq: number) => LoggedRun | undefined,
  ): EventsBehind | undefined {
    const had = new Map(places.map(place => [sourceName(place), Number(place.raised)]));
    const sources = new Map<string, number>();
    let first = Number.POSITIVE_INFINITY;
    /** The newest run that the places cover. */
    let covered = -1;
    for (const [name, reached] of had) {
      const runs = this.#bySource.get(name);
      if (runs === undefined) continue;
      const kept = lowerBound(runs.seqs, firstSeq);
      const next = Math.max(kept, lowerBound(runs.lasts, reached + 1));
      if (next > kept) covered = Math.max(covered, runs.seqs[next - 1] as number);
      const run = next < runs.seqs.length ? find(runs.seqs[next] as number) : undefined;
      if (run === undefined) continue;
      first = Math.min(first, run.frame.seq + Math.max(0, reached + 1 - run.frame.raised));
      sources.set(name, reached);
    }
    // A consumer that has had a run was there before it, too: what others raised before that is no news.
    if (covered >= 0)
      for (const [name, { seqs }] of this.#bySource) {
        const next = had.has(name) ? undefined : seqs[lowerBound(seqs, covered + 1)];
        if (next === undefined) continue;
        first = Math.min(first, next);
        sources.set(name, 0);
      }
    return sources.size === 0 ? undefined : { seq: first, sources };
  }
}

/** Index of the first number that is at least this great, in a list that grows. */
function lowerBound(numbers: readonly number[], least: number): number {
  return firstIndex(0, numbers.length, i => (numbers[i] as number) >= least);
}

/** The first index of those from `low` to before `high` that this holds for, as it does for all behind it; `high` where it holds for none. */
export function firstIndex(low: number, high: number, holds: (index: number) => boolean): number {
  let [first, end] = [low, high];
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (holds(middle)) end = middle;
    else first = middle + 1;
  }
  return first;
}
