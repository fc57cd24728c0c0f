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

function chunkOf(bytes: Uint8Array, bounds: readonly number[]): RunChunk {
  return { bytes, bounds, first: 0, end: bounds.length / 2, isLent: false };
}
