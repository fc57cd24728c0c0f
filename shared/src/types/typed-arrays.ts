import { type ByteSource, type FieldGetter, type Read, slotOf } from "./accessor.ts";
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
  return from === to ? READERS[from] : widened(READERS[from], to);
}

/** A function for each kind: engines make an array twice as fast where they know of which kind it is. */
const READERS: Readonly<Record<Scalar, Read>> = {
  bool: readUint8s,
  int8: readInt8s,
  uint8: readUint8s,
  int16: readInt16s,
  uint16: readUint16s,
  int32: readInt32s,
  uint32: readUint32s,
  int64: readInt64s,
  uint64: readUint64s,
  float32: readFloat32s,
  float64: readFloat64s,
};

/** The getter of a vector that reader and writer have alike; where the writer left it out, it is empty. */
export function arrayGetter(scalar: Scalar, entry: number): FieldGetter {
  return GETTERS[scalar](entry);
}

/** Each calls its reader by name: engines put the one into the other then. */
const GETTERS: Readonly<Record<Scalar, (entry: number) => FieldGetter>> = {
  bool: entry =>
    function () {
      const at = slotOf(this, entry);
      return at === 0 ? new Uint8Array(0) : readUint8s(this["@source"], at);
    },
  int8: entry =>
    function () {
      const at = slotOf(this, entry);
      return at === 0 ? new Int8Array(0) : readInt8s(this["@source"], at);
    },
  uint8: entry =>
    function () {
      const at = slotOf(this, entry);
      return at === 0 ? new Uint8Array(0) : readUint8s(this["@source"], at);
    },
  int16: entry =>
    function () {
      const at = slotOf(this, entry);
      return at === 0 ? new Int16Array(0) : readInt16s(this["@source"], at);
    },
  uint16: entry =>
    function () {
      const at = slotOf(this, entry);
      return at === 0 ? new Uint16Array(0) : readUint16s(this["@source"], at);
    },
  int32: entry =>
    function () {
      const at = slotOf(this, entry);
      return at === 0 ? new Int32Array(0) : readInt32s(this["@source"], at);
    },
  uint32: entry =>
    function () {
      const at = slotOf(this, entry);
      return at === 0 ? new Uint32Array(0) : readUint32s(this["@source"], at);
    },
  int64: entry =>
    function () {
      const at = slotOf(this, entry);
      return at === 0 ? new BigInt64Array(0) : readInt64s(this["@source"], at);
    },
  uint64: entry =>
    function () {
      const at = slotOf(this, entry);
      return at === 0 ? new BigUint64Array(0) : readUint64s(this["@source"], at);
    },
  float32: entry =>
    function () {
      const at = slotOf(this, entry);
      return at === 0 ? new Float32Array(0) : readFloat32s(this["@source"], at);
    },
  float64: entry =>
    function () {
      const at = slotOf(this, entry);
      return at === 0 ? new Float64Array(0) : readFloat64s(this["@source"], at);
    },
};

function readInt8s({ view, buffer, offset }: ByteSource, at: number): Int8Array {
  const position = at + view.getUint32(at, true);
  return new Int8Array(buffer, offset + position + 4, view.getUint32(position, true));
}

function readUint8s({ view, buffer, offset }: ByteSource, at: number): Uint8Array {
  const position = at + view.getUint32(at, true);
  return new Uint8Array(buffer, offset + position + 4, view.getUint32(position, true));
}

function readInt16s(source: ByteSource, at: number): Int16Array {
  const { view, buffer, offset } = source;
  const position = at + view.getUint32(at, true);
  const length = view.getUint32(position, true);
  const start = offset + position + 4;
  if ((start & 1) !== 0) return new Int16Array(copyOf(source, position + 4, 2 * length));
  return new Int16Array(buffer, start, length);
}

function readUint16s(source: ByteSource, at: number): Uint16Array {
  const { view, buffer, offset } = source;
  const position = at + view.getUint32(at, true);
  const length = view.getUint32(position, true);
  const start = offset + position + 4;
  if ((start & 1) !== 0) return new Uint16Array(copyOf(source, position + 4, 2 * length));
  return new Uint16Array(buffer, start, length);
}

function readInt32s(source: ByteSource, at: number): Int32Array {
  const { view, buffer, offset } = source;
  const position = at + view.getUint32(at, true);
  const length = view.getUint32(position, true);
  const start = offset + position + 4;
  if ((start & 3) !== 0) return new Int32Array(copyOf(source, position + 4, 4 * length));
  return new Int32Array(buffer, start, length);
}

function readUint32s(source: ByteSource, at: number): Uint32Array {
  const { view, buffer, offset } = source;
  const position = at + view.getUint32(at, true);
  const length = view.getUint32(position, true);
  const start = offset + position + 4;
  if ((start & 3) !== 0) return new Uint32Array(copyOf(source, position + 4, 4 * length));
  return new Uint32Array(buffer, start, length);
}

function readInt64s(source: ByteSource, at: number): BigInt64Array {
  const { view, buffer, offset } = source;
  const position = at + view.getUint32(at, true);
  const length = view.getUint32(position, true);
  const start = offset + position + 4;
  if ((start & 7) !== 0) return new BigInt64Array(copyOf(source, position + 4, 8 * length));
  return new BigInt64Array(buffer, start, length);
}

function readUint64s(source: ByteSource, at: number): BigUint64Array {
  const { view, buffer, offset } = source;
  const position = at + view.getUint32(at, true);
  const length = view.getUint32(position, true);
  const start = offset + position + 4;
  if ((start & 7) !== 0) return new BigUint64Array(copyOf(source, position + 4, 8 * length));
  return new BigUint64Array(buffer, start, length);
}

function readFloat32s(source: ByteSource, at: number): Float32Array {
  const { view, buffer, offset } = source;
  const position = at + view.getUint32(at, true);
  const length = view.getUint32(position, true);
  const start = offset + position + 4;
  if ((start & 3) !== 0) return new Float32Array(copyOf(source, position + 4, 4 * length));
  return new Float32Array(buffer, start, length);
}

function readFloat64s(source: ByteSource, at: number): Float64Array {
  const { view, buffer, offset } = source;
  const position = at + view.getUint32(at, true);
  const length = view.getUint32(position, true);
  const start = offset + position + 4;
  if ((start & 7) !== 0) return new Float64Array(copyOf(source, position + 4, 8 * length));
  return new Float64Array(buffer, start, length);
}

function copyOf({ bytes }: ByteSource, start: number, length: number): ArrayBuffer {
  return bytes.slice(start, start + length).buffer as ArrayBuffer;
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
