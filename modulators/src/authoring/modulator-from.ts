import { JechoError, type Type } from "@jecho/shared";
import { checkOptions, type OptionNames } from "@jecho/shared/internal";
import { HEAD } from "../sandbox/failures.ts";
import { FifoModulator, Modulator as ModulatorBase } from "../sandbox/world/moe.ts";
import { isExpression } from "./delegate.ts";
import type { Json, Modulator, SharedReference } from "./modulator.ts";

/**
 * A modulator as a function of one event: `true` passes the event, `false` or `undefined` discards it, an object is sent
 * in its place, and a list of objects as several events. Anything else is an error. An event's fields are accessors, not its own
 * properties: `{ ...unpack(event), celsius: 0 }` copies it with one field changed.
 */
type Derivation<Event, Parameters, Objects> = (
  event: Event,
  given: {
    readonly parameters: Parameters;
    readonly objects: { readonly [Name in keyof Objects]: StateOf<Objects[Name]> };
    // biome-ignore lint/suspicious/noExplicitAny: of what its producer offers, which this function knows.
    readonly moe: any;
    /** The same values as a plain object; typed arrays are still views on the event's bytes. */
    readonly unpack: <Unpacked>(event: Unpacked) => Unpacked;
    /** Marks an event, an input event or a plain object, to be sent ahead of waiting ones. */
    readonly urgent: (event: object) => object;
    /** The sum of a list's numbers; 0 of none. It is in the same order in all tiers, and fast. */
    readonly sum: (list: ArrayLike<number>) => number;
    /** The same by how many there are; NaN of none. */
    readonly mean: (list: ArrayLike<number>) => number;
  },
) => unknown;

type StateOf<Shared> = Shared extends { readonly state: infer State } ? State : never;

/** The members of a modulator besides its source. */
interface Rest<Event, Parameters, Objects> extends Omit<Modulator, "source" | "parameters" | "objects"> {
  readonly parameters?: Parameters;
  readonly objects?: Objects;
  readonly input?: Type<Event>;
}

const REST: OptionNames<Rest<unknown, unknown, unknown>> = {
  parameters: true,
  key: true,
  objects: true,
  lazy: true,
  equals: true,
  input: true,
};

type WrittenClass = new (
  parameters: never,
  moe: never,
) => Pick<ModulatorBase, "dequeue" | "period"> & { enqueue(event: never): void };

/**
 * A modulator from the text of its module, from a class that extends `Modulator` or `FifoModulator`, or from a
 * function of one event. The text of the class or function is sent to the producers, so it cannot use variables or imports around it. (A class may
 * extend another one of yours.)
 *
 * ```ts
 * modulatorFrom(event => event.celsius > 30)
 * modulatorFrom((event, { objects }) => event.station === objects.wanted.station, { objects: { wanted } })
 * modulatorFrom(event => event.celsius > 30, { input: Reading })
 * ```
 *
 * @param options its parameters, key and shared objects; and, of a function, `input`: the type that it was written for, by whose names
 * it reads whatever producers write, as a class does by its static of that name
 * @throws JechoError `ARGUMENT_INVALID` for an unknown option; `MODULATOR_INVALID` for anything else than a text, class or function, or for `input` with a text or a class
 */
export function modulatorFrom<
  // biome-ignore lint/suspicious/noExplicitAny: of the channel's type, which the function knows.
  Event = any,
  Parameters extends Json = null,
  Objects extends Readonly<Record<string, SharedReference>> = Record<never, never>,
>(
  written: string | WrittenClass | Derivation<Event, Parameters, Objects>,
  options: Rest<Event, Parameters, Objects> = {},
): Modulator {
  checkOptions<typeof options>("modulatorFrom()", options, REST as OptionNames<typeof options>);
  const { input, ...rest } = options;
  if (typeof written !== "string" && !isModulatorClass(written))
    return { ...rest, source: derivationSource(written, input) };
  if (input !== undefined) throw invalid("a text or a class says by its own static what it was written for");
  return { ...rest, source: typeof written === "string" ? written : classSource(written) };
}

