import type { Type } from "@jecho/shared";
import type { Expression, Node } from "acorn";
import { isTypedArray, KINDS } from "./array-kinds.ts";
import { type AssignedNames, assignedNames } from "./assigned-names.ts";
import { isTiming } from "./class-text.ts";
import {
  type Code,
  type CodeFunction,
  type CodeGlobal,
  type CodeLabel,
  type CodeLocal,
  type CodeModule,
  call,
  get,
  i32,
  localsOf,
  op,
  set,
} from "./code.ts";
import { type CostFormula, costOf } from "./cost.ts";
import { DataPlaces, type TextPlace } from "./data-places.ts";
import type { DataShape } from "./data-shape.ts";
import { EventCode } from "./event-code.ts";
import { FieldArrays } from "./field-arrays.ts";
import { type CodeField, type FieldKind, fieldOf, fieldText, LearnedField, storedInField } from "./fields.ts";
import { Fuel, type Stop } from "./fuel.ts";
import { type Guard, guardsOf } from "./guards.ts";
import { MOST_BYTES } from "./kept-arrays.ts";
import { CodeScope, type KnownValue, nothing } from "./known.ts";
import { Looks } from "./looks.ts";
import type { CheckedParts } from "./members.ts";
import type { ModuleText } from "./module-text.ts";
import { allParts, type OutputPlan, Outputs } from "./outputs.ts";
import { Refusal, refuse } from "./refusal.ts";
import { StatementChecker } from "./statements.ts";
import { ANSWER } from "./window-layout.ts";

/** Elements of an array that a field holds at first. */
const MOST_FIRST = 8192;

/** Fields whose kind is only known by what is assigned to them: for each the text is looked through once more. */
const MOST_LEARNED = 32;

/** Functions of "jecho:moe" that are compiled. */
const MOE_FUNCTIONS: ReadonlySet<string> = new Set([
  "bytesOf",
  "mean",
  "sum",
  "typeToken",
  "unpack",
  "urgent",
]);

/** Fields that hold events. */
const EVENT_KINDS: ReadonlySet<FieldKind["is"]> = new Set(["event", "list", "map"]);

/** Types and shapes that a program is checked against. */
export interface CheckedAgainst {
  /** The type that events were written with. */
  readonly writer: Type;
  readonly parameters: DataShape;
  readonly objects: DataShape;
  /** The value of a parameter, by its path: what is made of the text holds for that value alone. */
  readonly pin: (path: string) => unknown;
}

/** A text that can be compiled: its code, and what is known about that. */
export interface CheckedProgram {
  readonly code: CodeModule;
  /** Bound of the cost of one event. */
  readonly cost: CostFormula;
  /** Bound of the steps of a call of its `dequeue`; 0 where it has none. */
  readonly dequeueSteps: number;
  /** Names of the fields that it reads of an event. */
  readonly reads: readonly string[];
  /** Plans of the events that it makes, and numbers that it leaves for each. */
  readonly outputs: readonly OutputPlan[];
  readonly slots: number;
  /** Reasons why it may stop at an event, for a host to go on. */
  readonly stops: readonly Stop[];
  /** Whether it counts its steps as it runs. */
  readonly isCounted: boolean;
  /** Whether it keeps events beyond the call that they come with, or numbers in maps. */
  readonly keeps: boolean;
  /** Whether it is given one event at a time: what it makes lies where it makes that of the next one, or it keeps events. */
  readonly isAlone: boolean;
  /** Texts of the parameters and shared objects that it reads, and where. */
  readonly texts: readonly TextPlace[];
  /** The modulator's own fields, which a restart loses: their names and kinds as text; "" where it has none. */
  readonly state: string;
  /** Comparisons that hold for every event which it lets through. An event for which they do not changes nothing. */
  readonly guards: readonly Guard[];
  /** Whether the class looks at the values that it is given, and may refuse them. */
  readonly isChecked: boolean;
}

/**
 * Checks a text against the type of the events that it will be given.
 *
 * @throws Refusal why it cannot be compiled, and where that stands
 */
export function checkProgram(text: ModuleText, against: CheckedAgainst): CheckedProgram {
  const learned = new Map<string, FieldKind>();
  const looks = new Looks();
  const assigned = namesAssignedIn(text);
  // Each time one field more is known.
  for (;;) {
    try {
      return checkOnce(text, against, { learned, looks, assigned });
    } catch (error) {
      if (!(error instanceof LearnedField)) throw error;
      if (learned.size === MOST_LEARNED)
        throw new Refusal(`it has more than ${MOST_LEARNED} fields that are declared without a value`);
      learned.set(error.field, error.kind);
    }
  }
}

/** Knowledge that is kept from one look through a text to the next. */
interface KeptKnowledge {
  /** Kinds of fields that are declared without a value. */
  readonly learned: ReadonlyMap<string, FieldKind>;
  readonly looks: Looks;
  readonly assigned: AssignedNames;
}

