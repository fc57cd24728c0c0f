import { createRequire } from "node:module";
import type { Class, Expression, Identifier, Literal, PrivateIdentifier, Program, Property } from "acorn";

/** What a modulator's class is asked when it is installed, by names of the class; and by those of what it makes. */
const ASKED = new Set(["check", "checkInput"]);
const CALLED = new Set([
  "installed",
  "mostPerSecond",
  "moe",
  "objects",
  "parameters",
  "periodMs",
  "@waiting",
]);
/** What the module `jecho:moe` has classes extend. */
const BASES = new Set(["FifoModulator", "Modulator"]);
/** What may be made of fixed values. */
const MAKERS = new Set([
  "Array",
  "Map",
  "Set",
  "WeakMap",
  "WeakSet",
  "Float32Array",
  "Float64Array",
  "Int8Array",
  "Int16Array",
  "Int32Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Uint16Array",
  "Uint32Array",
]);
const CONSTANTS = new Set(["undefined", "NaN", "Infinity"]);
/** Whose constants have names in capitals. */
const KEEPERS = new Set(["Math", "Number"]);

const require = createRequire(import.meta.url);

/** Of longer ones nobody finds out. */
const MOST_CHARACTERS = 16_384;

/**
 * Is an installation of this module sure to end as the last one did, whatever its parameters, objects, views and time are? It is where
 * none of the module's functions run in it: its class has no constructor, `installed` or `check`, no getter of what the MOE asks
 * for, and fields that begin with fixed values; and the module does nothing but declare such.
 *
 * What it does not know counts as not certain.
 */
export function isCertain(source: string): boolean {
  if (source.length > MOST_CHARACTERS) return false;
  try {
    // It takes long to load, and nobody needs it before something has been installed.
    const { parse } = require("acorn") as typeof import("acorn");
    return new Reading().isCertain(parse(source, { ecmaVersion: "latest", sourceType: "module" }));
  } catch {
    return false;
  }
}

type Statement = Program["body"][number];

class Reading {
  /** What is imported of `jecho:moe`, by the names that it has here. */
  readonly #face = new Map<string, string>();
  /** Modulators' classes so far. */
  readonly #modulators = new Set<string>();
  /** All that the module declares anywhere; and what of that, so far, has no functions in it. */
  readonly #declared = new Set<string>();
  readonly #plain = new Set<string>();
  #exported: string | undefined;

  isCertain({ body }: Program): boolean {
    // A function may be used before it is declared, and a class by what runs later.
    for (const statement of body) this.#collect(statement);
    return body.every(statement => this.#declares(statement)) && this.#modulators.has(this.#exported ?? "");
  }

  #collect(statement: Statement): void {
    switch (statement.type) {
      case "FunctionDeclaration":
      case "ClassDeclaration":
        this.#declared.add(statement.id.name);
        return;
      case "VariableDeclaration":
        for (const { id } of statement.declarations)
          if (id.type === "Identifier") this.#declared.add(id.name);
        return;
      case "ExportNamedDeclaration":
        if (statement.declaration) this.#collect(statement.declaration);
        return;
      case "ExportDefaultDeclaration": {
        const { declaration } = statement;
        if ("id" in declaration && declaration.id) this.#declared.add(declaration.id.name);
      }
    }
  }

