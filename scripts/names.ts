// One name, one type: a class, interface or type has its name to itself, in all packages together.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Names that may be there twice: for a package's type of the same thing for another audience.
 *
 * - `Modulator`, `FifoModulator`: what modulators extend, as text in a sandbox, and as TypeScript sees it from outside
 * - `ModulatorEnvironment`: the same class for pages and for Node, at the face of each
 */
const SHARED = new Set(["FifoModulator", "Modulator", "ModulatorEnvironment"]);

/** Names that are declared in more than one of these files (from the root, with forward slashes), each as one line. */
export function sharedNames(root: string, files: readonly string[]): string[] {
  const places = new Map<string, string[]>();
  const declaration = /^(?:export )?(?:declare )?(?:default )?(?:abstract )?(?:class|interface|type) (\w+)/gm;
  for (const file of files) {
    const names = Array.from(
      readFileSync(join(root, file), "utf8").matchAll(declaration),
      ([, name]) => name!,
    );
    for (const name of new Set(names)) places.set(name, [...(places.get(name) ?? []), file]);
  }
  return [...places]
    .filter(([name, { length }]) => length > 1 && !SHARED.has(name))
    .map(([name, where]) => `${name} is declared in ${where.sort().join(" and ")}`)
    .sort();
}
