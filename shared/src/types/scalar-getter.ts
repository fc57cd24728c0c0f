import { type FieldGetter, type Read, slotOf } from "./accessor.ts";
import type { Scalar } from "./schema.ts";

/*
 * How numbers are read. Getters of one kind are closures of one function and share what the engine learns about it, so
 * each kind of number has a function of its own, in which nothing is looked up and nothing called that is not always the same.
 */

/** @param fallback what an absent field reads as */
export function scalarGetter(scalar: Scalar, entry: number, fallback: unknown): FieldGetter {
  switch (scalar) {
    case "bool":
      return function () {
        const at = slotOf(this, entry);
        return at === 0 ? fallback : this["@source"].view.getUint8(at) !== 0;
      };
    case "int8":
      return function () {
        const at = slotOf(this, entry);
        return at === 0 ? fallback : this["@source"].view.getInt8(at);
      };
    case "uint8":
      return function () {
        const at = slotOf(this, entry);
        return at === 0 ? fallback : this["@source"].view.getUint8(at);
      };
    case "int16":
      return function () {
        const at = slotOf(this, entry);
        return at === 0 ? fallback : this["@source"].view.getInt16(at, true);
      };
    case "uint16":
      return function () {
        const at = slotOf(this, entry);
        return at === 0 ? fallback : this["@source"].view.getUint16(at, true);
      };
    case "int32":
      return function () {
        const at = slotOf(this, entry);
        return at === 0 ? fallback : this["@source"].view.getInt32(at, true);
      };
    case "uint32":
      return function () {
        const at = slotOf(this, entry);
        return at === 0 ? fallback : this["@source"].view.getUint32(at, true);
      };
    case "float32":
      return function () {
        const at = slotOf(this, entry);
        return at === 0 ? fallback : this["@source"].view.getFloat32(at, true);
      };
    case "float64":
      return function () {
        const at = slotOf(this, entry);
        return at === 0 ? fallback : this["@source"].view.getFloat64(at, true);
      };
    default: {
      const read = scalarReader(scalar);
      return function () {
        const at = slotOf(this, entry);
        return at === 0 ? fallback : read(this["@source"], at);
      };
    }
  }
}

/** Reads a number that lies in a vector or a struct, or is to become a wider one. */
export function scalarReader(scalar: Scalar): Read {
  switch (scalar) {
    case "bool":
      return ({ view }, at) => view.getUint8(at) !== 0;
    case "int8":
      return ({ view }, at) => view.getInt8(at);
    case "uint8":
      return ({ view }, at) => view.getUint8(at);
    case "int16":
      return ({ view }, at) => view.getInt16(at, true);
    case "uint16":
      return ({ view }, at) => view.getUint16(at, true);
    case "int32":
      return ({ view }, at) => view.getInt32(at, true);
    case "uint32":
      return ({ view }, at) => view.getUint32(at, true);
    case "int64":
      return ({ view }, at) => view.getBigInt64(at, true);
    case "uint64":
      return ({ view }, at) => view.getBigUint64(at, true);
    case "float32":
      return ({ view }, at) => view.getFloat32(at, true);
    case "float64":
      return ({ view }, at) => view.getFloat64(at, true);
  }
}
