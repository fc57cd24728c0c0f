import type { CallExpression, Expression, Node, SpreadElement } from "acorn";
import { ArrayChecker } from "./arrays.ts";
import { callBuiltin, extreme } from "./builtins.ts";
import { type Code, type CodeLabel, type CodeLocal, call, f64, get, i32, many, op, set } from "./code.ts";
import { containerCall } from "./containers.ts";
import { foldedTest } from "./facts.ts";
import { heldTest } from "./held-parts.ts";
import {
  booleanOf,
  type CodeScope,
  type KnownNumber,
  type KnownObject,
  type KnownText,
  type KnownValue,
  kept,
  type NumberArray,
  nothing,
  numberOf,
  type ObjectEntry,
  wholeOf,
} from "./known.ts";
import { type CodePlace, nameOf } from "./members.ts";
import { compared } from "./numbers.ts";
import { positionOf, refuse } from "./refusal.ts";
import { EQUAL_LOOKS, equalTexts, SEARCH_LOOKS, searchedText, TEXT_METHODS } from "./texts.ts";
import { ANSWER, MOST_PLANS } from "./window-layout.ts";

/** Elements of a vector that are spread into arguments: engines run out of stack with some more of them. */
const MOST_ARGUMENTS = 16_384;

/** Bytes of an array that goes out, to encode which takes a step. */
const COPIED_BYTES = 4;

/** Numbers of one event that is made. */
const MOST_SLOTS = 256;

/** Calls: of the language's functions, of the text's own, of texts' and lists' methods, and of `super.enqueue`. */
export abstract class CallChecker extends ArrayChecker {
  protected call(node: CallExpression, place: CodePlace): KnownValue {
    const { callee } = node;
    if (node.optional) return refuse(node, "?.() is not compiled");
    if (callee.type === "MemberExpression") {
      const isPass = callee.object.type === "Super";
      const name =
        callee.property.type === "PrivateIdentifier"
          ? `#${callee.property.name}`
          : (callee.property as { name?: string }).name;
      if (callee.computed && !isPass && callee.property.type !== "PrivateIdentifier")
        return this.#called(this.value(callee, place), node, place);
      if (callee.computed || name === undefined || callee.optional)
        return refuse(node, "this call is not compiled");
      if (isPass) return this.#pass(name, node, place);
      const object = this.value(callee.object as Expression, place);
      if (object.is === "this") {
        const method = this.parts.text.methods.get(name);
        if (method === undefined) return refuse(node, `the class has no method "${name}" that is compiled`);
        const called = { is: "function" as const, node: method, scope: this.methodScope, hasThis: true };
        return this.inline(called, this.arguments(node, place), place, node);
      }
      if (object.is === "container")
        return containerCall(object, name, this.#held(node, place), node, this.parts.fuel);
      if (object.is === "text") return this.#textCall(object.text, name, node, place);
      if (object.is === "list" || (object.is === "data" && object.shape.is === "list"))
        return this.#listCall(object, name, node, place);
      if (object.is === "vector" && object.effects.length === 0)
        return this.vectorCall(object.vector, name, node, place);
      return this.#called(this.memberOf(object, name, node), node, place);
    }
    if (callee.type === "Super") return refuse(node, "this call is not compiled");
    return this.#called(this.value(callee, place), node, place);
  }

  /** Whether what is checked stands beside the class: it is run again for each run of events, and has to come out the same. */
  protected isBeside = false;

  /** Names that methods see. */
  protected abstract readonly methodScope: CodeScope;

  #called(called: KnownValue, node: CallExpression, place: CodePlace): KnownValue {
    if (called.is === "function") return this.inline(called, this.arguments(node, place), place, node);
    if (called.is !== "builtin") return refuse(node, `${nameOf(called)} is called`);
    const { name } = called;
    if (name === "urgent") {
      const [event, ...more] = this.arguments(node, place);
      if (event?.is === "object" && event.present === undefined && more.length === 0) {
        this.encoded.add(event.entries);
        return { ...event, urgent: true };
      }
      if (event?.is !== "event" || more.length > 0)
        return refuse(node, "urgent is compiled with the event that came in, or an object");
      return { is: "event", effects: [...event.effects, set(this.parts.marked, i32(1))] };
    }
    if (name === "moe.clock") {
      if (node.arguments.length > 0) return refuse(node, "the clock is compiled without arguments");
      return numberOf({ is: "ofTurn", of: "clock" });
    }
    if (name === "unpack") {
      const [event, ...more] = this.arguments(node, place);
      if (event?.is !== "event" || more.length > 0)
        return refuse(node, "unpack is compiled with the event that came in");
      return { is: "plain", effects: event.effects };
    }
    if (name === "Math.max" || name === "Math.min") return this.#extreme(name, node, place);
    const given = this.arguments(node, place);
    if (name === "sum" || name === "mean") return this.#sum(name, given, node);
    if (name === "bytesOf") return this.#bytesOf(given, node, place);
    if (name === "typeToken")
      return this.isForEvent && this.parts.fuel.isOpen && given.length === 0
        ? { is: "token" }
        : refuse(node, "typeToken is compiled where an event is looked at, without arguments");
    const [first, ...more] = given;
    // Of what is no number the language says no.
    if (/^Number\.is/.test(name) && first?.is === "boolean" && more.length === 0)
      return booleanOf(many({ is: "drop", value: first.code }, i32(0)));
    const isExact = name === "Number.isNaN" || name === "Object.is";
    if (name === "Object.is" && given.some(({ is }) => is !== "number"))
      return refuse(node, "Object.is is compiled with numbers");
    const args = given.map((arg, i) => {
      const number = this.asNumber(arg, node.arguments[i] as Node);
      return isExact ? this.sure(number, node) : number;
    });
    if (name.endsWith(".of")) return this.numbers(name.slice(0, -".of".length) as NumberArray, args);
    if (name === "Math.random" && this.isBeside)
      return refuse(node, "a random number beside the class is not compiled");
    const result = callBuiltin(name, args);
    return typeof result === "string" ? refuse(node, result) : result;
  }

