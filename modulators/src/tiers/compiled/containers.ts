import type { Expression, MemberExpression, Node } from "acorn";
import { type Code, type CodeLocal, call, get, many, op, set } from "./code.ts";
import { KEEPING } from "./fields.ts";
import type { Fuel } from "./fuel.ts";
import { booleanOf, intOf, type KnownValue, nothing, wide } from "./known.ts";
import { refuse } from "./refusal.ts";

/*
 * Lists and maps that a field of the modulator holds events in. The tier has them, and does what the language does with them.
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

/** `list.length`, `map.size` */
export function sizeOf(container: KnownContainer): KnownValue {
  return intOf(call("count", itself(container)), { lo: 0, hi: MOST_ENTRIES });
}

/** `const [first] = container`: the event of a list, or the key and the event of a map, or undefined. */
export function firstOf(container: KnownContainer): KnownValue {
  const ref: CodeLocal = { type: "ref" };
  const effects = [set(ref, call("first", itself(container)))];
  if (container.kind === "list") return { is: "kept", ref, effects };
  const key: CodeLocal = { type: "ref" };
  return { is: "entry", ref, key, effects: [...effects, set(key, call("firstKey", itself(container)))] };
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
  const isList = container.kind === "list";
  const ref: CodeLocal = { type: "ref" };
  switch (`${container.kind}.${name}/${args.length}`) {
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
    case "map.has/1":
    case "map.delete/1": {
      const key = keyIn(first as KnownValue, node);
      return booleanOf(many(...key.effects, call(name === "has" ? "has" : "remove", it, get(key.ref))));
    }
    case "map.set/2": {
      const key = keyIn(first as KnownValue, node);
      const event = eventIn(second as KnownValue, node, fuel);
      if (first?.is === "key")
        return refuse(node, "an event is kept by a key that is computed where it is compiled");
      return nothing("undefined", [
        ...key.effects,
        ...event.effects,
        call("add", it, get(key.ref), get(event.ref)),
      ]);
    }
    default:
      return refuse(node, `this call of ${name} of a ${isList ? "list" : "map"} of events is not compiled`);
  }
}

/** An event that came in, or was kept, in a variable. The program stops where it is undefined. */
function eventIn(value: KnownValue, node: Node, fuel: Fuel): HeldReference {
  if (value.is === "event") return newestIn(value);
  if (value.is !== "kept")
    return refuse(node, "lists and maps in a field are compiled where they hold events");
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
