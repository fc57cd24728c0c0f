import type { ArrayExpression, Node, ObjectExpression } from "acorn";
import { type Code, type CodeLocal, set } from "./code.ts";
import {
  type KnownNumber,
  type KnownObject,
  type KnownValue,
  type NumberArray,
  type ObjectEntry,
  wide,
} from "./known.ts";
import { type CodePlace, MemberChecker, nameOf } from "./members.ts";
import { refuse } from "./refusal.ts";

/** Finds out what objects that are written in the source are made of. */
export abstract class ObjectChecker extends MemberChecker {
  /** An object that is written down: its numbers are computed here, and texts and vectors of the event are named. */
  protected object({ properties }: ObjectExpression, place: CodePlace): KnownObject {
    const entries: ObjectEntry[] = [];
    const effects: Code[] = [];
    for (const property of properties) {
      if (property.type === "SpreadElement") {
        const spread = this.value(property.argument, place);
        if (spread.is !== "plain" && (spread.is !== "object" || spread.urgent))
          return refuse(
            property,
            `in an object, ...unpack(event) is compiled, and this is ${nameOf(spread)}`,
          );
        effects.push(...spread.effects);
        entries.push(...(spread.is === "plain" ? [{ from: "event" } as const] : spread.entries));
        continue;
      }
      const { key, kind, computed, method } = property;
      const name = key.type === "Identifier" ? key.name : key.type === "Literal" ? key.value : undefined;
      if (kind !== "init" || computed || method || typeof name !== "string" || name === "__proto__")
        return refuse(property, "this part of an object is not compiled");
      const value =
        property.value.type === "ArrayExpression"
          ? this.#numbers(property.value, place)
          : this.value(property.value, place);
      entries.push(this.#entry(name, value, property, effects));
    }
    return { is: "object", entries, urgent: false, effects };
  }

  /** A list that is written as a part of an object. */
  #numbers(node: ArrayExpression, place: CodePlace): KnownValue {
    const numbers = node.elements.map(element => {
      const value =
        element === null || element.type === "SpreadElement" ? undefined : this.value(element, place);
      return value?.is === "number" && !value.maybe
        ? value
        : refuse(element ?? node, "a list in an object is compiled where it holds numbers");
    });
    return this.numbers("Array", numbers);
  }

  protected numbers(array: NumberArray, numbers: readonly KnownNumber[]): KnownValue {
    const locals = numbers.map((): CodeLocal => ({ type: "f64" }));
    const effects = numbers.map((number, i) => set(locals[i] as CodeLocal, wide(number)));
    return { is: "numbers", array, locals, effects };
  }

  #entry(name: string, value: KnownValue, node: Node, effects: Code[]): ObjectEntry {
    if (value.is === "vector") {
      effects.push(...value.effects);
      const { vector } = value;
      return vector.made === undefined
        ? { from: "field", name, field: vector.name }
        : { from: "array", name, vector };
    }
    if (value.is === "text") {
      const { text } = value;
      if (text.from === "event") return { from: "field", name, field: text.vector.name };
      return text.from === "source"
        ? { from: "source", name, bytes: text.bytes }
        : { from: "data", name, path: text.path };
    }
    if (value.is === "numbers") {
      const { array, locals } = value;
      effects.push(...value.effects);
      return { from: "values", name, array, locals };
    }
    const isBoolean = value.is === "boolean";
    if (!isBoolean && (value.is !== "number" || value.maybe))
      return refuse(
        node,
        `"${name}" of an event that is made is compiled as a number, a boolean, a text or a vector of the event, and this is ${nameOf(value)}`,
      );
    const local: CodeLocal = { type: isBoolean ? "i32" : "f64" };
    effects.push(set(local, value.is === "number" ? wide(value) : value.code));
    return { from: "value", name, local, isBoolean };
  }
}