function isModulatorClass(written: unknown): written is WrittenClass {
  return typeof written === "function" && written.prototype instanceof ModulatorBase;
}

/** The class's own text comes first, behind a line of ours, so that the places in errors are those within it. */
function classSource(written: WrittenClass): string {
  const texts: string[] = [];
  let last: unknown = written;
  for (
    let at: unknown = written;
    at !== ModulatorBase && at !== FifoModulator;
    at = Object.getPrototypeOf(at)
  ) {
    const text = textOf(at as WrittenClass);
    texts.push(text);
    last = at;
  }
  const base = Object.getPrototypeOf(last) === FifoModulator ? "FifoModulator" : "Modulator";
  const [own = "", ...parents] = texts;
  const bottom = texts.at(-1) as string;
  // The name that the class's text uses for its parent: a bundler may have renamed it, or made it a property.
  const heritage = /^class\s*[\w$]*\s+extends\s+\(?\s*(?:0\s*,\s*)?([\w$]+)(\s*\.)?/.exec(bottom);
  if (heritage === null) throw invalid("the class does not name what it extends");
  const [, name = "", isPart] = heritage;
  const imported = isPart === undefined ? `{ ${base} as ${name} }` : `* as ${name}`;
  const head = `${HEAD} import ${imported} from "jecho:moe";`;
  if (parents.length === 0) return `${head} export default\n${own}`;
  // Its parents are declared before it.
  return `${head} const made = () =>\n${own};\n${parents.toReversed().join("\n")}\nexport default made();`;
}

function derivationSource(written: unknown, input: Type | undefined): string {
  const text = textOf(written);
  if (/^class\b/.test(text))
    throw invalid("the class extends neither Modulator nor FifoModulator of @jecho/client/moe");
  const [before, after] = isExpression(text)
    ? ["const derive =", ""]
    : ["const [derive] = Object.values({", "})"];
  const reads = input === undefined ? "" : `static input = new Uint8Array([${input.schema}]);`;
  // The function's text comes first, too, behind one line of ours.
  return `${DERIVATION}${reads} ${DERIVING} }; ${before}\n${text}${after};`;
}

const DERIVATION = `${HEAD} import { FifoModulator, mean, sum, unpack, urgent } from "jecho:moe"; export default class extends FifoModulator { `;

/** Whether `modulatorFrom` made this text from a function: only `derive`, from the second line on, is its author's. */
export function isDerivation(source: string): boolean {
  const [first = ""] = source.split("\n", 1);
  const rest = ` ${DERIVING} }; const derive =`;
  if (!first.startsWith(DERIVATION) || !first.endsWith(rest)) return false;
  const reads = first.slice(DERIVATION.length, first.length - rest.length);
  return reads === "" || /^static input = new Uint8Array\(\[[\d,]*\]\);$/.test(reads);
}

/** Runs a function, `derive`, for each event: members of a class, in one line. */
const DERIVING = `
  given = { parameters: this.parameters, objects: this.objects, moe: this.moe, mean, sum, unpack, urgent };
  enqueue(event) {
    const made = derive(event, this.given);
    if (made === true) super.enqueue(event);
    else if (Array.isArray(made)) for (let i = 0; i < made.length; i++) super.enqueue(made[i]);
    else if (typeof made === "object" && made !== null) super.enqueue(made);
    else if (made !== false && made !== undefined && made !== null)
      throw new TypeError(\`it returned a \${typeof made}, where true, false, an event or a list of events is wanted\`);
  }`.replaceAll(/\n\s*/g, " ");

function textOf(written: unknown): string {
  if (typeof written !== "function")
    throw invalid("a text, a class that extends Modulator, or a function is wanted");
  const text = Function.prototype.toString.call(written);
  if (/\{\s*\[native code\]\s*\}\s*$/.test(text)) throw invalid(`${written.name} has no text of its own`);
  return text;
}

function invalid(why: string): JechoError {
  return new JechoError("MODULATOR_INVALID", why);
}
