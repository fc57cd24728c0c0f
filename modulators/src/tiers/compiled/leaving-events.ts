import type { Stretch } from "@jecho/shared/internal";
import type { Emit } from "../../sandbox/sandbox.ts";

/** Events that leave together. */
interface LeavingRun {
  readonly stretches: Stretch[];
  readonly type: number;
  readonly urgent: boolean;
}

/** Events of one turn that leave, once that has ended well, in their order: as few stretches and runs as there can be, urgent ones alone. */
export class LeavingEvents {
  readonly #runs: LeavingRun[] = [];

  /** One event more, of the type with this number. */
  add(event: Stretch, type: number, urgent: boolean): void {
    const run = this.#runs.at(-1);
    if (run === undefined || urgent || run.urgent || run.type !== type) {
      this.#runs.push({ stretches: [event], type, urgent });
      return;
    }
    const { stretches } = run;
    const last = stretches.at(-1);
    const { bytes, bounds, first, end } = event;
    if (last?.end === first && last.bounds === bounds)
      stretches[stretches.length - 1] = { bytes, bounds, first: last.first, end };
    else stretches.push({ bytes, bounds, first, end });
  }

  send(emit: Emit, versions: readonly number[]): void {
    for (const { stretches, urgent, type } of this.#runs) emit(stretches, versions, urgent, type);
  }
}
