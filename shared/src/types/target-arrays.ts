import type { Scalar } from "./schema.ts";
import { ARRAYS } from "./typed-arrays.ts";

/*
 * Large vectors are copied as a whole. For that both sides must be typed arrays of one kind, and a view for each copy would
 * cost more than the copying of a small one: so there is one view of each kind on the memory that is written to.
 */

type Copier = (list: ArrayLike<unknown>, at: number) => boolean;

/** Memory that is written to, as typed arrays of every kind. */
export class TargetArrays {
  readonly #bytes: Uint8Array;
  readonly #copiers: Partial<Record<Scalar, Copier>> = {};

  /** @param bytes begin at a multiple of 8 of their buffer */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Copies `list` to `at` where it is a typed array of this kind; false where it is not, and nothing is written. */
  set(scalar: Scalar, list: ArrayLike<unknown>, at: number): boolean {
    let copier = this.#copiers[scalar];
    if (copier === undefined) {
      copier = this.#copier(scalar);
      this.#copiers[scalar] = copier;
    }
    return copier(list, at);
  }

  #copier(scalar: Scalar): Copier {
    const Constructor = ARRAYS[scalar];
    const { buffer, byteOffset, byteLength } = this.#bytes;
    const size = Constructor.BYTES_PER_ELEMENT;
    // One shape for all kinds, which the compiler cannot see.
    const target = new Constructor(
      buffer as ArrayBuffer,
      byteOffset,
      Math.floor(byteLength / size),
    ) as unknown as Uint8Array;
    return (list, at) => {
      if (!(list instanceof Constructor) && !(scalar === "uint8" && list instanceof Uint8ClampedArray))
        return false;
      target.set(list as unknown as Uint8Array, at / size);
      return true;
    };
  }
}
