import type {
  AssignmentExpression,
  Expression,
  MemberExpression,
  Node,
  Pattern,
  UpdateExpression,
} from "acorn";
import { isTiming } from "./class-text.ts";
import { type Code, type CodeLocal, f64, get, many, op, set, tee } from "./code.ts";
import { ExpressionChecker } from "./expressions.ts";
import { type CodeField, LearnedField, storedInField, valueOfField } from "./fields.ts";
import {
  type Binding,
  booleanOf,
  type KnownNumber,
  type KnownObject,
  type KnownValue,
  maybeOf,
  nothing,
  numberOf,
  wide,
} from "./known.ts";
import { type CodePlace, nameOf } from "./members.ts";
import { arithmetic } from "./numbers.ts";
import { refuse } from "./refusal.ts";

/** An element of an array that the program has made, to be read and written. */
export interface ElementTarget {
  /** Code that comes before the value is computed. */
  readonly before: Code;
  /** Refuses where the array is no longer written to as it was named, once what is computed in between has been checked. */
  readonly recheck: () => void;
  readonly read: KnownValue;
  /** Stores a number, and gives it. What lies beyond the array's end is dropped, as the language does. */
  readonly store: (value: KnownNumber) => KnownNumber;
  /** Code that stores a number that nobody asks for behind that. */
  readonly put: (value: KnownNumber) => Code[];
}

interface AssignmentTarget {
  readonly read: KnownValue;
  /** Whether the value may become undefined. */
  readonly maybe: boolean;
  /** Stores, and gives the value. */
  readonly store: (value: Code) => Code;
}

/** Assignments: to variables, to the modulator's own fields, to elements of arrays and to parts of objects that the program makes. */
export abstract class AssignmentChecker extends ExpressionChecker {
  /** Stands for the code that is run whenever a modulator is made; undefined where that is not what is checked. */
  protected constructing: object | undefined;

  protected abstract elementTarget(node: MemberExpression, place: CodePlace): ElementTarget;

  protected assignment(
    { operator, left, right }: AssignmentExpression,
    place: CodePlace,
    isUsed: boolean,
  ): KnownValue {
    const part = left.type === "MemberExpression" ? this.#partOf(left, place) : undefined;
    if (part !== undefined && left.type === "MemberExpression")
      return operator === "="
        ? this.assignedPart(part.object, part.name, this.value(right, place), left)
        : refuse(left, `the operator ${operator} is not compiled with a part of an object`);
    if (left.type === "MemberExpression" && left.computed) {
      const { before, recheck, read, store, put } = this.elementTarget(left, place);
      const value = this.number(right, place);
      recheck();
      const made =
        operator === "=" ? value : arithmetic(operator.slice(0, -1), this.asNumber(read, left), value);
      if (made === undefined) return refuse(left, `the operator ${operator} is not compiled`);
      if (!isUsed) return nothing("undefined", [before, ...put(made)]);
      const stored = store(made);
      return { ...stored, code: many(before, stored.code) };
    }
    const field = left.type === "MemberExpression" ? this.#fieldOf(left, place) : undefined;
    const isPlain = field?.kind?.is === "number" || field?.kind?.is === "boolean";
    if (field !== undefined && operator === "=" && !isPlain)
      return this.#storedIn(field, this.value(right, place), left, place);
    if (operator === "=") {
      const target = this.#target(left, place, false);
      const value = this.value(right, place);
      if (field !== undefined && this.region === this.constructing) field.isUnset = false;
      return this.#store(target, value, left);
    }
    const target = this.#target(left, place, true);
    const binary = operator.slice(0, -1);
    if (binary === "&&" || binary === "||" || binary === "??")
      return refuse(left, `the operator ${operator} is not compiled`);
    const before = this.asNumber(target.read, left);
    const made = arithmetic(binary, before, this.number(right, place));
    return made === undefined
      ? refuse(left, `the operator ${operator} is not compiled`)
      : this.#store(target, made, left);
  }

  protected update({ operator, prefix, argument }: UpdateExpression, place: CodePlace): KnownValue {
    const step = operator === "++" ? "f64.add" : "f64.sub";
    if (argument.type === "MemberExpression" && argument.computed) {
      const { before, read, store } = this.elementTarget(argument, place);
      const old: CodeLocal = { type: "f64" };
      const stored = store(numberOf(op(step, get(old), f64(1))));
      const code = many(before, set(old, wide(this.asNumber(read, argument))), stored.code);
      return numberOf(prefix ? code : many({ is: "drop", value: code }, get(old)));
    }
    const target = this.#target(argument, place, true);
    const before = this.asNumber(target.read, argument);
    const made = numberOf(op(step, wide(before), f64(1)));
    if (prefix) return this.#store(target, made, argument);
    const old: CodeLocal = { type: "f64" };
    const next = numberOf(op(step, get(old), f64(1)));
    const stored = this.#store(target, next, argument) as KnownNumber;
    return numberOf(many(set(old, wide(before)), { is: "drop", value: stored.code }, get(old)));
  }

