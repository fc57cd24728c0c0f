import type {
  BlockStatement,
  Expression,
  ForOfStatement,
  ForStatement,
  Statement,
  VariableDeclaration,
} from "acorn";
import { type Code, type CodeLabel, type CodeLocal, get, i32, op, set } from "./code.ts";
import { ANSWER } from "./encoder.ts";
import { type CodeBlock, FunctionChecker, type FunctionPlace, namesOf } from "./functions.ts";
import { CodeScope, type EventVector, intOf, type KnownNumber, type KnownValue, MOST_INT } from "./known.ts";
import { nameOf } from "./members.ts";
import { type BesideNode, type FunctionNode, isHarmless } from "./module-text.ts";
import { Refusal, refuse } from "./refusal.ts";

/** Rounds of a loop beyond which its end is not taken for near. */
const MOST_ROUNDS = 65_536;

/** Finds out the code of statements and of functions, which are written out wherever they are called. */
export class StatementChecker extends FunctionChecker {
  /** The code of a function of one event, whose result says what becomes of it. */
  derive(node: FunctionNode, done: CodeLabel): Code[] {
    const given: KnownValue[] = [{ is: "event", effects: [] }, { is: "given" }];
    return this.#body(node, given, this.methodScope, false, (value, place) => [
      ...(value === undefined ? [] : this.#answer(value, place)),
      { is: "br", label: done },
    ]);
  }

  /** The code of a class's `enqueue`: what it returns is nobody's. */
  enqueue(node: FunctionNode, done: CodeLabel): Code[] {
    return this.#body(node, [{ is: "event", effects: [] }], this.methodScope, true, (value, place) => [
      ...(value === undefined ? [] : this.effects(value, place)),
      { is: "br", label: done },
    ]);
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
    return nodes.flatMap(node => {
      if (node.type === "FunctionDeclaration") return [];
      try {
        return this.#declaration(node, place);
      } catch (error) {
        if (!(error instanceof Refusal) || !node.declarations.every(isHarmless)) throw error;
        for (const { id } of node.declarations)
          for (const name of namesOf(id)) scope.set(name, { is: "refused", why: error.why });
        return [];
      }
    });
  }

  #body(
    node: FunctionNode,
    args: readonly KnownValue[],
    outer: CodeScope,
    hasThis: boolean,
    returned: FunctionPlace["returned"],
  ): Code[] {
    const { code, scope } = this.enter(node, args, outer);
    const place = this.placeOf(scope, hasThis, 0, returned);
    this.active.push(node);
    const body =
      node.body.type === "BlockStatement"
        ? this.statements(node.body.body, place).code
        : returned(node.body, place, node.body);
    this.active.pop();
    return [...code, ...body];
  }

  /** Compiles the answer of a filter or map function: true, false, nothing or the event itself. */
  #answer(node: Expression, place: FunctionPlace): Code[] {
    const { answer } = this.parts;
    if (node.type === "ConditionalExpression") {
      const test = this.test(node.test, place);
      return [
        {
          is: "if",
          test,
          yes: this.#answer(node.consequent, place),
          no: this.#answer(node.alternate, place),
        },
      ];
    }
    if (node.type === "LogicalExpression" && node.operator !== "??") {
      const left = this.value(node.left, place);
      if (left.is !== "boolean")
        return refuse(
          node.left,
          `it may return ${nameOf(left)}, which is compiled where it is true or false`,
        );
      const right = this.#answer(node.right, place);
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
    this.#declareNames(nodes, place);
    const code: Code[] = [];
    let ends = false;
    for (const node of nodes) {
      const block = this.#statement(node, place);
      // What is never reached is not looked at, as the language does not; it is read, for it may declare names.
      if (!ends) code.push(...block.code);
      ends ||= block.ends;
    }
    return { code, ends };
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
    switch (node.type) {
      case "EmptyStatement":
      case "FunctionDeclaration":
        return { code: [], ends: false };
      case "ExpressionStatement":
        return { code: this.effects(node.expression, place), ends: false };
      case "VariableDeclaration":
        return { code: this.#declaration(node, place), ends: false };
      case "BlockStatement":
        return this.statements(node.body, { ...place, scope: new CodeScope(place.scope) });
      case "ReturnStatement":
        return { code: place.returned(node.argument ?? undefined, place, node), ends: true };
      case "IfStatement": {
        const test = this.test(node.test, place);
        const before = this.passed;
        const then = this.#branch(node.consequent, place);
        const afterThen = then.ends ? before : this.passed;
        this.passed = before;
        const other = node.alternate ? this.#branch(node.alternate, place) : { code: [], ends: false };
        this.passed = afterThen || (other.ends ? before : this.passed);
        return {
          code: [{ is: "if", test, yes: then.code, no: other.code }],
          ends: then.ends && other.ends,
        };
      }
      case "ForStatement":
        return { code: this.#for(node, place), ends: false };
      case "ForOfStatement":
        return { code: this.#forOf(node, place), ends: false };
      case "BreakStatement":
      case "ContinueStatement": {
        const label = node.type === "BreakStatement" ? place.breaks : place.continues;
        if (node.label || label === undefined) return refuse(node, "labels are not compiled");
        return { code: [{ is: "br", label }], ends: true };
      }
      case "WhileStatement":
      case "DoWhileStatement":
        return refuse(
          node,
          "how often this loop runs is not known: a loop is compiled that counts from a number up to a constant or a vector's length",
        );
      case "ThrowStatement":
        return refuse(node, "what throws is not compiled");
      default:
        return refuse(
          node,
          `a ${node.type.replaceAll(/(?!^)([A-Z])/g, " $1").toLowerCase()} is not compiled`,
        );
    }
  }

  #branch(node: Statement, place: FunctionPlace): CodeBlock {
    return this.#statement(node, { ...place, scope: new CodeScope(place.scope) });
  }

  #declaration(node: VariableDeclaration, place: FunctionPlace): Code[] {
    if (node.kind !== "const" && node.kind !== "let")
      return refuse(node, `${node.kind} is not compiled: const and let are`);
    return node.declarations.flatMap(({ id, init }) => {
      if (!init) return refuse(id, "a variable without a value to begin with is not compiled");
      return this.bind(id, this.value(init, place), place.scope, node.kind === "const");
    });
  }

  // ---- loops

  #forOf(node: ForOfStatement, place: FunctionPlace): Code[] {
    const { left, right } = node;
    const [declared] = left.type === "VariableDeclaration" ? left.declarations : [];
    if (
      node.await ||
      left.type !== "VariableDeclaration" ||
      left.kind === "var" ||
      declared?.id.type !== "Identifier"
    )
      return refuse(node, "this loop is not compiled");
    const { id } = declared;
    const list = this.value(right, place);
    if (list.is !== "vector") return refuse(right, `a loop over ${nameOf(list)} is not compiled`);
    return this.loopOver(list.vector, node, (element, _, next, done) => {
      const scope = new CodeScope(place.scope);
      const bound = this.bind(id, element, scope, left.kind === "const");
      const inside = { ...place, scope, loops: place.loops + 1, breaks: done, continues: next };
      return [...bound, ...this.#branch(node.body, inside).code];
    });
  }

  /** `for (let i = 0; i < values.length; i++)`: the counter alone changes itself, by a constant step, up to what is known to be near. */
  #for(node: ForStatement, place: FunctionPlace): Code[] {
    const { init, test, update } = node;
    const scope = new CodeScope(place.scope);
    const [first, ...rest] =
      init?.type === "VariableDeclaration" && init.kind === "let" ? init.declarations : [];
    const counts =
      "a loop is compiled where it is written as for (let i = 0; i < END; i++), with END a constant or a vector's length";
    if (first?.id.type !== "Identifier" || !first.init || !test || !update) return refuse(node, counts);
    const { name } = first.id;
    for (const { id } of [first, ...rest])
      for (const known of namesOf(id)) scope.set(known, { is: "unready" });
    const inner: FunctionPlace = { ...place, scope, loops: place.loops + 1 };
    const begin = this.value(first.init, inner);
    if (begin.is !== "number" || begin.int === undefined)
      return refuse(first.init, "a loop's counter begins with an integer where it is compiled");
    const counter: CodeLocal = { type: "i32" };
    const raw: KnownNumber = intOf(get(counter), { lo: begin.int.lo, hi: MOST_INT });
    scope.set(name, { is: "counter", value: raw });
    const others = rest.flatMap(({ id, init: value }) => {
      if (!value) return refuse(id, "a variable without a value to begin with is not compiled");
      const known = this.value(value, inner);
      // A function here would see the counter as it was at first.
      if (known.is === "function") return refuse(value, "a function in the head of a loop is not compiled");
      return this.bind(id, known, scope, false);
    });
    const step = stepOf(update, name);
    if (step === undefined) return refuse(update, counts);
    const isLess = test.type === "BinaryExpression" && (test.operator === "<" || test.operator === "<=");
    if (!isLess || test.left.type !== "Identifier" || test.left.name !== name) return refuse(test, counts);
    const bound = this.value(test.right, inner);
    if (bound.is !== "number" || bound.int === undefined)
      return refuse(
        test.right,
        "how often this loop runs is not known: its end is a constant or a vector's length where it is compiled",
      );
    const { hi, upTo, under } = bound.int;
    const isStrict = test.operator === "<";
    const last = isStrict ? hi - 1 : hi;
    if (last + step > MOST_INT) return refuse(test, counts);
    const vector: EventVector | undefined = upTo ?? under;
    const rounds = last - begin.int.lo + 1;
    if (vector === undefined && rounds > MOST_ROUNDS)
      return refuse(test, `this loop may run ${rounds} times; more than ${MOST_ROUNDS} are not compiled`);
    // Of a loop to a vector's end that begins before 0, the rounds before that are more than its elements.
    if (vector !== undefined && begin.int.lo < 0)
      return refuse(first.init, "a loop over a vector begins with 0 or more where it is compiled");
    const isUnder = (isStrict && upTo !== undefined) || under !== undefined;
    scope.set(name, {
      is: "counter",
      value: intOf(get(counter), {
        lo: begin.int.lo,
        hi: Math.max(last, begin.int.lo),
        under: isUnder ? vector : undefined,
      }),
    });
    const [round, next, done] = ["round", "next", "done"].map(label => ({ name: label })) as [
      CodeLabel,
      CodeLabel,
      CodeLabel,
    ];
    const inside = { ...inner, scope: new CodeScope(scope), breaks: done, continues: next };
    const body = this.#branch(node.body, inside);
    const { line = 0, column = -1 } = node.loc?.start ?? {};
    return [
      set(counter, begin.code),
      ...others,
      {
        is: "block",
        label: done,
        body: [
          {
            is: "loop",
            label: round,
            // One that runs up to the length itself runs once more.
            trips: vector === undefined ? { most: Math.max(rounds, 0) } : { most: 1, of: vector },
            line,
            column: column + 1,
            body: [
              {
                is: "brIf",
                label: done,
                test: op("i32.eqz", op(isStrict ? "i32.lt_s" : "i32.le_s", get(counter), bound.code)),
              },
              { is: "block", label: next, body: body.code },
              set(counter, op("i32.add", get(counter), i32(step))),
              { is: "br", label: round },
            ],
          },
        ],
      },
    ];
  }
}

/** The step of `i++`, `++i` and `i += STEP`. */
function stepOf(update: Expression, name: string): number | undefined {
  if (update.type === "UpdateExpression") {
    const isOwn = update.argument.type === "Identifier" && update.argument.name === name;
    return isOwn && update.operator === "++" ? 1 : undefined;
  }
  if (update.type !== "AssignmentExpression" || update.operator !== "+=") return undefined;
  const isOwn = update.left.type === "Identifier" && update.left.name === name;
  const step = update.right.type === "Literal" ? update.right.value : undefined;
  const isStep = typeof step === "number" && Number.isInteger(step) && step > 0 && step <= MOST_ROUNDS;
  return isOwn && isStep ? step : undefined;
}
