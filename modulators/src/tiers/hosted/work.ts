import type { EventsFrame } from "@jecho/shared/internal";
import type { Provenance } from "../../running/provenance.ts";

/** An order for one modulator, which the host answers. */
export interface Order {
  /** `turn`: a turn without events, as when the transport is ready again or a period is over. */
  readonly kind: "install" | "turn" | "remove";
  readonly derived: number;
  readonly expectedMs: number;
  /** Position in the order in which all was given. */
  readonly order: number;
}

/** Unfinished work of the host, in the order sent. */
export type Work = Order | Batch;

/** A run of raised events, until each of its modulators has finished it or is gone. */
export interface Raised {
  readonly run: EventsFrame;
  /** The run's own bytes. */
  readonly frame: Uint8Array;
  /** Tag by which its end is reported. */
  readonly tag: string | undefined;
  /** Provenance of the run, and the stretches without events that came behind it. */
  readonly of: Provenance | undefined;
  readonly passed: Provenance[];
  /** Frames that changed the producer's state behind this run. */
  readonly after: Uint8Array[];
  /** Position in the order in which all was given. */
  readonly order: number;
  /** Number of modulators that have not finished the run, and of those that it was not sent to. */
  awaited: number;
  unsent: number;
}

/** A frame of events at the host, and the modulators that have not finished it. */
export interface Batch extends Pick<Raised, "run" | "frame" | "tag" | "of" | "passed"> {
  readonly kind: "batch";
  /** Position of its first run. */
  readonly order: number;
  /** Its runs: several where they had waited. */
  readonly runs: readonly Raised[];
  number: number;
  readonly waiting: Set<number>;
  /** Expected time of all these modulators. */
  readonly expectedMs: number;
}

/** The unfinished work. The host does one thing after the other: the first entry is in work. */
export class Outstanding {
  /** Few: the backlog sends no more than `MOST_WORK` of it. */
  readonly #list: Work[] = [];
  #given = 0;

  /** Amount that was given so far. */
  get given(): number {
    return this.#given;
  }

  /** The next position in the order. */
  next(): number {
    return ++this.#given;
  }

  /** Bytes of the batches. */
  get bytes(): number {
    return this.#list.reduce((sum, work) => (work.kind === "batch" ? sum + work.frame.byteLength : sum), 0);
  }

  /** Expected time of all of it. */
  get expectedMs(): number {
    return this.#list.reduce((sum, work) => sum + work.expectedMs, 0);
  }

  get size(): number {
    return this.#list.length;
  }

  /** The newest run of this channel that this modulator has not finished. */
  newestBatch(channel: number, derived: number): Batch | undefined {
    return this.#list.findLast(
      (work): work is Batch =>
        work.kind === "batch" && work.run.channel === channel && work.waiting.has(derived),
    );
  }

  [Symbol.iterator](): Iterator<Work> {
    return this.#list.values();
  }

  push(work: Work): void {
    this.#list.push(work);
  }

  /** The batch in work. */
  get batch(): Batch | undefined {
    const [first] = this.#list;
    return first?.kind === "batch" ? first : undefined;
  }

  /** The modulator in work. */
  current(): number | undefined {
    const [first] = this.#list;
    if (first === undefined || first.kind === "remove") return undefined;
    return first.kind === "batch" ? first.waiting.values().next().value : first.derived;
  }

  /** @returns false where the first entry is another one */
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
      if (work.waiting.size === 0) this.#list.splice(index, 1);
      return work;
    }
    return undefined;
  }

  /**
   * The modulator is gone: its work is forgotten, except its removal.
   *
   * @returns the batches that it had not finished
   */
  forget(derived: number): Batch[] {
    const unseen: Batch[] = [];
    for (let index = this.#list.length - 1; index >= 0; index--) {
      const work = this.#list[index] as Work;
      if (work.kind === "batch") {
        if (work.waiting.delete(derived)) unseen.unshift(work);
        if (work.waiting.size === 0) this.#list.splice(index, 1);
      } else if (work.kind !== "remove" && work.derived === derived) {
        this.#list.splice(index, 1);
      }
    }
    return unseen;
  }

  /** Takes out all work, for the next host. */
  clear(): Work[] {
    return this.#list.splice(0);
  }
}
