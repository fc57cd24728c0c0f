import type { CallExpression, Expression, Node, SpreadElement } from "acorn";
import { callBuiltin, extreme } from "./builtins.ts";
import { type Code, type CodeLabel, type CodeLocal, f64, get, i32, many, op, set } from "./code.ts";
import { ANSWER } from "./encoder.ts";
import { ExpressionChecker } from "./expressions.ts";
import {
  booleanOf,
  type CodeScope,
  type EventVector,
  intOf,
  type KnownNumber,
  type KnownText,
  type KnownValue,
  kept,
  MOST_LENGTH,
  nothing,
  numberOf,
  wide,
} from "./known.ts";
import { addressOf, type CodePlace, nameOf } from "./members.ts";
import { compared } from "./numbers.ts";
import { refuse } from "./refusal.ts";
import { equalTexts, searchedText, TEXT_METHODS } from "./texts.ts";

/** Elements of a vector that are spread into arguments: engines run out of stack with some more of them. */
const MOST_ARGUMENTS = 16_384;

/** Calls: of the language's functions, of the text's own, of a vector's methods, and of `super.enqueue`. */
export abstract class CallChecker extends ExpressionChecker {
  /** The code and value of a call of the text's own function, written out where it is called. */
  protected abstract inline(
    called: Extract<KnownValue, { is: "function" }>,
    args: readonly KnownValue[],
    place: CodePlace,
    at: Node,
  ): KnownValue;

  protected call(node: CallExpression, place: CodePlace): KnownValue {
    const { callee } = node;
    if (node.optional) return refuse(node, "?.() is not compiled");
    if (callee.type === "MemberExpression") {
      const isPass = callee.object.type === "Super";
      const name =
        callee.property.type === "PrivateIdentifier"
          ? `#${callee.property.name}`
          : (callee.property as { name?: string }).name;
      if (callee.computed || name === undefined || callee.optional)
        return refuse(node, "this call is not compiled");
      if (isPass) return this.#pass(name, node, place);
      const object = this.value(callee.object as Expression, place);
      if (object.is === "this") {
        const method = this.parts.text.methods.get(name);
        if (method === undefined) return refuse(node, `the class has no method "${name}" that is compiled`);
        const called = { is: "function" as const, node: method, scope: this.methodScope, hasThis: true };
        return this.inline(called, this.#arguments(node, place), place, node);
      }
      if (object.is === "text") return this.#textCall(object.text, name, node, place);
      if (object.is === "list" || (object.is === "data" && object.shape.is === "list"))
        return this.#listCall(object, name, node, place);
      if (object.is === "vector") return this.#vectorCall(object.vector, name, node, place);
      return this.#called(this.memberOf(object, name, node), node, place);
    }
    if (callee.type === "Super") return refuse(node, "this call is not compiled");
    return this.#called(this.value(callee, place), node, place);
  }

  /** Names that methods see. */
  protected abstract readonly methodScope: CodeScope;

  #called(called: KnownValue, node: CallExpression, place: CodePlace): KnownValue {
    if (called.is === "function") return this.inline(called, this.#arguments(node, place), place, node);
    if (called.is !== "builtin") return refuse(node, `${nameOf(called)} is called`);
    const { name } = called;
    if (name === "urgent") {
      const [event, ...more] = this.#arguments(node, place);
      if (event?.is !== "event" || more.length > 0)
        return refuse(node, "urgent is compiled with the event that came in");
      return { is: "event", effects: [...event.effects, set(this.parts.marked, i32(1))] };
    }
    if (name === "Math.max" || name === "Math.min") return this.#extreme(name, node, place);
    const args = this.#arguments(node, place).map((arg, i) => this.asNumber(arg, node.arguments[i] as Node));
    const result = callBuiltin(name, args);
    return typeof result === "string" ? refuse(node, result) : result;
  }

  #arguments(node: CallExpression, place: CodePlace): KnownValue[] {
    return node.arguments.map(arg => {
      if (arg.type === "SpreadElement") return refuse(arg, "this spread is not compiled");
      return this.value(arg, place);
    });
  }

  #extreme(name: "Math.max" | "Math.min", node: CallExpression, place: CodePlace): KnownValue {
    let most = numberOf(f64(name === "Math.max" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY));
    for (const arg of node.arguments) {
      if (arg.type === "SpreadElement") most = extreme(name, most, this.#extremeOf(name, arg, place));
      else most = extreme(name, most, this.number(arg, place));
    }
    return most;
  }

