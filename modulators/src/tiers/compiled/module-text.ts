import { JechoError, type Type, type, typeFromSchema } from "@jecho/shared";
import {
  type ArrowFunctionExpression,
  type Class,
  type Expression,
  type FunctionDeclaration,
  type FunctionExpression,
  type ImportDeclaration,
  type Literal,
  type Node,
  type Program,
  type PropertyDefinition,
  parse,
  type VariableDeclaration,
} from "acorn";
import { isDerivation } from "../../authoring/modulator-from.ts";
import { Refusal, refuse } from "./refusal.ts";

export type FunctionNode = ArrowFunctionExpression | FunctionExpression | FunctionDeclaration;

/** A modulator's text, read: the parts that the checker looks into. */
export interface ModuleText {
  /** The type that it was written for; undefined where it takes whatever comes. */
  readonly input: Type | undefined;
  /** The type that the class declares for what it makes. */
  readonly output: Type | undefined;
  /** A function of one event, as `modulatorFrom` wraps it; undefined for a class. */
  readonly derive: FunctionNode | undefined;
  /** The class's `enqueue`; undefined where it has that of `FifoModulator`. */
  readonly enqueue: FunctionNode | undefined;
  /** Fields by their names; private ones begin with #. */
  readonly fields: ReadonlyMap<string, Expression>;
  readonly methods: ReadonlyMap<string, FunctionNode>;
  /** Declarations beside the class, in their order. */
  readonly beside: readonly (VariableDeclaration | FunctionDeclaration)[];
  /** The name of the class in its text. */
  readonly className: string | undefined;
  /** Names of what is imported from "jecho:moe", by those that the text has for them. */
  readonly imported: ReadonlyMap<string, string>;
}

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
/** Statics that change nothing where events that came in are not kept. */
const HARMLESS_STATICS = new Set(["keepsEvents"]);

/** Reads the text of a module. @throws Refusal */
export function readModule(source: string): ModuleText {
  const program = parsed(source);
  const isFunction = isDerivation(source);
  const imported = new Map<string, string>();
  const beside: (VariableDeclaration | FunctionDeclaration)[] = [];
  let found: Class | undefined;
  for (const statement of program.body) {
    switch (statement.type) {
      case "ImportDeclaration":
        readImport(statement, imported);
        break;
      case "ExportDefaultDeclaration": {
        const { declaration } = statement;
        if (declaration.type !== "ClassDeclaration" && declaration.type !== "ClassExpression")
          refuse(declaration, "only a class that is written behind `export default` is compiled");
        found = declaration;
        break;
      }
      case "VariableDeclaration":
      case "FunctionDeclaration":
        beside.push(statement);
        break;
      case "EmptyStatement":
        break;
      default:
        refuse(statement, "beside the class, only constants and functions are compiled");
    }
  }
  if (found === undefined) throw new Refusal("it has no default class");
  checkParent(found, imported);
  if (isFunction) {
    const imports = program.body.filter(({ type }) => type === "ImportDeclaration");
    if (imports.length > 1) throw new Refusal("it is a function with more around it");
    return derivation(found, beside, imported);
  }
  if (found.id?.name === "Uint8Array" || imported.has("Uint8Array"))
    refuse(found, "a name of the language that means something else is not compiled");
  const members = membersOf(found);
  const declared = beside.flatMap(node =>
    node.type === "FunctionDeclaration" ? [node.id] : node.declarations.map(({ id }) => id),
  );
  for (const id of declared)
    if (id.type !== "Identifier" || id.name === "Uint8Array") refuse(id, "this declaration is not compiled");
  return { ...members, derive: undefined, beside, className: found.id?.name, imported };
}

function parsed(source: string): Program {
  try {
    return parse(source, { ecmaVersion: 2024, sourceType: "module", locations: true });
  } catch (error) {
    const { line = 0, column = -1 } = (error as { loc?: { line: number; column: number } }).loc ?? {};
    throw new Refusal(`it does not parse: ${(error as Error).message}`, line, column + 1);
  }
}

