import type { Expression, MemberExpression, NewExpression, Node } from "acorn";
import type { ElementTarget } from "./assignments.ts";
import {
  type Code,
  type CodeLocal,
  f64,
  get,
  i32,
  type LoadName,
  load,
  many,
  op,
  type StoreName,
  set,
} from "./code.ts";
import { WINDOW } from "./encoder.ts";
import {
  type EventVector,
  intOf,
  type KnownNumber,
  type KnownValue,
  kept,
  type NumberArray,
  numberOf,
  wide,
} from "./known.ts";
import { addressOf, type CodePlace } from "./members.ts";
import { bits, indexed } from "./numbers.ts";
import { refuse } from "./refusal.ts";
import { VectorChecker } from "./vectors.ts";

/** The way elements of an array are read and written. */
interface ArrayKind {
  readonly bytes: number;
  readonly load: LoadName;
  readonly store: StoreName;
  /** The range of its integers; undefined for floats, and for integers that take more than 32 bits with a sign. */
  readonly range: readonly [lo: number, hi: number] | undefined;
}

const KINDS: Readonly<Record<Exclude<NumberArray, "Array">, ArrayKind>> = {
  Float32Array: { bytes: 4, load: "f32.load", store: "f32.store", range: undefined },
  Float64Array: { bytes: 8, load: "f64.load", store: "f64.store", range: undefined },
  Int8Array: { bytes: 1, load: "i32.load8_s", store: "i32.store8", range: [-0x80, 0x7f] },
  Int16Array: { bytes: 2, load: "i32.load16_s", store: "i32.store16", range: [-0x8000, 0x7fff] },
  Int32Array: { bytes: 4, load: "i32.load", store: "i32.store", range: [-0x8000_0000, 0x7fff_ffff] },
  Uint8Array: { bytes: 1, load: "i32.load8_u", store: "i32.store8", range: [0, 0xff] },
  Uint16Array: { bytes: 2, load: "i32.load16_u", store: "i32.store16", range: [0, 0xffff] },
  Uint32Array: { bytes: 4, load: "i32.load", store: "i32.store", range: undefined },
};

/** Typed arrays that a program makes: they lie in the window's room for lists as long as their event is looked at. */
export abstract class ArrayChecker extends VectorChecker {
  /** The address behind the last array. */
  readonly #top: CodeLocal = { type: "i32" };
  #makes = false;
  /** Arrays that have gone out as they were then. */
  protected readonly gone = new Set<EventVector>();

  /** Code that makes room for an event's arrays. */
  get emptyRoom(): Code[] {
    return this.#makes ? [set(this.#top, i32(WINDOW.room))] : [];
  }

  /** `new Float32Array(length)` */
  protected made(node: NewExpression, place: CodePlace): KnownValue {
    const { callee } = node;
    const [length, ...more] = node.arguments;
    const called = this.value(callee as Expression, place);
    const name = called.is === "builtin" ? called.name : "";
    if (
      !Object.hasOwn(KINDS, name) ||
      length === undefined ||
      length.type === "SpreadElement" ||
      more.length > 0
    )
      return refuse(node, "of what is made by new, typed arrays of so many numbers are compiled");
    return this.#array(name as keyof typeof KINDS, this.number(length, place), node);
  }

  /** An array of zeros. Where the language throws at such a length, or there is no room, the program stops. */
  #array(name: keyof typeof KINDS, length: KnownNumber, node: Node): KnownValue {
    this.#makes = true;
    const { fuel } = this.parts;
    const kind = KINDS[name];
    const asked: CodeLocal = { type: "f64" };
    const [count, start, bytes]: CodeLocal[] = [{ type: "i32" }, { type: "i32" }, { type: "i32" }];
    const [own, from, size] = [count, start, bytes] as [CodeLocal, CodeLocal, CodeLocal];
    const isSound = op(
      "i32.and",
      op("f64.ge", get(asked), f64(0)),
      op("f64.le", get(asked), f64(WINDOW.roomBytes / kind.bytes)),
    );
    const shifted = (code: Code): Code =>
      kind.bytes === 1 ? code : op("i32.shl", code, i32(Math.log2(kind.bytes)));
    const effects: Code[] = [
      set(asked, wide(length)),
      fuel.stopIf(op("i32.eqz", isSound), node, `a ${name} of a length that is not compiled`),
      ...fuel.spend([{ is: "drop", value: i32(0) }], node, op("f64.add", get(asked), f64(1))),
      set(own, op("i32.trunc_sat_f64_u", get(asked))),
      set(from, get(this.#top)),
      set(size, shifted(get(own))),
      set(this.#top, op("i32.and", op("i32.add", op("i32.add", get(from), get(size)), i32(7)), i32(-8))),
      fuel.stopIf(
        op("i32.gt_u", get(this.#top), i32(WINDOW.room + WINDOW.roomBytes)),
        node,
        "the arrays of an event have more numbers than are compiled",
      ),
      { is: "zero", at: get(from), bytes: get(size) },
    ];
    const vector: EventVector = {
      name,
      elementBytes: kind.bytes,
      length: own,
      start: from,
      read: at => elementOf(kind, name, at),
      made: name,
      array: name,
    };
    return { is: "vector", vector, effects };
  }

  /** `array[index]`, to be read and written. The index is found once, before the value that is written. */
  protected elementTarget(node: MemberExpression, place: CodePlace): ElementTarget {
    const object = node.object.type === "Super" ? undefined : this.value(node.object, place);
    const isOwn = object?.is === "vector" && object.effects.length === 0 && object.vector.made !== undefined;
    if (!isOwn || node.property.type === "PrivateIdentifier")
      return refuse(
        node,
        "only variables, the modulator's own fields and elements of arrays that it has made are assigned to where it is compiled",
      );
    const { vector } = object;
    if (this.gone.has(vector))
      return refuse(node, "an array that has gone out is not written to where it is compiled");
    const index = this.value(node.property, place);
    if (index.is !== "number" || index.maybe)
      return refuse(node.property, "an index is compiled where it is a number");
    const { local, read } = kept(index);
    const kind = KINDS[vector.made as keyof typeof KINDS];
    const { test, at } = indexed(read, vector.length);
    return {
      before: set(local, index.code),
      read: this.elementOf(vector, read),
      store: value => {
        const stored = kept(value);
        const { store } = kind;
        const number = wide(stored.read);
        const converted =
          store === "f64.store"
            ? number
            : store === "f32.store"
              ? op("f32.demote_f64", number)
              : bits(stored.read);
        const written: Code = { is: "store", store, at: addressOf(vector, at), value: converted };
        const code = many(
          set(stored.local, value.code),
          { is: "if", test, yes: [written], no: [] },
          get(stored.local),
        );
        return { ...stored.read, code };
      },
    };
  }
}

function elementOf({ load: from, range }: ArrayKind, name: string, at: Code): KnownNumber {
  const code = load(from, at);
  if (range !== undefined) return intOf(code, { lo: range[0], hi: range[1] });
  if (name === "Uint32Array") return numberOf(op("f64.convert_i32_u", code));
  return numberOf(name === "Float32Array" ? op("f64.promote_f32", code) : code);
}
