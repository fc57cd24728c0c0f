import { JechoError } from "./errors.ts";

/** Kinds of values that an option may have, in the words of its error. They name types of JavaScript, and texts in quotation marks. */
export const TEXT = "a string";
export const FLAG = "a boolean";
export const FUNCTION = "a function";
/** Not less than 0, and not NaN. */
export const NUMBER = "a number of at least 0";
/** A number that crosses the wire in 32 bits. */
export const WHOLE = "a whole number from 0 to 4294967295";

/** Names of options, each with `true` for any value, its kind, or the names of its own options. */
interface Names {
  readonly [name: string]: true | string | Names;
}

/** The names of a call's options: each that the type has, so that none is forgotten. */
export type OptionNames<Options> = {
  readonly [Name in keyof Options]-?:
    | true
    | string
    | { readonly [Inner in keyof NonNullable<Options[Name]>]-?: true | string | Names };
};

/**
 * Refuses options that are none, a value of another kind, and a name that no option has: left out in silence, a misspelt one would do nothing.
 *
 * @param call whose options they are, for the message
 * @throws JechoError `ARGUMENT_INVALID` naming the option, and the one that was probably meant
 */
export function checkOptions<Options extends object>(
  call: string,
  options: unknown,
  known: OptionNames<Options>,
): asserts options is Options {
  check(call, "", options, known as unknown as Names, known as unknown as Names);
}

function check(call: string, path: string, options: unknown, known: Names, all: Names): void {
  if (typeof options !== "object" || options === null)
    throw otherKind(`${call}: ${path.slice(0, -1) || "options"}`, options, "an object");
  for (const name in options) {
    const inner = known[name];
    // Most are: a reset, say, looks no further.
    if (inner === true) continue;
    const isKnown = Object.hasOwn(known, name);
    // An object of a class may have what it likes beside.
    if (!isKnown && Object.getPrototypeOf(options) === Object.prototype)
      throw unknown(call, `${path}${name}`, all);
    const value = (options as Record<string, unknown>)[name];
    if (!isKnown || value === undefined) continue;
    if (typeof inner === "string") checkKind(`${call}: ${path}${name}`, value, inner);
    else check(call, `${path}${name}.`, value, inner as Names, all);
  }
}

/**
 * Refuses a value of another kind.
 *
 * @param what whose value it is, for the message
 * @throws JechoError `ARGUMENT_INVALID`
 */
export function checkKind(what: string, value: unknown, kind: string): void {
  const fits = typeof value !== "number" || (value >= 0 && (kind !== WHOLE || value >>> 0 === value));
  const isListed = typeof value === "string" && kind.startsWith('"');
  if (!fits || !kind.includes(isListed ? JSON.stringify(value) : typeof value))
    throw otherKind(what, value, kind);
}

function otherKind(what: string, value: unknown, kind: string): JechoError {
  let found = Object(value) === value ? typeof value : String(value);
  if (typeof value === "string") found = JSON.stringify(value.slice(0, 64));
  return new JechoError("ARGUMENT_INVALID", `${what} is ${found}; ${kind} is wanted`);
}

function unknown(call: string, path: string, all: Names): JechoError {
  const shown = path.slice(0, 64);
  const hint = suggestion(shown, pathsOf(all, ""));
  return new JechoError("ARGUMENT_INVALID", `${call} has no option "${shown}"; ${hint}`);
}

/** Suggests the name that an unknown one was probably meant to be, or lists the known ones. */
export function suggestion(name: string, known: readonly string[]): string {
  const lastPart = (path: string) => path.slice(path.lastIndexOf(".") + 1);
  const word = lastPart(name);
  const nearest = known
    .map(one => ({ one, letters: lettersBetween(word, lastPart(one)) }))
    .toSorted((a, b) => a.letters - b.letters)[0];
  const isNear = nearest !== undefined && nearest.letters <= Math.max(2, word.length / 3);
  return isNear ? `did you mean "${nearest.one}"?` : `there are ${known.join(", ")}`;
}

function pathsOf(known: Names, path: string): string[] {
  return Object.entries(known).flatMap(([name, inner]) => [
    `${path}${name}`,
    ...(typeof inner === "object" ? pathsOf(inner, `${path}${name}.`) : []),
  ]);
}

/** Letters that one of the words has and the other has not, wherever they are, and whatever their case. */
function lettersBetween(one: string, other: string): number {
  const rest = [...other.toLowerCase()];
  let lacking = 0;
  for (const letter of one.toLowerCase()) {
    const at = rest.indexOf(letter);
    if (at < 0) lacking++;
    else rest.splice(at, 1);
  }
  return lacking + rest.length;
}
