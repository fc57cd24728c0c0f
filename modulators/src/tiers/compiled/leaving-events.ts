import type { Stretch } from "@jecho/shared/internal";
import type { Emit } from "../../sandbox/sandbox.ts";

/** One event that has bytes of its own. */
export function stretchOf(bytes: Uint8Array): Stretch {
  return { bytes, bounds: [0, bytes.byteLength], first: 0, end: 1 };
}

/** Events that leave together. */
interface LeavingRun {
  readonly stretches: Stretch[];
  readonly versions: readonly number[];
  readonly type: number;
  readonly urgent: boolean;
}

/** Events of one turn that leave, once that has ended well, in their order: as few stretches and runs as there can be, urgent ones alone. */
export class LeavingEvents {
  readonly #runs: LeavingRun[] = [];

  /** One event more, of the type with this number, made with these versions. */
  add(event: Stretch, type: number, urgent: boolean, versions: readonly number[]): void {
    const run = this.#runs.at(-1);
    const isAlike = run !== undefined && run.type === type && run.versions === versions;
    if (!isAlike || urgent || run.urgent) {
      this.#runs.push({ stretches: [event], versions, type, urgent });
      return;
    }
    const { stretches } = run;
    const last = stretches.at(-1);
    const { bytes, bounds, first, end } = event;
    if (last?.end === first && last.bounds === bounds)
      stretches[stretches.length - 1] = { bytes, bounds, first: last.first, end };
    else stretches.push({ bytes, bounds, first, end });
  }

  send(emit: Emit): void {
    for (const { stretches, versions, urgent, type } of this.#runs) emit(stretches, versions, urgent, type);
  }
}
