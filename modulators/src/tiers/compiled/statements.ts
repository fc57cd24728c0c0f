import type { BlockStatement, Expression, Statement, VariableDeclaration } from "acorn";
import { type Code, type CodeLabel, type CodeLocal, get, i32, set } from "./code.ts";
import { describe } from "./expressions.ts";
import { foldedTest } from "./facts.ts";
import { type CodeBlock, type FunctionPlace, namesOf } from "./functions.ts";
import { CodeScope, type KnownValue, nothing } from "./known.ts";
import { LoopChecker } from "./loops.ts";
import { nameOf } from "./members.ts";
import { type BesideNode, type FunctionNode, isHarmless } from "./module-text.ts";
import { Refusal, refuse } from "./refusal.ts";
import { ANSWER } from "./window-layout.ts";

/** Finds out the code of statements and of functions, which are written out wherever they are called. */
export class StatementChecker extends LoopChecker {
  /** The code of a function of one event, whose result says what becomes of it. */
  derive(node: FunctionNode, done: CodeLabel): Code[] {
    const given: KnownValue[] = [{ is: "event", effects: [] }, { is: "given" }];
    return this.#body(node, given, this.methodScope, false, (value, place) => [
      ...(value === undefined ? [] : this.#answer(value, place)),
      { is: "br", label: done },
    ]);
  }

  /** The code of an intercept: what it returns is nobody's. */
  intercept(node: FunctionNode, given: readonly KnownValue[], done: CodeLabel): Code[] {
    this.passed = false;
    this.isForEvent = given.length > 0;
    return this.#body(node, given, this.methodScope, true, (value, place) => [
      ...(value === undefined ? [] : this.effects(value, place)),
      { is: "br", label: done },
    ]);
  }

  /** The code of a `dequeue`, which leaves the event that it gives in a variable. */
  dequeue(node: FunctionNode, event: CodeLocal, done: CodeLabel): Code[] {
    const { text } = this.parts;
    const given = (expression: Expression | undefined, place: FunctionPlace): Code[] => {
      if (expression?.type === "ConditionalExpression")
        return this.oneOf(expression, place, one => given(one, place));
      const value = expression === undefined ? nothing("undefined") : this.value(expression, place);
      if (value.is === "nothing" && value.name === "undefined") return [...value.effects];
      if (value.is !== "kept" || text.output !== undefined)
        return refuse(expression as Expression, "dequeue is compiled where it gives events that were kept");
      return [...value.effects, set(event, get(value.ref))];
    };
    return this.#body(node, [], this.methodScope, true, (expression, place) => [
      ...given(expression, place),
      { is: "br", label: done },
    ]);
  }

  /** The code of a constructor, behind the call of its parent's. */
  construct(node: FunctionNode): Code[] {
    const [first, ...rest] = node.body.type === "BlockStatement" ? node.body.body : [];
    const names = node.params.map(one => (one.type === "Identifier" ? one.name : ""));
    if (first === undefined || !isCallOfParent(first, names))
      return refuse(node, "a constructor is compiled that begins with super(parameters, moe)");
    const given = [this.parts.parameters, { is: "moe" } as const];
    const { code, scope } = this.enter(node, given, this.methodScope);
    const place = this.placeOf(scope, true, 0, (_, __, at) =>
      refuse(at, "a constructor returns nothing here"),
    );
    return this.inRegion(() => {
      this.constructing = this.region;
      const body = this.statements(rest, place).code;
      this.constructing = undefined;
      return [...code, ...body];
    });
  }

  /**
   * Constants and functions beside the class. A constant that is not compiled is refused where it is used, if to make it does nothing else.
   *
   * @returns code that makes the constants
   */
  beside(nodes: readonly BesideNode[]): Code[] {
    const scope = this.methodScope;
    const place = this.placeOf(scope, false, 0, (_, __, node) =>
      refuse(node, "there is nothing to return from"),
    );
    this.#declareNames(nodes, place);
    const constantOf = (node: BesideNode): Code[] => {
      if (node.type === "FunctionDeclaration") return [];
      try {
        return this.declaration(node, place);
      } catch (error) {
        if (!(error instanceof Refusal) || !node.declarations.every(isHarmless)) throw error;
        for (const { id } of node.declarations)
          for (const name of namesOf(id)) scope.set(name, { is: "refused", why: error.why });
        return [];
      }
    };
    this.isBeside = true;
    const code = this.inRegion(() => nodes.flatMap(constantOf));
    this.isBeside = false;
    return code;
  }

  /** Objects beside the class are made in another region: nothing assigns to their parts, which would be lost with the run. */
  #body(
    node: FunctionNode,
    args: readonly KnownValue[],
    outer: CodeScope,
    hasThis: boolean,
    returned: FunctionPlace["returned"],
  ): Code[] {
    return this.inRegion(() => {
      const { code, scope } = this.enter(node, args, outer);
      const place = this.placeOf(scope, hasThis, 0, returned);
      this.active.push(node);
      const body =
        node.body.type === "BlockStatement"
          ? this.statements(node.body.body, place).code
          : returned(node.body, place, node.body);
      this.active.pop();
      return [...code, ...body];
    });
  }

  /** Compiles the answer of a filter or map function: true, false, nothing or the event itself. */
  #answer(node: Expression, place: FunctionPlace): Code[] {
    const { answer } = this.parts;
    if (node.type === "ConditionalExpression")
      return this.oneOf(node, place, one => this.#answer(one, place));
    if (node.type === "LogicalExpression" && node.operator !== "??") {
      const left = this.value(node.left, place);
      if (left.is !== "boolean")
        return refuse(
          node.left,
          `it may return ${nameOf(left)}, which is compiled where it is true or false`,
        );
      const right = this.inRegion(() => this.#answer(node.right, place));
      const isLeft = set(answer, i32(node.operator === "&&" ? ANSWER.discard : ANSWER.pass));
      return node.operator === "&&"
        ? [{ is: "if", test: left.code, yes: right, no: [isLeft] }]
        : [{ is: "if", test: left.code, yes: [isLeft], no: right }];
    }
    const value = this.value(node, place);
    switch (value.is) {
      case "boolean":
        return [set(answer, value.code)];
      case "nothing":
        return [...value.effects, set(answer, i32(ANSWER.discard))];
      case "event":
      case "object":
        return this.leaving(value, node);
      default:
        return refuse(
          node,
          `it returns ${nameOf(value)}: true, false, the event that came in or an object is compiled`,
        );
    }
  }

  // ---- statements

  protected statements(nodes: readonly (Statement | BlockStatement)[], place: FunctionPlace): CodeBlock {
    const [first] = nodes;
    if (first) this.parts.looks.take(first, nodes.length);
    this.#declareNames(nodes, place);
    const code: Code[] = [];
    for (const node of nodes) {
      const block = this.#statement(node, place);
      code.push(...block.code);
      // What is never reached is not looked at, as the language does not.
      if (block.ends) return { code, ends: true };
    }
    return { code, ends: false };
  }

  #declareNames(nodes: readonly Statement[], { scope }: FunctionPlace): void {
    for (const node of nodes) {
      if (node.type === "VariableDeclaration")
        for (const { id } of node.declarations)
          for (const name of namesOf(id)) scope.set(name, { is: "unready" });
      if (node.type === "FunctionDeclaration") {
        const value: KnownValue = { is: "function", node, scope, hasThis: false };
        const why = `"${node.id.name}" is a function that is assigned to`;
        scope.set(
          node.id.name,
          this.assigned.has(node.id.name) ? { is: "refused", why } : { is: "constant", value },
        );
      }
      if (node.type === "ClassDeclaration") refuse(node, "a class in here is not compiled");
    }
  }

  #statement(node: Statement, place: FunctionPlace): CodeBlock {
    this.parts.looks.take(node);
    switch (node.type) {
      case "EmptyStatement":
      case "FunctionDeclaration":
        return { code: [], ends: false };
      case "ExpressionStatement":
        return { code: this.effects(node.expression, place), ends: false };
      case "VariableDeclaration":
        return { code: this.declaration(node, place), ends: false };
      case "BlockStatement":
        return this.statements(node.body, { ...place, scope: new CodeScope(place.scope) });
      case "ReturnStatement":
        return { code: place.returned(node.argument ?? undefined, place, node), ends: true };
      case "IfStatement": {
        const test = this.test(node.test, place);
        const folded = foldedTest(test);
        if (folded !== undefined) {
          const taken = folded ? node.consequent : node.alternate;
          return taken ? this.branch(taken, place) : { code: [], ends: false };
        }
        const before = this.passed;
        const then = this.inRegion(() => this.branch(node.consequent, place));
        const afterThen = then.ends ? before : this.passed;
        this.passed = before;
        const { alternate } = node;
        const other = alternate
          ? this.inRegion(() => this.branch(alternate, place))
          : { code: [], ends: false };
        this.passed = afterThen || (other.ends ? before : this.passed);
        return {
          code: [{ is: "if", test, yes: then.code, no: other.code }],
          ends: then.ends && other.ends,
        };
      }
      case "ForStatement":
        return { code: this.for(node, place), ends: false };
      case "ForOfStatement":
        return { code: this.forOf(node, place), ends: false };
      case "BreakStatement":
      case "ContinueStatement": {
        const label = node.type === "BreakStatement" ? place.breaks : place.continues;
        if (node.label || label === undefined) return refuse(node, "labels are not compiled");
        return { code: [{ is: "br", label }], ends: true };
      }
      case "WhileStatement":
      case "DoWhileStatement": {
        const { test, body, type } = node;
        return {
          code: this.anyLoop({ test, body, isDo: type === "DoWhileStatement" }, node, place),
          ends: false,
        };
      }
      case "ThrowStatement":
        // The host throws it: there it has its text and place.
        return { code: this.parts.fuel.stop(node, "it throws here"), ends: true };
      default:
        return refuse(node, `${describe(node)} is not compiled`);
    }
  }

  protected branch(node: Statement, place: FunctionPlace): CodeBlock {
    return this.#statement(node, { ...place, scope: new CodeScope(place.scope) });
  }

  protected declaration(node: VariableDeclaration, place: FunctionPlace): Code[] {
    if (node.kind !== "const" && node.kind !== "let")
      return refuse(node, `${node.kind} is not compiled: const and let are`);
    return node.declarations.flatMap(({ id, init }) => {
      if (!init) return refuse(id, "a variable without a value to begin with is not compiled");
      if (id.type === "ArrayPattern") return this.bindItems(id, init, place, node.kind === "const");
      return this.bind(id, this.value(init, place), place.scope, node.kind === "const");
    });
  }
}

/** `super(parameters, moe)`, with the constructor's own parameters. */
function isCallOfParent(node: Statement, names: readonly string[]): boolean {
  const call = node.type === "ExpressionStatement" ? node.expression : undefined;
  return (
    call?.type === "CallExpression" &&
    call.callee.type === "Super" &&
    call.arguments.length <= 2 &&
    call.arguments.every((one, i) => one.type === "Identifier" && one.name === names[i])
  );
}
