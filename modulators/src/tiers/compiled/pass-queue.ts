import type { Stretch } from "@jecho/shared/internal";
import { type Emit, UNASKED_BYTES } from "../../sandbox/sandbox.ts";
import { LeavingEvents, stretchOf } from "./leaving-events.ts";

/** An event that was let through while the transport was not ready. */
interface WaitingPass {
  readonly bytes: Uint8Array;
  readonly versions: readonly number[];
  readonly urgent: boolean;
  readonly type: number;
  /** Number of events that the modulator had been given by then. */
  readonly given: number;
}

/** The queue of a compiled modulator: as that of a `FifoModulator`, it holds what is let through while the transport is not ready, until it is full. */
export class PassQueue {
  readonly #most: number;
  readonly #waiting: WaitingPass[] = [];
  #bytes = 0;
  #given = 0;

  /** @param most events that wait; beyond that all leave */
  constructor(most: number) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#most || this.#bytes >= UNASKED_BYTES;
  }

  /** The modulator has been given so many events. */
  give(events: number): void {
    this.#given += events;
  }

  /** Number of newest events from the oldest that waits on; 0 where none waits. */
  get since(): number {
    const [oldest] = this.#waiting;
    return oldest === undefined ? 0 : this.#given - oldest.given + 1;
  }

  /**
   * Keeps a copy of an event.
   *
   * @param given how many events of its chunk the modulator had been given, that one included
   */
  keep(
    { bytes, bounds }: Stretch,
    index: number,
    pass: Omit<WaitingPass, "bytes" | "given">,
    given: number,
  ): void {
    const own = bytes.slice(bounds[2 * index], bounds[2 * index + 1]);
    this.#waiting.push({ ...pass, bytes: own, given: this.#given + given });
    this.#bytes += own.byteLength;
  }

  /** Hands on what waits, and is of no more use. */
  flush(emit: Emit): void {
    const leaving = new LeavingEvents();
    for (const { bytes, type, urgent, versions } of this.#waiting)
      leaving.add(stretchOf(bytes), type, urgent, versions);
    leaving.send(emit);
  }
}
