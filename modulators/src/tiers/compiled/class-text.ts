import { JechoError, type Type, type, typeFromSchema } from "@jecho/shared";
import type { Class, Expression, Identifier, Literal, Node, PropertyDefinition } from "acorn";
import type { FunctionNode, ModuleText, StaticCheckName } from "./module-text.ts";
import { Refusal, refuse } from "./refusal.ts";

const INTERCEPTS = ["constructor", "enqueue", "dequeue", "period"] as const;
export type InterceptName = (typeof INTERCEPTS)[number];
/** Members of a modulator that the MOE reads after each call; classes need not declare them. */
export const TIMINGS = ["periodMs", "mostPerSecond"] as const;

export function isTiming(name: string): boolean {
  return (TIMINGS as readonly string[]).includes(name);
}

/** Names of `FifoModulator` and its parents: a class that has its own is another one. */
const RESERVED = new Set(["installed", "length", "moe", "objects", "parameters", "removed"]);
/** Statics that are compiled as literals; those of the timing may be computed of such. */
const LITERAL_STATICS = new Set(["input", "keepsEvents", "needs", "output", ...TIMINGS]);

/** The parts of a module's text that its class has. */
type ClassMembers = Pick<
  ModuleText,
  "input" | "output" | "intercepts" | "fields" | "methods" | "checks" | "needs" | "keepsEvents"
>;

function isIntercept(name: string): name is InterceptName {
  return (INTERCEPTS as readonly string[]).includes(name);
}

function isCheck(name: string): name is StaticCheckName {
  return name === "check" || name === "checkInput";
}

/**
 * The members of a class and of its parents, which come before it in the line.
 *
 * @param declared names beside the class, where they are declared
 * @throws Refusal
 */
export function membersOf(line: readonly Class[], declared: readonly Identifier[]): ClassMembers {
  const statics = new Map<string, PropertyDefinition>();
  const checks = new Map<StaticCheckName, FunctionNode>();
  const intercepts = new Map<InterceptName, FunctionNode>();
  const fields = new Map<string, Expression | undefined>();
  const methods = new Map<string, FunctionNode>();
  for (const of of line) {
    if (intercepts.has("enqueue") && saysSuperEnqueue(of.body))
      refuse(of, "super.enqueue() is compiled where no parent in the text has an enqueue");
    const own = new Set<string>();
    for (const member of of.body.body) {
      if (member.type === "StaticBlock") return refuse(member, "static blocks are not compiled");
      const { key } = member;
      if (member.computed || (key.type !== "Identifier" && key.type !== "PrivateIdentifier"))
        return refuse(member, "members with a computed name are not compiled");
      const name = key.type === "PrivateIdentifier" ? `#${key.name}` : key.name;
      if (member.static) {
        if (member.type === "PropertyDefinition" && LITERAL_STATICS.has(name)) statics.set(name, member);
        else if (member.type === "MethodDefinition" && member.kind === "method" && isCheck(name))
          checks.set(name, member.value);
        else refuse(member, `a class with a static "${name}" is not compiled`);
        continue;
      }
      if (RESERVED.has(name)) refuse(member, `a class with its own "${name}" is not compiled`);
      // A private name means another thing in each class.
      const isTaken = own.has(name) || fields.has(name) || (methods.has(name) && name.startsWith("#"));
      if (isTaken) refuse(member, `"${name}" is there twice`);
      own.add(name);
      if (member.type === "PropertyDefinition") {
        if (isIntercept(name) || methods.has(name)) refuse(member, `${name} is a method`);
        fields.set(name, member.value ?? undefined);
      } else if (member.kind !== "method" && member.kind !== "constructor")
        refuse(member, `a ${member.kind} is not compiled`);
      else if (isTiming(name)) refuse(member, `"${name}" is compiled where it is a number`);
      else if (!isIntercept(name)) methods.set(name, member.value);
      else if (intercepts.has(name) || (name === "constructor" && of !== line.at(-1)))
        refuse(member, `${name} is compiled where no parent in the text has one, too`);
      else intercepts.set(name, member.value);
    }
  }
  const [input, output] = ["input" as const, "output" as const].map(name => typeIn(statics.get(name), name));
  for (const name of TIMINGS) {
    const { value } = statics.get(name) ?? {};
    if (!value) continue;
    if (!isSteady(value, declared))
      refuse(value, `a static "${name}" is compiled where it is computed of numbers and earlier constants`);
    if (!fields.has(name)) fields.set(name, value);
  }
  const { value: keeps } = statics.get("keepsEvents") ?? {};
  const keepsEvents = !keeps || literalOf(keeps) !== false;
  const needs = needsIn(statics.get("needs"));
  return { input, output, intercepts, fields, methods, checks, needs, keepsEvents };
}

