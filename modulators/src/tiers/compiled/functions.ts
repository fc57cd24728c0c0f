import type {
  ArrayPattern,
  AssignmentPattern,
  BlockStatement,
  Expression,
  Node,
  Pattern,
  Statement,
} from "acorn";
import type { AssignedNames } from "./assigned-names.ts";
import { CallChecker } from "./calls.ts";
import { type Code, type CodeLabel, type CodeLocal, get, many, set } from "./code.ts";
import { firstOf } from "./containers.ts";
import { effectsOf } from "./expressions.ts";
import { isNothing, isThere } from "./facts.ts";
import {
  type Binding,
  booleanOf,
  CodeScope,
  type KnownValue,
  kept,
  keptMaybe,
  nothing,
  wide,
} from "./known.ts";
import { type CheckedParts, type CodePlace, nameOf } from "./members.ts";
import type { FunctionNode } from "./module-text.ts";
import { refuse } from "./refusal.ts";
import { ReturnedValue } from "./returns.ts";

/** The function that a statement stands in, as far as statements need it. */
export interface FunctionPlace extends CodePlace {
  /** Code that returns this value; undefined for none. */
  readonly returned: (value: Expression | undefined, place: FunctionPlace, node: Node) => Code[];
  readonly breaks: CodeLabel | undefined;
  readonly continues: CodeLabel | undefined;
}

/** Statements as code, and whether what stands behind them is never reached. */
export interface CodeBlock {
  readonly code: Code[];
  readonly ends: boolean;
}

/** The text's own functions, which are written out wherever they are called, and the names of their parameters and variables. */
export abstract class FunctionChecker extends CallChecker {
  protected readonly methodScope: CodeScope;
  protected readonly active: FunctionNode[] = [];
  /** Names that are assigned to anywhere in the text. Others are constants, however they are declared. */
  protected readonly assigned: AssignedNames;

  constructor(parts: CheckedParts, scope: CodeScope, assigned: AssignedNames) {
    super(parts);
    this.methodScope = scope;
    this.assigned = assigned;
  }

  protected abstract statements(
    nodes: readonly (Statement | BlockStatement)[],
    place: FunctionPlace,
  ): CodeBlock;

  protected placeOf(
    scope: CodeScope,
    hasThis: boolean,
    loops: number,
    returned: FunctionPlace["returned"],
  ): FunctionPlace {
    return { scope, hasThis, loops, returned, breaks: undefined, continues: undefined };
  }

  protected inline(
    called: Extract<KnownValue, { is: "function" }>,
    args: readonly KnownValue[],
    place: CodePlace,
    at: Node,
  ): KnownValue {
    const { node } = called;
    if (this.active.includes(node)) return refuse(at, "a function that calls itself is not compiled");
    const entered = this.enter(node, args, called.scope);
    this.active.push(node);
    const result = this.#inlined(called, entered, place);
    this.active.pop();
    return result;
  }

