// Import circles: files that import each other, directly or by way of others. One of values breaks where files are loaded in another
// order; one of types is a group of files that can only be read together.
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { importsOf, packageOf } from "./layering.ts";

/** Files that a circle of types has at most. A circle of values is one too many. */
const MOST_TYPES = 8;

/** Imports of each file, from among the others. */
export type Imports = ReadonlyMap<string, readonly string[]>;

/** Groups of files in which each imports every other, directly or by way of others; the largest first. */
export function circlesIn(imports: Imports): string[][] {
  // Tarjan's algorithm: a file that leads to none that was seen before it closes the group which lies above it on the stack.
  const seen = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): number => {
    const number = seen.size;
    seen.set(file, number);
    let low = number;
    stack.push(file);
    for (const target of imports.get(file) ?? []) {
      if (!seen.has(target)) low = Math.min(low, visit(target));
      else if (stack.includes(target)) low = Math.min(low, lowest.get(target) ?? seen.get(target)!);
    }
    lowest.set(file, low);
    if (low < number) return low;
    const group = stack.splice(stack.indexOf(file));
    if (group.length > 1 || imports.get(file)?.includes(file)) found.push(group.sort());
    return low;
  };
  for (const file of imports.keys()) if (!seen.has(file)) visit(file);
  return found.sort((a, b) => b.length - a.length);
}

/**
 * Looks for circles among these files (from the root, with forward slashes).
 *
 * @returns the largest circle of types, and a line for each circle that may not be
 */
export function circles(root: string, files: readonly string[]): { largest: number; bad: string[] } {
  const values = new Map<string, string[]>();
  const all = new Map<string, string[]>();
  for (const file of files) {
    const imports = importsOf(readFileSync(join(root, file), "utf8")).flatMap(({ specifier, isType }) =>
      targetsOf(root, file, specifier).map(target => ({ target, isType })),
    );
    all.set(
      file,
      imports.map(({ target }) => target),
    );
    values.set(
      file,
      imports.filter(({ isType }) => !isType).map(({ target }) => target),
    );
  }
  const ofTypes = circlesIn(all);
  return {
    largest: ofTypes[0]?.length ?? 0,
    bad: [
      ...circlesIn(values).map(circle => `a circle of values: ${circle.join(", ")}`),
      ...ofTypes
        .filter(({ length }) => length > MOST_TYPES)
        .map(
          circle => `a circle of ${circle.length} files, where ${MOST_TYPES} may be: ${circle.join(", ")}`,
        ),
    ],
  };
}

/** The files of the same package that this may mean: of `#platform`, that of every platform. */
function targetsOf(root: string, file: string, specifier: string): string[] {
  if (specifier.startsWith(".")) return [posix.join(posix.dirname(file), specifier)];
  const home = packageOf(file);
  if (!specifier.startsWith("#") || home === undefined) return [];
  const { imports = {} } = JSON.parse(readFileSync(join(root, home, "package.json"), "utf8")) as {
    imports?: Record<string, Record<string, string>>;
  };
  return Object.values(imports[specifier] ?? {}).map(target => posix.join(home, target));
}
