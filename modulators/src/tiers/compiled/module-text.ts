import type { Type } from "@jecho/shared";
import {
  type ArrowFunctionExpression,
  type Class,
  type ExportDefaultDeclaration,
  type ExportNamedDeclaration,
  type Expression,
  type FunctionDeclaration,
  type FunctionExpression,
  type Identifier,
  type ImportDeclaration,
  type Node,
  type Program,
  type PropertyDefinition,
  parse,
  type SpreadElement,
  type VariableDeclaration,
  type VariableDeclarator,
} from "acorn";
import { isDerivation } from "../../authoring/modulator-from.ts";
import { type InterceptName, membersOf, typeOf } from "./class-text.ts";
import { NUMBER_ARRAYS } from "./known.ts";
import { Refusal, refuse } from "./refusal.ts";

export type FunctionNode = ArrowFunctionExpression | FunctionExpression | FunctionDeclaration;
export type BesideNode = VariableDeclaration | FunctionDeclaration;
export type StaticCheckName = "check" | "checkInput";

/** Names that "jecho:moe" exports. */
export const MOE_EXPORTS: ReadonlySet<string> = new Set([
  "bytesOf",
  "FifoModulator",
  "Modulator",
  "mean",
  "sum",
  "type",
  "typeToken",
  "unpack",
  "urgent",
]);
const PARENTS = ["FifoModulator", "Modulator"] as const;
type ParentName = (typeof PARENTS)[number];

/** A modulator's text, read: the parts that the checker looks into. */
export interface ModuleText {
  /** The type that it was written for; undefined where it takes whatever comes. */
  readonly input: Type | undefined;
  /** The type that the class declares for what it makes. */
  readonly output: Type | undefined;
  /** A function of one event, as `modulatorFrom` wraps it; undefined for a class. */
  readonly derive: FunctionNode | undefined;
  /** The class that it extends: one whose events leave in the order in which they are let through, or one that gives them its own way. */
  readonly parent: ParentName;
  /** The functions that the MOE calls, those that the class has itself. */
  readonly intercepts: ReadonlyMap<InterceptName, FunctionNode>;
  /** Whether it says nothing else than that it may keep events. */
  readonly keepsEvents: boolean;
  /** Services that it needs. */
  readonly needs: readonly string[];
  /** Fields by their names, with what they hold at first, if anything; private ones begin with #. */
  readonly fields: ReadonlyMap<string, Expression | undefined>;
  readonly methods: ReadonlyMap<string, FunctionNode>;
  /** Static functions that look at what the modulator is given, before it is made. */
  readonly checks: ReadonlyMap<StaticCheckName, FunctionNode>;
  /** Declarations beside the class, in their order. */
  readonly beside: readonly BesideNode[];
  /** Names of the classes in the text. */
  readonly classNames: readonly string[];
  /** Names of what is imported from "jecho:moe", by those that the text has for them. */
  readonly imported: ReadonlyMap<string, string>;
}

/** Reads the text of a module. @throws Refusal */
export function readModule(source: string): ModuleText {
  const program = parsed(source);
  const imported = new Map<string, string>();
  const beside: BesideNode[] = [];
  const classes = new Map<string, Class>();
  let exported: Class | string | undefined;
  for (const statement of program.body) {
    switch (statement.type) {
      case "ImportDeclaration":
        readImport(statement, imported);
        break;
      case "ExportDefaultDeclaration":
      case "ExportNamedDeclaration":
        exported = exportedBy(statement);
        break;
      case "ClassDeclaration":
        classes.set(statement.id.name, statement);
        break;
      case "VariableDeclaration": {
        const made = classOf(statement);
        if (made === undefined) beside.push(statement);
        else classes.set(...made);
        break;
      }
      case "FunctionDeclaration":
        beside.push(statement);
        break;
      case "EmptyStatement":
        break;
      default:
        refuse(statement, "beside the class, only constants, functions and other classes are compiled");
    }
  }
  const found = typeof exported === "string" ? classes.get(exported) : exported;
  if (found === undefined) throw new Refusal("it has no default class");
  if (isDerivation(source)) {
    parentOf(found, imported);
    const imports = program.body.filter(({ type }) => type === "ImportDeclaration");
    if (imports.length > 1 || classes.size > 0) throw new Refusal("it is a function with more around it");
    return derivation(found, beside, imported);
  }
  const classNames = [...classes.keys(), ...(found.id ? [found.id.name] : [])];
  const declared = beside.flatMap(node =>
    node.type === "FunctionDeclaration" ? [node.id] : node.declarations.map(({ id }) => id),
  );
  for (const id of declared) if (id.type !== "Identifier") refuse(id, "this declaration is not compiled");
  const names = [...classNames, ...imported.keys(), ...declared.map(id => (id as { name: string }).name)];
  if (names.some(name => Object.hasOwn(NUMBER_ARRAYS, name) || name === "Map" || name === "Set"))
    refuse(found, "a name of the language that means something else is not compiled");
  const { line, parent } = lineOf(found, classes, imported);
  const members = membersOf(line, declared as readonly Identifier[]);
  if (members.intercepts.has("dequeue") !== (parent === "Modulator"))
    refuse(found, "a class is compiled that has its own dequeue and extends Modulator, or neither");
  return {
    ...members,
    parent,
    derive: undefined,
    beside,
    classNames,
    imported,
  };
}