  #inlined(
    { node, hasThis }: Extract<KnownValue, { is: "function" }>,
    { code, scope }: { readonly code: readonly Code[]; readonly scope: CodeScope },
    { loops }: CodePlace,
  ): KnownValue {
    const { body } = node;
    if (body.type !== "BlockStatement") {
      const value = behind(code, this.value(body, { scope, hasThis, loops }));
      return (
        value ??
        refuse(
          body,
          "arguments that have to be computed for a function that returns no number are not compiled",
        )
      );
    }
    const last = body.body.at(-1);
    if (last?.type === "ReturnStatement" && last.argument && returnsOf(body) === 1) {
      const inner = this.placeOf(scope, hasThis, loops, (_, __, at) => refuse(at, "a second return"));
      const before = this.statements(body.body.slice(0, -1), inner).code;
      return (
        behind([...code, ...before], this.value(last.argument, inner)) ??
        refuse(last, "what this function returns is compiled where nothing is computed before it")
      );
    }
    const label: CodeLabel = { name: "returned" };
    const result = new ReturnedValue();
    let hasPassed = false;
    const returned: FunctionPlace["returned"] = (expression, inside, at) => {
      if (expression?.type === "ConditionalExpression")
        return this.oneOf(expression, inside, one => this.inRegion(() => returned(one, inside, at)));
      const value = expression === undefined ? nothing("undefined") : this.value(expression, inside);
      hasPassed ||= this.passed;
      return [...result.take(value, at), { is: "br", label }];
    };
    const inside = this.placeOf(scope, hasThis, loops, returned);
    const block = this.inRegion(() => this.statements(body.body, inside));
    this.passed = hasPassed || (!block.ends && this.passed);
    return result.behind([...code, { is: "block", label, body: block.code }], block.ends, node);
  }

  /** Gives the parameters their values. */
  protected enter(
    node: FunctionNode,
    args: readonly KnownValue[],
    outer: CodeScope,
  ): { code: Code[]; scope: CodeScope } {
    if (node.async || node.generator) return refuse(node, "async functions and generators are not compiled");
    const own = new CodeScope(outer);
    if (node.type !== "ArrowFunctionExpression")
      own.set("arguments", { is: "refused", why: "`arguments` is not compiled" });
    if (node.id && node.type === "FunctionExpression")
      own.set(node.id.name, { is: "refused", why: "a function that calls itself is not compiled" });
    const scope = new CodeScope(own);
    for (const parameter of node.params)
      for (const name of namesOf(parameter)) scope.set(name, { is: "unready" });
    // What defaults and patterns run comes behind all arguments.
    const isPlain = node.params.every(({ type }) => type === "Identifier");
    const { code, values } = isPlain ? { code: [], values: args } : this.#allUnchanging(args, node);
    for (const [i, parameter] of node.params.entries()) {
      const arg = values[i];
      if (parameter.type === "AssignmentPattern") {
        const given = arg ?? nothing("undefined");
        code.push(...this.#bindOr(parameter, given, scope, false));
        continue;
      }
      if (parameter.type === "RestElement") refuse(parameter, "rest parameters are not compiled");
      if (arg === undefined && parameter.type !== "Identifier")
        refuse(parameter, "an argument is missing here");
      code.push(...this.bind(parameter, arg ?? nothing("undefined"), scope, false));
    }
    for (const extra of values.slice(node.params.length)) code.push(...effectsOf(extra));
    // Defaults do not see the names of the body.
    return { code, scope: isPlain ? scope : new CodeScope(scope) };
  }

  #allUnchanging(values: readonly KnownValue[], node: Node): { code: Code[]; values: readonly KnownValue[] } {
    const all = values.map(value => this.#unchanging(value, node));
    return { code: all.flatMap(({ code }) => code), values: all.map(({ value }) => value) };
  }

  // ---- names

  /** Gives a name, or the names of a pattern, their values. */
  protected bind(
    pattern: Pattern | Expression,
    value: KnownValue,
    scope: CodeScope,
    isConst: boolean,
  ): Code[] {
    this.parts.looks.take(pattern);
    if (pattern.type === "Identifier") {
      const { name } = pattern;
      const { code, binding } = this.#binding(value, isConst || !this.assigned.has(name), pattern);
      scope.set(name, binding);
      return code;
    }
    if (pattern.type !== "ObjectPattern") return refuse(pattern, "this pattern is not compiled");
    const isMade = value.is === "event" || value.is === "object";
    const code: Code[] = isMade ? [...value.effects] : [];
    const from: KnownValue = isMade ? { ...value, effects: [] } : value;
    for (const property of pattern.properties) {
      if (property.type !== "Property" || property.computed || property.key.type !== "Identifier")
        return refuse(property, "this pattern is not compiled");
      const member = this.memberOf(from, property.key.name, property);
      code.push(
        ...(property.value.type === "AssignmentPattern"
          ? this.#bindOr(property.value, member, scope, isConst)
          : this.bind(property.value, member, scope, isConst)),
      );
    }
    return code;
  }

  /** Gives a pattern its value, or its default where that is undefined. */
  #bindOr({ left, right }: AssignmentPattern, value: KnownValue, scope: CodeScope, isConst: boolean): Code[] {
    if (value.is !== "nothing" && !isThere(value) && !isNothing(value))
      return refuse(right, "whether this default is needed is not known");
    const isMissing = value.is === "nothing" && value.name === "undefined";
    const before = isMissing ? value.effects : [];
    const given = isMissing ? this.value(right, { scope, hasThis: false, loops: 1 }) : value;
    return [...before, ...this.bind(left, given, scope, isConst)];
  }

  /** Gives the names of a pattern of a list the items of one. The list itself is not made. */
  protected bindItems(pattern: ArrayPattern, init: Expression, place: CodePlace, isConst: boolean): Code[] {
    const all = this.#itemsIn(init, place);
    const [only] = all;
    if (pattern.elements.length !== 1 && (only?.is === "entry" || only?.is === "kept"))
      return refuse(
        pattern,
        "of a list or map of events, only the first one is taken out where it is compiled",
      );
    const isPlain = pattern.elements.every(element => element?.type === "Identifier");
    const { code, values: items } = isPlain ? { code: [], values: all } : this.#allUnchanging(all, init);
    for (const [i, element] of pattern.elements.entries()) {
      const item = items[i] ?? nothing("undefined");
      if (element === null) code.push(...effectsOf(item));
      else if (element.type === "AssignmentPattern")
        code.push(...this.#bindOr(element, item, place.scope, isConst));
      else code.push(...this.bind(element, item, place.scope, isConst));
    }
    for (const extra of items.slice(pattern.elements.length)) code.push(...effectsOf(extra));
    return code;
  }

  #itemsIn(node: Expression, place: CodePlace): readonly KnownValue[] {
    if (node.type === "ArrayExpression")
      return node.elements.map(element =>
        element === null || element.type === "SpreadElement"
          ? refuse(element ?? node, "this list is not compiled where it is taken apart")
          : this.value(element, place),
      );
    if (node.type === "LogicalExpression" && node.operator === "??") {
      const left = this.value(node.left, place);
      return this.#itemsIn(isNothing(left) ? node.right : node.left, place);
    }
    const value = this.value(node, place);
    if (value.is === "list") return value.items;
    if (value.is === "container" && (value.kind === "list" || value.kind === "map")) return [firstOf(value)];
    return value.is === "data"
      ? this.itemsOf(value, node)
      : refuse(node, `${nameOf(value)} is not taken apart as a list where it is compiled`);
  }

  #binding(value: KnownValue, isConstant: boolean, node: Node): { code: Code[]; binding: Binding } {
    if (isConstant) {
      const { code, value: constant } = this.#unchanging(value, node);
      return { code, binding: { is: "constant", value: constant } };
    }
    if (value.is !== "number" && value.is !== "boolean")
      return refuse(node, `a variable that is ${nameOf(value)} at first is not compiled`);
    const local: CodeLocal = { type: value.is === "number" ? "f64" : "i32" };
    const maybe = value.is === "number" && value.maybe;
    const code = set(local, value.is === "number" ? wide(value) : value.code);
    return { code: [code], binding: { is: "variable", local, type: value.is, maybe } };
  }

  /** The value as it is after this code, whatever is run behind that. */
  #unchanging(value: KnownValue, node: Node): { code: Code[]; value: KnownValue } {
    if (value.is === "number" || value.is === "boolean") {
      if (value.code.is === "i32" || value.code.is === "f64") return { code: [], value };
      if (value.is === "number" && value.found !== undefined) {
        const { code, read } = keptMaybe(value.found);
        return { code, value: read };
      }
      const { local, read } =
        value.is === "number" ? kept(value) : { local: { type: "i32" as const }, read: value };
      return { code: [set(local, value.code)], value: value.is === "number" ? read : booleanOf(get(local)) };
    }
    // It is encoded when it is marked, whatever becomes of it.
    if (value.is === "object" && value.urgent)
      return refuse(node, "an object that is marked is compiled where it goes out");
    return "effects" in value
      ? { code: [...value.effects], value: { ...value, effects: [] } }
      : { code: [], value };
  }
}

