import { EventsFrame } from "@jecho/shared/internal";

/** Runs that go to another thread together, and which of its consumers each is for: one block of memory, which is moved there. */
export interface Runs {
  readonly is: "runs";
  /**
   * The frames, one behind the other; then an index: of each delivery the consumer's endpoint, the first event that is for it,
   * and where the frame and its parts lie.
   */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Bytes of the frames. */
  readonly framesBytes: number;
}

/** Numbers in the index of each delivery, four bytes each. */
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
    const framesBytes = this.#bytes;
    const bytes = new Uint8Array(framesBytes + 4 * this.#index.length);
    let at = 0;
    for (const frame of this.#frames) {
      bytes.set(frame.raw(), at);
      at += frame.end - frame.start;
    }
    new Uint32Array(bytes.buffer, framesBytes).set(this.#index);
    this.#frames = [];
    this.#index = [];
    this.#bytes = 0;
    return { is: "runs", bytes, framesBytes };
  }
}

/** Visits the deliveries in their order. The frames were verified when they came in. */
export function visitRuns(
  { bytes, framesBytes }: Runs,
  visit: (endpoint: number, frame: EventsFrame, first: number) => void,
): void {
  const view = new DataView(bytes.buffer);
  const index = new Uint32Array(bytes.buffer, framesBytes);
  const at = (i: number): number => index[i] as number;
  let frame: EventsFrame | undefined;
  for (let i = 0; i < index.length; i += DELIVERY) {
    const start = at(i + 2);
    if (frame?.start !== start) {
      const [end, header, payload, ends, versions] = [at(i + 3), at(i + 4), at(i + 5), at(i + 6), at(i + 7)];
      frame = new EventsFrame(view, bytes, { start, end, header, payload, ends, versions });
    }
    visit(at(i), frame, at(i + 1));
  }
}
