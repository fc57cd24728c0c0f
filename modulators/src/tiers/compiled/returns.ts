import type { Node } from "acorn";
import { type Code, type CodeLocal, get, i32, many, set } from "./code.ts";
import { effectsOf } from "./expressions.ts";
import { emptyRecord, localOf, partsOfRecord, storedRecord } from "./fields.ts";
import { booleanOf, type KnownObject, type KnownValue, maybeOf, nothing, numberOf, wide } from "./known.ts";
import { nameOf } from "./members.ts";
import { refuse } from "./refusal.ts";

/** The value of a function with several returns, each of which leaves its own in the same variables: a number, a boolean, or an object of these or undefined. */
export class ReturnedValue {
  #type: "number" | "boolean" | "object" | "nothing" | undefined;
  readonly #result: CodeLocal = { type: "f64" };
  readonly #truth: CodeLocal = { type: "i32" };
  #record: KnownObject | undefined;
  #isMaybe = false;

  /** Code that leaves one return's value. */
  take(value: KnownValue, at: Node): Code[] {
    const isNothing = value.is === "nothing" && value.name === "undefined";
    const isMeant = value.is === "number" || value.is === "boolean" || value.is === "object" || isNothing;
    if (!isMeant)
      return refuse(
        at,
        `a function that returns ${nameOf(value)} is compiled where it is an arrow with an expression`,
      );
    const before = this.#type;
    const isObject = value.is === "object" || before === "object";
    this.#type ??= value.is;
    if (isObject && (before === "nothing" || isNothing)) this.#type = "object";
    else if (this.#type !== value.is)
      return refuse(at, "a function that returns values of several kinds is not compiled");
    switch (value.is) {
      case "number":
        this.#isMaybe ||= value.maybe;
        return [set(this.#result, wide(value))];
      case "boolean":
        return [set(this.#truth, value.code)];
      case "object":
        return this.#taken(value, at);
      default:
        this.#isMaybe = true;
        return effectsOf(value);
    }
  }

  #taken(value: KnownObject, at: Node): Code[] {
    const parts = partsOfRecord(value);
    if (parts === undefined)
      return refuse(
        at,
        "an object that one of several returns gives is compiled where it has numbers and booleans",
      );
    this.#record ??= emptyRecord(parts, true);
    const { entries, present } = this.#record;
    this.#isMaybe ||= value.present !== undefined;
    const stored = storedRecord(
      value,
      partsOfRecord(this.#record) ?? parts,
      i => code => set(localOf(entries[i] as KnownObject["entries"][number]), code),
    );
    if (stored === undefined)
      return refuse(at, "a function that returns objects of several kinds is not compiled");
    return [...stored, set(present as CodeLocal, value.present === undefined ? i32(1) : get(value.present))];
  }

  /**
   * The value behind the function's body.
   *
   * @param ends whether the body always comes to a return
   */
  behind(body: readonly Code[], ends: boolean, node: Node): KnownValue {
    const type = this.#type ?? "nothing";
    if (type === "nothing") return nothing("undefined", body);
    if (type === "object") {
      const record = this.#record as KnownObject;
      const present = record.present as CodeLocal;
      const isAlways = ends && !this.#isMaybe;
      const effects = [set(present, i32(0)), ...body];
      return { ...record, present: isAlways ? undefined : present, effects };
    }
    if (!ends) return refuse(node, "a function that returns a value in some cases alone is not compiled");
    if (type === "boolean") return booleanOf(many(...body, get(this.#truth)));
    const code = many(...body, get(this.#result));
    return this.#isMaybe ? maybeOf(code) : numberOf(code);
  }
}
