/** Deeper than anybody nests; what is in itself is deeper. */
const MOST_DEPTH = 100;
const MOST_CHARACTERS = 500;

/** A value that is not plain data, and where it is: the end of its path. */
interface Found {
  readonly at: string;
  readonly is: string;
}

const TOO_DEEP = `... is deeper than ${MOST_DEPTH} levels, or in itself`;

/**
 * Finds what JSON would change or leave out of a value behind the sender's back: NaN and infinities, functions, dates,
 * maps, typed arrays. A member that is undefined counts as absent.
 *
 * @param path of the value, for the answer
 * @returns a sentence with its path, of at most 500 characters; undefined for plain data
 */
export function unplainIn(value: unknown, path: string): string | undefined {
  const found = find(value, 0);
  if (found === undefined) return undefined;
  const whole = `${path}${found.at}`;
  if (found.is === TOO_DEEP) return `${whole.slice(0, 100)}${TOO_DEEP}`;
  return `${whole} is ${found.is}, which is not plain data`.slice(0, MOST_CHARACTERS);
}

function find(value: unknown, depth: number): Found | undefined {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? undefined : { at: "", is: String(value) };
    case "string":
    case "boolean":
      return undefined;
    case "object":
      return value === null ? undefined : findInside(value, depth);
    case "undefined":
      return { at: "", is: "undefined" };
    default:
      return { at: "", is: `a ${typeof value}` };
  }
}

function findInside(value: object, depth: number): Found | undefined {
  if (depth === MOST_DEPTH) return { at: "", is: TOO_DEEP };
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = find(value[i], depth + 1);
      if (found !== undefined) return { ...found, at: `[${i}]${found.at}` };
    }
    return undefined;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype || Symbol.toStringTag in value) {
    const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
    if (kind !== "Object") return { at: "", is: `a ${kind}` };
  }
  for (const name of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[name];
    const found = inner === undefined ? undefined : find(inner, depth + 1);
    if (found !== undefined) return { ...found, at: `.${name}${found.at}` };
  }
  return undefined;
}
