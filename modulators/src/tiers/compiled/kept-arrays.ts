import { StoppedProgram } from "./stopped-program.ts";
import type { WindowHeap } from "./window-heap.ts";

/** Bytes of all arrays, and of all events, that one modulator may keep. */
export const MOST_BYTES = 4 << 20;

/** A block of a field's. */
interface KeptBlock {
  readonly at: number;
  readonly bytes: number;
}

/** Blocks of one modulator's fields that hold arrays, by their numbers. */
export class KeptArrays {
  readonly #heap: WindowHeap;
  readonly #blocks = new Map<number, KeptBlock>();
  /** Blocks that fields held before: what goes out may still lie there. */
  #replaced: KeptBlock[] = [];
  #bytes = 0;

  constructor(heap: WindowHeap) {
    this.#heap = heap;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Gives a field room for so many bytes, in place of what it has. @throws StoppedProgram where there is none */
  reserve(field: number, bytes: number): number {
    const known = this.#blocks.get(field);
    const all = this.#bytes - (known?.bytes ?? 0) + bytes;
    const at = all > MOST_BYTES ? undefined : this.#heap.take(bytes);
    if (at === undefined)
      throw new StoppedProgram("its fields hold arrays of more numbers than are compiled");
    if (known !== undefined) this.#replaced.push(known);
    this.#blocks.set(field, { at, bytes });
    this.#bytes = all;
    return at;
  }

  /** Gives the replaced blocks back, for what has gone out has been copied. */
  settle(): void {
    for (const { at, bytes } of this.#replaced) this.#heap.give(at, bytes);
    if (this.#replaced.length > 0) this.#replaced = [];
  }

  /** Gives all of them back. */
  clear(): void {
    this.#replaced.push(...this.#blocks.values());
    this.#blocks.clear();
    this.#bytes = 0;
    this.settle();
  }
}
