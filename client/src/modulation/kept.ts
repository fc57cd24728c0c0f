import type { EventsFrame } from "@jecho/shared/internal";
import type { ConsumerEndpoint } from "../concentrator/endpoints/endpoint.ts";
import type { Lane } from "../concentrator/outgoing/lane.ts";
import type { Installation } from "./installation.ts";

/** Bytes that are kept for consumers that are away. */
const KEPT_BYTES = 16 << 20;

interface KeptRun {
  readonly by: Installation;
  readonly frame: EventsFrame;
  readonly lane: Lane;
}

/** Runs that modulators made here for consumers of this process alone while these were away, oldest first. They outlast the modulators. */
export class Kept {
  #runs: KeptRun[] = [];
  #bytes = 0;

  /** Keeps a copy of a run; the oldest go where that takes too long. */
  add(by: Installation, frame: EventsFrame, lane: Lane): void {
    const copy = frame.copy();
    copy.forgetSync();
    this.#runs.push({ by, frame: copy, lane });
    this.#bytes += sizeOf(copy);
    while (this.#bytes > KEPT_BYTES) this.#bytes -= sizeOf((this.#runs.shift() as KeptRun).frame);
  }

  /** The runs for this consumer, which is back. */
  of({ channelNumber, lastChannel }: ConsumerEndpoint): KeptRun[] {
    return this.#runs.filter(
      ({ by: { number, lastNumber } }) =>
        number === channelNumber || (number === 0 && lastNumber === lastChannel),
    );
  }

  clear(): void {
    this.#runs = [];
    this.#bytes = 0;
  }
}

function sizeOf({ start, end }: EventsFrame): number {
  return end - start;
}