function namesAssignedIn({ derive, intercepts, fields, methods, checks, beside }: ModuleText): AssignedNames {
  return assignedNames([
    derive,
    ...intercepts.values(),
    ...fields.values(),
    ...methods.values(),
    ...checks.values(),
    ...beside,
  ]);
}

function checkOnce(
  text: ModuleText,
  { writer, parameters, objects, pin }: CheckedAgainst,
  { learned, looks, assigned }: KeptKnowledge,
): CheckedProgram {
  const [start, end, answer, marked] = localsOf("i32", "i32", "i32", "i32");
  const done: CodeLabel = { name: "event" };
  const fields = new Map<string, CodeField>();
  const data = new DataPlaces();
  const reader = text.input ?? writer;
  const fieldArrays = new FieldArrays();
  const outputs = new Outputs(reader.root, (text.output ?? reader).root);
  const fuel = new Fuel(answer, done);
  const event = new EventCode(writer.root, reader.root, { start, end, answer, done });
  const parts: CheckedParts = {
    text,
    event,
    fields,
    fieldArrays,
    outputs,
    fuel,
    looks,
    parameters: data.value(parameters, "parameters") ?? { is: "data", shape: parameters, path: "parameters" },
    objects: { is: "data", shape: objects, path: "objects" },
    data,
    pin,
    answer,
    marked,
  };
  const scope = new CodeScope();
  for (const [name, imported] of text.imported) {
    const why = `"${imported}" of jecho:moe is not compiled`;
    scope.set(
      name,
      MOE_FUNCTIONS.has(imported)
        ? { is: "constant", value: { is: "builtin", name: imported } }
        : { is: "refused", why },
    );
  }
  for (const name of text.classNames) {
    if (assigned.has(name)) throw new Refusal(`"${name}" is a class that is assigned to`);
    scope.set(name, { is: "refused", why: "the class itself is not compiled as a value" });
  }
  const inner = new CodeScope(scope);
  const checker = new StatementChecker(parts, inner, assigned);
  const before = checker.beside(text.beside);
  for (const node of text.beside)
    if (node.type === "VariableDeclaration" && node.kind !== "const")
      for (const { id } of node.declarations)
        if (id.type !== "Identifier" || assigned.has(id.name))
          refuse(id, "a variable beside the class is not compiled");
  const version = (path: string): Code => data.version(path);
  const init: Code[] = [];
  let firstBytes = 0;
  for (const [i, [name, node]] of [...text.fields].entries()) {
    const made = node && firstArray(node);
    firstBytes += made === undefined ? 0 : made.length * KINDS[made.kind.array].bytes;
    if (firstBytes > MOST_BYTES)
      refuse(node as Node, "its fields hold arrays of more numbers at first than are compiled");
    const container = node && firstContainer(node);
    const value =
      node === undefined || made !== undefined || container !== undefined
        ? nothing("undefined")
        : checker.value(node, { scope: inner, hasThis: true, loops: 1 });
    const kind = made?.kind ?? learned.get(name) ?? container ?? firstKind(value);
    if (kind === undefined && (value.is !== "nothing" || value.name === "null"))
      return refuse(
        node as Node,
        `the field "${name}" is compiled where it begins as a number, true, false, undefined, a typed array, [], new Map() or new Set()`,
      );
    if (isTiming(name) && kind?.is !== "number")
      throw new Refusal(`"${name}" is compiled where it is a number from the beginning`);
    const field = fieldOf(name, kind);
    fields.set(name, field);
    if (kind?.is === "array") fieldArrays.add(field, i, kind.array);
    if (made !== undefined) init.push(...fieldArrays.init(field, made.length));
    else if (container !== undefined) {
      const [global] = field.globals as [CodeGlobal];
      init.push({ is: "setGlobal", global, value: call("makeContainer") });
    } else if (value.is === "nothing" && isNeverUndefined(kind)) {
      field.isUnset = true;
      init.push(...value.effects);
    } else init.push(...(storedInField(field, value, version) as Code[]));
  }
  for (const [name, kind] of learned) {
    if (fields.has(name)) continue;
    const field = fieldOf(name, kind);
    field.isUnset = true;
    fields.set(name, field);
  }
  const { intercepts } = text;
  const construct = intercepts.get("constructor");
  if (construct !== undefined) init.push(...checker.construct(construct));
  fuel.isOpen = true;
  const body = eventCode(text, checker, done, answer);
  const period = intercepts.get("period");
  const periodCode = period === undefined ? undefined : checker.intercept(period, [], done);
  const dequeue = intercepts.get("dequeue");
  const leaving: CodeLocal = { type: "ref" };
  const dequeueCode = dequeue && checker.dequeue(dequeue, leaving, done);
  const keeps = [...fields.values()].some(({ globals }) => globals.some(({ type }) => type === "ref"));
  const keepsEvents = [...fields.values()].some(({ kind }) => kind !== undefined && EVENT_KINDS.has(kind.is));
  const others = [...before, ...event.code];
  if (keepsEvents && !text.keepsEvents)
    throw new Refusal("it says that it keeps no events, and its fields hold some");
  const guards = fields.size > 0 ? [] : guardsOf({ body, others, answer, fields: event.numbers });
  const isStopped = op("i32.eq", get(answer), i32(ANSWER.broken));
  const stop: Code = {
    is: "if",
    test: isStopped,
    yes: [call("stop", op("f64.convert_i32_s", get(fuel.stopped)))],
    no: [],
  };
  const code = [
    set(marked, i32(0)),
    ...fuel.begin,
    ...checker.emptyRoom,
    { is: "block" as const, label: done, body: [...event.code, ...body] },
    ...fuel.end,
    {
      is: "if" as const,
      test: op("i32.and", op("i32.eq", get(answer), i32(ANSWER.pass)), get(marked)),
      yes: [set(answer, i32(ANSWER.urgent))],
      no: [],
    },
    ...(keeps ? [{ is: "if" as const, test: get(marked), yes: [call("markKept")], no: [] }] : []),
  ];
  const prelude = [...before, ...fieldArrays.begin, ...fuel.beginRun];
  const intercept = (
    name: CodeFunction["name"],
    inner: readonly Code[],
    gives: readonly Code[] = [],
  ): CodeFunction => ({
    name,
    gives: gives.length > 0 ? "ref" : undefined,
    body: [
      ...prelude,
      ...fuel.begin,
      ...checker.emptyRoom,
      { is: "block", label: done, body: inner },
      ...fuel.end,
      ...fuel.endRun,
      stop,
      ...gives,
    ],
  });
  const functions: CodeFunction[] = [
    { name: "init", gives: undefined, body: [...before, ...init] },
    ...(periodCode === undefined ? [] : [intercept("period", periodCode)]),
    ...(dequeueCode === undefined ? [] : [intercept("dequeue", dequeueCode, [get(leaving)])]),
  ];
  return {
    code: {
      globals: [...fields.values()].flatMap(({ globals }) => globals),
      data: data.leaves,
      functions,
      before: prelude,
      after: fuel.endRun,
      event: code,
      start,
      end,
      answer,
      stopped: fuel.stopped,
      slots: outputs.slots,
    },
    dequeueSteps: costOf(dequeueCode ?? []).steps,
    cost: costOf([...before, ...code, ...functions.flatMap(one => one.body)]),
    reads: event.reads,
    texts: data.texts,
    outputs: outputs.plans,
    slots: outputs.slots.length,
    stops: fuel.stops,
    isCounted: fuel.isUsed,
    keeps,
    isAlone:
      keepsEvents ||
      outputs.plans.some(({ parts: all }) => allParts(all).some(({ from }) => from === "array")),
    state: [...fields.values()].map(fieldText).join(),
    guards,
    isChecked: text.checks.size > 0,
  };
}

