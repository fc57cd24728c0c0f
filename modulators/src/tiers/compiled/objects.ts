import type { ArrayExpression, Expression, Node, ObjectExpression, Property, SpreadElement } from "acorn";
import { type Code, type CodeLocal, get, many, set } from "./code.ts";
import {
  booleanOf,
  type CodeScope,
  type KnownBoolean,
  type KnownNumber,
  type KnownObject,
  type KnownValue,
  type NumberArray,
  numberOf,
  type ObjectEntry,
  wide,
} from "./known.ts";
import { type CodePlace, MemberChecker, nameOf } from "./members.ts";
import { refuse } from "./refusal.ts";

type KnownFunctions = Extract<KnownValue, { is: "functions" }>;

/** A function in an object that is written in the source, by its name; undefined for another kind of property. */
function functionIn(
  property: Property | SpreadElement,
  scope: CodeScope,
): readonly [string, Extract<KnownValue, { is: "function" }>] | undefined {
  if (property.type === "SpreadElement" || property.computed || property.kind !== "init") return undefined;
  const { key, value } = property;
  if (key.type !== "Identifier" || key.name === "__proto__") return undefined;
  return value.type === "FunctionExpression" || value.type === "ArrowFunctionExpression"
    ? [key.name, { is: "function", node: value, scope, hasThis: false }]
    : undefined;
}

/** Finds out what objects that are written in the source are made of. */
export abstract class ObjectChecker extends MemberChecker {
  /** Region where each object is written, by the list of its parts. */
  readonly #regions = new WeakMap<readonly ObjectEntry[], object>();
  /** Objects that have been encoded. */
  protected readonly encoded = new WeakSet<readonly ObjectEntry[]>();

  /** The number, where the language tells undefined from NaN: the program stops where an element is not there. */
  protected sure(number: KnownNumber, node: Node): KnownNumber {
    if (!number.maybe || number.found === undefined) return number;
    const { test, value } = number.found;
    const no = this.parts.fuel.stop(node, "the element that is read here is not there");
    const type = value.int === undefined ? "f64" : "i32";
    return { ...value, code: { is: "if", test, yes: [value.code], no, type } };
  }

  /** An object that is written down: its numbers are computed here, and texts and vectors of the event are named. */
  protected object(node: ObjectExpression, place: CodePlace): KnownObject | KnownFunctions {
    const { properties } = node;
    this.parts.looks.take(node, properties.length);
    const functions = properties.map(property => functionIn(property, place.scope));
    if (functions.length > 0 && functions.every(entry => entry !== undefined))
      return { is: "functions", members: new Map(functions) };
    const entries: ObjectEntry[] = [];
    const effects: Code[] = [];
    for (const property of properties) {
      if (property.type === "SpreadElement") {
        const spread = this.value(property.argument, place);
        const isWhole = spread.is === "object" && !spread.urgent && spread.present === undefined;
        if (spread.is !== "plain" && (spread.is !== "object" || !isWhole))
          return refuse(
            property,
            `in an object, ...unpack(event) is compiled, and this is ${nameOf(spread)}`,
          );
        if (spread.is === "object") this.#takeLooks(spread.entries, property);
        effects.push(...spread.effects);
        entries.push(...(spread.is === "plain" ? [{ from: "event" } as const] : spread.entries));
        continue;
      }
      const { key, kind, computed, method } = property;
      const written = key.type === "Identifier" ? key.name : key.type === "Literal" ? key.value : undefined;
      const name = computed ? this.#computed(key, place) : written;
      if (kind !== "init" || method || typeof name !== "string" || name === "__proto__")
        return refuse(property, "this part of an object is not compiled");
      const value =
        property.value.type === "ArrayExpression"
          ? this.#numbers(property.value, place)
          : this.value(property.value, place);
      entries.push(this.#entry(name, value, property, effects));
    }
    this.#regions.set(entries, this.region);
    return { is: "object", entries, urgent: false, effects };
  }

  /** `object.name = value`, where that is run whenever the object is made: it has another part from there on. */
  protected assignedPart(object: KnownObject, name: string, value: KnownValue, node: Node): KnownValue {
    const { entries } = object;
    if (object.effects.length > 0 || name === "__proto__" || this.#regions.get(entries) !== this.region)
      return refuse(
        node,
        "a part of an object is assigned to where it is compiled in the block that makes it",
      );
    if (this.encoded.has(entries))
      return refuse(node, "an object that has gone out, or is held by a field, is not written to");
    const effects: Code[] = [];
    const entry = this.#entry(name, value, node, effects);
    entries.push(entry);
    if (entry.from === "value") {
      const code = many(...effects, get(entry.local));
      return entry.isBoolean ? booleanOf(code) : numberOf(code);
    }
    return "effects" in value ? { ...value, effects } : value;
  }

  /** Parts that are written once, and are there wherever the object is named. */
  #takeLooks(entries: readonly ObjectEntry[], node: Node): void {
    for (const entry of entries)
      this.parts.looks.take(node, entry.from === "encoded" ? 1 + entry.entries.length : 1);
  }

  #computed(key: Expression, place: CodePlace): string {
    const value = this.value(key, place);
    return value.is === "text"
      ? this.nameIn(value.text, key)
      : refuse(key, "a computed name is compiled where it is a text");
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
    if (value.is === "nothing" && value.name === "undefined") {
      effects.push(...value.effects);
      return { from: "none", name };
    }
    if (value.is === "vector") {
      effects.push(...value.effects);
      const { vector } = value;
      if (vector.made === undefined && vector.of !== undefined)
        return refuse(node, "a part of an event's vector is compiled where it does not go out");
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
    if (value.is === "token") return { from: "token", name };
    if (value.is === "encoded") {
      this.#takeLooks(value.entries, node);
      effects.push(...value.effects);
      return { from: "encoded", name, entries: value.entries };
    }
    if (value.is === "numbers") {
      const { array, locals } = value;
      effects.push(...value.effects);
      return { from: "values", name, array, locals };
    }
    const isBoolean = value.is === "boolean";
    const number = value.is === "number" ? this.sure(value, node) : undefined;
    if (!isBoolean && (number === undefined || number.maybe))
      return refuse(
        node,
        `"${name}" of an event that is made is compiled as a number, a boolean, a text or a vector of the event, and this is ${nameOf(value)}`,
      );
    const local: CodeLocal = { type: isBoolean ? "i32" : "f64" };
    effects.push(set(local, number === undefined ? (value as KnownBoolean).code : wide(number)));
    return { from: "value", name, local, isBoolean };
  }
}
