import type { EventsFrame } from "@jecho/shared/internal";
import type { Provenance } from "../../running/provenance.ts";
import { LentRun } from "../lent-run.ts";
import type { HostKeeper } from "./keeper.ts";
import type { Orders } from "./orders.ts";
import type { Roster } from "./roster.ts";
import type { Batch, Outstanding } from "./work.ts";

/** Bytes of runs that the host is sent before it has finished them. */
const WINDOW_BYTES = 4 << 20;

/** Runs of events on their way to a host: those that wait, and those that it has been sent and has not finished. */
export class HostBacklog {
  readonly #limitBytes: number;
  readonly #keeper: HostKeeper;
  readonly #outstanding: Outstanding;
  readonly #roster: Roster;
  readonly #orders: Orders;
  readonly #done: (batch: Batch) => void;
  #waiting: Batch[] = [];
  #waitingBytes = 0;
  #batches = 0;

  /**
   * @param limitBytes of what waits and is not finished; beyond them the oldest runs that wait are dropped
   * @param done told of a run that no modulator has to see any more
   */
  constructor(
    limitBytes: number,
    to: { keeper: HostKeeper; outstanding: Outstanding; roster: Roster; orders: Orders },
    done: (batch: Batch) => void,
  ) {
    this.#limitBytes = limitBytes;
    this.#keeper = to.keeper;
    this.#outstanding = to.outstanding;
    this.#roster = to.roster;
    this.#orders = to.orders;
    this.#done = done;
  }

  get bytes(): number {
    return this.#waitingBytes + this.#outstanding.bytes;
  }

  /** Whether nothing waits. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** A new host counts its runs from 1. */
  begin(): void {
    this.#batches = 0;
  }

  clear(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  enqueue(given: EventsFrame | LentRun, tag: string | undefined, of: Provenance | undefined): void {
    const run = given instanceof LentRun ? given.frame() : given;
    const frame = run.raw();
    const batch: Batch = {
      kind: "batch",
      channel: run.channel,
      run,
      frame,
      tag,
      number: 0,
      waiting: new Set<number>(),
      of,
      passed: [],
      after: [],
    };
    this.#outstanding.enter(batch);
    this.#waiting.push(batch);
    this.#waitingBytes += frame.byteLength;
    while (this.bytes > this.#limitBytes && this.#waiting.length > 1) this.#dropOldest();
    this.send();
  }

  /** The newest run of this channel that waits. */
  newest(channel: number): Batch | undefined {
    return this.#waiting.findLast(batch => batch.channel === channel);
  }

  [Symbol.iterator](): Iterator<Batch> {
    return this.#waiting.values();
  }

  /** A frame that changed the producer's state after what waits was raised. */
  follow(frame: Uint8Array): void {
    const last = this.#waiting.at(-1);
    if (last === undefined) this.#keeper.send(frame);
    else last.after.push(frame);
  }

  /** Sends what the host has room for. */
  send(): void {
    while (this.#waiting.length > 0) {
      const [batch] = this.#waiting as [Batch];
      const { bytes } = this.#outstanding;
      if (bytes > 0 && bytes + batch.frame.byteLength > Math.min(WINDOW_BYTES, this.#limitBytes / 2)) return;
      this.#waiting.shift();
      this.#waitingBytes -= batch.frame.byteLength;
      for (const { derived, stats } of this.#roster.fedWith(batch.channel)) {
        batch.waiting.add(derived);
        stats.eventsIn += batch.run.count;
      }
      this.sendBatch(batch);
    }
  }

  /** Sends a run to the modulators that wait for it. */
  sendBatch(batch: Batch): void {
    if (batch.waiting.size === 0) {
      this.#sendAfter(batch);
      return this.#done(batch);
    }
    this.#orders.timeIfNeeded();
    batch.number = ++this.#batches;
    this.#orders.updates();
    this.#outstanding.push(batch);
    this.#keeper.send(batch.frame);
    this.#sendAfter(batch);
  }

  #sendAfter({ after }: Batch): void {
    for (const frame of after) this.#keeper.send(frame);
  }

  #dropOldest(): void {
    const batch = this.#waiting.shift() as Batch;
    this.#waitingBytes -= batch.frame.byteLength;
    for (const { stats } of this.#roster.fedWith(batch.channel)) stats.dropped += batch.run.count;
    this.#sendAfter(batch);
    this.#done(batch);
  }
}
