import { EventsFrame, encodeStretches, FLAG_URGENT, sliceRun } from "@jecho/shared/internal";
import { chunksOf } from "../../running/chunks.ts";
import type { Provenance } from "../../running/provenance.ts";
import { CHUNK_BYTES } from "../../sandbox/sandbox.ts";
import type { Raised } from "./work.ts";

/** Bytes of a waiting run besides its frame. */
const OVERHEAD_BYTES = 128;

/** Runs of one channel that wait for modulators, oldest first. Each modulator knows the position of its first one. */
export class WaitingRuns {
  #runs: Raised[] = [];
  /** Position of the oldest one. */
  #first = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get first(): number {
    return this.#first;
  }

  /** The position behind the newest one. */
  get end(): number {
    return this.#first + this.#runs.length;
  }

  get oldest(): Raised | undefined {
    return this.#runs[0];
  }

  get newest(): Raised | undefined {
    return this.#runs.at(-1);
  }

  /** @returns its position */
  push(raised: Raised): number {
    this.#runs.push(raised);
    this.#bytes += bytesOf(raised);
    return this.end - 1;
  }

  /** Adds a frame that changed the producer's state after the newest run. */
  follow(frame: Uint8Array): void {
    this.newest?.after.push(frame);
    this.#bytes += frame.byteLength;
  }

  at(place: number): Raised {
    return this.#runs[place - this.#first] as Raised;
  }

  /** The run at this position, and those behind it that can be joined to it. */
  from(place: number, mostEvents: number): Raised[] {
    const index = place - this.#first;
    const runs = [this.#runs[index] as Raised];
    let events = (runs[0] as Raised).run.count;
    let bytes = (runs[0] as Raised).frame.byteLength;
    for (let i = index + 1; i < this.#runs.length; i++) {
      const next = this.#runs[i] as Raised;
      events += next.run.count;
      bytes += next.frame.byteLength;
      if (events > mostEvents || bytes > CHUNK_BYTES) break;
      if (!isContinued(this.#runs[i - 1] as Raised, next)) break;
      runs.push(next);
    }
    return runs;
  }

  /** The runs from this position on. */
  since(place: number): readonly Raised[] {
    return this.#runs.slice(place - this.#first);
  }

  /** Whether one of them is of this source. */
  hasOf({ id, urgent }: Provenance["source"]): boolean {
    return this.#runs.some(({ of }) => of?.source.id === id && of.source.urgent === urgent);
  }

  /** Forgets the oldest ones that were sent to all their modulators. */
  trim(): void {
    let sent = 0;
    while (this.#runs[sent]?.unsent === 0) this.#bytes -= bytesOf(this.#runs[sent++] as Raised);
    if (sent === 0) return;
    this.#runs.splice(0, sent);
    this.#first += sent;
  }
}

/**
 * Divides a run of raised events into runs that a sandbox takes in one call each, and that account for their own events: a consumer that has
 * the output of one has all of it, whatever becomes of the others. A run of a derived channel stays whole, for only the run as a whole
 * accounts for raised events.
 */
export function piecesOf(run: EventsFrame, of: Provenance | undefined): Pick<Raised, "run" | "of">[] {
  if (of === undefined || of.through - of.after !== run.count) return [{ run, of }];
  const chunks = chunksOf(run);
  if (chunks.length === 1) return [{ run, of }];
  let first = 0;
  return chunks.map(({ end: count }) => {
    const [from, end] = [first, first + count];
    first = end;
    return { run: sliceRun(run, from, end), of: { ...of, after: of.after + from, through: of.after + end } };
  });
}

/** Joins the runs into one. */
export function joined(runs: readonly Raised[]): Pick<Raised, "run" | "frame" | "tag" | "of" | "passed"> {
  const [first, last] = [runs[0] as Raised, runs.at(-1) as Raised];
  const { run, frame, tag, of } = first;
  // Who is given it passes what comes behind it now by itself.
  const passed = [...last.passed];
  if (first === last) return { run, frame, tag, of, passed };
  const { channel, producer, raised, token, parameters, flags } = run;
  const versions = run.versionsAt === 0 ? undefined : run.versions;
  const header = { channel, producer, raised, token, parameters, flags, versions };
  const all = EventsFrame.at(
    encodeStretches(
      header,
      runs.map(one => one.run.stretch()),
    ),
  );
  const ofAll = of && { ...of, through: (last.of as Provenance).through };
  return { run: all, frame: all.raw(), tag, of: ofAll, passed };
}

/** Whether the two may be joined: nothing came in between, nobody waits for either, and they agree in all that is said of a whole run. */
function isContinued(a: Raised, b: Raised): boolean {
  if (a.tag !== undefined || b.tag !== undefined || a.after.length > 0 || a.passed.length > 0) return false;
  const [from, to] = [a.run, b.run];
  if (from.producer !== to.producer || from.token !== to.token || from.flags !== to.flags) return false;
  if (from.isAgain || (from.flags & FLAG_URGENT) !== 0 || from.parameters !== to.parameters) return false;
  if (from.versionsAt !== 0 || to.versionsAt !== 0) {
    const versions = to.versions;
    if (
      from.versions.length !== versions.length ||
      from.versions.some((version, i) => version !== versions[i])
    )
      return false;
  }
  return isNext(a.of, b.of);
}

function isNext(a: Provenance | undefined, b: Provenance | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.source.id === b.source.id && a.source.urgent === b.source.urgent && a.through === b.after;
}

function bytesOf({ frame, after }: Raised): number {
  return after.reduce((sum, { byteLength }) => sum + byteLength, frame.byteLength + OVERHEAD_BYTES);
}
