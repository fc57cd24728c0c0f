import { Refusal } from "./refusal.ts";
import { StoppedProgram } from "./stopped-program.ts";
import type { WindowHeap } from "./window-heap.ts";

/** Bytes of all arrays, and of all events, that one modulator may keep. */
export const MOST_BYTES = 4 << 20;

/** Blocks of one modulator's fields that hold arrays, by their numbers. */
export class KeptArrays {
  readonly #heap: WindowHeap;
  readonly #blocks = new Map<number, { readonly at: number; readonly bytes: number }>();

  constructor(heap: WindowHeap) {
    this.#heap = heap;
  }

  get bytes(): number {
    let sum = 0;
    for (const { bytes } of this.#blocks.values()) sum += bytes;
    return sum;
  }

  /** Gives a field room for so many bytes, in place of what it has. @throws StoppedProgram where there is none */
  reserve(field: number, bytes: number): number {
    const known = this.#blocks.get(field);
    const at = this.bytes - (known?.bytes ?? 0) + bytes > MOST_BYTES ? undefined : this.#heap.take(bytes);
    if (at === undefined)
      throw new StoppedProgram(new Refusal("its fields hold arrays of more numbers than are compiled"));
    if (known !== undefined) this.#heap.give(known.at, known.bytes);
    this.#blocks.set(field, { at, bytes });
    return at;
  }

  /** Gives all of them back. */
  clear(): void {
    for (const { at, bytes } of this.#blocks.values()) this.#heap.give(at, bytes);
    this.#blocks.clear();
  }
}