  #extremeOf(name: "Math.max" | "Math.min", node: SpreadElement, place: CodePlace): KnownNumber {
    const list = this.value(node.argument, place);
    if (list.is !== "vector")
      return refuse(node, "only vectors of the event are spread where it is compiled");
    const most: CodeLocal = { type: "f64" };
    const step = (element: KnownNumber, _: KnownNumber, next: CodeLabel): Code[] => [
      set(most, extreme(name, numberOf(get(most)), element).code),
      { is: "br", label: next },
    ];
    const loop = this.loopOver(list.vector, node, step, MOST_ARGUMENTS);
    const first = f64(name === "Math.max" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
    return numberOf(many(set(most, first), ...loop, get(most)));
  }

  /** `super.enqueue(event)`: what came in leaves. */
  #pass(name: string, node: CallExpression, place: CodePlace): KnownValue {
    if (name !== "enqueue" || !place.hasThis) return refuse(node, `super.${name}() is not compiled`);
    const [event, ...more] = this.#arguments(node, place);
    if (more.length > 0 || event?.is !== "event")
      return refuse(node, "only the event that came in is passed on where it is compiled");
    if (place.loops > 0) return refuse(node, "an event that is passed on in a loop is not compiled");
    if (this.passed) return refuse(node, "an event that may be passed on twice is not compiled");
    this.passed = true;
    return nothing("undefined", [...event.effects, set(this.parts.answer, i32(ANSWER.pass))]);
  }

  // ---- texts and lists

  #textCall(text: KnownText, name: string, node: CallExpression, place: CodePlace): KnownValue {
    const [needle, ...more] = this.#arguments(node, place);
    if (!TEXT_METHODS.has(name) || needle?.is !== "text" || more.length > 0)
      return refuse(node, `this call of ${name} is not compiled`);
    const { line = 0, column = -1 } = node.loc?.start ?? {};
    const code = searchedText(name, text, needle.text, { line, column: column + 1 });
    return code === undefined
      ? refuse(node, `${name} is compiled where a text that is not the event's is looked for in another one`)
      : booleanOf(code);
  }

  /** `list.includes(value)`, of a list in the source, in the parameters or in a shared object. */
  #listCall(
    list: Extract<KnownValue, { is: "list" | "data" }>,
    name: string,
    node: CallExpression,
    place: CodePlace,
  ): KnownValue {
    const [value, ...more] = this.#arguments(node, place);
    if (name !== "includes" || more.length > 0 || (value?.is !== "text" && value?.is !== "number"))
      return refuse(node, "of a list, includes is compiled with a number or a text");
    const items = list.is === "list" ? list.items : this.itemsOf(list, node);
    const found = value.is === "number" ? kept(value) : undefined;
    const tests = items.map(item => {
      if (item.is === "number" && found !== undefined) return compared("===", found.read, item)?.code as Code;
      if (item.is === "text" && value.is === "text")
        return (
          equalTexts(value.text, item.text) ??
          refuse(node, "two texts of the event are not compared where it is compiled")
        );
      if (item.is === "number" || item.is === "text") return i32(0);
      return refuse(node, `a list with ${nameOf(item)} in it is not compiled`);
    });
    const any = tests.reduceRight<Code>(
      (rest, test) => ({ is: "if", test, yes: [i32(1)], no: [rest], type: "i32" }),
      i32(0),
    );
    return booleanOf(
      found === undefined || value.is !== "number" ? any : many(set(found.local, value.code), any),
    );
  }

  // ---- loops over vectors

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
    const index: CodeLocal = { type: "i32" };
    const [round, next, done] = ["round", "next", "done"].map(name => ({ name })) as [
      CodeLabel,
      CodeLabel,
      CodeLabel,
    ];
    const element = kept(vector.read(addressOf(vector, get(index))));
    const counter = intOf(get(index), { lo: 0, hi: MOST_LENGTH, under: vector });
    const { line = 0, column = -1 } = node.loc?.start ?? {};
    const inner = body(element.read, counter, next, done);
    return [
      set(index, i32(0)),
      {
        is: "block",
        label: done,
        body: [
          {
            is: "loop",
            label: round,
            trips: { most: 1, of: vector, cap },
            line,
            column: column + 1,
            body: [
              {
                is: "brIf",
                label: done,
                test: op("i32.eqz", op("i32.lt_u", get(index), get(vector.length))),
              },
              set(element.local, vector.read(addressOf(vector, get(index))).code),
              { is: "block", label: next, body: inner },
              set(index, op("i32.add", get(index), i32(1))),
              { is: "br", label: round },
            ],
          },
        ],
      },
    ];
  }

  #vectorCall(vector: EventVector, name: string, node: CallExpression, place: CodePlace): KnownValue {
    const [first, ...more] = node.arguments;
    if (first === undefined || first.type === "SpreadElement")
      return refuse(node, `this call of ${name} is not compiled`);
    const inLoop = { ...place, loops: place.loops + 1 };
    const list: KnownValue = { is: "vector", vector };
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
