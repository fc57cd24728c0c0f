import { EventsFrame } from "@jecho/shared/internal";

/**
 * Runs that go to another thread together, and which of its consumers each is for: one block of memory, which is moved there. The
 * frames, one behind the other; then an index: of each delivery the consumer's endpoint, the first event that is for it, and where
 * the frame and its parts lie; then how many numbers the index has.
 */
export type BatchedRuns = ArrayBuffer;

/** Numbers in the index of each delivery, four bytes each. */
const DELIVERY = 8;

/** Part of a message: one run, or several that lie in a row. */
interface MessageStretch {
  readonly bytes: Uint8Array;
  readonly start: number;
  end: number;
}

/** Gathers what goes to another thread: one copy of each run, whatever the number of its consumers. */
export class RunBatch {
  #stretches: MessageStretch[] = [];
  #newest: EventsFrame | undefined;
  #bytes = 0;
  #index = new Uint32Array(64 * DELIVERY);
  #indexed = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#indexed === 0;
  }

  /** @returns bytes by which it has grown: none where the run is the one that was added last */
  add(endpoint: number, frame: EventsFrame, first: number): number {
    const before = this.#bytes;
    if (this.#newest !== frame) this.#append(frame);
    const move = this.#bytes - frame.end;
    if (this.#indexed === this.#index.length) this.#index = grown(this.#index);
    const index = this.#index;
    const at = this.#indexed;
    index[at] = endpoint;
    index[at + 1] = first;
    index[at + 2] = frame.start + move;
    index[at + 3] = this.#bytes;
    index[at + 4] = frame.header + move;
    index[at + 5] = frame.payload + move;
    index[at + 6] = frame.ends + move;
    index[at + 7] = frame.versionsAt === 0 ? 0 : frame.versionsAt + move;
    this.#indexed += DELIVERY;
    return this.#bytes - before;
  }

  #append(frame: EventsFrame): void {
    const { bytes, start, end } = frame;
    const last = this.#stretches.at(-1);
    // Runs that came in one message are copied together.
    if (last !== undefined && last.bytes === bytes && last.end === start) last.end = end;
    else this.#stretches.push({ bytes, start, end });
    this.#bytes += end - start;
    this.#newest = frame;
  }

  /** Takes the runs that were added, in memory of their own: others need the messages that the frames lie in. */
  take(): BatchedRuns {
    const runs = new ArrayBuffer(this.#bytes + 4 * (this.#indexed + 1));
    const bytes = new Uint8Array(runs);
    let at = 0;
    for (const { bytes: message, start, end } of this.#stretches) {
      bytes.set(message.subarray(start, end), at);
      at += end - start;
    }
    const index = new Uint32Array(runs, at);
    index.set(this.#index.subarray(0, this.#indexed));
    index[this.#indexed] = this.#indexed;
    this.#stretches = [];
    this.#newest = undefined;
    this.#indexed = 0;
    this.#bytes = 0;
    return runs;
  }
}

function grown(index: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(2 * index.length);
  larger.set(index);
  return larger;
}

/** Visits the deliveries in their order. The frames were verified when they came in. @returns bytes of the frames */
export function visitRuns(
  runs: BatchedRuns,
  visit: (endpoint: number, frame: EventsFrame, first: number) => void,
): number {
  const bytes = new Uint8Array(runs);
  const view = new DataView(runs);
  const [indexed = 0] = new Uint32Array(runs, runs.byteLength - 4);
  const framesBytes = runs.byteLength - 4 * (indexed + 1);
  const index = new Uint32Array(runs, framesBytes, indexed);
  let frame: EventsFrame | undefined;
  for (let i = 0; i < index.length; i += DELIVERY) {
    const start = index[i + 2] as number;
    if (frame?.start !== start)
      frame = new EventsFrame(view, bytes, {
        start,
        end: index[i + 3] as number,
        header: index[i + 4] as number,
        payload: index[i + 5] as number,
        ends: index[i + 6] as number,
        versions: index[i + 7] as number,
      });
    visit(index[i] as number, frame, index[i + 1] as number);
  }
  return framesBytes;
}
