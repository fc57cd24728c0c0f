import type { Expression, MemberExpression, Node, SpreadElement } from "acorn";
import { builtinOf } from "./builtins.ts";
import { type Code, type CodeLocal, f64, get, i32, many, op } from "./code.ts";
import { firstKeyOf, mapOfFirstKey, nameOfContainer, partOfEntry, sizeOf } from "./containers.ts";
import type { DataPlaces } from "./data-places.ts";
import { bytesOfText, type DataShape, MOST_MEMBERS, MOST_TEXT_BYTES } from "./data-shape.ts";
import type { EventCode } from "./event-code.ts";
import { isNothing, isThere } from "./facts.ts";
import type { FieldArrays } from "./field-arrays.ts";
import { type CodeField, valueOfField } from "./fields.ts";
import type { Fuel } from "./fuel.ts";
import {
  booleanOf,
  type CodeScope,
  constantOf,
  type EventVector,
  intOf,
  type KnownNumber,
  type KnownObject,
  type KnownText,
  type KnownValue,
  MOST_LENGTH,
  maybeOf,
  nothing,
  numberOf,
  wholeOf,
  wide,
} from "./known.ts";
import type { Looks } from "./looks.ts";
import type { ModuleText } from "./module-text.ts";
import { indexed } from "./numbers.ts";
import type { Outputs } from "./outputs.ts";
import { refuse } from "./refusal.ts";

const ODD_TEXT = `a text is compiled where it has at most ${MOST_TEXT_BYTES} bytes, and no U+FFFD and no half of a surrogate pair`;

/** Functions of "jecho:moe" that a function of one event is given. */
const GIVEN_FUNCTIONS: ReadonlySet<string> = new Set(["mean", "sum", "unpack", "urgent"]);

const EVENT: KnownValue = { is: "event", effects: [] };

/** The surroundings of an expression: of which function it is a part. */
export interface CodePlace {
  readonly scope: CodeScope;
  /** Whether `this` is the modulator. */
  readonly hasThis: boolean;
  /** Number of loops around the expression. */
  readonly loops: number;
}

/** The parts of a program that expressions refer to, as far as they are known. */
export interface CheckedParts {
  readonly text: ModuleText;
  readonly event: EventCode | undefined;
  readonly fields: Map<string, CodeField>;
  readonly fieldArrays: FieldArrays;
  /** Parameters and shared objects, as data. */
  readonly parameters: KnownValue;
  readonly objects: KnownValue;
  /** Members of these. */
  readonly data: DataPlaces;
  readonly pin: (path: string) => unknown;
  readonly outputs: Outputs;
  readonly fuel: Fuel;
  readonly looks: Looks;
  /** The program's answer for the event. */
  readonly answer: CodeLocal;
  /** Whether the event is marked to go first. */
  readonly marked: CodeLocal;
}

/** Finds out what names, members and elements are. */
export abstract class MemberChecker {
  protected readonly parts: CheckedParts;

  /** Stands for the code that is run exactly when what is checked now is: a branch or a loop's body has another one. */
  protected region: object = {};
  /** Arrays that names no longer stand for. */
  protected readonly stale = new Set<EventVector>();

  constructor(parts: CheckedParts) {
    this.parts = parts;
  }

  /** Checks code that may not be run, or may be run more than once, where the code around it is. */
  protected inRegion<T>(act: () => T): T {
    const { region } = this;
    this.region = {};
    const made = act();
    this.region = region;
    return made;
  }

  abstract value(node: Expression, place: CodePlace): KnownValue;

  protected named(name: string, node: Node, place: CodePlace): KnownValue {
    const binding = place.scope.find(name);
    if (binding === undefined) {
      return builtinOf(name) ?? refuse(node, `"${name}" is not compiled, or is not known here`);
    }
    switch (binding.is) {
      case "constant":
      case "counter":
        this.refuseStale(binding.value, node);
        return binding.value;
      case "variable": {
        const code = get(binding.local);
        if (binding.type === "boolean") return booleanOf(code);
        return binding.maybe ? maybeOf(code) : numberOf(code);
      }
      case "unready":
        return refuse(node, `"${name}" may be read before it has a value`);
      case "refused":
        return refuse(node, binding.why);
    }
  }

