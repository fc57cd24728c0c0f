import type { Type } from "@jecho/shared";
import { type Code, type CodeLocal, get, type LengthOf, op, set } from "./code.ts";
import type { KnownObject, NumberArray, ObjectEntry } from "./known.ts";

/** A part of an event that a program makes, in the order that the language writes it in: a later one of the same name counts. */
export type OutputPart =
  /** All fields of the event that came in. */
  | { readonly from: "event" }
  /** A field of that, as it is there. */
  | { readonly from: "field"; readonly name: string; readonly field: string }
  | { readonly from: "source"; readonly name: string; readonly text: string }
  /** A text in the parameters or a shared object. */
  | { readonly from: "data"; readonly name: string; readonly path: string }
  /** A number that the program has computed, or a boolean, as 1 or 0. */
  | { readonly from: "value"; readonly name: string; readonly slot: number; readonly isBoolean: boolean }
  /** So many numbers from a slot on. */
  | {
      readonly from: "values";
      readonly name: string;
      readonly slot: number;
      readonly count: number;
      readonly array: NumberArray;
    }
  /** An array that the program has made: its address and its length lie in two slots. */
  | { readonly from: "array"; readonly name: string; readonly slot: number; readonly array: NumberArray }
  /** An object of these parts, as the bytes of an event of the type that comes in. */
  | { readonly from: "encoded"; readonly name: string; readonly parts: readonly OutputPart[] }
  /** The token of the type that the event was written with. */
  | { readonly from: "token"; readonly name: string }
  /** undefined, whatever was there before. */
  | { readonly from: "none"; readonly name: string };

/** An object in the source that becomes an event. */
export interface OutputPlan {
  readonly urgent: boolean;
  readonly parts: readonly OutputPart[];
}

/** These parts, and those of objects among them. */
export function allParts(parts: readonly OutputPart[]): readonly OutputPart[] {
  return parts.flatMap(part => (part.from === "encoded" ? [part, ...allParts(part.parts)] : [part]));
}

/** Steps of making an event, for each part, for each field that is read or written, and for each byte that is copied. */
const STEPS = { event: 500, part: 50, field: 50, byte: 8 } as const;
/** Fields of an object beyond which engines keep it as a table, and take longer for each. */
const MOST_FAST_FIELDS = 128;

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** The objects of one program that become events, and the variables that their numbers are left in. */
export class Outputs {
  readonly plans: OutputPlan[] = [];
  /** Variables of type f64: those of the object that the program's answer names are stored. */
  readonly slots: CodeLocal[] = [];
  readonly reader: Type["root"];
  readonly #fields: readonly string[];
  readonly #known: ReadonlySet<string>;
  /** Steps for the fields of an event that comes in, and of one that goes out. */
  readonly #readSteps: number;
  readonly #writeSteps: number;
  readonly #whole: LengthOf = { name: "event", elementBytes: 1 };

  /**
   * @param reader type of the events that come in, by the names that the modulator knows
   * @param output type of those that it makes
   */
  constructor(reader: Type["root"], output: Type["root"]) {
    this.reader = reader;
    this.#fields = output.fields.map(({ name }) => name);
    // These are there in each event.
    const always = reader.fields.filter(
      ({ kind, optional }) =>
        kind.is === "vector" || kind.is === "string" || (kind.is === "scalar" && !optional),
    );
    this.#known = new Set(always.map(({ name }) => name));
    this.#readSteps = stepsOfFields(reader.fields.length);
    this.#writeSteps = stepsOfFields(output.fields.length);
  }

  /** Whether the object has a field of the output type: of one without, the language's encoder makes an error. */
  fits({ entries }: KnownObject): boolean {
    return entries.some(entry =>
      entry.from === "event"
        ? this.#fields.some(name => this.#known.has(name))
        : entry.from !== "none" && this.#fields.includes(entry.name),
    );
  }

  /** Leaves an object's numbers for the host to make an event of. @returns the number of its plan, and the code */
  make({ entries, effects, urgent }: KnownObject): { readonly plan: number; readonly code: Code[] } {
    const code: Code[] = [...effects];
    let slots = 0;
    const put = (value: Code): number => {
      const slot = this.slots[slots] ?? { type: "f64" };
      this.slots[slots] = slot;
      code.push(set(slot, value));
      return slots++;
    };
    const parts = entries.map(entry => partOf(entry, put));
    const { steps, copies } = this.#costOf(parts, this.#writeSteps);
    const of = copies === 0 ? undefined : this.#whole;
    code.push({ is: "host", steps: steps + STEPS.part * slots, of, each: STEPS.byte * copies });
    return { plan: this.plans.push({ urgent, parts }) - 1, code };
  }

  /** Steps of making an event of these parts, and how often the bytes of the event that came in are copied for it. */
  #costOf(parts: readonly OutputPart[], writeSteps: number): { steps: number; copies: number } {
    let steps = STEPS.event + writeSteps + STEPS.part * parts.length;
    let copies = 0;
    // Different fields share the event's bytes.
    const times = new Map<string, number>();
    for (const part of parts) {
      if (part.from === "field") times.set(part.field, 1 + (times.get(part.field) ?? 0));
      if (part.from === "event") {
        steps += this.#readSteps;
        copies++;
      }
      if (part.from !== "encoded") continue;
      const inner = this.#costOf(part.parts, this.#readSteps);
      steps += inner.steps;
      // An event that is encoded in another one is copied into that.
      copies += 2 * inner.copies;
    }
    return { steps, copies: Math.max(0, ...times.values()) + copies };
  }
}

function stepsOfFields(fields: number): number {
  return STEPS.field * fields * Math.max(1, fields / MOST_FAST_FIELDS);
}

/** @param put takes a number. @returns the slot that it will lie in, one behind the other */
function partOf(entry: ObjectEntry, put: (value: Code) => number): OutputPart {
  switch (entry.from) {
    case "event":
    case "field":
    case "data":
    case "token":
    case "none":
      return entry;
    case "encoded":
      return { from: "encoded", name: entry.name, parts: entry.entries.map(one => partOf(one, put)) };
    case "source":
      return { from: "source", name: entry.name, text: utf8.decode(entry.bytes) };
    case "value": {
      const { name, local, isBoolean } = entry;
      const slot = put(isBoolean ? op("f64.convert_i32_s", get(local)) : get(local));
      return { from: "value", name, slot, isBoolean };
    }
    case "array": {
      const { name, vector } = entry;
      const [slot = 0] = [vector.start, vector.length].map(local => put(op("f64.convert_i32_s", get(local))));
      return { from: "array", name, slot, array: vector.made as NumberArray };
    }
    case "values": {
      const { name, array, locals } = entry;
      const [slot = 0] = locals.map(local => put(get(local)));
      return { from: "values", name, slot, count: locals.length, array };
    }
  }
}
