import type { EventsFrame } from "@jecho/shared/internal";
import type { Provenance } from "../../running/provenance.ts";

/** An order for one modulator, which the host answers. */
export interface Order {
  /** `turn`: without events, as when the transport is ready again, or a period is over. */
  readonly kind: "install" | "turn" | "remove";
  readonly derived: number;
  readonly expectedMs: number;
  order?: number;
}

/** Work that the host has been sent and has not finished, in the order sent. */
export type Work = Order | Batch;

/** A run of events that was raised for modulators here, until each of them has seen it or is gone. */
export interface Raised {
  readonly run: EventsFrame;
  /** The run's own bytes. */
  readonly frame: Uint8Array;
  /** Names it to who wants to know when it is done. */
  readonly tag: string | undefined;
  /** Provenance of the run, and the stretches without events that came behind it. */
  readonly of: Provenance | undefined;
  readonly passed: Provenance[];
  /** Frames that changed the producer's state after this run was raised. */
  readonly after: Uint8Array[];
  /** The work's place in the order of all that a host is given. */
  readonly order: number;
  /** Numbers of modulators that have not seen the run to its end, and of those it has not been sent to. */
  awaited: number;
  unsent: number;
}

/** A frame of events that the host has been sent, and the modulators that have not seen it to its end. */
export interface Batch extends Pick<Raised, "run" | "frame" | "tag" | "of" | "passed"> {
  readonly kind: "batch";
  /** The place of the first run in it. */
  order?: number;
  readonly channel: number;
  /** The runs in it: several where they waited for these modulators. */
  readonly runs: readonly Raised[];
  number: number;
  readonly waiting: Set<number>;
  /** Time expected of them all. */
  readonly expectedMs: number;
}

/** The work under way. The host does one thing after the other, so the first is the one at work. */
export class Outstanding {
  readonly #list: Work[] = [];
  #bytes = 0;
  #expectedMs = 0;
  #given = 0;

  /** Amount that was given so far. */
  get given(): number {
    return this.#given;
  }

  /** The next place in the order. */
  next(): number {
    return ++this.#given;
  }

  /** Bytes of the batches. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Time expected of all that. */
  get expectedMs(): number {
    return this.#expectedMs;
  }

  get size(): number {
    return this.#list.length;
  }

  /** The newest run of this channel that this modulator has not seen to its end. */
  newestBatch(channel: number, derived: number): Batch | undefined {
    return this.#list.findLast(
      (work): work is Batch => work.kind === "batch" && work.channel === channel && work.waiting.has(derived),
    );
  }

  [Symbol.iterator](): Iterator<Work> {
    return this.#list.values();
  }

  push(work: Work): void {
    work.order ??= this.next();
    this.#list.push(work);
    this.#count(work, 1);
  }

  /** The batch that the host is at. */
  get batch(): Batch | undefined {
    const [first] = this.#list;
    return first?.kind === "batch" ? first : undefined;
  }

  /** The modulator that the host is running now. */
  current(): number | undefined {
    const [first] = this.#list;
    if (first === undefined || first.kind === "remove") return undefined;
    return first.kind === "batch" ? first.waiting.values().next().value : first.derived;
  }

  /** @returns false where no such work was to be finished now */
  finish(kind: "install" | "turn" | "remove", derived: number): boolean {
    const index = this.#list.findIndex(work => work.kind === kind && work.derived === derived);
    if (index < 0) return false;
    this.#drop(index);
    return true;
  }

  finishBatch(number: number, derived: number): Batch | undefined {
    for (const [index, work] of this.#list.entries()) {
      if (work.kind !== "batch" || work.number !== number) continue;
      if (!work.waiting.delete(derived)) return undefined;
      if (work.waiting.size === 0) this.#drop(index);
      return work;
    }
    return undefined;
  }

  /**
   * The modulator is gone: nobody waits for it. What is already on the way to remove it stays.
   *
   * @returns the batches that it has not seen to their end
   */
  forget(derived: number): Batch[] {
    const unseen: Batch[] = [];
    for (let index = this.#list.length - 1; index >= 0; index--) {
      const work = this.#list[index] as Work;
      if (work.kind === "batch") {
        if (work.waiting.delete(derived)) unseen.unshift(work);
        if (work.waiting.size === 0) this.#drop(index);
      } else if (work.kind !== "remove" && work.derived === derived) {
        this.#drop(index);
      }
    }
    return unseen;
  }

  /** Takes all work of a host that died, to begin anew. */
  clear(): Work[] {
    this.#bytes = 0;
    this.#expectedMs = 0;
    return this.#list.splice(0);
  }

  #drop(index: number): void {
    const [work] = this.#list.splice(index, 1);
    if (work !== undefined) this.#count(work, -1);
  }

  #count(work: Work, times: 1 | -1): void {
    if (work.kind === "batch") this.#bytes += times * work.frame.byteLength;
    // Sums of fractions do not come back to 0 by themselves.
    this.#expectedMs = this.#list.length === 0 ? 0 : this.#expectedMs + times * work.expectedMs;
  }
}
