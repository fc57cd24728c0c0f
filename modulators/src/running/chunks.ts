import type { EventsFrame } from "@jecho/shared/internal";
import { CHUNK_BYTES, CHUNK_EVENTS, type RunChunk } from "../sandbox/sandbox.ts";

/** An empty chunk, for turns without input. */
export const NO_EVENTS = chunkOf(new Uint8Array(0), []);

/** A run in pieces that a sandbox takes at once. */
export function chunksOf(run: EventsFrame): RunChunk[] {
  const chunks: RunChunk[] = [];
  let bounds: number[] = [];
  for (let i = 0; i < run.count; i++) {
    const start = run.eventStart(i);
    const end = run.eventEnd(i);
    const isFull = bounds.length === 2 * CHUNK_EVENTS || end - (bounds[0] ?? start) > CHUNK_BYTES;
    if (isFull && bounds.length > 0) {
      chunks.push(chunkOf(run.bytes, bounds));
      bounds = [];
    }
    bounds.push(start, end);
  }
  chunks.push(chunkOf(run.bytes, bounds));
  return chunks;
}

/** Share of a call's deadline that it is to take: the next events may take longer. */
const AIM = 0.2;
/** Events of the first call, and largest growth from one call to the next: nobody knows how long the next one takes. */
const FIRST_EVENTS = 8;
const MOST_GROWTH = 8;

/** Number of events that one modulator is called with, from the time that its calls take: a burst is to end no modulator that keeps up with what comes (MOE-11). */
export class CallSize {
  readonly #aimMs: number;
  #most = FIRST_EVENTS;

  /** @param callMs a call's deadline */
  constructor(callMs: number) {
    this.#aimMs = AIM * callMs;
  }

  /** A call has ended. @param events number of its events */
  took(cpuMs: number, events: number): void {
    if (events === 0) return;
    const growth = cpuMs > 0 ? Math.min(MOST_GROWTH, this.#aimMs / cpuMs) : MOST_GROWTH;
    // A call of fewer events says nothing against more.
    const most = Math.max(growth >= 1 ? this.#most : 1, Math.floor(events * growth));
    this.#most = Math.min(CHUNK_EVENTS, most);
  }

  /** The part of a chunk behind so many of its events that the modulator is called with next. */
  next(chunk: RunChunk, done: number): RunChunk {
    const { bytes, bounds, end } = chunk;
    if (done === 0 && end <= this.#most) return chunk;
    const stop = Math.min(end, done + this.#most);
    return chunkOf(bytes, Array.from(bounds).slice(2 * done, 2 * stop));
  }
}

function chunkOf(bytes: Uint8Array, bounds: readonly number[]): RunChunk {
  return { bytes, bounds, first: 0, end: bounds.length / 2, isLent: false };
}