  /** `sum(vector)`, `mean(vector)` */
  #sum(name: "sum" | "mean", [list, ...more]: readonly KnownValue[], node: Node): KnownValue {
    if (list?.is !== "vector" || more.length > 0)
      return refuse(
        node,
        `${name} is compiled with a vector of the event, or an array that the program has made`,
      );
    const { vector, effects } = list;
    this.refuseStale(list, node);
    const all = this.sumOf(vector, node);
    const count = op("f64.convert_i32_u", get(vector.length));
    return numberOf(many(...effects, name === "sum" ? all : op("f64.div", all, count)));
  }

  /** `bytesOf(event)`, or the bytes of an object that is encoded as the type of the events that come in. */
  #bytesOf([event, ...more]: readonly KnownValue[], node: Node, { loops }: CodePlace): KnownValue {
    const { event: own, fuel } = this.parts;
    const why = "bytesOf is compiled with the event that came in, or a copy of it with other fields";
    if (!this.isForEvent || !fuel.isOpen || more.length > 0) return refuse(node, why);
    if (event?.is === "event" && own !== undefined && event.effects.length === 0)
      return { is: "vector", vector: own.bytes(), effects: [] };
    const isPlain = event?.is === "object" && !event.urgent && event.present === undefined;
    const isWhole = isPlain && event.entries.some(({ from }) => from === "event");
    if (!isWhole || loops > 0 || event.entries.some(({ from }) => from === "encoded"))
      return refuse(node, why);
    this.#freeze(event);
    const { entries } = event;
    const effects = [...event.effects, ...this.#heldBy(entries, node), ...this.#encoding(event, node)];
    return { is: "encoded", entries, effects };
  }

  /** Code that stops where an event that is encoded cannot hold a part: the language's encoder throws there, whether the event goes out or not. */
  #heldBy(entries: readonly ObjectEntry[], node: Node): Code[] {
    const { fuel, outputs } = this.parts;
    return entries.flatMap(entry => {
      const test = heldTest(outputs.reader, entry);
      if (test === undefined)
        return refuse(node, "bytesOf is compiled with parts that the event's fields are sure to hold");
      return foldedTest(test) === true
        ? []
        : [fuel.stopIf(op("i32.eqz", test), node, "the event has no such number")];
    });
  }

  /** Arguments that a list or map is given: it tells undefined from NaN. */
  #held(node: CallExpression, place: CodePlace): KnownValue[] {
    return this.arguments(node, place).map(one => (one.is === "number" ? this.sure(one, node) : one));
  }

  protected arguments(node: CallExpression, place: CodePlace): KnownValue[] {
    const args = node.arguments.map(arg => {
      if (arg.type === "SpreadElement") return refuse(arg, "this spread is not compiled");
      return this.value(arg, place);
    });
    for (const arg of args) this.refuseStale(arg, node);
    return args;
  }

  #extreme(name: "Math.max" | "Math.min", node: CallExpression, place: CodePlace): KnownValue {
    let most = numberOf(f64(name === "Math.max" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY));
    for (const arg of node.arguments) {
      if (arg.type === "SpreadElement") most = extreme(name, most, this.#extremeOf(name, arg, place));
      else most = extreme(name, most, this.number(arg, place));
    }
    return most;
  }

  #extremeOf(name: "Math.max" | "Math.min", node: SpreadElement, place: CodePlace): KnownNumber {
    const list = this.value(node.argument, place);
    if (list.is !== "vector" || list.effects.length > 0)
      return refuse(node, "only vectors of the event are spread where it is compiled");
    const most: CodeLocal = { type: "f64" };
    const step = (element: KnownNumber, _: KnownNumber, next: CodeLabel): Code[] => [
      set(most, extreme(name, numberOf(get(most)), element).code),
      { is: "br", label: next },
    ];
    const { vector } = list;
    const loop = this.loopOver(vector, node, step, MOST_ARGUMENTS);
    // Of an event's own vector the event's size tells it beforehand.
    const isOwn = vector.made === undefined && vector.of === undefined;
    const isLong = op("i32.gt_u", get(vector.length), i32(MOST_ARGUMENTS));
    const checked = isOwn
      ? []
      : [this.parts.fuel.stopIf(isLong, node, "an array that may be too long to be spread into arguments")];
    const first = f64(name === "Math.max" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
    return numberOf(many(...checked, set(most, first), ...loop, get(most)));
  }

  /** `super.enqueue(event)`: what came in leaves. */
  #pass(name: string, node: CallExpression, place: CodePlace): KnownValue {
    if (name !== "enqueue" || !place.hasThis) return refuse(node, `super.${name}() is not compiled`);
    const [event, ...more] = this.arguments(node, place);
    if (more.length > 0 || (event?.is !== "event" && event?.is !== "object" && event?.is !== "kept"))
      return refuse(
        node,
        "only events that came in, or an object that is written down, are passed on where it is compiled",
      );
    if (this.parts.text.parent !== "FifoModulator" || !this.parts.fuel.isOpen)
      return refuse(node, "an event is passed on where it is compiled by a FifoModulator that has been made");
    if (event.is !== "kept" && !this.isForEvent)
      return refuse(node, "an event that a period makes is not compiled");
    if (place.loops > 0) return refuse(node, "an event that is passed on in a loop is not compiled");
    if (this.passed) return refuse(node, "an event that may be passed on twice is not compiled");
    this.passed = true;
    if (event.is === "object") this.#freeze(event);
    return nothing(
      "undefined",
      event.is === "kept" ? this.#passKept(event, node) : this.leaving(event, node),
    );
  }

  /** Code that lets an event through that was kept. */
  #passKept({ ref, effects }: Extract<KnownValue, { is: "kept" }>, node: Node): Code[] {
    if (this.parts.text.output !== undefined)
      refuse(node, "a class that declares its output makes each event where it is compiled");
    const missing = this.parts.fuel.stopIf(op("ref.is_null", get(ref)), node, "undefined is passed on");
    return [...effects, missing, call("pass", get(ref))];
  }

  /** Code that lets the event that came in through, or another one that is made. */
  protected leaving(event: Extract<KnownValue, { is: "event" | "object" }>, node: Node): Code[] {
    const { answer, outputs, text } = this.parts;
    if (event.is === "event") {
      if (text.output !== undefined)
        refuse(node, "a class that declares its output makes each event where it is compiled");
      return [...event.effects, set(answer, i32(ANSWER.pass))];
    }
    if (event.present !== undefined) refuse(node, "an object that goes out is compiled where it is there");
    const copied = this.#encoding(event, node);
    if (!outputs.fits(event)) refuse(node, "the object has no field of the events that go out");
    const { plan, code } = outputs.make(event);
    if (plan >= MOST_PLANS || outputs.slots.length > MOST_SLOTS)
      refuse(node, "it makes more kinds of events, or with more numbers, than are compiled");
    return [...code, ...copied, set(answer, i32(ANSWER.made + plan))];
  }

  /** An object is encoded, as it is now: nothing in it is written to from here on. */
  #freeze({ entries }: KnownObject): void {
    this.encoded.add(entries);
    for (const entry of entries) if (entry.from === "array") this.gone.add(wholeOf(entry.vector));
  }

  /** Code that counts the steps of encoding an object's arrays, each as often as it is there. */
  #encoding({ entries }: { readonly entries: readonly ObjectEntry[] }, node: Node): Code[] {
    return entries.flatMap(entry => {
      if (entry.from === "encoded") return this.#encoding(entry, node);
      if (entry.from !== "array") return [];
      const { vector } = entry;
      this.refuseStale({ is: "vector", vector, effects: [] }, node);
      return this.parts.fuel.spendCopy(vector, COPIED_BYTES, node);
    });
  }

  // ---- texts and lists

  #textCall(text: KnownText, name: string, node: CallExpression, place: CodePlace): KnownValue {
    const [needle, ...more] = this.arguments(node, place);
    this.parts.looks.take(node, SEARCH_LOOKS);
    if (!TEXT_METHODS.has(name) || needle?.is !== "text" || more.length > 0)
      return refuse(node, `this call of ${name} is not compiled`);
    const code = searchedText(name, text, needle.text, positionOf(node));
    return code === undefined
      ? refuse(node, `${name} is compiled where a text that is not the event's is looked for in another one`)
      : booleanOf(code);
  }

  /** `list.includes(value)`, of a list in the source, in the parameters or in a shared object. */
  #listCall(
    list: Extract<KnownValue, { is: "list" | "data" }>,
    name: string,
    node: CallExpression,
    place: CodePlace,
  ): KnownValue {
    const [value, ...more] = this.arguments(node, place);
    if (name !== "includes" || more.length > 0 || (value?.is !== "text" && value?.is !== "number"))
      return refuse(node, "of a list, includes is compiled with a number or a text");
    const items = list.is === "list" ? list.items : this.itemsOf(list, node);
    this.parts.looks.take(node, items.length * (value.is === "text" ? EQUAL_LOOKS : 1));
    const found = value.is === "number" ? kept(value) : undefined;
    const tests = items.map(item => {
      if (item.is === "number" && found !== undefined) return compared("===", found.read, item)?.code as Code;
      if (item.is === "text" && value.is === "text")
        return (
          equalTexts(value.text, item.text) ??
          refuse(node, "two texts of the event are not compared where it is compiled")
        );
      if (item.is === "number" || item.is === "text") return i32(0);
      return refuse(node, `a list with ${nameOf(item)} in it is not compiled`);
    });
    const any = tests.reduceRight<Code>(
      (rest, test) => ({ is: "if", test, yes: [i32(1)], no: [rest], type: "i32" }),
      i32(0),
    );
    return booleanOf(
      found === undefined || value.is !== "number" ? any : many(set(found.local, value.code), any),
    );
  }
}
