import type { Expression, MemberExpression, Node } from "acorn";
import { type Code, type CodeLocal, call, f64, get, i32, many, op, set } from "./code.ts";
import { type ContainerKind, KEEPING, LearnedField } from "./fields.ts";
import type { Fuel } from "./fuel.ts";
import {
  booleanOf,
  intOf,
  type KnownNumber,
  type KnownValue,
  maybeOf,
  nothing,
  numberOf,
  wide,
} from "./known.ts";
import { refuse } from "./refusal.ts";

/*
 * Lists, maps and sets that a field of the modulator holds. The tier has them, and does what the language does with them.
 */

type KnownContainer = Extract<KnownValue, { is: "container" }>;
type KnownEntry = Extract<KnownValue, { is: "entry" }>;
type HeldReference = { readonly ref: CodeLocal; readonly effects: readonly Code[] };

/** Entries that a container may have: each takes some of the bytes that a modulator may keep. */
const MOST_ENTRIES = 1 << 20;

function itself({ field }: KnownContainer): Code {
  const [global] = field.globals;
  return { is: "getGlobal", global: global as Extract<Code, { is: "getGlobal" }>["global"] };
}

/** `list.length`, `map.size`, `set.size` */
export function sizeOf(container: KnownContainer): KnownValue {
  return intOf(call("count", itself(container)), { lo: 0, hi: MOST_ENTRIES });
}

/** `const [first] = container`, of events: the event of a list, or the key and the event of a map, or undefined. */
export function firstOf(container: KnownContainer): KnownValue {
  const ref: CodeLocal = { type: "ref" };
  const effects = [set(ref, call("first", itself(container)))];
  if (container.kind === "list") return { is: "kept", ref, effects };
  const key = firstKeyOf(container);
  return { is: "entry", ref, key: key.ref, effects: [...effects, ...key.effects] };
}

/** The first key of a map or set, or undefined. */
export function firstKeyOf(container: KnownContainer): Extract<KnownValue, { is: "key" }> {
  const ref: CodeLocal = { type: "ref" };
  return { is: "key", ref, effects: [set(ref, call("firstKey", itself(container)))] };
}

/** The map whose first key an expression is: `map.keys().next().value`. */
export function mapOfFirstKey({ property, object }: MemberExpression): Expression | undefined {
  const next =
    property.type === "Identifier" && property.name === "value" ? calledOn(object, "next") : undefined;
  return next === undefined ? undefined : calledOn(next, "keys");
}

function calledOn(node: MemberExpression["object"], name: string): Expression | undefined {
  if (node.type !== "CallExpression" || node.arguments.length > 0) return undefined;
  const { callee } = node;
  const isIt =
    callee.type === "MemberExpression" &&
    !callee.computed &&
    callee.property.type === "Identifier" &&
    callee.property.name === name;
  return isIt && callee.object.type !== "Super" ? callee.object : undefined;
}

/** `entry[0]`, the key, and `entry[1]`, the event. */
export function partOfEntry(
  { ref, key, effects }: KnownEntry,
  index: unknown,
  node: Node,
  fuel: Fuel,
): KnownValue {
  const isThere = fuel.stopIf(op("ref.is_null", get(ref)), node, "an entry that is not there is read");
  if (index === 0) return { is: "key", ref: key, effects: [...effects, isThere] };
  return index === 1
    ? { is: "kept", ref, effects: [...effects, isThere] }
    : refuse(node, "of an entry, [0] and [1] are compiled");
}

