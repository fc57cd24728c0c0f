import type { CallExpression, Expression, Node } from "acorn";
import { AssignmentChecker } from "./assignments.ts";
import {
  COUNTED,
  type Code,
  type CodeLabel,
  type CodeLocal,
  f64,
  get,
  i32,
  loopOf,
  many,
  op,
  set,
  type Trips,
} from "./code.ts";
import { costOf } from "./cost.ts";
import {
  booleanOf,
  type EventVector,
  intOf,
  type KnownNumber,
  type KnownValue,
  kept,
  MOST_LENGTH,
  numberOf,
  wide,
} from "./known.ts";
import { addressOf, type CodePlace } from "./members.ts";
import { positionOf, refuse } from "./refusal.ts";
import { LANES, sumCode } from "./sums.ts";

/** Looks that the code of a loop is worth, and that of a sum. */
const LOOP_LOOKS = 10;
const SUM_LOOKS = 60;

/** Loops over vectors of the event, and their methods. */
export abstract class VectorChecker extends AssignmentChecker {
  /** The code and value of a call of the text's own function, written out where it is called. */
  protected abstract inline(
    called: Extract<KnownValue, { is: "function" }>,
    args: readonly KnownValue[],
    place: CodePlace,
    at: Node,
  ): KnownValue;

  protected abstract arguments(node: CallExpression, place: CodePlace): KnownValue[];

  protected abstract subarray(vector: EventVector, args: readonly KnownValue[], node: Node): KnownValue;

  protected abstract slice(vector: EventVector, args: readonly KnownValue[], node: Node): KnownValue;

  protected abstract setAll(vector: EventVector, args: readonly KnownValue[], node: Node): KnownValue;

  /**
   * A loop over a vector's elements.
   *
   * @param cap elements beyond which the language itself may fail at it
   * @param body made of an element, its index, the label of the next round, and that of the loop's end; it jumps to either
   */
  protected loopOver(
    vector: EventVector,
    node: Node,
    body: (element: KnownNumber, index: KnownNumber, next: CodeLabel, done: CodeLabel) => Code[],
    cap?: number,
  ): Code[] {
    this.parts.looks.take(node, LOOP_LOOKS);
    const index: CodeLocal = { type: "i32" };
    const [next, done]: [CodeLabel, CodeLabel] = [{ name: "next" }, { name: "done" }];
    const element = kept(vector.read(addressOf(vector, get(index))));
    const counter = intOf(get(index), { lo: 0, hi: MOST_LENGTH, under: vector });
    const inner = this.inRegion(() => body(element.read, counter, next, done));
    const { trips, spent } = this.tripsOver(vector, inner, node, cap);
    return [
      ...spent,
      set(index, i32(0)),
      loopOf(done, { trips, ...positionOf(node) }, [
        { is: "brIf", label: done, test: op("i32.eqz", op("i32.lt_u", get(index), get(vector.length))) },
        set(element.local, vector.read(addressOf(vector, get(index))).code),
        { is: "block", label: next, body: inner },
        set(index, op("i32.add", get(index), i32(1))),
      ]),
    ];
  }

  /**
   * How often a loop over a vector runs: a part of the bound; or counted as it runs where that would be a product, the array is the program's own, or it
   * is a part of the event's, of which a loop around cannot say beforehand how long it is.
   *
   * @param cap elements beyond which the language itself may fail at it
   * @param elements number of them that a round takes
   */
  protected tripsOver(
    vector: EventVector,
    body: readonly Code[],
    node: Node,
    cap?: number,
    elements = 1,
  ): { readonly trips: Trips; readonly spent: readonly Code[] } {
    if (vector.made === undefined && vector.of === undefined && costOf(body).perElement.size === 0)
      return { trips: { most: 1 / elements, of: vector, cap }, spent: [] };
    const all = op("f64.convert_i32_s", get(vector.length));
    const rounds = op("f64.add", elements === 1 ? all : op("f64.mul", all, f64(1 / elements)), f64(2));
    return { trips: COUNTED, spent: this.parts.fuel.spend(body, node, rounds) };
  }

