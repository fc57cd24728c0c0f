import type { Expression, Pattern, Statement } from "acorn";
import { namesOf } from "./functions.ts";
import type { FunctionNode, ModuleText, StaticCheckName } from "./module-text.ts";
import { Refusal, refuse } from "./refusal.ts";
import { OwnFunction, StaticScope, StaticValues } from "./static-values.ts";

/** The end of a block before its last statement; undefined where it runs on. */
type Ending = { readonly is: "return"; readonly value: unknown } | { readonly is: "break" | "continue" };

/**
 * Runs a class' static check on plain values, statement by statement. Nothing of the text becomes code, and what is not known here is refused:
 * a check that returns would return in a sandbox, too. One that throws is refused as well, for the sandbox to say so.
 *
 * @param took told how many steps it has taken; says why that is too much
 * @returns why it is not known to return
 */
export function refusalOfCheck(
  text: Pick<ModuleText, "checks" | "beside" | "classNames" | "imported">,
  name: StaticCheckName,
  args: readonly unknown[],
  took: (steps: number) => Refusal | undefined,
): Refusal | undefined {
  const node = text.checks.get(name);
  if (node === undefined) return undefined;
  const check = new StaticCheck(text);
  let refusal: Refusal | undefined;
  try {
    check.call(node, args);
  } catch (error) {
    // What the engine itself throws at plain values, a sandbox throws, too.
    refusal =
      error instanceof Refusal ? error : new Refusal(`its static ${name} fails: ${(error as Error).message}`);
  }
  return took(check.steps) ?? refusal;
}

class StaticCheck extends StaticValues {
  readonly #module = new StaticScope();
  readonly #active = new Set<FunctionNode>();

