import type {
  AssignmentExpression,
  BinaryExpression,
  CallExpression,
  ConditionalExpression,
  Expression,
  LogicalExpression,
  NewExpression,
  Node,
  UnaryExpression,
  UpdateExpression,
} from "acorn";
import { type Code, type CodeLocal, f64, get, i32, many, op, set } from "./code.ts";
import { newestIn } from "./containers.ts";
import { foldedTest, isNothing, isRead, isThere, typeOf } from "./facts.ts";
import {
  booleanOf,
  constantOf,
  intOf,
  type KnownNumber,
  type KnownValue,
  kept,
  maybeOf,
  NUMBER_ARRAYS,
  nothing,
  numberOf,
  wide,
} from "./known.ts";
import { type CodePlace, nameOf } from "./members.ts";
import { arithmetic, compared, negated, truthOf } from "./numbers.ts";
import { ObjectChecker } from "./objects.ts";
import { refuse } from "./refusal.ts";
import { EQUAL_LOOKS, equalTexts, textTruth } from "./texts.ts";

/** Finds out the values of expressions, and the code that makes them. What it does not know it refuses. */
export abstract class ExpressionChecker extends ObjectChecker {
  /** Whether the event may have been let through at this point. */
  protected passed = false;
  /** Whether an event has come in, which is answered for: in a period none has. */
  protected isForEvent = true;

  protected abstract call(node: CallExpression, place: CodePlace): KnownValue;

  protected abstract made(node: NewExpression, place: CodePlace): KnownValue;

  /** @param isUsed whether anybody asks for the expression's value */
  protected abstract assignment(node: AssignmentExpression, place: CodePlace, isUsed: boolean): KnownValue;

  protected abstract update(node: UpdateExpression, place: CodePlace): KnownValue;

  value(node: Expression, place: CodePlace): KnownValue {
    this.parts.looks.take(node);
    switch (node.type) {
      case "Literal":
        if (typeof node.value === "number") return constantOf(node.value);
        if (typeof node.value === "boolean") return booleanOf(i32(node.value ? 1 : 0));
        if (node.value === null && node.raw === "null") return nothing("null");
        return typeof node.value === "string"
          ? this.written(node.value, node)
          : refuse(node, "this literal is not compiled");
      case "TemplateLiteral": {
        const [only, ...more] = node.quasis;
        if (more.length > 0) return refuse(node, "a text that is put together is not compiled");
        return this.written(only?.value.cooked ?? "", node);
      }
      case "ArrayExpression":
        return { is: "list", items: node.elements.flatMap(element => this.items(element, node, place)) };
      case "ObjectExpression":
        return this.object(node, place);
      case "Identifier":
        return this.named(node.name, node, place);
      case "ThisExpression":
        return place.hasThis ? { is: "this" } : refuse(node, "`this` is not the modulator here");
      case "MemberExpression":
        return this.member(node, place);
      case "ChainExpression":
        return this.value(node.expression, place);
      case "UnaryExpression":
        return this.#unary(node, place);
      case "BinaryExpression":
        return this.#binary(node, place);
      case "LogicalExpression":
        return this.#logical(node, place);
      case "ConditionalExpression":
        return this.#conditional(node, place);
      case "AssignmentExpression":
        return this.assignment(node, place, true);
      case "UpdateExpression":
        return this.update(node, place);
      case "CallExpression":
        return this.call(node, place);
      case "NewExpression":
        return this.made(node, place);
      case "ArrowFunctionExpression":
      case "FunctionExpression":
        return {
          is: "function",
          node,
          scope: place.scope,
          hasThis: node.type === "ArrowFunctionExpression" && place.hasThis,
        };
      default:
        return refuse(node, `${describe(node)} is not compiled`);
    }
  }

  /** A number, as operators take it: of undefined they make NaN, of booleans 0 and 1. */
  number(node: Expression, place: CodePlace): KnownNumber {
    return this.asNumber(this.value(node, place), node);
  }

  protected asNumber(value: KnownValue, node: Node): KnownNumber {
    if (value.is === "number") return value;
    if (value.is === "boolean") return intOf(value.code, { lo: 0, hi: 1 });
    return refuse(node, `a number is wanted here, and this is ${nameOf(value)}`);
  }