  /** Refuses an array that a field holds by now, or held before: under this name the language has it as it was. */
  protected refuseStale(value: KnownValue, node: Node): void {
    if ("vector" in value && this.stale.has(wholeOf(value.vector)))
      refuse(
        node,
        "an array that has gone into a field, or that a field held, is compiled by the field's name",
      );
  }

  protected written(text: string, node: Node): KnownValue {
    const bytes = bytesOfText(text);
    return bytes === undefined ? refuse(node, ODD_TEXT) : { is: "text", text: { from: "source", bytes } };
  }

  /** The items that an element of a list stands for. */
  protected items(
    node: Expression | SpreadElement | null,
    list: Node,
    place: CodePlace,
  ): readonly KnownValue[] {
    const value =
      node === null ? undefined : this.value(node.type === "SpreadElement" ? node.argument : node, place);
    if (node?.type === "SpreadElement" && value?.is === "list") return value.items;
    // NaN, which is in a list where it equals nothing, is none.
    const isNumber =
      value?.is === "number" &&
      (value.code.is === "i32" || value.code.is === "f64") &&
      !Number.isNaN(value.code.value);
    return node?.type !== "SpreadElement" && (isNumber || value?.is === "text")
      ? [value as KnownValue]
      : refuse(node ?? list, "a list is compiled where it holds texts, and numbers that are written");
  }

  protected member(node: MemberExpression, place: CodePlace): KnownValue {
    if (node.object.type === "Super") return refuse(node, "this member is not compiled");
    const mapOf = mapOfFirstKey(node);
    const map = mapOf && this.value(mapOf, place);
    if (map?.is === "container" && map.kind !== "list") {
      return firstKeyOf(map);
    }
    const object = this.value(node.object, place);
    if (node.optional && isNothing(object)) return nothing("undefined");
    if (node.optional && !isThere(object))
      return refuse(node, "?. is compiled where it is known what it asks");
    const { property } = node;
    if (node.computed)
      return property.type === "Literal" && typeof property.value === "string"
        ? this.memberOf(object, property.value, node)
        : this.#element(object, node, place);
    if (property.type === "PrivateIdentifier")
      return object.is === "this"
        ? this.#own(`#${property.name}`, node)
        : refuse(node, "this member is not compiled");
    if (property.type !== "Identifier") return refuse(node, "this member is not compiled");
    return this.memberOf(object, property.name, node);
  }

  /** A member by its name. */
  protected memberOf(object: KnownValue, name: string, node: Node): KnownValue {
    switch (object.is) {
      case "event":
      case "plain": {
        if (object.effects.length > 0)
          return refuse(node, "a field of an event that is being marked is not compiled");
        const field = this.parts.event?.field(name) ?? "there is no event here";
        return typeof field === "string" ? refuse(node, field) : field;
      }
      case "text":
        return refuse(node, `"${name}" of a text is not compiled`);
      case "vector":
        if (name === "constructor" && object.vector.array !== undefined && object.effects.length === 0)
          return { is: "builtin", name: object.vector.array };
        if ((name === "buffer" || name === "byteOffset") && object.effects.length === 0)
          return { is: name, vector: object.vector };
        if (name !== "length" || object.effects.length > 0)
          return refuse(node, `"${name}" of a vector is not compiled`);
        return intOf(get(object.vector.length), { lo: 0, hi: MOST_LENGTH, upTo: object.vector });
      case "data":
        return this.#data(object, name, node);
      case "object":
        return this.#partOf(object, name, node);
      case "functions":
        return object.members.get(name) ?? refuse(node, `there is no function "${name}"`);
      case "given":
        if (name === "parameters" || name === "objects") return this.parts[name];
        if (GIVEN_FUNCTIONS.has(name)) return { is: "builtin", name };
        return refuse(node, `"${name}" is not compiled`);
      case "this":
        if (name === "parameters" || name === "objects") return this.parts[name];
        // A text never names a private field.
        if (name.startsWith("#")) return refuse(node, `"${name}" of the modulator is not compiled`);
        return name === "moe" ? { is: "moe" } : this.#own(name, node);
      case "moe":
        return this.#service(name, node);
      case "container":
        return name === (object.kind === "list" ? "length" : "size")
          ? sizeOf(object)
          : refuse(node, `"${name}" of ${nameOf(object)} is not compiled`);
      case "nothing":
        // Where it is nothing to the end, the language throws.
        if (object.isUnlearned === true)
          return numberOf(many(...this.parts.fuel.stop(node, `"${name}" is read of undefined`), f64(0)));
        return refuse(node, `"${name}" of ${nameOf(object)} is not compiled`);
      case "builtin":
        return builtinOf(`${object.name}.${name}`) ?? refuse(node, `${object.name}.${name} is not compiled`);
      default:
        return refuse(node, `"${name}" of ${nameOf(object)} is not compiled`);
    }
  }