function readImport(statement: ImportDeclaration, imported: Map<string, string>): void {
  if (statement.source.value !== "jecho:moe")
    refuse(statement, `imports from "${statement.source.value}" are not compiled`);
  for (const specifier of statement.specifiers) {
    if (specifier.type === "ImportDefaultSpecifier") refuse(specifier, '"jecho:moe" has no default export');
    if (specifier.type === "ImportNamespaceSpecifier") imported.set(specifier.local.name, "*");
    else if (specifier.imported.type === "Identifier")
      imported.set(specifier.local.name, specifier.imported.name);
    else refuse(specifier, "imports by a string are not compiled");
  }
}

function checkParent({ superClass }: Class, imported: ReadonlyMap<string, string>): void {
  if (superClass?.type === "Identifier" && imported.get(superClass.name) === "FifoModulator") return;
  const isPart =
    superClass?.type === "MemberExpression" &&
    superClass.object.type === "Identifier" &&
    imported.get(superClass.object.name) === "*" &&
    !superClass.computed &&
    superClass.property.type === "Identifier" &&
    superClass.property.name === "FifoModulator";
  if (!isPart) refuse(superClass ?? ({} as Node), "only classes that extend FifoModulator are compiled");
}

/** The class that `modulatorFrom` writes around a function is known. */
function derivation(
  found: Class,
  beside: readonly (VariableDeclaration | FunctionDeclaration)[],
  imported: ReadonlyMap<string, string>,
): ModuleText {
  const [only, ...more] = beside;
  const made = only?.type === "VariableDeclaration" ? only.declarations[0] : undefined;
  const isOne = more.length === 0 && only?.type === "VariableDeclaration" && only.declarations.length === 1;
  if (!isOne || (made?.init?.type !== "ArrowFunctionExpression" && made?.init?.type !== "FunctionExpression"))
    throw new Refusal("it is a function with more around it");
  const inputs = found.body.body.filter(
    (member): member is PropertyDefinition => member.type === "PropertyDefinition" && member.static,
  );
  return {
    input: inputs[0] && typeOf(inputs[0], "input"),
    output: undefined,
    derive: made.init,
    className: undefined,
    enqueue: undefined,
    fields: new Map(),
    methods: new Map(),
    beside: [],
    imported: new Map([...imported].filter(([name]) => name !== "FifoModulator")),
  };
}

function membersOf(found: Class): Pick<ModuleText, "input" | "output" | "enqueue" | "fields" | "methods"> {
  let input: Type | undefined;
  let output: Type | undefined;
  let enqueue: FunctionNode | undefined;
  const fields = new Map<string, Expression>();
  const methods = new Map<string, FunctionNode>();
  for (const member of found.body.body) {
    if (member.type === "StaticBlock") refuse(member, "static blocks are not compiled");
    const { key } = member;
    if (member.computed || (key.type !== "Identifier" && key.type !== "PrivateIdentifier"))
      refuse(member, "members with a computed name are not compiled");
    const name = key.type === "PrivateIdentifier" ? `#${key.name}` : key.name;
    if (member.static) {
      if (member.type === "PropertyDefinition" && name === "input") input = typeOf(member, name);
      else if (member.type === "PropertyDefinition" && name === "output") output = typeOf(member, name);
      else if (member.type !== "PropertyDefinition" || !HARMLESS_STATICS.has(name))
        refuse(member, `a class with a static "${name}" is not compiled`);
      else literalOf(member.value);
      continue;
    }
    if (RESERVED.has(name)) refuse(member, `a class with its own "${name}" is not compiled`);
    if (fields.has(name) || methods.has(name)) refuse(member, `"${name}" is there twice`);
    if (member.type === "PropertyDefinition") {
      if (!member.value) refuse(member, `the field "${name}" has no value to begin with`);
      if (name === "enqueue") refuse(member, "enqueue is a method");
      fields.set(name, member.value);
      continue;
    }
    if (member.kind !== "method") refuse(member, `a ${member.kind} is not compiled`);
    if (name === "enqueue") enqueue = member.value;
    else methods.set(name, member.value);
  }
  return { input, output, enqueue, fields, methods };
}

/** The type that `static input` or `static output` says. */
function typeOf(member: PropertyDefinition, said: "input" | "output"): Type {
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