  /** Whether the expression's value counts as true, as i32. */
  test(node: Expression, place: CodePlace): Code {
    if (node.type === "UnaryExpression" && node.operator === "!") {
      const test = this.test(node.argument, place);
      const folded = foldedTest(test);
      return folded === undefined ? op("i32.eqz", test) : i32(folded ? 0 : 1);
    }
    if (node.type === "LogicalExpression" && node.operator !== "??") {
      const left = this.test(node.left, place);
      const folded = foldedTest(left);
      if (folded !== undefined)
        return folded === (node.operator === "&&") ? this.test(node.right, place) : left;
      const right = this.inRegion(() => this.test(node.right, place));
      return node.operator === "&&"
        ? { is: "if", test: left, yes: [right], no: [i32(0)], type: "i32" }
        : { is: "if", test: left, yes: [i32(1)], no: [right], type: "i32" };
    }
    return this.truth(this.value(node, place), node);
  }

  protected truth(value: KnownValue, node: Node): Code {
    switch (value.is) {
      case "boolean":
        return value.code;
      case "number":
        return truthOf(value);
      case "nothing":
        return value.effects.length === 0 ? i32(0) : many(...value.effects, i32(0));
      case "data":
        return i32(value.shape.is === "null" ? 0 : 1);
      case "text":
        return textTruth(value.text);
      case "reference":
      case "object":
      case "kept":
      case "entry":
        return truthOfMaybe(value);
      case "event":
      case "plain":
      case "vector":
        return many(...value.effects, i32(1));
      default:
        return refuse(node, `whether ${nameOf(value)} counts as true is not compiled`);
    }
  }

  /** The code of an expression for its effects alone. */
  effects(node: Expression, place: CodePlace): Code[] {
    if (node.type === "LogicalExpression" && node.operator !== "??") {
      const test = this.test(node.left, place);
      const folded = foldedTest(test);
      if (folded !== undefined)
        return folded === (node.operator === "&&") ? this.effects(node.right, place) : [];
      const right = this.inRegion(() => this.effects(node.right, place));
      return [
        node.operator === "&&"
          ? { is: "if", test, yes: right, no: [] }
          : { is: "if", test, yes: [], no: right },
      ];
    }
    if (node.type === "AssignmentExpression") return effectsOf(this.assignment(node, place, false));
    if (node.type === "SequenceExpression") return node.expressions.flatMap(one => this.effects(one, place));
    const value = this.value(node, place);
    return value.is === "object" && value.urgent
      ? refuse(node, "an object that is marked is compiled where it goes out")
      : effectsOf(value);
  }

  /** Code that does the one or the other, as a conditional expression says. */
  protected oneOf(
    { test: condition, consequent, alternate }: ConditionalExpression,
    place: CodePlace,
    act: (one: Expression) => Code[],
  ): Code[] {
    const test = this.test(condition, place);
    const folded = foldedTest(test);
    if (folded !== undefined) return act(folded ? consequent : alternate);
    const yes = this.inRegion(() => act(consequent));
    return [{ is: "if", test, yes, no: this.inRegion(() => act(alternate)) }];
  }

  // ---- operators

