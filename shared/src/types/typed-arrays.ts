import { ARRAY_READERS } from "../generated/field-readers.ts";
import type { Read } from "./accessor.ts";
import type { Scalar } from "./schema.ts";

/** The typed arrays that vectors of numbers are read as, and written from. */
export const ARRAYS = {
  bool: Uint8Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

/**
 * Reads a vector of numbers: as a view on the received bytes, and as a copy only where they do not lie aligned in their
 * buffer, or where the reader's numbers are wider.
 */
export function arrayReader(from: Scalar, to: Scalar): Read {
  return from === to ? ARRAY_READERS[from] : widened(ARRAY_READERS[from], to);
}

/** Reads a vector into a new typed array of the reader's kind, which is wider than the received bytes. */
function widened(narrow: Read, to: Scalar): Read {
  const Constructor = ARRAYS[to] as unknown as new (length: number) => { [i: number]: unknown };
  const isBig = to === "int64" || to === "uint64";
  return (source, at) => {
    const from = narrow(source, at) as ArrayLike<number>;
    const wide = new Constructor(from.length);
    for (let i = 0; i < from.length; i++) wide[i] = isBig ? BigInt(from[i] as number) : from[i];
    return wide;
  };
}

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