const returns = new WeakMap<object, number>();

/** Number of returns in a function's body, which may be called again and again. */
function returnsOf(body: object): number {
  const known = returns.get(body) ?? returnsIn(body);
  returns.set(body, known);
  return known;
}

/** Number of returns, but for those of functions in it. */
function returnsIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + returnsIn(one), 0);
  if (typeof value !== "object" || value === null || !("type" in value)) return 0;
  const { type } = value as Node;
  if (type === "ReturnStatement") return 1;
  return /Function/.test(type) ? 0 : returnsIn(Object.values(value));
}

/** A value behind code that has to be run before it; undefined where it has no code of its own. */
function behind(code: readonly Code[], value: KnownValue): KnownValue | undefined {
  if (code.length === 0) return value;
  if (value.is === "number") {
    const found = value.found && { ...value.found, test: many(...code, value.found.test) };
    return { ...value, code: many(...code, value.code), found };
  }
  if (value.is === "boolean") return booleanOf(many(...code, value.code));
  return "effects" in value ? { ...value, effects: [...code, ...value.effects] } : undefined;
}

/** The names that a pattern declares. */
export function namesOf(pattern: Pattern): string[] {
  switch (pattern.type) {
    case "Identifier":
      return [pattern.name];
    case "ObjectPattern":
      return pattern.properties.flatMap(property =>
        namesOf(property.type === "RestElement" ? property.argument : property.value),
      );
    case "ArrayPattern":
      return pattern.elements.flatMap(element => (element === null ? [] : namesOf(element)));
    case "AssignmentPattern":
      return namesOf(pattern.left);
    case "RestElement":
      return namesOf(pattern.argument);
    default:
      return [];
  }
}
