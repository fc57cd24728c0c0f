import { JechoError } from "@jecho/shared";

/**
 * The rights. Each is given with a pattern: of channels' names; for `share` of shared objects' ids, for `kick` of subjects' names,
 * for `inspect` of the channels that are looked at.
 */
export const RIGHTS = [
  "subscribe",
  "publish",
  "own",
  "modulate",
  "control",
  "share",
  "name",
  "history",
  "handover",
  "block",
  "kick",
  "inspect",
] as const;
/** One of the rights. */
export type Right = (typeof RIGHTS)[number];

/** A right and its object: the name of a channel or derived channel, the id of a shared object, or the name of a subject. */
export type Need = readonly [right: Right, on: string];

/** Rights whose patterns are not of channels: there is nothing behind an id, or a subject. */
const NOT_OF_CHANNELS: ReadonlySet<Right> = new Set(["share", "kick"]);

/** Most rights in one token. */
const MOST_RIGHTS = 256;
const SEGMENT = String.raw`(?:[A-Za-z0-9][A-Za-z0-9._~-]{0,63}|\*)`;
const PATTERN = new RegExp(String.raw`^(?:\*\*|${SEGMENT}(?:/${SEGMENT}){0,7}(?:/\*\*)?)(?:#${SEGMENT})?$`);

/** The rights of a token, each as `subscribe:weather/**`. */
export class Rights {
  readonly #patterns = new Map<Right, RegExp[]>();
  readonly #texts: ReadonlySet<string>;

  /** @throws JechoError `ARGUMENT_INVALID` naming the invalid right */
  constructor(texts: readonly string[]) {
    if (texts.length > MOST_RIGHTS)
      throw new JechoError(
        "ARGUMENT_INVALID",
        `there are ${texts.length} rights; ${MOST_RIGHTS} are the most`,
      );
    this.#texts = new Set(texts);
    for (const text of this.#texts) {
      const [, right = "", pattern = ""] = /^(\w+|\*):(.*)$/s.exec(text) ?? [];
      const named = right === "*" ? RIGHTS : RIGHTS.filter(name => name === right);
      if (named.length === 0 || !PATTERN.test(pattern))
        throw new JechoError(
          "ARGUMENT_INVALID",
          `"${text.slice(0, 200)}" is no right; one is like subscribe:weather/** (${RIGHTS.join(", ")}, or * for all of them)`,
        );
      for (const name of named) {
        const compiled = NOT_OF_CHANNELS.has(name) ? compileWhole(pattern) : compile(pattern);
        this.#patterns.set(name, [...(this.#patterns.get(name) ?? []), compiled]);
      }
    }
  }

  /** @param on the name of a channel or derived channel, the id of an object, or the name of a subject */
  allow(right: Right, on: string): boolean {
    return this.#patterns.get(right)?.some(pattern => pattern.test(on)) ?? false;
  }

  /** Whether these include all rights of the other, compared as text. */
  include(other: Rights): boolean {
    return [...other.#texts].every(text => this.#texts.has(text));
  }
}

/** Channels that are meant by a pattern, as in a right. @throws JechoError `ARGUMENT_INVALID` */
export function patternOf(text: string): RegExp {
  if (!PATTERN.test(text))
    throw new JechoError("ARGUMENT_INVALID", `"${text.slice(0, 200)}" is no pattern; one is like weather/**`);
  return compile(text);
}

/**
 * `*` stands for one segment, and `**` at the end for one or more. What is for a channel is for all that is made of it, too; behind `#` stands what is for
 * a derived channel alone.
 */
function compile(pattern: string): RegExp {
  const [base = "", derived] = pattern.split("#");
  const segments = base.split("/").map(segment => (segment === "**" ? "[^#]+" : compileSegment(segment)));
  const behind = derived === undefined ? "(?:#.*)?" : `#${compileSegment(derived)}`;
  return new RegExp(`^${segments.join("/")}${behind}$`, "s");
}

/** In ids and subjects `#` is a character as any other, unless the pattern has one. */
function compileWhole(pattern: string): RegExp {
  if (pattern.includes("#")) return compile(pattern);
  const segments = pattern.split("/").map(segment => {
    if (segment === "**") return ".+";
    return segment === "*" ? "[^/]+" : compileSegment(segment);
  });
  return new RegExp(`^${segments.join("/")}$`, "s");
}

function compileSegment(segment: string): string {
  return segment === "*" ? "[^/#]+" : segment.replaceAll(".", String.raw`\.`);
}
