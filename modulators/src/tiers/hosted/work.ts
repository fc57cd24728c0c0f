import type { EventsFrame } from "@jecho/shared/internal";
import type { Provenance } from "../../running/provenance.ts";

/** Work that the host has been sent and has not finished, in the order sent. */
export type Work =
  | { readonly kind: "install"; readonly derived: number; order?: number }
  /** A turn without events: the transport is ready again, or a period is over. */
  | { readonly kind: "turn"; readonly derived: number; order?: number }
  | { readonly kind: "remove"; readonly derived: number; order?: number }
  | Batch;

/** A run of events of a base channel, and the modulators that have not seen it to its end. */
export interface Batch {
  readonly kind: "batch";
  /** Counts all that a host is given, from the first time that it is. */
  order?: number;
  readonly channel: number;
  readonly run: EventsFrame;
  /** The run's own bytes. */
  readonly frame: Uint8Array;
  /** Names it to who wants to know when it is done. */
  readonly tag: string | undefined;
  number: number;
  readonly waiting: Set<number>;
  /** Provenance of the run, and the stretches without events that came behind it. */
  readonly of: Provenance | undefined;
  readonly passed: Provenance[];
  /** Frames that changed the producer's state after this run was raised. */
  readonly after: Uint8Array[];
}

/** The work under way. The host does one thing after the other, so the first is the one at work. */
export class Outstanding {
  readonly #list: Work[] = [];
  #bytes = 0;
  #given = 0;

  /** How much was given so far. */
  get given(): number {
    return this.#given;
  }

  /** Gives the work its place in the order, where it has none. */
  enter(work: Work): void {
    work.order ??= ++this.#given;
  }

  /** Bytes of the batches. */
  get bytes(): number {
    return this.#bytes;
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
    this.enter(work);
    this.#list.push(work);
    if (work.kind === "batch") this.#bytes += work.frame.byteLength;
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
    this.#list.splice(index, 1);
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
   * @returns the batches that are done with that
   */
  forget(derived: number): Batch[] {
    const done: Batch[] = [];
    for (let index = this.#list.length - 1; index >= 0; index--) {
      const work = this.#list[index] as Work;
      if (work.kind === "batch") {
        work.waiting.delete(derived);
        if (work.waiting.size > 0) continue;
        this.#drop(index);
        done.unshift(work);
      } else if (work.kind !== "remove" && work.derived === derived) {
        this.#list.splice(index, 1);
      }
    }
    return done;
  }

  /** Everything, for a host that died: it begins anew. */
  clear(): Work[] {
    this.#bytes = 0;
    return this.#list.splice(0);
  }

  #drop(index: number): void {
    const [work] = this.#list.splice(index, 1);
    if (work?.kind === "batch") this.#bytes -= work.frame.byteLength;
  }
}
