import type { Stretch } from "@jecho/shared/internal";
import type { Emit } from "../../sandbox/sandbox.ts";

/** Events of one turn that leave, in their order: as few stretches and runs as there can be, urgent ones alone. */
export class LeavingEvents {
  readonly #emit: Emit;
  readonly #versions: readonly number[];
  #stretches: Stretch[] = [];
  #type = 0;

  constructor(emit: Emit, versions: readonly number[]) {
    this.#emit = emit;
    this.#versions = versions;
  }

  /** One event more, of the type with this number. */
  add(event: Stretch, type: number, urgent: boolean): void {
    if (urgent || type !== this.#type) this.send();
    if (urgent) return this.#emit([event], this.#versions, true, type);
    this.#type = type;
    const last = this.#stretches.at(-1);
    const { bytes, bounds, first, end } = event;
    if (last?.end === first && last.bounds === bounds)
      this.#stretches[this.#stretches.length - 1] = { bytes, bounds, first: last.first, end };
    else this.#stretches.push({ bytes, bounds, first, end });
  }

  send(): void {
    if (this.#stretches.length === 0) return;
    this.#emit(this.#stretches, this.#versions, false, this.#type);
    this.#stretches = [];
  }
}
