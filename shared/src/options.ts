import { JechoError } from "./errors.ts";

/** Names of options, and where an option has options of its own, the names of these. */
interface Names {
  readonly [name: string]: true | Names;
}

/** The names of a call's options: each that the type has, so that none is forgotten. */
export type OptionNames<Options> = {
  readonly [Name in keyof Options]-?:
    | true
    | { readonly [Inner in keyof NonNullable<Options[Name]>]-?: true | Names };
};

/**
 * Refuses options that are none, and a name that no option has: left out in silence, a misspelt one would do nothing.
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
  if (typeof options !== "object" || options === null) {
    const which = path === "" ? "options" : `options "${path.slice(0, -1)}"`;
    const found = options === null ? "null" : `a ${typeof options}`;
    throw new JechoError("ARGUMENT_INVALID", `${call}: its ${which} are an object, not ${found}`);
  }
  for (const name in options) {
    const inner = known[name];
    // Most are: a reset, say, looks no further.
    if (inner === true) continue;
    const isKnown = Object.hasOwn(known, name);
    // An object of a class may have what it likes beside.
    if (!isKnown && Object.getPrototypeOf(options) === Object.prototype)
      throw unknown(call, `${path}${name}`, all);
    const value = (options as Record<string, unknown>)[name];
    if (isKnown && value !== undefined) check(call, `${path}${name}.`, value, inner as Names, all);
  }
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
    .map(one => ({ one, edits: editsBetween(word, lastPart(one)) }))
    .toSorted((a, b) => a.edits - b.edits)[0];
  const isNear = nearest !== undefined && nearest.edits <= Math.max(1, word.length / 3);
  return isNear ? `did you mean "${nearest.one}"?` : `there are ${known.join(", ")}`;
}

function pathsOf(known: Names, path: string): string[] {
  return Object.entries(known).flatMap(([name, inner]) => [
    `${path}${name}`,
    ...(inner === true ? [] : pathsOf(inner, `${path}${name}.`)),
  ]);
}

/** Letters to put in, take out, replace or swap with the next, whatever their case, to make the one word the other. */
function editsBetween(from: string, to: string): number {
  const [a, b] = [from.toLowerCase(), to.toLowerCase()];
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (before[j - 2] as number) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] as number;
}