function saysSuperEnqueue(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(saysSuperEnqueue);
  if (typeof value !== "object" || value === null || !("type" in value)) return false;
  const node = value as Expression;
  if (node.type === "MemberExpression" && node.object.type === "Super")
    return node.computed || (node.property as { name?: string }).name === "enqueue";
  return Object.values(node).some(saysSuperEnqueue);
}

/** Whether an expression is the same wherever it stands in the class, and needs nothing that is declared behind it. */
function isSteady(node: Expression, declared: readonly Identifier[]): boolean {
  const isOne = (part: Node): boolean => isSteady(part as Expression, declared);
  switch (node.type) {
    case "Literal":
      return true;
    case "Identifier":
      return !declared.some(({ name, start }) => name === node.name && start > node.start);
    case "MemberExpression":
      return !node.computed && isOne(node.object);
    case "UnaryExpression":
      return isOne(node.argument);
    case "BinaryExpression":
    case "LogicalExpression":
      return isOne(node.left) && isOne(node.right);
    case "ConditionalExpression":
      return isOne(node.test) && isOne(node.consequent) && isOne(node.alternate);
    case "CallExpression":
      return (
        node.callee.type === "MemberExpression" &&
        node.callee.object.type === "Identifier" &&
        node.callee.object.name === "Math" &&
        isOne(node.callee) &&
        node.arguments.every(isOne)
      );
    default:
      return false;
  }
}

/** The services that a class needs: those that are compiled. */
function needsIn(member: PropertyDefinition | undefined): readonly string[] {
  const needs = member === undefined ? [] : literalOf(member.value);
  if (!Array.isArray(needs)) return refuse(member as Node, "needs are compiled where they are a list");
  for (const need of needs)
    if (need !== "clock") refuse(member as Node, `the service "${need}" is not compiled`);
  return needs as string[];
}

function typeIn(member: PropertyDefinition | undefined, said: "input" | "output"): Type | undefined {
  return member && typeOf(member, said);
}

/** The type that `static input` or `static output` says. */
export function typeOf(member: PropertyDefinition, said: "input" | "output"): Type {
  const { value } = member;
  try {
    if (value?.type === "NewExpression") {
      const [bytes] = value.arguments;
      if (value.callee.type === "Identifier" && value.callee.name === "Uint8Array" && bytes)
        return typeFromSchema(Uint8Array.from(literalOf(bytes) as number[]));
    }
    const { name, description } = literalOf(value) as {
      name: string;
      description: Parameters<typeof type>[1];
    };
    return type(name, description);
  } catch (error) {
    if (error instanceof JechoError) refuse(member, `its ${said} is no type: ${error.message}`);
    throw error;
  }
}

/** The value of a literal. @throws Refusal where it has to be computed */
function literalOf(node: Node | null | undefined): unknown {
  const found = node as Expression | Literal | null | undefined;
  switch (found?.type) {
    case "Literal":
      if (found.regex === undefined && found.bigint === undefined) return found.value;
      break;
    case "ArrayExpression":
      return found.elements.map(element => literalOf(element));
    case "ObjectExpression": {
      const entries = found.properties.map(property => {
        const isPlain = property.type === "Property" && property.kind === "init" && !property.computed;
        if (!isPlain) refuse(property, "a static is compiled where it is a literal");
        const { key } = property;
        const name = key.type === "Identifier" ? key.name : (key as Literal).value;
        if (name === "__proto__") refuse(property, "a static is compiled where it is a literal");
        return [name, literalOf(property.value)] as const;
      });
      return Object.fromEntries(entries);
    }
  }
  if (found) refuse(found, "a static is compiled where it is a literal");
  throw new Refusal("a static has no value");
}
