import type { Expression, Node, Property, SpreadElement } from "acorn";
import { CodeScope } from "./known.ts";
import type { FunctionNode } from "./module-text.ts";
import { refuse } from "./refusal.ts";

/** Steps that a static check may take. */
const MOST_STEPS = 20_000;

/** A function of the text, as a value. */
export class OwnFunction {
  readonly node: FunctionNode;
  readonly scope: StaticScope;

  constructor(node: FunctionNode, scope: StaticScope) {
    this.node = node;
    this.scope = scope;
  }
}

/** Functions of the language that checks may call: they take plain values, call nothing and keep nothing. */
const FUNCTIONS: Readonly<Record<string, (...all: never[]) => unknown>> = {
  "Array.isArray": Array.isArray,
  "Math.abs": Math.abs,
  "Math.floor": Math.floor,
  "Math.max": Math.max,
  "Math.min": Math.min,
  "Number.isFinite": Number.isFinite,
  "Number.isInteger": Number.isInteger,
  "Number.isNaN": Number.isNaN,
};
const CONSTANTS: Readonly<Record<string, unknown>> = {
  undefined: undefined,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
};
/** Operators between numbers. */
const OPERATORS: Readonly<Record<string, (a: number, b: number) => unknown>> = {
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
};
/** Methods of texts and lists, likewise. */
const METHODS = new Set(["includes", "indexOf", "startsWith", "endsWith"]);

/** Names of a block, and their values. */
export class StaticScope extends CodeScope<{ readonly value: unknown }> {}

/** Values of expressions, as a static check has them: plain data, and functions of the text. */
export abstract class StaticValues {
  #left = MOST_STEPS;

