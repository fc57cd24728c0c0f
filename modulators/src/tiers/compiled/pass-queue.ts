import type { Stretch } from "@jecho/shared/internal";
import type { Emit } from "../../sandbox/sandbox.ts";

/** An event that was let through while the transport was not ready. */
interface WaitingPass {
  readonly bytes: Uint8Array;
  readonly versions: readonly number[];
  readonly urgent: boolean;
  readonly type: number;
  /** Number of events that the modulator had been given by then. */
  readonly given: number;
}

/** The queue of a compiled modulator: as that of a `FifoModulator`, it holds what is let through while the transport is not ready. */
export class PassQueue {
  readonly #most: number;
  readonly #mostBytes: number;
  #waiting: WaitingPass[] = [];
  #bytes = 0;
  #given = 0;

  /** @param most events that wait, of so many bytes; beyond that the oldest fall out */
  constructor(most: number, mostBytes: number) {
    this.#most = most;
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
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
   * @returns how many fell out
   */
  keep(
    { bytes, bounds }: Stretch,
    index: number,
    pass: Omit<WaitingPass, "bytes" | "given">,
    given: number,
  ): number {
    const own = bytes.slice(bounds[2 * index], bounds[2 * index + 1]);
    this.#waiting.push({ ...pass, bytes: own, given: this.#given + given });
    this.#bytes += own.byteLength;
    let dropped = 0;
    while (this.#waiting.length > this.#most || this.#bytes > this.#mostBytes) {
      this.#bytes -= this.#waiting.shift()?.bytes.byteLength ?? 0;
      dropped++;
    }
    return dropped;
  }

  /** Hands on what waits: events of one type and made with the same versions together, urgent ones alone. */
  flush(emit: Emit): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#bytes = 0;
    let from = 0;
    waiting.forEach((pass, i) => {
      const next = waiting[i + 1];
      const isAlike =
        next !== undefined &&
        !pass.urgent &&
        !next.urgent &&
        next.versions === pass.versions &&
        next.type === pass.type;
      if (isAlike) return;
      const stretches = waiting
        .slice(from, i + 1)
        .map(({ bytes }) => ({ bytes, bounds: [0, bytes.byteLength], first: 0, end: 1 }));
      emit(stretches, pass.versions, pass.urgent, pass.type);
      from = i + 1;
    });
  }
}
