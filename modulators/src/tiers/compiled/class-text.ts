import { JechoError, type Type, type, typeFromSchema } from "@jecho/shared";
import type { Class, Expression, Literal, Node, PropertyDefinition } from "acorn";
import type { FunctionNode, ModuleText, StaticCheckName } from "./module-text.ts";
import { Refusal, refuse } from "./refusal.ts";

/** Names of `FifoModulator` and its parents: a class that has its own is another one. */
const RESERVED = new Set([
  "constructor",
  "dequeue",
  "installed",
  "length",
  "moe",
  "mostPerSecond",
  "objects",
  "parameters",
  "period",
  "periodMs",
  "removed",
]);
/** Statics that are compiled as literals. What "keepsEvents" says changes nothing where no event is kept. */
const LITERAL_STATICS = new Set(["input", "keepsEvents", "output"]);

function isCheck(name: string): name is StaticCheckName {
  return name === "check" || name === "checkInput";
}

/** The members of a class and of its parents, which come before it in the line. @throws Refusal */
export function membersOf(
  line: readonly Class[],
): Pick<ModuleText, "input" | "output" | "enqueue" | "fields" | "methods" | "checks"> {
  const statics = new Map<string, PropertyDefinition>();
  const checks = new Map<StaticCheckName, FunctionNode>();
  let enqueue: FunctionNode | undefined;
  const fields = new Map<string, Expression | undefined>();
  const methods = new Map<string, FunctionNode>();
  for (const { body } of line) {
    const own = new Set<string>();
    for (const member of body.body) {
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
        if (name === "enqueue" || methods.has(name)) refuse(member, `${name} is a method`);
        fields.set(name, member.value ?? undefined);
      } else if (member.kind !== "method") refuse(member, `a ${member.kind} is not compiled`);
      else if (name !== "enqueue") methods.set(name, member.value);
      else if (enqueue === undefined) enqueue = member.value;
      else refuse(member, "enqueue is compiled where no parent but FifoModulator has one, too");
    }
  }
  const [input, output] = ["input" as const, "output" as const].map(name => typeIn(statics.get(name), name));
  const keeps = statics.get("keepsEvents");
  if (keeps !== undefined) literalOf(keeps.value);
  return { input, output, enqueue, fields, methods, checks };
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
