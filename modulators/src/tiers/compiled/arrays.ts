import type { Expression, MemberExpression, NewExpression, Node } from "acorn";
import { arrayAt, isTypedArray, KINDS, relative } from "./array-kinds.ts";
import type { ElementTarget } from "./assignments.ts";
import { type Code, type CodeLocal, f64, get, i32, localsOf, many, op, set } from "./code.ts";
import { type CodeField, LearnedField } from "./fields.ts";
import {
  constantOf,
  type EventVector,
  intOf,
  type KnownNumber,
  type KnownValue,
  kept,
  MOST_LENGTH,
  nothing,
  type TypedArray,
  wholeOf,
  wide,
} from "./known.ts";
import { addressOf, type CodePlace } from "./members.ts";
import { bits, indexed } from "./numbers.ts";
import { refuse } from "./refusal.ts";
import { VectorChecker } from "./vectors.ts";
import { WINDOW } from "./window-layout.ts";

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

  /** `new Float32Array(length)`, or one over the bytes of another array. */
  protected made(node: NewExpression, place: CodePlace): KnownValue {
    const called = this.value(node.callee as Expression, place);
    const name = called.is === "builtin" ? called.name : "";
    const args = node.arguments.map(arg =>
      arg.type === "SpreadElement" ? undefined : this.value(arg, place),
    );
    for (const arg of args) if (arg !== undefined) this.refuseStale(arg, node);
    const [first, offset, count] = args;
    if (isTypedArray(name) && first?.is === "buffer" && args.length === 1)
      return this.#recast(name, first.vector, node);
    if (isTypedArray(name) && first?.is === "buffer" && args.length === 3)
      return this.#view(name, { first, offset, count }, node);
    if (!isTypedArray(name) || first === undefined || args.length > 1)
      return refuse(node, "of what is made by new, typed arrays of so many numbers are compiled");
    return this.#array(name, this.asNumber(first, node.arguments[0] as Node), node);
  }

  /** The elements from one on, up to but without another: they stay where they are. */
  protected subarray(
    vector: EventVector,
    [from, to, ...more]: readonly KnownValue[],
    node: Node,
  ): KnownValue {
    const [asked, begin] = [to ?? intOf(get(vector.length), { lo: 0, hi: MOST_LENGTH }), from];
    // Up to undefined it is all that follows, and up to NaN nothing.
    const end = asked.is === "number" ? this.sure(asked, node) : asked;
    if (vector.array === undefined || begin?.is !== "number" || more.length > 0)
      return refuse(node, "subarray is compiled with numbers");
    if (end.is !== "number" || end.maybe) return refuse(node, "subarray is compiled up to a number");
    const [first, last, start, length] = localsOf("i32", "i32", "i32", "i32");
    const effects: Code[] = [
      set(first, relative(begin, vector.length)),
      set(last, relative(end, vector.length)),
      set(start, addressOf(vector, get(first))),
      set(length, op("i32.sub", get(last), get(first))),
      { is: "if", test: op("i32.lt_s", get(length), i32(0)), yes: [set(length, i32(0))], no: [] },
    ];
    return { is: "vector", vector: { ...vector, start, length, of: vector }, effects };
  }

  /** `array.slice()`: a copy, as an array that the program has made. */
  protected slice(vector: EventVector, args: readonly KnownValue[], node: Node): KnownValue {
    const { array } = vector;
    if (array === undefined || array === "Array" || args.length > 0)
      return refuse(node, "slice is compiled where it copies an array as a whole");
    const copy = this.#array(array, intOf(get(vector.length), { lo: 0, hi: MOST_LENGTH }), node);
    return { ...copy, effects: [...copy.effects, copied(copy.vector.start, vector)] };
  }

  /** `array.set(other, from)`, of the same kind. Where the other one is longer than what is there, the program stops. */
  protected setAll(
    vector: EventVector,
    [other, offset = constantOf(0), ...more]: readonly KnownValue[],
    node: Node,
  ): KnownValue {
    if (
      other?.is !== "vector" ||
      offset.is !== "number" ||
      offset.int === undefined ||
      offset.int.lo < 0 ||
      more.length > 0 ||
      vector.made === undefined ||
      vector.made !== other.vector.array
    )
      return refuse(node, "set is compiled with an array of the same kind, and an index");
    this.refuseGone(vector, node);
    const { fuel } = this.parts;
    const [from, to] = localsOf("i32", "i32");
    const end = op("i32.add", get(from), get(other.vector.length));
    return nothing("undefined", [
      ...other.effects,
      set(from, offset.code),
      fuel.stopIf(op("i32.gt_u", end, get(vector.length)), node, "an array is set behind another one's end"),
      ...fuel.spendCopy(other.vector, 8, node),
      set(to, addressOf(vector, get(from))),
      copied(to, other.vector),
    ]);
  }

  protected refuseGone(vector: EventVector, node: Node): void {
    if (this.gone.has(wholeOf(vector)))
      refuse(node, "an array that has gone out is not written to where it is compiled");
  }

  /** `new Uint8Array(array.buffer)`: all of its bytes as other numbers. */
  #recast(name: TypedArray, vector: EventVector, node: Node): KnownValue {
    const shares = vector.elementBytes / KINDS[name].bytes;
    if (vector.made === undefined || vector.of !== undefined || shares < 1)
      return refuse(node, "over an array's whole buffer, one of no wider numbers is compiled");
    const length: CodeLocal = { type: "i32" };
    const cast = { ...arrayAt(name, vector.start, length, name), of: vector, isAll: true };
    const effects = [set(length, op("i32.mul", get(vector.length), i32(shares)))];
    return { is: "vector", vector: cast, effects };
  }

  /** `new Int32Array(array.buffer, array.byteOffset, length)`: its elements' bytes as other numbers. Beyond the array, the program stops. */
  #view(
    name: TypedArray,
    {
      first: { vector },
      offset,
      count,
    }: {
      readonly first: { readonly vector: EventVector };
      readonly offset: KnownValue | undefined;
      readonly count: KnownValue | undefined;
    },
    node: Node,
  ): KnownValue {
    const isWhole = vector.made !== undefined && vector.of === undefined;
    const isAtStart =
      offset?.is === "byteOffset"
        ? offset.vector === vector
        : isWhole && offset?.is === "number" && offset.code.is === "i32" && offset.code.value === 0;
    if (!isAtStart || count?.is !== "number" || KINDS[name].bytes > vector.elementBytes)
      return refuse(node, "over the bytes of an array, a new one is compiled where both begin together");
    const kind = KINDS[name];
    const [asked, length] = localsOf("f64", "i32");
    const most = op(
      "f64.mul",
      op("f64.convert_i32_u", get(vector.length)),
      f64(vector.elementBytes / kind.bytes),
    );
    const isSound = op("i32.and", op("f64.ge", get(asked), f64(0)), op("f64.le", get(asked), most));
    const effects: Code[] = [
      set(asked, wide(count)),
      this.parts.fuel.stopIf(
        op("i32.eqz", isSound),
        node,
        `a ${name} that is longer than the bytes it is made of`,
      ),
      set(length, op("i32.trunc_sat_f64_u", get(asked))),
    ];
    const made = vector.made === undefined ? undefined : name;
    const view = arrayAt(name, vector.start, length, made);
    return { is: "vector", vector: { ...view, name: vector.name, of: vector }, effects };
  }

  /** `this.field = array` */
  protected storedArray(
    field: CodeField,
    { vector, effects }: Extract<KnownValue, { is: "vector" }>,
    node: Node,
    { loops }: CodePlace,
  ): KnownValue {
    const { fieldArrays, fuel } = this.parts;
    if (field.kind === undefined && vector.made !== undefined)
      throw new LearnedField(field.name, { is: "array", array: vector.made });
    if (field.vector === undefined || vector.made !== field.vector.made || fieldArrays.holds(wholeOf(vector)))
      return refuse(node, `"${field.name}" becomes an array that is not compiled there`);
    // Its buffer would be the whole one's.
    if (vector.of !== undefined && vector.isAll !== true)
      return refuse(node, "a field becomes another array where that is compiled: a whole one");
    if (loops > 0)
      return refuse(node, "a field becomes another array where that is compiled: outside of loops");
    this.stale.add(field.vector);
    this.stale.add(wholeOf(vector));
    const code = [...effects, ...fuel.spendCopy(vector, 8, node), ...fieldArrays.store(field, vector)];
    return { is: "vector", vector: field.vector, effects: code };
  }

  /** An array of zeros. Where the language throws at such a length, or there is no room, the program stops. */
  #array(name: TypedArray, length: KnownNumber, node: Node): Extract<KnownValue, { is: "vector" }> {
    this.#makes = true;
    const { fuel } = this.parts;
    const kind = KINDS[name];
    const [asked, own, from, size] = localsOf("f64", "i32", "i32", "i32");
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
    const vector = arrayAt(name, from, own, name);
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
    const recheck = (): void => {
      this.refuseStale(object, node);
      this.refuseGone(vector, node);
    };
    const said = this.value(node.property, place);
    recheck();
    const index = said.is === "number" ? this.sure(said, node.property) : said;
    if (index.is !== "number" || index.maybe)
      return refuse(node.property, "an index is compiled where it is a number");
    const { local, read } = kept(index);
    const kind = KINDS[vector.made as TypedArray];
    const { test, at } = indexed(read, vector.length);
    const { store } = kind;
    const put = (value: KnownNumber): Code[] => {
      const isFloat = store === "f64.store" || store === "f32.store";
      const number: CodeLocal = { type: isFloat ? "f64" : "i32" };
      const converted = store === "f32.store" ? op("f32.demote_f64", get(number)) : get(number);
      const written: Code = { is: "store", store, at: addressOf(vector, at), value: converted };
      return [set(number, isFloat ? wide(value) : bits(value)), { is: "if", test, yes: [written], no: [] }];
    };
    return {
      before: set(local, index.code),
      recheck,
      read: this.elementOf(vector, read),
      store: value => {
        const stored = kept(value);
        const code = many(set(stored.local, value.code), ...put(stored.read), get(stored.local));
        return { ...stored.read, code };
      },
      put,
    };
  }
}

/** Code that copies an array's elements to another place. */
function copied(to: CodeLocal, { start, length, elementBytes }: EventVector): Code {
  return { is: "copy", to: get(to), from: get(start), bytes: op("i32.mul", get(length), i32(elementBytes)) };
}