  /** `sum(vector)` of "jecho:moe". */
  protected sumOf(vector: EventVector, node: Node): Code {
    this.parts.looks.take(node, SUM_LOOKS);
    return sumCode(vector, node, body => this.tripsOver(vector, body, node, undefined, LANES));
  }

  protected vectorCall(
    vector: EventVector,
    name: string,
    node: CallExpression,
    place: CodePlace,
  ): KnownValue {
    const list: KnownValue = { is: "vector", vector, effects: [] };
    if (name === "subarray" || name === "slice" || name === "set") {
      const args = this.arguments(node, place);
      this.refuseStale(list, node);
      if (name === "subarray") return this.subarray(vector, args, node);
      return name === "slice" ? this.slice(vector, args, node) : this.setAll(vector, args, node);
    }
    const [first, ...more] = node.arguments;
    if (first === undefined || first.type === "SpreadElement")
      return refuse(node, `this call of ${name} is not compiled`);
    const inLoop = { ...place, loops: place.loops + 1 };
    if (name === "some" || name === "every") {
      if (more.length > 0) return refuse(node, `${name} is compiled with one argument`);
      const called = this.#callback(first, place);
      const found: CodeLocal = { type: "i32" };
      const isSome = name === "some";
      const loop = this.loopOver(vector, node, (element, index, next, done) => {
        const truth = this.truth(this.inline(called, [element, index, list], inLoop, first), first);
        return [
          { is: "brIf", label: next, test: isSome ? op("i32.eqz", truth) : truth },
          set(found, i32(isSome ? 1 : 0)),
          { is: "br", label: done },
        ];
      });
      return booleanOf(many(set(found, i32(isSome ? 0 : 1)), ...loop, get(found)));
    }
    if (name === "reduce") {
      const [start, ...rest] = more;
      if (start === undefined || start.type === "SpreadElement" || rest.length > 0)
        return refuse(node, "reduce is compiled with a value to begin with");
      const called = this.#callback(first, place);
      const sum: CodeLocal = { type: "f64" };
      const begin = this.value(start, place);
      if (begin.is !== "number" || begin.maybe)
        return refuse(start, "reduce is compiled where it begins with a number");
      this.refuseStale(list, node);
      const loop = this.loopOver(vector, node, (element, index, next) => {
        const made = this.inline(called, [numberOf(get(sum)), element, index, list], inLoop, first);
        if (made.is !== "number" || made.maybe)
          return refuse(first, "reduce is compiled where it makes a number");
        return [set(sum, wide(made)), { is: "br", label: next }];
      });
      return numberOf(many(set(sum, wide(begin)), ...loop, get(sum)));
    }
    if (name === "includes" && more.length === 0) {
      const value = this.value(first, place);
      const wanted: CodeLocal = { type: "f64" };
      if (value.is !== "number" || value.maybe) return refuse(first, "includes is compiled with a number");
      this.refuseStale(list, node);
      const found: CodeLocal = { type: "i32" };
      const loop = this.loopOver(vector, node, (element, _, next, done) => {
        const { local, read } = kept(numberOf(wide(element)));
        // NaN is among the elements where one of them is.
        const same = op("f64.eq", get(local), get(wanted));
        const both = op(
          "i32.and",
          op("f64.ne", read.code, read.code),
          op("f64.ne", get(wanted), get(wanted)),
        );
        return [
          set(local, wide(element)),
          { is: "brIf", label: next, test: op("i32.eqz", op("i32.or", same, both)) },
          set(found, i32(1)),
          { is: "br", label: done },
        ];
      });
      return booleanOf(many(set(found, i32(0)), set(wanted, wide(value)), ...loop, get(found)));
    }
    return refuse(node, `${name} of a vector is not compiled`);
  }

  #callback(node: Expression, place: CodePlace): Extract<KnownValue, { is: "function" }> {
    const called = this.value(node, place);
    return called.is === "function" ? called : refuse(node, "a function of the text itself is wanted here");
  }
}