/** The kind of a field by what it holds at first; undefined where that does not say it. */
function firstKind(value: KnownValue): FieldKind | undefined {
  if (value.is === "number" && !value.maybe) return { is: "number" };
  return value.is === "boolean" ? { is: "boolean" } : undefined;
}

/** Whether fields of this kind never become undefined again once they hold something. */
function isNeverUndefined(kind: FieldKind | undefined): boolean {
  return kind?.is === "number" || kind?.is === "boolean" || kind?.is === "array";
}

/** `[]`, `new Map()` or `new Set()`, as what a field holds at first. */
function firstContainer(node: Expression): FieldKind | undefined {
  if (node.type === "ArrayExpression" && node.elements.length === 0) return { is: "list" };
  if (node.type !== "NewExpression" || node.callee.type !== "Identifier" || node.arguments.length > 0)
    return undefined;
  const { name } = node.callee;
  return name === "Map" ? { is: "map" } : name === "Set" ? { is: "set" } : undefined;
}

/** `new Float32Array(3)`, as what a field holds at first. */
function firstArray(
  node: Expression,
): { readonly kind: Extract<FieldKind, { is: "array" }>; readonly length: number } | undefined {
  if (node.type !== "NewExpression" || node.callee.type !== "Identifier") return undefined;
  const { name } = node.callee;
  const [length, ...more] = node.arguments;
  const count = length?.type === "Literal" ? length.value : undefined;
  const isSmall = typeof count === "number" && Number.isInteger(count) && count >= 0 && count <= MOST_FIRST;
  return isTypedArray(name) && isSmall && more.length === 0
    ? { kind: { is: "array", array: name }, length: count }
    : undefined;
}

function eventCode(text: ModuleText, checker: StatementChecker, done: CodeLabel, answer: CodeLocal): Code[] {
  if (text.derive !== undefined) return checker.derive(text.derive, done);
  const enqueue = text.intercepts.get("enqueue");
  if (enqueue !== undefined) return checker.intercept(enqueue, [{ is: "event", effects: [] }], done);
  if (text.output !== undefined)
    throw new Refusal("it declares its output, and has no enqueue that makes it");
  return text.parent === "Modulator" ? [] : [set(answer, i32(ANSWER.pass))];
}