  /** @param isRead whether what is there is looked at before */
  #target(node: Expression | Pattern, place: CodePlace, isRead: boolean): AssignmentTarget {
    if (node.type === "Identifier") {
      const binding: Binding | undefined = place.scope.find(node.name);
      if (binding?.is === "counter")
        return refuse(node, `"${node.name}" counts a loop, which alone changes it where it is compiled`);
      if (binding?.is !== "variable")
        return refuse(node, `"${node.name}" cannot be assigned to, or is not compiled`);
      const code = get(binding.local);
      const read =
        binding.type === "boolean" ? booleanOf(code) : binding.maybe ? maybeOf(code) : numberOf(code);
      return { read, maybe: binding.maybe, store: value => tee(binding.local, value) };
    }
    const field = node.type === "MemberExpression" ? this.#fieldOf(node, place) : undefined;
    if (field === undefined)
      return refuse(
        node,
        "only variables and the modulator's own fields are assigned to where it is compiled",
      );
    if (field.isUnset && isRead) return refuse(node, `the field "${field.name}" may be undefined here`);
    const [global] = field.globals;
    const read = valueOfField(field);
    if (global === undefined || (read.is !== "number" && read.is !== "boolean"))
      return refuse(node, `${nameOf(read)} is not changed where it is compiled`);
    const store = (value: Code): Code => {
      const local: CodeLocal = { type: global.type };
      return many({ is: "setGlobal", global, value: tee(local, value) }, get(local));
    };
    return { read, maybe: false, store };
  }

  /** The modulator's own field that a member is; undefined for another one. */
  #fieldOf(node: MemberExpression, place: CodePlace): CodeField | undefined {
    const { object, property, computed } = node;
    if (object.type !== "ThisExpression" || !place.hasThis || computed) return undefined;
    const name =
      property.type === "PrivateIdentifier" ? `#${property.name}` : (property as { name: string }).name;
    const field = this.parts.fields.get(name);
    if (field !== undefined) return field;
    if (isTiming(name)) throw new LearnedField(name, { is: "number" });
    return refuse(node, `the class declares no field "${name}"`);
  }

  protected abstract storedArray(
    field: CodeField,
    value: Extract<KnownValue, { is: "vector" }>,
    node: Node,
    place: CodePlace,
  ): KnownValue;

  /** `this.field = value`, of a field that holds more than a number. */
  #storedIn(field: CodeField, value: KnownValue, node: Node, place: CodePlace): KnownValue {
    if (value.is === "vector") return this.storedArray(field, value, node, place);
    const { data } = this.parts;
    const version = (path: string): Code => data.version(path);
    const isPlain = value.is === "boolean" || (value.is === "number" && !value.maybe);
    if (field.kind === undefined && isPlain && this.region === this.constructing)
      throw new LearnedField(field.name, { is: value.is });
    const effects = storedInField(field, value, version);
    if (effects === undefined)
      return refuse(node, `that "${field.name}" becomes ${nameOf(value)} is not compiled`);
    if (value.is === "object") this.encoded.add(value.entries);
    if (value.is !== "data") return { ...(value as KnownObject), effects };
    const local: CodeLocal = { type: "f64" };
    return {
      is: "reference",
      path: value.path,
      version: local,
      effects: [...effects, set(local, version(value.path))],
    };
  }

  #store({ read, maybe, store }: AssignmentTarget, value: KnownValue, node: Node): KnownValue {
    if (read.is === "boolean" && value.is === "boolean") return booleanOf(store(value.code));
    if (read.is !== "number" || value.is !== "number")
      return refuse(node, `what was ${nameOf(read)} becomes ${nameOf(value)}: this is not compiled`);
    const number = maybe ? value : this.sure(value, node);
    if (number.maybe && !maybe) return refuse(node, "it may become undefined, which is not compiled");
    return { ...(number.maybe ? maybeOf(store(wide(number))) : numberOf(store(wide(number)))) };
  }

  /** The object that is written in the source, and the part of it that an assignment names; undefined for another target. */
  #partOf(
    node: MemberExpression,
    place: CodePlace,
  ): { readonly object: KnownObject; readonly name: string } | undefined {
    const { object: of, property, computed } = node;
    if (of.type !== "Identifier" || property.type === "PrivateIdentifier") return undefined;
    const object = this.value(of, place);
    if (object.is !== "object") return undefined;
    if (!computed) return property.type === "Identifier" ? { object, name: property.name } : undefined;
    const name = this.value(property, place);
    return name.is === "text"
      ? { object, name: this.nameIn(name.text, property) }
      : refuse(property, "a computed name is compiled where it is a text");
  }
}
