import type { Expression } from "acorn";
import type { Code } from "./code.ts";
import type { KnownValue } from "./known.ts";

/*
 * What the text alone says about values. A branch that is never taken is not looked at, so one text serves parameters with and without a part.
 */

/** Whether a test comes out the same each time, and how; undefined where that is not known. */
export function foldedTest(test: Code): boolean | undefined {
  return test.is === "i32" ? test.value !== 0 : undefined;
}

/** Whether the value is undefined or null for sure, and nothing has to be run for it. */
export function isNothing(value: KnownValue): boolean {
  return (
    (value.is === "nothing" && value.effects.length === 0) ||
    (value.is === "data" && value.shape.is === "null")
  );
}

/** Whether the value is neither undefined nor null, for sure. */
export function isThere(value: KnownValue): boolean {
  if (value.is === "number") return !value.maybe;
  if (value.is === "data") return value.shape.is !== "null";
  if (value.is === "object") return value.present === undefined;
  return !["nothing", "reference", "kept", "entry", "key"].includes(value.is);
}

/** Whether an expression only reads names and members. */
export function isRead(node: Expression): boolean {
  if (node.type === "Identifier" || node.type === "ThisExpression" || node.type === "Literal") return true;
  if (node.type !== "MemberExpression" || node.object.type === "Super" || !isRead(node.object)) return false;
  return !node.computed || (node.property.type !== "PrivateIdentifier" && isRead(node.property));
}

/** The answer of `typeof`; undefined where it is not known from the text. */
export function typeOf(value: KnownValue): string | undefined {
  switch (value.is) {
    case "number":
      return value.maybe ? undefined : "number";
    case "boolean":
      return "boolean";
    case "text":
      return "string";
    case "nothing":
      return value.name === "null" ? "object" : "undefined";
    case "data":
    case "event":
    case "vector":
      return "object";
    case "object":
      return value.present === undefined ? "object" : undefined;
    case "moe":
      return "object";
    case "function":
      return "function";
    default:
      return undefined;
  }
}
