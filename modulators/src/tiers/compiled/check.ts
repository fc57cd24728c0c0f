import type { Type } from "@jecho/shared";
import { assignedNames } from "./assigned-names.ts";
import {
  type Code,
  type CodeGlobal,
  type CodeLabel,
  type CodeLocal,
  type CodeModule,
  DATA_KEY,
  get,
  i32,
  op,
  set,
} from "./code.ts";
import { type CostFormula, costOf } from "./cost.ts";
import type { DataShape } from "./data-shape.ts";
import { ANSWER, WINDOW } from "./encoder.ts";
import { EventCode } from "./event-code.ts";
import { Fuel } from "./fuel.ts";
import { type Guard, guardsOf } from "./guards.ts";
import { booleanOf, CodeScope, type KnownValue, numberOf, wide } from "./known.ts";
import type { CheckedParts, CodeField } from "./members.ts";
import type { ModuleText } from "./module-text.ts";
import { type OutputPlan, Outputs } from "./outputs.ts";
import { Refusal, refuse } from "./refusal.ts";
import { StatementChecker } from "./statements.ts";
import { type TextPlace, TextPlaces } from "./text-places.ts";

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
  /** Names of the fields that it reads of an event. */
  readonly reads: readonly string[];
  /** Plans of the events that it makes, and numbers that it leaves for each. */
  readonly outputs: readonly OutputPlan[];
  readonly slots: number;
  /** Reasons why it may stop at an event, for a host to go on. */
  readonly stops: readonly Refusal[];
  /** Whether it counts its steps as it runs. */
  readonly isCounted: boolean;
  /** Whether it is given one event at a time: what it makes lies where it makes that of the next one. */
  readonly isAlone: boolean;
  /** Texts of the parameters and shared objects that it reads, and where. */
  readonly texts: readonly TextPlace[];
  /** The modulator's own fields, which a restart loses: their names and kinds as text; "" where it has none. */
  readonly state: string;
  /** Comparisons that hold for every event which it lets through. An event for which they do not changes nothing. */
  readonly guards: readonly Guard[];
}

/**
 * Checks a text against the type of the events that it will be given.
 *
 * @throws Refusal why it cannot be compiled, and where that stands
 */
export function checkProgram(
  text: ModuleText,
  { writer, parameters, objects, pin }: CheckedAgainst,
): CheckedProgram {
  const [start, end, answer, marked] = ["i32", "i32", "i32", "i32"].map(() => ({ type: "i32" })) as [
    CodeLocal,
    CodeLocal,
    CodeLocal,
    CodeLocal,
  ];
  const done: CodeLabel = { name: "event" };
  const leaves = new Map<string, CodeGlobal>();
  const fields = new Map<string, CodeField>();
  const texts = new TextPlaces();
  const reader = text.input ?? writer;
  const outputs = new Outputs(reader.root, (text.output ?? reader).root);
  const fuel = new Fuel(answer, done);
  const event = new EventCode(writer.root, reader.root, { start, end, answer, done });
  const parts: CheckedParts = {
    text,
    event,
    fields,
    outputs,
    fuel,
    parameters: dataOf(parameters, "parameters") ?? { is: "data", shape: parameters, path: "parameters" },
    objects: { is: "data", shape: objects, path: "objects" },
    data: dataOf,
    pin,
    answer,
    marked,
  };
  function dataOf(shape: DataShape, path: string): KnownValue | undefined {
    if (shape.is === "text" && shape.cap === 0) return undefined;
    if (shape.is === "null" || shape.is === "list" || shape.is === "object")
      return { is: "data", shape, path };
    const global: CodeGlobal = leaves.get(path) ?? {
      type: shape.is === "number" ? "f64" : "i32",
      key: `${DATA_KEY}${path}`,
    };
    leaves.set(path, global);
    const code: Code = { is: "getGlobal", global };
    if (shape.is === "number") return numberOf(code);
    if (shape.is === "boolean") return booleanOf(code);
    const { cap } = shape as Extract<DataShape, { is: "text" }>;
    return { is: "text", text: { from: "data", at: i32(texts.placeOf(path, cap)), length: code, cap, path } };
  }
  const scope = new CodeScope();
  for (const [name, imported] of text.imported) {
    const why = `"${imported}" of jecho:moe is not compiled`;
    scope.set(
      name,
      imported === "urgent" || imported === "unpack"
        ? { is: "constant", value: { is: "builtin", name: imported } }
        : { is: "refused", why },
    );
  }
  const { derive, enqueue, fields: ownFields, methods, checks, beside } = text;
  const assigned = assignedNames([
    derive,
    enqueue,
    ...ownFields.values(),
    ...methods.values(),
    ...checks.values(),
    ...beside,
  ]);
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
  const init: Code[] = [];
  for (const [name, node] of text.fields) {
    const value = checker.value(node, { scope: inner, hasThis: true, loops: 1 });
    if ((value.is !== "number" || value.maybe) && value.is !== "boolean")
      return refuse(node, `the field "${name}" is compiled where it is a number, true or false`);
    const type = value.is === "number" ? "f64" : "i32";
    const global: CodeGlobal = { type, key: name };
    init.push({ is: "setGlobal", global, value: value.is === "number" ? wide(value) : value.code });
    fields.set(name, { global, type: value.is });
  }
  fuel.isOpen = true;
  const body = eventCode(text, checker, done, answer);
  if (leaves.size > WINDOW.mostData)
    throw new Refusal("it reads more of its parameters and shared objects than is compiled");
  const others = [...before, ...event.code];
  const guards = fields.size > 0 ? [] : guardsOf({ body, others, answer, fields: event.numbers });
  const code = [
    set(marked, i32(0)),
    ...fuel.begin,
    ...checker.emptyRoom,
    { is: "block" as const, label: done, body: [...event.code, ...body] },
    {
      is: "if" as const,
      test: op("i32.and", op("i32.eq", get(answer), i32(ANSWER.pass)), get(marked)),
      yes: [set(answer, i32(ANSWER.urgent))],
      no: [],
    },
  ];
  return {
    code: {
      globals: [...fields.values()].map(({ global }) => global),
      data: [...leaves.values()],
      init: [...before, ...init],
      before,
      event: code,
      start,
      end,
      answer,
      stopped: fuel.stopped,
      slots: outputs.slots,
    },
    cost: costOf([...before, ...code]),
    reads: event.reads,
    texts: texts.all,
    outputs: outputs.plans,
    slots: outputs.slots.length,
    stops: fuel.stops,
    isCounted: fuel.isUsed,
    isAlone: outputs.plans.some(({ parts: all }) => all.some(({ from }) => from === "array")),
    state: Array.from(fields, ([name, { type }]) => `${name} ${type}`).join(),
    guards,
  };
}

function eventCode(text: ModuleText, checker: StatementChecker, done: CodeLabel, answer: CodeLocal): Code[] {
  if (text.derive !== undefined) return checker.derive(text.derive, done);
  if (text.enqueue !== undefined) return checker.enqueue(text.enqueue, done);
  if (text.output !== undefined)
    throw new Refusal("it declares its output, and has no enqueue that makes it");
  return [set(answer, i32(ANSWER.pass))];
}
