import { JechoError } from "@jecho/shared";
import type { Demodulator, EventSource } from "../authoring/modulator.ts";

interface Cluster {
  readonly token: bigint;
  /** Where each event ends in `bytes`; the next follows. */
  readonly ends: Uint32Array;
  readonly bytes: Uint8Array;
}

/** Takes clusters apart. */
export class ClusterDemodulator implements Demodulator<Cluster> {
  push({ token, ends, bytes }: Cluster, emit: (event: unknown) => void, source: EventSource): void {
    let start = 0;
    for (const end of ends) {
      if (end < start || end > bytes.length)
        throw new JechoError("EVENT_INVALID", "an event of a cluster lies outside it");
      emit(source.decode(token, bytes.subarray(start, end)));
      start = end;
    }
  }
}