  /** Number of steps that it has taken. */
  get steps(): number {
    return MOST_STEPS - Math.max(0, this.#left);
  }

  protected abstract called(called: OwnFunction, args: readonly unknown[]): unknown;

  protected value(node: Expression, names: StaticScope): unknown {
    this.step(node);
    switch (node.type) {
      case "Literal":
        return node.regex || node.bigint ? refuse(node, "this literal is not compiled") : node.value;
      case "Identifier": {
        const own = names.find(node.name);
        if (own === undefined && !Object.hasOwn(CONSTANTS, node.name))
          return refuse(node, `"${node.name}" is not known to a static check that is compiled`);
        const value = own === undefined ? CONSTANTS[node.name] : own.value;
        if (value instanceof Error) throw value;
        return value;
      }
      case "TemplateLiteral":
        return node.quasis
          .map(({ value }, i) => {
            const inner = node.expressions[i];
            this.step(node, value.raw.length);
            return `${value.cooked}${inner ? this.#text(inner, names) : ""}`;
          })
          .join("");
      case "ArrayExpression":
        return node.elements.flatMap(element => {
          if (element === null) return refuse(node, "a list with holes is not compiled");
          if (element.type !== "SpreadElement") return [this.value(element, names)];
          const list = this.value(element.argument, names);
          if (!Array.isArray(list)) return refuse(element, "only lists are spread where it is compiled");
          this.step(element, list.length);
          return list;
        });
      case "ObjectExpression":
        return Object.fromEntries(node.properties.map(property => this.#entry(property, names)));
      case "ArrowFunctionExpression":
      case "FunctionExpression":
        return new OwnFunction(node, names);
      case "ChainExpression":
        return this.value(node.expression, names);
      case "MemberExpression": {
        if (node.object.type === "Super") return refuse(node, "super is not compiled");
        const object = this.value(node.object, names);
        if (node.optional && (object === undefined || object === null)) return undefined;
        const name = node.computed
          ? this.value(node.property as Expression, names)
          : (node.property as { name: string }).name;
        return this.memberOf(object, name, node);
      }
      case "UnaryExpression": {
        const value = this.value(node.argument, names);
        if (node.operator === "!") return !value;
        if (node.operator === "void") return undefined;
        if (node.operator === "typeof") return value instanceof OwnFunction ? "function" : typeof value;
        return node.operator === "-" && typeof value === "number"
          ? -value
          : refuse(node, `the operator ${node.operator} of a static check is not compiled`);
      }
      case "BinaryExpression": {
        const a = this.value(node.left as Expression, names);
        const b = this.value(node.right, names);
        if (typeof a === "string" && typeof b === "string") this.step(node, a.length);
        if (node.operator === "===") return a === b;
        if (node.operator === "!==") return a !== b;
        const operator = OPERATORS[node.operator];
        return operator !== undefined && typeof a === "number" && typeof b === "number"
          ? operator(a, b)
          : refuse(node, `the operator ${node.operator} of a static check is not compiled with these`);
      }
      case "LogicalExpression": {
        const left = this.value(node.left, names);
        if (node.operator === "&&") return left && this.value(node.right, names);
        return node.operator === "||"
          ? left || this.value(node.right, names)
          : (left ?? this.value(node.right, names));
      }
      case "ConditionalExpression":
        return this.value(this.value(node.test, names) ? node.consequent : node.alternate, names);
      case "CallExpression":
        return this.#call(node, names);
      default:
        return refuse(node, `of a static check, this is not compiled: ${node.type}`);
    }
  }

  #entry(property: Property | SpreadElement, names: StaticScope): readonly [string, unknown] {
    const isPlain = property.type === "Property" && property.kind === "init" && !property.computed;
    if (!isPlain || property.key.type !== "Identifier" || property.key.name === "__proto__")
      return refuse(property, "this part of an object is not compiled in a static check");
    return [property.key.name, this.value(property.value, names)];
  }

  #call(node: Extract<Expression, { type: "CallExpression" }>, names: StaticScope): unknown {
    const { callee } = node;
    const args = node.arguments.map(arg =>
      arg.type === "SpreadElement" ? refuse(arg, "this spread is not compiled") : this.value(arg, names),
    );
    if (callee.type === "Identifier") {
      const called = this.value(callee, names);
      return called instanceof OwnFunction
        ? this.called(called, args)
        : refuse(node, `"${callee.name}" is not called in a static check that is compiled`);
    }
    if (callee.type !== "MemberExpression" || callee.computed || callee.property.type !== "Identifier")
      return refuse(node, "this call in a static check is not compiled");
    const { object, property } = callee;
    const { name } = property;
    if (object.type === "Identifier" && names.find(object.name) === undefined) {
      const path = `${object.name}.${name}`;
      const known = Object.hasOwn(FUNCTIONS, path) ? FUNCTIONS[path] : undefined;
      const isOdd = path.startsWith("Math.") && args.some(arg => typeof arg !== "number");
      if (known === undefined || isOdd)
        return refuse(node, `${path} is not called in a static check that is compiled`);
      return (known as (...all: unknown[]) => unknown)(...args);
    }
    const target = object.type === "Super" ? undefined : this.value(object, names);
    if (callee.optional && (target === undefined || target === null)) return undefined;
    if (name === "map" && Array.isArray(target) && args[0] instanceof OwnFunction) {
      const [each] = args;
      this.step(node, target.length);
      return target.map((item, i) => this.called(each, [item, i]));
    }
    const isText = typeof target === "string" && typeof args[0] === "string";
    const isList = Array.isArray(target) && (name === "includes" || name === "indexOf");
    if (!METHODS.has(name) || (!isText && !isList))
      return refuse(node, `this call of ${name} in a static check is not compiled`);
    // A list's texts may each be as long as the one that is looked for.
    const [wanted] = args;
    this.step(node, target.length * (isList && typeof wanted === "string" ? 1 + wanted.length : 1));
    const method = (target as unknown as Record<string, (...all: unknown[]) => unknown>)[name];
    return method?.apply(target, args);
  }

  /** A member of plain data: nothing that it has from its prototype but a length. */
  protected memberOf(object: unknown, name: unknown, node: Node): unknown {
    if (object === undefined || object === null)
      return refuse(node, "a static check reads a member of nothing");
    const isSized = typeof object === "string" || Array.isArray(object);
    if (name === "length" && isSized) return object.length;
    if (typeof object !== "object" || object instanceof OwnFunction)
      return refuse(node, "this member in a static check is not compiled");
    if (typeof name !== "string" && typeof name !== "number")
      return refuse(node, "this member in a static check is not compiled");
    if (Object.hasOwn(object, name)) return (object as Record<string | number, unknown>)[name];
    return name in Object.prototype || name in Array.prototype
      ? refuse(node, "this member in a static check is not compiled")
      : undefined;
  }

  #text(node: Expression, names: StaticScope): string {
    const value = this.value(node, names);
    const isPlain = ["string", "number", "boolean", "undefined"].includes(typeof value) || value === null;
    if (typeof value === "string") this.step(node, value.length);
    return isPlain ? `${value}` : refuse(node, "this text of a static check is not compiled");
  }

  /** Counts steps: for a text or a list that is gone through, one for each of its parts. */
  protected step(node: Node, steps = 1): void {
    this.#left -= steps;
    if (this.#left < 0) refuse(node, "a static check that takes so long is not compiled");
  }
}
