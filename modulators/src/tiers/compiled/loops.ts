import type { Expression, ForOfStatement, ForStatement, Node, Statement, VariableDeclaration } from "acorn";
import { isAssignedIn } from "./assigned-names.ts";
import {
  COUNTED,
  type Code,
  type CodeLabel,
  type CodeLocal,
  f64,
  get,
  i32,
  loopOf,
  op,
  set,
} from "./code.ts";
import { type CodeBlock, FunctionChecker, type FunctionPlace, namesOf } from "./functions.ts";
import {
  CodeScope,
  type EventVector,
  type IntRange,
  intOf,
  type KnownNumber,
  type KnownValue,
  MOST_INT,
  numberOf,
  wide,
} from "./known.ts";
import { nameOf } from "./members.ts";
import { compared } from "./numbers.ts";
import { positionOf, refuse } from "./refusal.ts";

/** Rounds of a loop beyond which they are counted as it runs. */
const MOST_ROUNDS = 65_536;
/** Likewise, of a loop that may run less often: its bound would be far from what it takes. */
const MOST_UNSURE_ROUNDS = 256;
/** Rounds that no loop runs which counts them: it has run out of steps by then. */
const MOST_COUNTED = 1 << 23;

/** Values whose parts no loop changes: fields and lists of the modulator's own change under all of their names. */
const UNCHANGED: ReadonlySet<KnownValue["is"]> = new Set(["data", "event", "object", "plain", "vector"]);

/** The parts of a loop that runs as long as its test holds. */
interface LoopParts {
  readonly init?: VariableDeclaration | Expression | null | undefined;
  readonly test?: Expression | null | undefined;
  readonly update?: Expression | null | undefined;
  readonly body: Statement;
  /** Whether the test comes behind the body. */
  readonly isDo?: boolean;
}

/** Loops: those whose bound is known from the text, and others, which count their steps. */
export abstract class LoopChecker extends FunctionChecker {
  protected abstract branch(node: Statement, place: FunctionPlace): CodeBlock;

  protected abstract declaration(node: VariableDeclaration, place: FunctionPlace): Code[];

  protected forOf(node: ForOfStatement, place: FunctionPlace): Code[] {
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
    // The loop's own name is there, without a value, where its list is computed.
    const head = new CodeScope(place.scope);
    head.set(id.name, { is: "unready" });
    const list = this.value(right, { ...place, scope: head });
    if (list.is !== "vector") return refuse(right, `a loop over ${nameOf(list)} is not compiled`);
    const loop = this.loopOver(list.vector, node, (element, _, next, done) => {
      const scope = new CodeScope(place.scope);
      const bound = this.bind(id, element, scope, left.kind === "const");
      const inside = { ...place, scope, loops: place.loops + 1, breaks: done, continues: next };
      return [...bound, ...this.branch(node.body, inside).code];
    });
    return [...list.effects, ...loop];
  }