  constructor({ beside, classNames, imported }: Pick<ModuleText, "beside" | "classNames" | "imported">) {
    super();
    for (const name of [...classNames, ...imported.keys()])
      this.#module.set(name, {
        value: new Refusal(`"${name}" is not known to a static check that is compiled`),
      });
    for (const node of beside) if (node.type === "FunctionDeclaration") this.#declare(node, this.#module);
    for (const node of beside)
      if (node.type === "VariableDeclaration")
        for (const { id, init } of node.declarations)
          if (id.type === "Identifier" && init) this.#module.set(id.name, { value: this.#attempt(init) });
  }

  /** The value, or why it is not known, which is told where it is wanted. */
  #attempt(node: Expression): unknown {
    try {
      return this.value(node, this.#module);
    } catch (error) {
      return error;
    }
  }

  call(node: FunctionNode, args: readonly unknown[]): unknown {
    return this.called(new OwnFunction(node, this.#module), args);
  }

  protected called({ node, scope }: OwnFunction, args: readonly unknown[]): unknown {
    if (node.async || node.generator) return refuse(node, "an async check is not compiled");
    if (this.#active.has(node)) return refuse(node, "a function that calls itself is not compiled");
    this.#active.add(node);
    this.step(node);
    const inner = new StaticScope(scope);
    for (const [i, parameter] of node.params.entries()) this.#bind(parameter, args[i], inner);
    const ending: Ending | undefined =
      node.body.type === "BlockStatement"
        ? this.#block(node.body.body, new StaticScope(inner))
        : { is: "return", value: this.value(node.body, inner) };
    this.#active.delete(node);
    return ending?.is === "return" ? ending.value : undefined;
  }

  // ---- statements

  #block(nodes: readonly Statement[], names: StaticScope): Ending | undefined {
    for (const node of nodes) {
      this.step(node);
      if (node.type === "FunctionDeclaration") this.#declare(node, names);
      else if (node.type === "VariableDeclaration")
        for (const name of node.declarations.flatMap(({ id }) => namesOf(id)))
          names.set(name, { value: new Refusal(`"${name}" may be read before it has a value`) });
    }
    for (const node of nodes) {
      const ending = this.#statement(node, names);
      if (ending !== undefined) return ending;
    }
    return undefined;
  }

  #declare(node: Extract<Statement, { type: "FunctionDeclaration" }>, names: StaticScope): void {
    names.set(node.id.name, { value: new OwnFunction(node, names) });
  }

  #statement(node: Statement, names: StaticScope): Ending | undefined {
    this.step(node);
    switch (node.type) {
      case "EmptyStatement":
      case "FunctionDeclaration":
        return undefined;
      case "ExpressionStatement":
        this.value(node.expression, names);
        return undefined;
      case "BlockStatement":
        return this.#block(node.body, new StaticScope(names));
      case "VariableDeclaration":
        if (node.kind !== "const" && node.kind !== "let") return refuse(node, `${node.kind} is not compiled`);
        for (const { id, init } of node.declarations)
          this.#bind(id, init ? this.value(init, names) : undefined, names);
        return undefined;
      case "IfStatement":
        if (this.value(node.test, names)) return this.#statement(node.consequent, new StaticScope(names));
        return node.alternate ? this.#statement(node.alternate, new StaticScope(names)) : undefined;
      case "ReturnStatement":
        return { is: "return", value: node.argument ? this.value(node.argument, names) : undefined };
      case "BreakStatement":
      case "ContinueStatement":
        if (node.label) return refuse(node, "labels are not compiled");
        return { is: node.type === "BreakStatement" ? "break" : "continue" };
      case "ForOfStatement": {
        const list = this.value(node.right, names);
        const [declared] = node.left.type === "VariableDeclaration" ? node.left.declarations : [];
        if (!Array.isArray(list) || declared === undefined || node.await)
          return refuse(node, "this loop of a static check is not compiled");
        for (const item of list) {
          const inner = new StaticScope(names);
          this.#bind(declared.id, item, inner);
          const ending = this.#statement(node.body, inner);
          if (ending?.is === "break") break;
          if (ending?.is === "return") return ending;
        }
        return undefined;
      }
      case "ForStatement":
        return this.#for(node, names);
      case "ThrowStatement":
        return refuse(node, "a static check refuses what the modulator is given");
      default:
        return refuse(node, `of a static check, this is not compiled: ${node.type}`);
    }
  }

  /** A loop that counts: the counter alone changes, and by one. */
  #for(
    { init, test, update, body }: Extract<Statement, { type: "ForStatement" }>,
    names: StaticScope,
  ): Ending | undefined {
    const [first, ...more] =
      init?.type === "VariableDeclaration" && init.kind === "let" ? init.declarations : [];
    const counts =
      update?.type === "UpdateExpression" && update.operator === "++" ? update.argument : undefined;
    const isOwn =
      first?.id.type === "Identifier" && counts?.type === "Identifier" && counts.name === first.id.name;
    if (!isOwn || !first.init || !test || more.length > 0)
      return refuse(body, "this loop of a static check is not compiled");
    const { name } = counts;
    for (let value = this.value(first.init, names); ; value = (value as number) + 1) {
      const inner = new StaticScope(names);
      inner.set(name, { value });
      if (typeof value !== "number" || !this.value(test, inner)) return undefined;
      const ending = this.#statement(body, inner);
      if (ending?.is === "break") return undefined;
      if (ending?.is === "return") return ending;
    }
  }

  /** Gives the names of a pattern their values. */
  #bind(pattern: Pattern, value: unknown, names: StaticScope): void {
    this.step(pattern);
    switch (pattern.type) {
      case "Identifier":
        names.set(pattern.name, { value });
        return;
      case "AssignmentPattern":
        this.#bind(pattern.left, value === undefined ? this.value(pattern.right, names) : value, names);
        return;
      case "ObjectPattern":
        for (const property of pattern.properties) {
          if (property.type !== "Property" || property.computed || property.key.type !== "Identifier")
            return refuse(property, "this pattern of a static check is not compiled");
          this.#bind(property.value, this.memberOf(value, property.key.name, property), names);
        }
        return;
      case "ArrayPattern":
        if (!Array.isArray(value)) return refuse(pattern, "only lists are taken apart where it is compiled");
        for (const [i, element] of pattern.elements.entries())
          if (element !== null) this.#bind(element, value[i], names);
        return;
      default:
        return refuse(pattern, "this pattern of a static check is not compiled");
    }
  }
}