  #unary({ operator, argument }: UnaryExpression, place: CodePlace): KnownValue {
    switch (operator) {
      case "!":
        return booleanOf(op("i32.eqz", this.test(argument, place)));
      case "-":
        return negated(this.number(argument, place));
      case "+": {
        const value = this.number(argument, place);
        return { ...value, maybe: false, found: undefined };
      }
      case "~": {
        const value = this.number(argument, place);
        return arithmetic("^", value, constantOf(-1)) as KnownValue;
      }
      case "typeof":
        return this.#typeof(argument, place);
      case "void":
        return nothing("undefined", this.effects(argument, place));
      default:
        return refuse(argument, `the operator ${operator} is not compiled`);
    }
  }

  /** The kind of a value that is only read, as a text. */
  #typeof(node: Expression, place: CodePlace): KnownValue {
    const value = isRead(node) ? this.value(node, place) : undefined;
    const kind = value && typeOf(value);
    return kind === undefined
      ? refuse(node, "typeof is compiled where it tells nothing that is only known as it runs")
      : this.written(kind, node);
  }

  #binary(node: BinaryExpression, place: CodePlace): KnownValue {
    const { operator, left, right } = node;
    if (left.type === "PrivateIdentifier") return refuse(node, "this operator is not compiled");
    const [a, b] = [this.value(left, place), this.value(right, place)];
    if (operator === "instanceof") return this.#instance(a, b, node);
    const isEquality = ["==", "===", "!=", "!=="].includes(operator);
    if (isEquality && !(a.is === "number" && b.is === "number")) return this.#equality(node, a, b);
    const [all, y] = [this.asNumber(a, left), this.asNumber(b, right)];
    const x = isEquality && y.maybe ? this.sure(all, left) : all;
    if (isEquality && x.maybe && y.maybe)
      return refuse(node, "both sides may be undefined, and be equal yes: this is not compiled");
    return (
      compared(operator, x, y) ??
      arithmetic(operator, x, y) ??
      refuse(node, `the operator ${operator} is not compiled`)
    );
  }

  #equality(node: BinaryExpression, a: KnownValue, b: KnownValue): KnownValue {
    const isNot = node.operator.startsWith("!");
    if (a.is === "boolean" && b.is === "boolean")
      return booleanOf(op(isNot ? "i32.ne" : "i32.eq", a.code, b.code));
    if (a.is === "text" && b.is === "text") {
      this.parts.looks.take(node, EQUAL_LOOKS);
      const code = equalTexts(a.text, b.text);
      if (code === undefined)
        return refuse(node, "two texts of the event are not compared where it is compiled");
      return booleanOf(isNot ? op("i32.eqz", code) : code);
    }
    const [value, none] = a.is === "nothing" ? [b, a] : [a, b];
    const isWritten = none.is === "nothing" && none.effects.length === 0;
    if (isWritten && value.is === "nothing" && value.effects.length === 0) {
      const isLoose = node.operator.length === 2;
      return booleanOf(i32((isLoose || value.name === none.name) !== isNot ? 1 : 0));
    }
    if (isWritten && value.is === "data" && value.shape.is !== "null") return booleanOf(i32(isNot ? 1 : 0));
    const same = isWritten
      ? this.#isUndefined(value, none.name === "undefined" || node.operator.length === 2)
      : this.#isSame(a, b);
    if (same !== undefined) return booleanOf(isNot ? op("i32.eqz", same) : same);
    if (isWritten && value.is === "text") return booleanOf(i32(isNot ? 1 : 0));
    if (isWritten && ((value.is === "number" && !value.maybe) || value.is === "boolean"))
      return booleanOf(many({ is: "drop", value: value.code }, i32(isNot ? 1 : 0)));
    return refuse(node, `whether ${nameOf(a)} equals ${nameOf(b)} is not compiled`);
  }

  /** Whether what may be undefined is; undefined for other values. */
  #isUndefined(value: KnownValue, isAsked: boolean): Code | undefined {
    if (value.is === "number" && value.found !== undefined) {
      const { test } = value.found;
      return isAsked ? op("i32.eqz", test) : many({ is: "drop", value: test }, i32(0));
    }
    const isMaybe = value.is === "reference" || value.is === "kept" || value.is === "entry";
    if (!isMaybe && (value.is !== "object" || value.present === undefined)) return undefined;
    return isAsked ? op("i32.eqz", truthOfMaybe(value)) : many(...value.effects, i32(0));
  }

  /** Whether a field holds this very part of the data; undefined for other values. */
  #isSame(a: KnownValue, b: KnownValue): Code | undefined {
    const [field, data] = a.is === "reference" ? [a, b] : [b, a];
    if (field.is !== "reference" || data.is !== "data") return undefined;
    const isSame = op("f64.eq", get(field.version), this.parts.data.version(data.path));
    return many(...field.effects, field.path === data.path ? isSame : i32(0));
  }

  /** `vector instanceof Float32Array` */
  #instance(a: KnownValue, b: KnownValue, node: Node): KnownValue {
    const isKnown = a.is === "vector" && a.effects.length === 0 && a.vector.array !== undefined;
    return isKnown && b.is === "builtin" && Object.hasOwn(NUMBER_ARRAYS, b.name)
      ? booleanOf(i32(a.vector.array === b.name ? 1 : 0))
      : refuse(node, "instanceof is compiled where it asks which typed array a vector is");
  }

  #logical(node: LogicalExpression, place: CodePlace): KnownValue {
    const left = this.value(node.left, place);
    if (node.operator === "??") {
      if (isNothing(left)) return this.value(node.right, place);
      if (isThere(left)) return left;
    }
    const folded = node.operator === "??" ? undefined : foldedTest(this.truth(left, node.left));
    if (folded !== undefined)
      return folded === (node.operator === "&&") ? this.value(node.right, place) : left;
    const right = this.inRegion(() => this.value(node.right, place));
    if (node.operator === "??" && left.is === "kept") {
      const other = right.is === "event" ? newestIn(right) : right;
      if (!("ref" in other) || (right.is !== "kept" && right.is !== "event"))
        return refuse(node.right, `an event, or ${nameOf(right)}: this is not compiled as a value`);
      const ref: CodeLocal = { type: "ref" };
      const instead: Code = {
        is: "if",
        test: op("ref.is_null", get(ref)),
        yes: [...other.effects, set(ref, get(other.ref))],
        no: [],
      };
      return { is: "kept", ref, effects: [...left.effects, set(ref, get(left.ref)), instead] };
    }
    if (node.operator === "??" && left.is === "number" && right.is === "number") {
      // Of an element it is known whether it is there; a field's undefined is NaN here, as its NaN is.
      if (left.found === undefined)
        return refuse(node, "?? is compiled behind an element of a vector, or a number of a map");
      const { test, value } = left.found;
      const code: Code = { is: "if", test, yes: [wide(value)], no: [wide(right)], type: "f64" };
      return right.maybe ? maybeOf(code) : numberOf(code);
    }
    if (left.is === "boolean" && right.is === "boolean" && node.operator !== "??") {
      const [then, other] = node.operator === "&&" ? [right.code, i32(0)] : [i32(1), right.code];
      return booleanOf({ is: "if", test: left.code, yes: [then], no: [other], type: "i32" });
    }
    if (left.is === "number" && right.is === "number" && node.operator !== "??") {
      const { local, read } = kept(numberOf(wide(left)));
      const first = many(set(local, wide(left)), truthOf(read));
      const [then, other] = node.operator === "&&" ? [wide(right), get(local)] : [get(local), wide(right)];
      const code: Code = { is: "if", test: first, yes: [then], no: [other], type: "f64" };
      return left.maybe || right.maybe ? maybeOf(code) : numberOf(code);
    }
    return refuse(
      node,
      `${node.operator} between ${nameOf(left)} and ${nameOf(right)} is not compiled as a value`,
    );
  }

  #conditional(node: ConditionalExpression, place: CodePlace): KnownValue {
    const test = this.test(node.test, place);
    const folded = foldedTest(test);
    if (folded !== undefined) return this.value(folded ? node.consequent : node.alternate, place);
    const then = this.inRegion(() => this.value(node.consequent, place));
    const other = this.inRegion(() => this.value(node.alternate, place));
    if (then.is === "boolean" && other.is === "boolean")
      return booleanOf({ is: "if", test, yes: [then.code], no: [other.code], type: "i32" });
    if (then.is !== "number" || other.is !== "number")
      return refuse(node, `either ${nameOf(then)} or ${nameOf(other)}: this is not compiled as a value`);
    if (then.int !== undefined && other.int !== undefined) {
      const range = { lo: Math.min(then.int.lo, other.int.lo), hi: Math.max(then.int.hi, other.int.hi) };
      return intOf({ is: "if", test, yes: [then.code], no: [other.code], type: "i32" }, range);
    }
    const code: Code = { is: "if", test, yes: [wide(then)], no: [wide(other)], type: "f64" };
    return then.maybe || other.maybe ? maybeOf(code) : numberOf(code);
  }
}

/** Whether an object or event that may be undefined is there. */
function truthOfMaybe(value: Extract<KnownValue, { is: "reference" | "object" | "kept" | "entry" }>): Code {
  if (value.is === "kept" || value.is === "entry")
    return many(...value.effects, op("i32.eqz", op("ref.is_null", get(value.ref))));
  if (value.is === "reference") return many(...value.effects, op("f64.ge", get(value.version), f64(0)));
  return many(...value.effects, value.present === undefined ? i32(1) : get(value.present));
}

/** The effects of a value that nobody wants. */
export function effectsOf(value: KnownValue): Code[] {
  if (value.is === "number" || value.is === "boolean")
    return ["i32", "f64", "get"].includes(value.code.is) ? [] : [{ is: "drop", value: value.code }];
  return "effects" in value ? [...value.effects] : [];
}

export function describe({ type }: Node): string {
  const words = type.replaceAll(/(?!^)([A-Z])/g, " $1").toLowerCase();
  return `${/^[aeiou]/.test(words) ? "an" : "a"} ${words.replace(" expression", "")}`;
}