  /** Does it declare something, and nothing else? */
  #declares(statement: Statement): boolean {
    switch (statement.type) {
      case "ImportDeclaration":
        for (const specifier of statement.specifiers) {
          if (specifier.type !== "ImportSpecifier") return false;
          this.#face.set(specifier.local.name, nameOf(specifier.imported));
        }
        return statement.source.value === "jecho:moe";
      case "FunctionDeclaration":
        return true;
      case "ClassDeclaration":
        return this.#class(statement, statement.id.name);
      case "VariableDeclaration":
        return statement.declarations.every(({ id, init }) => {
          if (id.type !== "Identifier") return false;
          if (init?.type === "ClassExpression") return this.#class(init, id.name);
          if (!init || this.#isFixed(init, false)) this.#plain.add(id.name);
          return !init || this.#isFixed(init, true);
        });
      case "ExportDefaultDeclaration": {
        const { declaration } = statement;
        if (declaration.type === "Identifier") {
          this.#exported = declaration.name;
          return true;
        }
        if (declaration.type !== "ClassDeclaration") return false;
        this.#exported = declaration.id?.name ?? "default";
        return this.#class(declaration, this.#exported);
      }
      case "ExportNamedDeclaration":
        for (const { local, exported } of statement.specifiers)
          if (nameOf(exported) === "default") this.#exported = nameOf(local);
        return !statement.source && (!statement.declaration || this.#declares(statement.declaration));
      default:
        return false;
    }
  }

  #class({ superClass, body }: Class, name: string): boolean {
    const parent = superClass ? this.#nameOf(superClass) : "";
    if (parent === undefined) return false;
    const isModulator = this.#modulators.has(parent) || BASES.has(this.#face.get(parent) ?? "");
    if (isModulator) this.#modulators.add(name);
    return body.body.every(element => {
      if (element.type === "StaticBlock" || element.computed) return false;
      const key = nameOf(element.key);
      if (isModulator && element.static && ASKED.has(key)) return false;
      if (element.type === "PropertyDefinition")
        return (
          (!isModulator || key !== "installed") && (!element.value || this.#isFixed(element.value, true))
        );
      if (!isModulator) return true;
      if (element.static) return element.kind === "method";
      return element.kind !== "constructor" && !CALLED.has(key);
    });
  }

  /** Of something declared or imported. */
  #nameOf(node: Expression): string | undefined {
    if (node.type !== "Identifier") return undefined;
    return this.#declared.has(node.name) || this.#face.has(node.name) ? node.name : undefined;
  }

  /** Of what the language has, where nothing else has that name here. */
  #nameOfBuiltIn(node: Expression | { readonly type: "Super" }): string {
    if (node.type !== "Identifier" || this.#declared.has(node.name) || this.#face.has(node.name)) return "";
    return node.name;
  }

  /** Is it the same each time? @param functions may there be functions in it, which are not called here? */
  #isFixed(node: Expression, functions: boolean): boolean {
    switch (node.type) {
      case "Literal":
        return true;
      case "ArrowFunctionExpression":
      case "FunctionExpression":
        return functions;
      case "Identifier":
        if (CONSTANTS.has(this.#nameOfBuiltIn(node))) return true;
        return functions ? this.#nameOf(node) !== undefined : this.#plain.has(node.name);
      case "TemplateLiteral":
        return node.expressions.every(part => this.#isFixed(part, false));
      case "UnaryExpression":
        return node.operator !== "delete" && this.#isFixed(node.argument, false);
      case "BinaryExpression":
        return (
          node.left.type !== "PrivateIdentifier" &&
          this.#isFixed(node.left, false) &&
          this.#isFixed(node.right, false)
        );
      case "ArrayExpression":
        return node.elements.every(
          element =>
            element === null || (element.type !== "SpreadElement" && this.#isFixed(element, functions)),
        );
      case "ObjectExpression":
        return node.properties.every(
          property => property.type === "Property" && this.#isFixedProperty(property, functions),
        );
      case "MemberExpression":
        return (
          !node.computed &&
          KEEPERS.has(this.#nameOfBuiltIn(node.object)) &&
          /^[A-Z_\d]+$/.test(nameOf(node.property))
        );
      case "NewExpression":
        return MAKERS.has(this.#nameOfBuiltIn(node.callee)) && this.#areFixed(node.arguments);
      case "CallExpression": {
        const { callee } = node;
        const isType = callee.type === "Identifier" && this.#face.get(callee.name) === "type";
        return isType && this.#areFixed(node.arguments);
      }
      default:
        return false;
    }
  }

  #isFixedProperty({ kind, computed, value }: Property, functions: boolean): boolean {
    return kind === "init" && !computed && this.#isFixed(value, functions);
  }

  #areFixed(values: readonly (Expression | { readonly type: "SpreadElement" })[]): boolean {
    return values.every(value => value.type !== "SpreadElement" && this.#isFixed(value as Expression, false));
  }
}

function nameOf(key: Identifier | Literal | PrivateIdentifier | Expression): string {
  if (key.type === "Identifier") return key.name;
  if (key.type === "PrivateIdentifier") return `#${key.name}`;
  return key.type === "Literal" ? String(key.value) : "";
}