  /** A part of an object that is written in the source, and that nothing has changed since. */
  #partOf(object: KnownObject, name: string, node: Node): KnownValue {
    const { entries, urgent, present } = object;
    const why = `"${name}" is read of an object that is not there`;
    const effects =
      present === undefined
        ? object.effects
        : [...object.effects, this.parts.fuel.stopIf(op("i32.eqz", get(present)), node, why)];
    const entry = entries.findLast(one => one.from === "event" || one.name === name);
    if (urgent || entry === undefined || entry.from === "event")
      return refuse(node, `the object has no "${name}" that is compiled`);
    if (entry.from === "value") {
      const code = many(...effects, get(entry.local));
      return entry.isBoolean ? booleanOf(code) : numberOf(code);
    }
    if (entry.from === "array") {
      const value: KnownValue = { is: "vector", vector: entry.vector, effects };
      this.refuseStale(value, node);
      return value;
    }
    if (entry.from === "none") return nothing("undefined", effects);
    if (entry.from === "field" && effects.length === 0) return this.memberOf(EVENT, entry.field, node);
    return refuse(node, `"${name}" of the object is not compiled`);
  }

  #service(name: string, node: Node): KnownValue {
    if (name === "objects") return this.parts.objects;
    if (name === "queueEvents") return numberOf(this.parts.data.queueEvents);
    return name === "clock" && this.parts.text.needs.includes(name)
      ? { is: "builtin", name: "moe.clock" }
      : refuse(node, `"${name}" of the MOE is not compiled, or the class does not need it`);
  }

  #own(name: string, node: Node): KnownValue {
    const field = this.parts.fields.get(name);
    if (field?.isUnset) refuse(node, `the field "${name}" may be undefined here`);
    if (field !== undefined) return valueOfField(field);
    const method = this.parts.text.methods.get(name);
    if (method === undefined)
      return refuse(node, `"${name}" of the modulator is not compiled, or is not there yet`);
    return refuse(node, `the method "${name}" is compiled where it is called`);
  }

  #data({ shape, path }: Extract<KnownValue, { is: "data" }>, name: string, node: Node): KnownValue {
    if (name.includes("\n")) return refuse(node, "a name with a line break in it is not compiled");
    if (shape.is === "list" && name === "length") {
      return shape.items.length < MOST_MEMBERS
        ? constantOf(shape.items.length)
        : refuse(node, "the list is too long to be compiled");
    }
    const member = shape.is === "object" ? shape.fields.get(name) : undefined;
    if (member !== undefined) return this.#leaf(member, `${path}\n${name}`, node);
    const isAbsent = shape.is === "object" && shape.fields.size < MOST_MEMBERS && !(name in Object.prototype);
    return isAbsent
      ? nothing("undefined")
      : refuse(node, `"${name}" is not there in ${path.split("\n").at(-1)}`);
  }

  #leaf(shape: DataShape, path: string, node: Node): KnownValue {
    return this.parts.data.value(shape, path) ?? refuse(node, ODD_TEXT);
  }

  /** The items of a list in the parameters or a shared object. */
  protected itemsOf({ shape, path }: Extract<KnownValue, { is: "data" }>, node: Node): KnownValue[] {
    if (shape.is !== "list") return refuse(node, `${nameOf({ is: "data", shape, path })} is no list`);
    if (shape.items.length >= MOST_MEMBERS) return refuse(node, "the list is too long to be compiled");
    return shape.items.map((item, i) => this.#leaf(item, `${path}\n${i}`, node));
  }

  #element(object: KnownValue, node: MemberExpression, place: CodePlace): KnownValue {
    const { property } = node;
    if (property.type === "PrivateIdentifier") return refuse(node, "this member is not compiled");
    if (object.is === "entry")
      return partOfEntry(object, property.type === "Literal" ? property.value : "", node, this.parts.fuel);
    if (object.is === "data" && object.shape.is === "list") {
      const index = property.type === "Literal" ? property.value : undefined;
      const item =
        typeof index === "number" && Number.isInteger(index) ? object.shape.items[index] : undefined;
      return item === undefined
        ? refuse(node, "of a list in the parameters, only items with a written index are compiled")
        : this.#leaf(item, `${object.path}\n${index}`, node);
    }
    const index = this.value(property, place);
    if (index.is === "text") return this.memberOf(object, this.nameIn(index.text, property), node);
    if (object.is !== "vector" || object.effects.length > 0)
      return refuse(node, `an element of ${nameOf(object)} is not compiled`);
    // Neither undefined nor NaN, which stands for it, is an index of an element.
    if (index.is !== "number") return refuse(property, "an index is compiled where it is a number");
    this.refuseStale(object, node);
    return this.elementOf(object.vector, index);
  }

  /** A text that names a member: it is written, or a parameter, of whose value the program is made then. */
  protected nameIn(text: KnownText, node: Node): string {
    if (text.from === "source") return new TextDecoder().decode(text.bytes);
    const isParameter = text.from === "data" && text.path.startsWith("parameters\n");
    return isParameter
      ? `${this.parts.pin(text.path)}`
      : refuse(node, "a member is compiled where a written text or a parameter names it");
  }

  protected elementOf(vector: EventVector, index: KnownNumber): KnownValue {
    const { test, at } = indexed(index, vector.length);
    const value = vector.read(addressOf(vector, at));
    const isThere = index.int !== undefined && index.int.lo >= 0 && index.int.under === vector;
    if (isThere && value.int !== undefined)
      return intOf({ is: "if", test, yes: [value.code], no: [i32(0)], type: "i32" }, value.int);
    const found: Code = { is: "if", test, yes: [wide(value)], no: [f64(Number.NaN)], type: "f64" };
    return isThere ? numberOf(found) : { ...maybeOf(found), found: { test, value } };
  }
}

