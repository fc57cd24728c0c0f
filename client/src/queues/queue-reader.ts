import type { PortEnd } from "../concentrator/endpoints/endpoint.ts";
import type { RaisedQueue, TakeRecords } from "../concentrator/outgoing/outgoing.ts";
import type { QueueRequest } from "../places/port.ts";
import { Ring, type RingRecord, recordsIn, type Visit } from "./ring.ts";

/** See `openQueue`; without memory records are handed in. */
type QueueReaderOptions = Pick<Extract<QueueRequest, { is: "openQueue" }>, "memory" | "drops" | "urgent">;

export interface QueueReaderEvents {
  /** Whether so many requests have been handled. */
  hasHandled(requests: number): boolean;
  /** The writer waits for room, and there is some. */
  room(): void;
  /** Called with the bytes of records that have been taken. */
  taken(bytes: number): void;
}

interface RecordChunk {
  readonly bytes: number;
  records: readonly RingRecord[];
}

/** The concentrator's end of a queue of events. */
export class QueueReader implements RaisedQueue {
  readonly port: PortEnd;
  readonly isUrgent: boolean;
  readonly #ring: Ring | undefined;
  readonly #drops: boolean;
  readonly #events: QueueReaderEvents;
  /** Records out of the ring that nobody can drop any more, or that were handed in. */
  readonly #chunks: RecordChunk[] = [];

  constructor(port: PortEnd, { memory, drops, urgent }: QueueReaderOptions, events: QueueReaderEvents) {
    this.port = port;
    this.isUrgent = urgent;
    this.#ring = memory && new Ring(memory);
    this.#drops = drops;
    this.#events = events;
  }

  /** Hands in records as they lie in a ring. */
  put(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const records = recordsIn(bytes, view, 0, bytes.byteLength);
    this.#chunks.push({ bytes: bytes.byteLength, records });
  }

  /** Whether there is nothing to be taken. */
  get isEmpty(): boolean {
    return this.#chunks.length === 0 && (this.#ring?.usedBytes ?? 0) === 0;
  }

  /** Offers what is there now. @returns false where `take` left some, or some wait for a request that is on its way */
  drain(take: TakeRecords): boolean {
    const visitDue: Visit = records => {
      const due = this.#due(records);
      if (due === records.length) return take(records, this);
      return due === 0 ? 0 : take(records.slice(0, due), this);
    };
    const tookAll = this.#drainChunks(visitDue) && this.#drainRing(visitDue);
    if (this.#ring?.owesRoom()) this.#events.room();
    return tookAll;
  }

  /** Sleeps until the writer wakes the reader. @returns false where there is something by now */
  sleep(): boolean {
    return this.#ring?.sleep() ?? true;
  }

  #drainRing(visit: Visit): boolean {
    const ring = this.#ring;
    if (ring === undefined) return true;
    if (!this.#drops) return ring.drain(visit);
    // Small against what the writer drops at once, so that it seldom gets between a copy and its claim.
    const stretch = ring.capacity / 16;
    for (let bytes = 0; bytes < ring.capacity; ) {
      const records = ring.take(stretch);
      if (records === undefined) break;
      bytes += records.byteLength;
      this.put(records);
      if (!this.#drainChunks(visit)) return false;
    }
    return true;
  }

  #drainChunks(visit: Visit): boolean {
    for (let chunk = this.#chunks[0]; chunk !== undefined; chunk = this.#chunks[0]) {
      const taken = visit(chunk.records);
      if (taken < chunk.records.length) {
        chunk.records = chunk.records.slice(taken);
        return false;
      }
      this.#chunks.shift();
      if (this.#ring === undefined) this.#events.taken(chunk.bytes);
    }
    return true;
  }

  /** Number of leading records that wait for no request under way. */
  #due(records: readonly RingRecord[]): number {
    let handled: number | undefined;
    for (let i = 0; i < records.length; i++) {
      const { after } = records[i] as RingRecord;
      if (after === handled) continue;
      if (!this.#events.hasHandled(after)) return i;
      handled = after;
    }
    return records.length;
  }
}