  /** A loop that is written in full: one that counts, or any other one. */
  protected for(node: ForStatement, place: FunctionPlace): Code[] {
    const { init, test, update, body } = node;
    const scope = new CodeScope(place.scope);
    const [first, ...rest] =
      init?.type === "VariableDeclaration" && init.kind === "let" ? init.declarations : [];
    const name = first?.id.type === "Identifier" ? first.id.name : undefined;
    const step = name !== undefined && update ? stepOf(update, name) : undefined;
    const isLoopCounter =
      test?.type === "BinaryExpression" &&
      (test.operator === "<" || test.operator === "<=") &&
      test.left.type === "Identifier" &&
      name !== undefined &&
      test.left.name === name &&
      ![body, test.right, ...rest].some(part => isAssignedIn(part, name, this.assigned));
    if (name === undefined || step === undefined || !isLoopCounter || !first?.init)
      return this.anyLoop(node, node, place);
    for (const { id } of [first, ...rest])
      for (const known of namesOf(id)) scope.set(known, { is: "unready" });
    const inner: FunctionPlace = { ...place, scope, loops: place.loops + 1 };
    const begin = this.value(first.init, inner);
    if (begin.is !== "number" || begin.int === undefined) return this.anyLoop(node, node, place);
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
    const counting = { counter, begin: begin.int, step, isStrict: test.operator === "<" };
    const end = this.inRegion(() => this.number(test.right, inner));
    const bound = boundOf(counting, end);
    const range = {
      lo: begin.int.lo,
      hi: bound?.hi ?? Math.min(begin.int.hi + step * MOST_COUNTED, MOST_INT),
      under: bound?.under,
    };
    if (range.hi === MOST_INT) return this.anyLoop(node, node, place);
    scope.set(name, { is: "counter", value: intOf(get(counter), range) });
    const [next, done]: [CodeLabel, CodeLabel] = [{ name: "next" }, { name: "done" }];
    const inside = { ...inner, scope: new CodeScope(scope), breaks: done, continues: next };
    const looked = this.inRegion(() => this.branch(body, inside)).code;
    const isFixed = bound === undefined && this.#isFixed(test.right, inner);
    const stop: CodeLocal = { type: "f64" };
    const last = isFixed ? numberOf(get(stop)) : end;
    const goes = compared(test.operator, raw, last)?.code as Code;
    const all = [goes, ...looked];
    const { trips, spent } =
      bound?.of !== undefined
        ? this.tripsOver(bound.of, all, node)
        : { trips: bound === undefined ? COUNTED : { most: bound.rounds }, spent: [] };
    const before = isFixed ? [set(stop, wide(end)), ...this.#spendFor(counting, stop, all, node)] : [];
    const each = bound === undefined && !isFixed ? this.parts.fuel.spend(all, node) : [];
    const loop = loopOf(done, { trips, ...positionOf(node) }, [
      ...each,
      { is: "brIf", label: done, test: op("i32.eqz", goes) },
      { is: "block", label: next, body: looked },
      set(counter, op("i32.add", get(counter), i32(step))),
    ]);
    return [set(counter, begin.code), ...others, ...spent, ...before, loop];
  }

  /** Any other loop, which counts its steps round by round. */
  protected anyLoop(
    { init, test, update, body, isDo = false }: LoopParts,
    node: Node,
    place: FunctionPlace,
  ): Code[] {
    const scope = new CodeScope(place.scope);
    const inner: FunctionPlace = { ...place, scope, loops: place.loops + 1 };
    const head: Code[] = [];
    if (init?.type === "VariableDeclaration") {
      const functions = init.declarations.filter(({ init: value }) => /Function/.test(value?.type ?? ""));
      if (functions.length > 0) return refuse(init, "a function in the head of a loop is not compiled");
      for (const { id } of init.declarations)
        for (const known of namesOf(id)) scope.set(known, { is: "unready" });
      head.push(...this.declaration(init, inner));
    } else if (init) head.push(...this.effects(init, inner));
    const [next, done]: [CodeLabel, CodeLabel] = [{ name: "next" }, { name: "done" }];
    const goes = test ? this.inRegion(() => this.test(test, inner)) : i32(1);
    const inside = { ...inner, scope: new CodeScope(scope), breaks: done, continues: next };
    const looked = this.inRegion(() => this.branch(body, inside)).code;
    const updated = update ? this.inRegion(() => this.effects(update, inner)) : [];
    const leaves: Code = { is: "brIf", label: done, test: op("i32.eqz", goes) };
    const each: Code = { is: "block", label: next, body: looked };
    const loop = loopOf(done, { trips: COUNTED, ...positionOf(node) }, [
      ...this.parts.fuel.spend([goes, ...looked, ...updated], node),
      ...(isDo ? [each, leaves] : [leaves, each]),
      ...updated,
    ]);
    return [...head, loop];
  }

  /** Code that counts the steps of all rounds before the first. */
  #spendFor(
    { counter, step, isStrict }: LoopCounter,
    stop: CodeLocal,
    body: readonly Code[],
    node: Node,
  ): Code[] {
    const begin = op("f64.convert_i32_s", get(counter));
    const share = op("f64.div", op("f64.sub", get(stop), begin), f64(step));
    const rounds = isStrict ? op("f64.ceil", share) : op("f64.add", op("f64.floor", share), f64(1));
    const spent = this.parts.fuel.spend(body, node, op("f64.add", rounds, f64(1)));
    // Where the end is no number there is no round.
    return [{ is: "if", test: op(isStrict ? "f64.lt" : "f64.le", begin, get(stop)), yes: spent, no: [] }];
  }

  /** Whether a loop's end is the same in each round. */
  #isFixed(node: Expression, { scope }: FunctionPlace): boolean {
    if (node.type === "Literal") return true;
    if (node.type === "Identifier") {
      const binding = scope.find(node.name);
      return binding?.is === "constant" || binding?.is === "counter";
    }
    if (node.type !== "MemberExpression" || node.computed || node.object.type !== "Identifier") return false;
    const of = scope.find(node.object.name);
    return of?.is === "constant" && UNCHANGED.has(of.value.is);
  }
}

/** A loop's counter: where it begins, and its step. */
interface LoopCounter {
  readonly counter: CodeLocal;
  readonly begin: IntRange;
  readonly step: number;
  readonly isStrict: boolean;
}

/** The rounds of a loop as far as they are known from the text; undefined where they are only known as it runs. */
function boundOf({ begin, step, isStrict }: LoopCounter, { int: end }: KnownNumber) {
  if (end === undefined) return undefined;
  const last = isStrict ? end.hi - 1 : end.hi;
  if (last + step > MOST_INT) return undefined;
  const of: EventVector | undefined = end.upTo ?? end.under;
  const rounds = Math.max(last - begin.lo + 1, 0);
  // Of a loop to a vector's end that begins before 0, the rounds before that are more than its elements.
  const most = end.lo === end.hi ? MOST_ROUNDS : MOST_UNSURE_ROUNDS;
  if (of === undefined ? rounds > most : begin.lo < 0) return undefined;
  const isUnder = (isStrict && end.upTo !== undefined) || end.under !== undefined;
  return { of, rounds, hi: Math.max(last, begin.lo), under: isUnder ? of : undefined };
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
