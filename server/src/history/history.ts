import type { EventsFrame } from "@jecho/shared/internal";
import { type RunSource, type SourceCount, sourceName } from "../delivery/lane.ts";
import type { GatewayCounts } from "../operations/gateway-counts.ts";
import { type EpochStart, EventLog, type LoggedRun, type Retention } from "./event-log.ts";
import { RunMemory } from "./run-memory.ts";
import type { HistoryStore } from "./store.ts";
import type { Stored } from "./stored.ts";

/** Share of the bound (1/16) that may be added between two checks of all histories, and that is dropped at each. */
const SHARE = 16;

/**
 * The bound of all histories' memory together. When it is reached, the largest ones drop their oldest events, so that a channel with a large history takes
 * nothing from others.
 */
export class HistoryBudget {
  readonly #limitBytes: number;
  readonly #logs: () => Iterable<EventLog>;
  readonly counts: Pick<GatewayCounts, "reached">;
  #unseenBytes = 0;

  /** @param logs all logs */
  constructor(limitBytes: number, logs: () => Iterable<EventLog>, counts: Pick<GatewayCounts, "reached">) {
    this.counts = counts;
    this.#limitBytes = limitBytes;
    this.#logs = logs;
  }

  /** Counts kept bytes. */
  added(bytes: number): void {
    this.#unseenBytes += bytes;
    const step = this.#limitBytes / SHARE;
    if (this.#unseenBytes <= step) return;
    this.#unseenBytes = 0;
    const logs = [...this.#logs()].sort((a, b) => b.bytes - a.bytes);
    let total = 0;
    for (const log of logs) total += log.bytes;
    if (total <= this.#limitBytes - step) return;
    this.counts.reached("historyTotalBytes");
    const mostBytes = levelOf(logs, this.#limitBytes - 2 * step);
    for (const log of logs) log.letGo(mostBytes);
  }
}

/** The most that each may keep so that all together keep this much. @param logs largest first */
function levelOf(logs: readonly EventLog[], totalBytes: number): number {
  let restBytes = totalBytes;
  for (let i = logs.length - 1; i >= 0; i--) {
    const { bytes } = logs[i] as EventLog;
    const equalBytes = restBytes / (i + 1);
    if (bytes > equalBytes) return equalBytes;
    restBytes -= bytes;
  }
  return Number.POSITIVE_INFINITY;
}

/** Most runs of a stored channel between two checks for events that are too old. */
const TRIM_EVERY = 256;
/** Inverse of the share of the kept bytes that may come between two such checks. */
const TRIM_SHARE = 8;

/**
 * One channel's past: a log in memory while the channel is used and, with a store, the same there. It translates places of
 * earlier gateways into the present numbering.
 */
export class History {
  readonly log: EventLog;
  /** Whether it is kept only for consumers whose connections break, without a requested history. */
  readonly isTransient: boolean;
  readonly #budget: HistoryBudget;
  /** Undefined while it is only in memory. */
  #store: HistoryStore | undefined;
  readonly #name: string;
  readonly #epochs: EpochStart[];
  readonly #memory = new RunMemory();
  #untrimmed = 0;
  #untrimmedBytes = 0;

  constructor(
    retention: Retention,
    keyOf: (frame: EventsFrame, i: number) => string,
    name: string,
    present: EpochStart,
    stored: Stored | undefined,
    budget: HistoryBudget,
  ) {
    this.#epochs = [...(stored?.epochs ?? []), present];
    this.log = new EventLog(retention, keyOf, (this.#epochs[0] as EpochStart).firstSeq);
    this.#name = name;
    this.#budget = budget;
    for (const run of stored?.runs ?? []) this.log.append(run);
    budget.added(this.log.bytes);
    // The arrival of unreadable events is unknown.
    if (present.firstSeq > this.log.nextSeq) this.log.lost(Date.now());
    this.isTransient = name === "";
  }

  get isStored(): boolean {
    return this.#store !== undefined;
  }

  /** Stores further events, too. @param from the first one, in the present numbering */
  keepIn(store: HistoryStore, from: EpochStart): void {
    this.#store = store;
    store.beginEpoch(this.#name, from, this.log.retention);
  }

  /**
   * Keeps a copy of a stamped run.
   *
   * @param by subject of its producer; "" where it has none
   * @returns resolves when it is stored; undefined where it is
   */
  append(
    frame: EventsFrame,
    { source, origin }: RunSource,
    by: string,
    at: number,
  ): Promise<void> | undefined {
    const run = { frame, source, origin, by, at };
    this.#keep(run);
    if (this.#store === undefined) return undefined;
    const stored = this.#store.append(this.#name, run);
    this.#trimNowAndThen(frame);
    return stored;
  }

  #trimNowAndThen(frame: EventsFrame): void {
    this.#untrimmedBytes += frame.end - frame.start;
    const isMuch = this.#untrimmedBytes * TRIM_SHARE > this.log.retention.bytes;
    if (++this.#untrimmed < TRIM_EVERY && !isMuch) return;
    this.#untrimmed = 0;
    this.#untrimmedBytes = 0;
    this.#store?.trim(this.#name, this.log.firstSeq ?? this.log.nextSeq, this.log.keptBefore);
  }

  /** Keeps copies of another log's events. */
  takeOver(log: EventLog): void {
    for (const run of log.all()) this.#keep(run);
  }

  #keep(run: LoggedRun): void {
    if (this.log.append({ ...run, ...this.#memory.copy(run.frame) }))
      this.#budget.counts.reached("historyBytes");
    this.#budget.added(run.frame.end - run.frame.start);
  }

  addType(token: bigint, schema: Uint8Array): void {
    this.#store?.addType(this.#name, token, schema);
  }

  /**
   * The event behind a consumer's place, in the present numbering; undefined for a place of an unknown numbering. Events that an earlier
   * gateway sent without keeping them have no place any more: their numbers were reused, and their number is unknown.
   */
  behind(epoch: number, seq: number): { readonly seq: number; readonly isKept: boolean } | undefined {
    const index = this.#epochs.findIndex(known => known.epoch === epoch);
    if (index < 0) return undefined;
    const { firstSeq } = this.#epochs[index + 1] ?? { firstSeq: Number.POSITIVE_INFINITY };
    return { seq: Math.min(seq + 1, firstSeq), isKept: seq < firstSeq };
  }

  /** Positions of the sources, by which taken events are recognised. */
  sources(): Iterable<SourceCount> {
    const sources = new Map<string, SourceCount>();
    for (const { frame, source, origin, by, at: keptAt } of this.log.all()) {
      if (source === 0n) continue;
      const { isUrgent: urgent, raised, count, after, accounted: through } = frame;
      const name = sourceName({ source, urgent });
      const known = sources.get(name);
      // Adjacent stretches of runs are joined.
      const begin = known !== undefined && after <= known.through ? known.after : after;
      const newest = raised + count - 1;
      sources.set(name, { source, urgent, raised: newest, origin, after: begin, through, keptAt, by });
    }
    return sources.values();
  }

  forget(): void {
    this.#store?.forget(this.#name);
  }
}
