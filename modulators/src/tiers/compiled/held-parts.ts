import type { Type } from "@jecho/shared";
import { KINDS } from "./array-kinds.ts";
import { type Code, f64, get, i32, op } from "./code.ts";
import { ELEMENT_ARRAYS, type ScalarName, type TableField } from "./event-code.ts";
import type { NumberArray, ObjectEntry } from "./known.ts";

/** Integers that a field holds; undefined where it holds none of up to 32 bits. */
function rangeOf(scalar: ScalarName): readonly [lo: number, hi: number] | undefined {
  const array = ELEMENT_ARRAYS[scalar];
  return array === "Uint32Array" ? [0, 0xffff_ffff] : array && KINDS[array].range;
}

/** Code that tells whether an event of this type can be encoded with a part of an object; undefined where that is not known. */
export function heldTest({ fields }: Type["root"], entry: ObjectEntry): Code | undefined {
  const field = entry.from === "event" ? undefined : fields.find(({ name }) => name === entry.name);
  // What the type has no field for, the encoder does not look at.
  return field === undefined ? i32(1) : testOf(field, entry, fields);
}

function testOf(
  { kind, required }: TableField,
  entry: ObjectEntry,
  fields: readonly TableField[],
): Code | undefined {
  const scalar = kind.is === "scalar" ? kind.scalar : undefined;
  switch (entry.from) {
    case "none":
      return sure(!required);
    case "source":
    case "data":
      return sure(kind.is === "string");
    case "token":
      return sure(scalar === "uint64");
    case "field": {
      const from = fields.find(({ name }) => name === entry.field)?.kind;
      if (from?.is === "string") return sure(kind.is === "string");
      return from?.is === "vector" && from.of.is === "scalar"
        ? elementsTest(kind, ELEMENT_ARRAYS[from.of.scalar])
        : undefined;
    }
    case "array":
      return elementsTest(kind, entry.vector.made);
    case "values":
      return elementsTest(kind, entry.array);
    case "value": {
      if (entry.isBoolean) return sure(scalar === "bool");
      if (scalar === "float32" || scalar === "float64") return i32(1);
      const [lo, hi] = (scalar && rangeOf(scalar)) ?? [];
      if (lo === undefined || hi === undefined) return undefined;
      const number = get(entry.local);
      const isWhole = op("f64.eq", op("f64.trunc", number), number);
      const isWithin = op("i32.and", op("f64.ge", number, f64(lo)), op("f64.le", number, f64(hi)));
      return op("i32.and", isWhole, isWithin);
    }
    default:
      return undefined;
  }
}

/** Likewise, of the elements of such an array. */
function elementsTest(kind: TableField["kind"], array: NumberArray | undefined): Code | undefined {
  const scalar = kind.is === "vector" && kind.of.is === "scalar" ? kind.of.scalar : undefined;
  const isFloat = scalar === "float32" || scalar === "float64";
  return sure(isFloat || (array !== undefined && scalar !== undefined && ELEMENT_ARRAYS[scalar] === array));
}

function sure(isSure: boolean): Code | undefined {
  return isSure ? i32(1) : undefined;
}
