/** Deeper than anybody nests; what is in itself is deeper. */
const MOST_DEPTH = 100;

/**
 * What is in a value that JSON would change or leave out behind the sender's back: numbers that are none, functions, dates, maps, typed
 * arrays. A member that is undefined is one that is not there.
 *
 * @param path of the value, for the answer
 * @returns a sentence with its path; undefined for plain data
 */
export function unplainIn(value: unknown, path: string, depth = 0): string | undefined {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? undefined : `${path} is ${value}, which is not plain data`;
    case "string":
    case "boolean":
      return undefined;
    case "object":
      return value === null ? undefined : unplainInside(value, path, depth);
    case "undefined":
      return `${path} is undefined, which is not plain data`;
    default:
      return `${path} is a ${typeof value}, which is not plain data`;
  }
}

function unplainInside(value: object, path: string, depth: number): string | undefined {
  if (depth === MOST_DEPTH)
    return `${path.slice(0, 100)}... is deeper than ${MOST_DEPTH} levels, or in itself`;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = unplainIn(value[i], `${path}[${i}]`, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  if (kind !== "Object") return `${path} is a ${kind}, which is not plain data`;
  for (const [name, inner] of Object.entries(value)) {
    const found = inner === undefined ? undefined : unplainIn(inner, `${path}.${name}`, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}