/** A call of one of the container's own functions. */
export function containerCall(
  container: KnownContainer,
  name: string,
  args: readonly KnownValue[],
  node: Node,
  fuel: Fuel,
): KnownValue {
  const [first, second] = args;
  const it = itself(container);
  const { kind, field } = container;
  // This tells what a map holds that is empty at first.
  if (
    kind === "map" &&
    ((name === "get" && args.length === 1) || (name === "set" && second?.is === "number"))
  )
    throw new LearnedField(field.name, { is: "numbers" });
  const ref: CodeLocal = { type: "ref" };
  switch (`${kind}.${name}/${args.length}`) {
    case "list.push/1": {
      const event = eventIn(first as KnownValue, node, fuel);
      const size = sizeOf(container) as Extract<KnownValue, { is: "number" }>;
      return {
        ...size,
        code: many(...event.effects, call("add", it, { is: "none" }, get(event.ref)), size.code),
      };
    }
    case "list.shift/0":
      return { is: "kept", ref, effects: [set(ref, call("shift", it))] };
    case "map.clear/0":
    case "numbers.clear/0":
    case "set.clear/0":
      return nothing("undefined", [call("clear", it)]);
    case "map.has/1":
    case "map.delete/1":
    case "numbers.has/1":
    case "numbers.delete/1":
    case "set.has/1":
    case "set.delete/1": {
      const key = keyIn(first as KnownValue, node);
      return booleanOf(many(...key.effects, call(name === "has" ? "has" : "remove", it, get(key.ref))));
    }
    case "map.set/2": {
      const key = keyIn(first as KnownValue, node);
      const event = eventIn(second as KnownValue, node, fuel);
      if (first?.is === "key")
        return refuse(node, "an event is kept by a key that is computed where it is compiled");
      const effects = [...key.effects, ...event.effects, call("add", it, get(key.ref), get(event.ref))];
      return { is: "changed", effects };
    }
    case "numbers.get/1":
      return numberAt(it, keyIn(first as KnownValue, node));
    case "numbers.set/2":
    case "set.add/1": {
      const key = keyIn(first as KnownValue, node);
      const value = kind === "set" ? numberOf(f64(0)) : second;
      if (value?.is !== "number" || value.maybe)
        return refuse(
          node,
          "a map that numbers are read from or put into is compiled where it holds no more than these",
        );
      const effects = [...key.effects, call("addNumber", it, get(key.ref), wide(value))];
      return { is: "changed", effects };
    }
    default:
      return refuse(node, `this call of ${name} of ${nameOfContainer(kind)} is not compiled`);
  }
}

export function nameOfContainer(kind: ContainerKind): string {
  return kind === "set" ? "a set" : kind === "numbers" ? "a map of numbers" : `a ${kind} of events`;
}

/** `map.get(key)` of a map of numbers. NaN stands for undefined; where it comes, the map is asked whether that is what it holds. */
function numberAt(it: Code, { ref, effects }: HeldReference): KnownNumber {
  const found: CodeLocal = { type: "f64" };
  const look = [...effects, set(found, call("numberAt", it, get(ref)))];
  const test: Code = {
    is: "if",
    test: op("f64.eq", get(found), get(found)),
    yes: [i32(1)],
    no: [call("has", it, get(ref))],
    type: "i32",
  };
  const value = numberOf(get(found));
  return { ...maybeOf(many(...look, value.code)), found: { test: many(...look, test), value } };
}

/** An event that came in, or was kept, in a variable. The program stops where it is undefined. */
function eventIn(value: KnownValue, node: Node, fuel: Fuel): HeldReference {
  if (value.is === "event") return newestIn(value);
  if (value.is !== "kept")
    return refuse(
      node,
      "lists and maps in a field are compiled where they hold events, and maps where they hold numbers",
    );
  const isThere = fuel.stopIf(op("ref.is_null", get(value.ref)), node, "undefined is kept as an event");
  return { ref: value.ref, effects: [...value.effects, isThere] };
}

/** The event that came in, kept. */
export function newestIn({ effects }: Extract<KnownValue, { is: "event" }>): HeldReference {
  const ref: CodeLocal = { type: "ref" };
  return { ref, effects: [...effects, ...KEEPING, set(ref, call("keep"))] };
}

function keyIn(value: KnownValue, node: Node): HeldReference {
  const ref: CodeLocal = { type: "ref" };
  const made = (code: Code, ...before: Code[]): HeldReference => ({
    ref,
    effects: [...before, set(ref, code)],
  });
  switch (value.is) {
    case "key":
      return value;
    case "number":
      if (!value.maybe) return made(call("numberKey", wide(value)));
      break;
    case "boolean":
      return made(call("booleanKey", value.code));
    case "text": {
      const { text } = value;
      if (text.from !== "event") break;
      // A text is read byte by byte, and compared.
      return made(call("textKey", text.at, text.length), {
        is: "host",
        steps: 100,
        of: text.vector,
        each: 4,
      });
    }
  }
  return refuse(node, "a key is compiled where it is a number, true or false, or a text of the event");
}