export function addressOf(vector: EventVector, index: Code): Code {
  const offset =
    vector.elementBytes === 1 ? index : op("i32.shl", index, i32(Math.log2(vector.elementBytes)));
  return op("i32.add", get(vector.start), offset);
}

export function nameOf(value: KnownValue): string {
  switch (value.is) {
    case "number":
      return value.maybe ? "a number or undefined" : "a number";
    case "boolean":
      return "true or false";
    case "nothing":
      return value.name;
    case "event":
      return "an event";
    case "vector":
      return "a vector";
    case "data":
      return value.shape.is === "null" ? "null" : `a ${value.shape.is}`;
    case "text":
      return "a text";
    case "list":
      return "a list";
    case "object":
      if (value.present !== undefined) return "an object or undefined";
      return value.urgent ? "an urgent event" : "an object";
    case "encoded":
      return "an event's bytes";
    case "token":
      return "a type's token";
    case "numbers":
      return "a list of numbers";
    case "reference":
      return "an object or undefined";
    case "kept":
      return "an event or undefined";
    case "container":
      return nameOfContainer(value.kind);
    case "changed":
      return "a map or set";
    case "entry":
      return "an entry or undefined";
    case "key":
      return "a key or undefined";
    case "moe":
      return "the MOE";
    case "buffer":
      return "an array's buffer";
    case "byteOffset":
      return "an array's place";
    case "plain":
      return "an unpacked event";
    case "given":
      return "the function's second argument";
    case "this":
      return "the modulator";
    default:
      return "a function";
  }
}
