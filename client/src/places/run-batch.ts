import { EventsFrame } from "@jecho/shared/internal";

/** Runs that go to another thread together, and which of its consumers each is for. */
export interface Runs {
  readonly is: "runs";
  /** The frames, one behind the other. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Of each delivery: the consumer's endpoint, the first event that is for it, and where the frame and its parts lie. */
  readonly index: Uint32Array<ArrayBuffer>;
}

/** Numbers in the index of each delivery. */
const DELIVERY = 8;

/** Gathers what goes to another thread: one copy of each run, whatever the number of its consumers. */
export class RunBatch {
  #frames: EventsFrame[] = [];
  #index: number[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#frames.length === 0;
  }

  /** @returns bytes by which it has grown: none where the run is the one that was added last */
  add(endpoint: number, frame: EventsFrame, first: number): number {
    const before = this.#bytes;
    if (this.#frames.at(-1) !== frame) {
      this.#frames.push(frame);
      this.#bytes += frame.end - frame.start;
    }
    const { start, end, header, payload, ends, versionsAt } = frame;
    const move = this.#bytes - end;
    const versions = versionsAt === 0 ? 0 : versionsAt + move;
    this.#index.push(
      endpoint,
      first,
      start + move,
      this.#bytes,
      header + move,
      payload + move,
      ends + move,
      versions,
    );
    return this.#bytes - before;
  }

  /** What was added, in memory of its own: the messages that the frames lie in are needed by others. */
  take(): Runs {
    const bytes = new Uint8Array(this.#bytes);
    let at = 0;
    for (const frame of this.#frames) {
      bytes.set(frame.raw(), at);
      at += frame.end - frame.start;
    }
    const index = new Uint32Array(this.#index);
    this.#frames = [];
    this.#index = [];
    this.#bytes = 0;
    return { is: "runs", bytes, index };
  }
}

/** Visits the deliveries in their order. The frames were verified when they came in. */
export function visitRuns(
  { bytes, index }: Runs,
  visit: (endpoint: number, frame: EventsFrame, first: number) => void,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let frame: EventsFrame | undefined;
  for (let i = 0; i < index.length; i += DELIVERY) {
    const [endpoint = 0, first = 0, start = 0] = [index[i], index[i + 1], index[i + 2]];
    if (frame?.start !== start) {
      const [end = 0, header = 0, payload = 0, ends = 0, versions = 0] = index.subarray(i + 3, i + DELIVERY);
      frame = new EventsFrame(view, bytes, { start, end, header, payload, ends, versions });
    }
    visit(endpoint, frame, first);
  }
}
