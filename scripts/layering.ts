// Who may import whom. Biome sees only an import's text, not where it leads, so this is a check of our own.
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";

interface Rule {
  /** Packages (without @jecho/) whose faces may be imported. */
  imports: readonly string[];
  /** Whether the faces made for our own packages (`/internal`) may be imported too. */
  internal: boolean;
}

const packages = ["shared", "modulators", "client", "react", "server"];
const everything = [...packages, "atmosphere", "e2e"];

const layers: Record<string, Rule> = {
  scripts: { imports: ["shared"], internal: false },
  shared: { imports: [], internal: true },
  modulators: { imports: ["shared"], internal: true },
  client: { imports: ["shared", "modulators"], internal: true },
  react: { imports: ["client"], internal: false },
  server: { imports: ["shared"], internal: true },
  apps: { imports: ["client", "react", "modulators"], internal: false },
  // It watches what crosses the wire, with the parser that both ends have.
  e2e: { imports: ["shared", "client", "react", "server", "atmosphere"], internal: true },
  bench: { imports: everything, internal: true },
};

/** A package's tests stand above all packages: they run the real gateway with the real client, over ways that can be cut. */
const tests: Rule = { imports: [...packages, "e2e"], internal: true };
/** An application's command may start the gateway beside it; its tests need one. */
const composition: Rule = { imports: ["client", "server", "modulators"], internal: false };

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
    (third === "test" ||
      third === "template" ||
      (third === "src" && (fourth === "start.ts" || fourth === "command.ts")))
  )
    return composition;
  if (packages.includes(first) && file.split("/")[1] === "test") return tests;
  return layers[first];
}

/** One module that a file imports, exports from, or loads. */
export interface Import {
  /** Text between the quotes. */
  readonly specifier: string;
  /** Whether only types are taken from it, so that it is not loaded. */
  readonly isType: boolean;
}

/** Every module that a source text imports, exports from, or loads. */
export function importsOf(source: string): Import[] {
  const statement =
    /^[ \t]*(?:import|export)\b(\s+type\b)?(?:[^"'`;]*?\bfrom)?\s*["']([^"'\n]+)["']|\bimport\(\s*["']([^"'\n]+)["']/gm;
  return Array.from(source.matchAll(statement), ([, type, from, loaded]) => ({
    specifier: (from ?? loaded)!,
    isType: type !== undefined,
  }));
}

/** Exports of a package: the files of each face, `./internal` say, as they stand in its package.json. */
export type Faces = Readonly<Record<string, readonly string[]>>;

/**
 * Judges one import.
 * @param file the importing file, from the root, with forward slashes
 * @param imported what it imports
 * @param faces what a package (as in @jecho/NAME) exports; undefined where there is none
 * @returns what is wrong with it, or undefined
 */
export function judge(
  file: string,
  imported: Import,
  faces: (name: string) => Faces | undefined,
): string | undefined {
  const { specifier } = imported;
  const home = packageOf(file);
  if (specifier.startsWith(".")) {
    const target = posix.join(posix.dirname(file), specifier);
    const goal = packageOf(target);
    if (goal !== home) return `leaves its package: import ${goal ?? "the root"} by its name`;
    return packages.includes(home ?? "") && !imported.isType
      ? judgeTest(file, target, Object.values(faces(home!) ?? {}).flat())
      : undefined;
  }
  const [scope, name = "", ...rest] = specifier.split("/");
  const rule = ruleOf(file);
  if (scope !== "@jecho" || !rule) return undefined;
  const face = [".", ...rest].join("/");
  if (!Object.hasOwn(faces(name) ?? {}, face)) return `@jecho/${name} has no face ${face}`;
  if (name === home?.split("/").at(-1)) return undefined;
  if (!rule.imports.includes(name)) return `${home} may import ${list(rule.imports)} only`;
  if (face === "./internal" && !rule.internal) return `${face} is for our own packages only`;
  return undefined;
}

/**
 * A test meets its package at the faces. One that is about a single file lies where that file lies, and has its name; it may import
 * that file and all of the same room, which is a folder of `src`, as may what helps it. Types, and what scripts generate, may be had from anywhere.
 */
function judgeTest(file: string, target: string, faces: readonly string[]): string | undefined {
  const [home, test, ...path] = file.split("/");
  const [, folder, ...goal] = target.split("/");
  if (test !== "test" || folder !== "src" || goal[0] === "generated") return undefined;
  if (faces.includes(`./${["src", ...goal].join("/")}`)) return undefined;
  const [room] = goal;
  return path.length > 1 && path[0] === room
    ? undefined
    : `goes past the faces of ${home}: only a test in ${home}/test/${room}/ may`;
}

function list(names: readonly string[]): string {
  return names.length === 0 ? "nothing of ours" : names.join(", ");
}

/** All bad imports of these files (from the root, with forward slashes), each as one line. */
export function violations(root: string, files: readonly string[]): string[] {
  const cache = new Map<string, Faces | undefined>();
  const faces = (name: string) => {
    if (!cache.has(name)) cache.set(name, facesOf(join(root, "node_modules", "@jecho", name)));
    return cache.get(name);
  };
  return files.flatMap(file => {
    const imports = importsOf(readFileSync(join(root, file), "utf8"));
    const faults = imports.flatMap(imported => {
      const fault = judge(file, imported, faces);
      return fault ? [`${file}: "${imported.specifier}": ${fault}`] : [];
    });
    const strayed = unmirrored(file, imports, files);
    return strayed === undefined ? faults : [...faults, strayed];
  });
}

/** A test that lies in the place of a source file has the name of one. */
function unmirrored(file: string, imports: readonly Import[], files: readonly string[]): string | undefined {
  const [home = "", test, ...path] = file.split("/");
  if (!packages.includes(home) || test !== "test" || !file.endsWith(".test.ts")) return undefined;
  const source = posix.join(home, "src", path.join("/").replace(/\.test\.ts$/, ".ts"));
  const beside = imports.some(({ specifier, isType }) => {
    const target = posix.join(posix.dirname(file), specifier);
    return !isType && path.length > 1 && target.startsWith(posix.join(home, "src", path[0]!, "/"));
  });
  return beside && !files.includes(source)
    ? `${file}: is named for no file, as ${source} would be`
    : undefined;
}

function facesOf(folder: string): Faces | undefined {
  try {
    const { exports = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      exports?: Record<string, string | Record<string, string>>;
    };
    return Object.fromEntries(
      Object.entries(exports).map(([face, file]) => [
        face,
        typeof file === "string" ? [file] : Object.values(file),
      ]),
    );
  } catch {
    return undefined;
  }
}
