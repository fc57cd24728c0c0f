// Who may import whom. Biome sees only an import's text, not where it leads, so this is a check of our own.
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";

interface Rule {
  /** Packages (without @jecho/) whose faces may be imported. */
  imports: readonly string[];
  /** Whether the faces made for our own packages (`/internal`) may be imported too. */
  internal: boolean;
}

const packages = ["shared", "modulators", "client", "server"];
const everything = [...packages, "atmosphere", "e2e"];

const layers: Record<string, Rule> = {
  scripts: { imports: [], internal: false },
  shared: { imports: [], internal: true },
  modulators: { imports: ["shared"], internal: true },
  client: { imports: ["shared", "modulators"], internal: true },
  server: { imports: ["shared"], internal: true },
  apps: { imports: ["client"], internal: false },
  // It watches what crosses the wire, with the parser that both ends have.
  e2e: { imports: ["shared", "client", "server", "atmosphere"], internal: true },
  bench: { imports: everything, internal: true },
};

/** A package's tests stand above all packages: they run the real gateway with the real client. */
const tests: Rule = { imports: packages, internal: true };
/** An application's command may start the gateway beside it; its tests need one. */
const composition: Rule = { imports: ["client", "server"], internal: false };

/** The package a file belongs to, as its folder: `client`, `apps/atmosphere`, or undefined for a file at the root. */
export function packageOf(file: string): string | undefined {
  const [first = "", second = ""] = file.split("/");
  if (file.split("/").length < 2) return undefined;
  return first === "apps" ? `apps/${second}` : first;
}

function ruleOf(file: string): Rule | undefined {
  const [first = "", , third, fourth] = file.split("/");
  if (
    first === "apps" &&
    (third === "test" || (third === "src" && (fourth === "start.ts" || fourth === "main.ts")))
  )
    return composition;
  if (packages.includes(first) && file.split("/")[1] === "test") return tests;
  return layers[first];
}

/** Every module that a source text imports, exports from, or loads. */
export function importsOf(source: string): string[] {
  const found: string[] = [];
  const statement =
    /^[ \t]*(?:import|export)\b(?:[^"'`;]*?\bfrom)?\s*["']([^"'\n]+)["']|\bimport\(\s*["']([^"'\n]+)["']/gm;
  for (const match of source.matchAll(statement)) found.push((match[1] ?? match[2])!);
  return found;
}

/**
 * Judges one import.
 * @param file the importing file, from the root, with forward slashes
 * @param specifier what stands between the quotes
 * @param faces what a package (as in @jecho/NAME) exports: "." and "./internal", say; undefined where there is none
 * @returns what is wrong with it, or undefined
 */
export function judge(
  file: string,
  specifier: string,
  faces: (name: string) => readonly string[] | undefined,
): string | undefined {
  const home = packageOf(file);
  if (specifier.startsWith(".")) {
    const target = packageOf(posix.join(posix.dirname(file), specifier));
    return target === home ? undefined : `leaves its package: import ${target ?? "the root"} by its name`;
  }
  const [scope, name = "", ...rest] = specifier.split("/");
  const rule = ruleOf(file);
  if (scope !== "@jecho" || !rule) return undefined;
  const face = [".", ...rest].join("/");
  const offered = faces(name);
  if (!offered?.includes(face)) return `@jecho/${name} has no face ${face}`;
  if (name === home?.split("/").at(-1)) return undefined;
  if (!rule.imports.includes(name)) return `${home} may import ${list(rule.imports)} only`;
  if (face === "./internal" && !rule.internal) return `${face} is for our own packages only`;
  return undefined;
}

function list(names: readonly string[]): string {
  return names.length === 0 ? "nothing of ours" : names.join(", ");
}

/** All bad imports of these files (from the root, with forward slashes), each as one line. */
export function violations(root: string, files: readonly string[]): string[] {
  const cache = new Map<string, readonly string[] | undefined>();
  const faces = (name: string) => {
    if (!cache.has(name)) cache.set(name, exportsOf(join(root, "node_modules", "@jecho", name)));
    return cache.get(name);
  };
  return files.flatMap(file =>
    importsOf(readFileSync(join(root, file), "utf8")).flatMap(specifier => {
      const fault = judge(file, specifier, faces);
      return fault ? [`${file}: "${specifier}": ${fault}`] : [];
    }),
  );
}

function exportsOf(folder: string): readonly string[] | undefined {
  try {
    const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      exports?: Record<string, unknown>;
    };
    return Object.keys(exports ?? {});
  } catch {
    return undefined;
  }
}