/** The class that is the module's default, or its name. */
function exportedBy(statement: ExportDefaultDeclaration | ExportNamedDeclaration): Class | string {
  if (statement.type === "ExportDefaultDeclaration") {
    const { declaration } = statement;
    if (declaration.type === "ClassDeclaration" || declaration.type === "ClassExpression") return declaration;
    if (declaration.type === "Identifier") return declaration.name;
    return refuse(declaration, "only a class that is written, or named, behind `export default` is compiled");
  }
  const [only, ...more] = statement.specifiers;
  const isDefault =
    only?.exported.type === "Identifier" && only.exported.name === "default" && more.length === 0;
  return isDefault && only.local.type === "Identifier" && !statement.source && !statement.declaration
    ? only.local.name
    : refuse(statement, "only the default export is compiled");
}

/** A class that a declaration gives a name, as bundlers write it. */
function classOf({ declarations }: VariableDeclaration): [name: string, Class] | undefined {
  const [only, ...more] = declarations;
  const isClass =
    only?.init?.type === "ClassExpression" && only.id.type === "Identifier" && more.length === 0;
  return isClass ? [(only.id as { name: string }).name, only.init as Class] : undefined;
}

/** A class behind its parents in the text, down from the one that extends a class of "jecho:moe", and that. */
function lineOf(
  found: Class,
  classes: ReadonlyMap<string, Class>,
  imported: ReadonlyMap<string, string>,
): { readonly line: readonly Class[]; readonly parent: ParentName } {
  const line = [found];
  for (let at = found; ; ) {
    const { superClass } = at;
    const parent = superClass?.type === "Identifier" ? classes.get(superClass.name) : undefined;
    if (parent === undefined) return { line, parent: parentOf(at, imported) };
    if (parent.start >= at.start) refuse(superClass as Node, "a class is made before its parent is there");
    line.unshift(parent);
    at = parent;
  }
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
    else if (specifier.imported.type === "Identifier") {
      const { name } = specifier.imported;
      if (!MOE_EXPORTS.has(name)) refuse(specifier, `"jecho:moe" does not export "${name}"`);
      imported.set(specifier.local.name, name);
    } else refuse(specifier, "imports by a string are not compiled");
  }
}

function parentOf({ superClass }: Class, imported: ReadonlyMap<string, string>): ParentName {
  const isPart =
    superClass?.type === "MemberExpression" &&
    superClass.object.type === "Identifier" &&
    imported.get(superClass.object.name) === "*" &&
    !superClass.computed &&
    superClass.property.type === "Identifier";
  const name = isPart
    ? (superClass.property as { name: string }).name
    : superClass?.type === "Identifier"
      ? imported.get(superClass.name)
      : undefined;
  return (
    PARENTS.find(one => one === name) ??
    refuse(superClass ?? ({} as Node), "only classes that extend FifoModulator or Modulator are compiled")
  );
}

/** The class that `modulatorFrom` writes around a function is known. */
function derivation(
  found: Class,
  beside: readonly BesideNode[],
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
    classNames: [],
    parent: "FifoModulator",
    intercepts: new Map(),
    keepsEvents: true,
    needs: [],
    fields: new Map(),
    methods: new Map(),
    checks: new Map(),
    beside: [],
    imported: new Map([...imported].filter(([name]) => name !== "FifoModulator")),
  };
}

/** Whether to make the value of a declaration does nothing else, and cannot fail. */
export function isHarmless({ init }: VariableDeclarator): boolean {
  return init !== null && init !== undefined && isPure(init);
}

function isPure(node: Expression | SpreadElement): boolean {
  switch (node.type) {
    case "Literal":
    case "ArrowFunctionExpression":
    case "FunctionExpression":
      return true;
    case "TemplateLiteral":
      return node.expressions.length === 0;
    case "ArrayExpression":
      return node.elements.every(element => element === null || isPure(element));
    case "ObjectExpression":
      return node.properties.every(
        property => property.type === "Property" && !property.computed && isPure(property.value),
      );
    case "NewExpression": {
      const [only, ...more] = node.arguments;
      const isSmall =
        only?.type === "Literal" && typeof only.value === "number" && only.value >= 0 && only.value <= 65_536;
      return (
        node.callee.type === "Identifier" &&
        Object.hasOwn(NUMBER_ARRAYS, node.callee.name) &&
        isSmall &&
        more.length === 0
      );
    }
    default:
      return false;
  }
}
