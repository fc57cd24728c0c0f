import { spawnSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { withPlatforms, writePlatforms } from "./platforms.ts";

interface Manifest {
  readonly name: string;
  readonly [field: string]: unknown;
}

const root = fileURLToPath(new URL("..", import.meta.url));

const packages = ["shared", "modulators", "client", "react", "server", "apps/jecho", "apps/create-jecho"];
/** Files of the packages that are not compiled: documents, and modulators, for a modulator's source is known by its very text. */
const asTheyAre = [
  "{shared,modulators,client,server}/src/generated/*.mjs",
  "modulators/standard/*.{js,d.ts}",
  "{shared,modulators,client,react,server,apps/jecho,apps/create-jecho}/README.md",
  "apps/create-jecho/template/*",
  "modulators/docs/*.md",
];
/** Document that is about the sources. */
const ofTheRepository = "modulators/docs/papers.md";
/** The repository that a package is published from, which npm compares with where its provenance says that it was built. */
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
const published =
  GITHUB_REPOSITORY === undefined
    ? {}
    : { repository: { type: "git", url: `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git` } };
/** Face of the gateway for the benches, which are not published. */
const forBenches = "server/src/internal.js";
/** Manifest fields of the workspace only. */
const left = ["private", "scripts", "devDependencies"];

function copy(file: string, folder: string, to = file): void {
  const target = join(folder, to);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(root, file), target);
}

/** Declarations that TypeScript 5.2, or a later one with the library of ES2022, does not know, and what says the same to any. */
const NEWER: readonly (readonly [newer: RegExp, known: string])[] = [
  [/\bUint8Array<ArrayBuffer>/g, 'ReturnType<Uint8ArrayConstructor["of"]>'],
  [/\b(Uint8Array|DataView)<ArrayBufferLike>/g, "$1"],
  [/^(?=.*\b(?:asyncDispose|AsyncDisposable)\b)/s, '/// <reference lib="esnext.disposable" />\n'],
  [
    /\bPromiseWithResolvers<(\w+)>/g,
    "{ promise: Promise<$1>; resolve: (value: $1 | PromiseLike<$1>) => void; reject: (reason?: any) => void }",
  ],
];

/**
 * Renames what the compiler leaves as it was: the names of modules that are loaded by their URL (workers, children), where
 * declarations refer to others, and types that are newer than many a compiler.
 */
function renameCompiled(folder: string): void {
  for (const file of globSync("**/*.{js,d.ts}", { cwd: folder })) {
    const text = readFileSync(join(folder, file), "utf8");
    const older = NEWER.reduce(
      (declarations, [newer, known]) => declarations.replace(newer, known),
      file.endsWith(".d.ts") ? text : "",
    );
    const compiled = (older || text)
      .replace(/(new URL\("[^"]+)\.ts(", import\.meta\.url\))/g, "$1.js$2")
      .replace(/(<reference path=")[^"]*\/(standard\/[^"]+")/g, "$1../$2");
    if (compiled !== text) writeFileSync(join(folder, file), compiled);
  }
}

/** Removes the declarations that none of a package's faces leads to: no compiler reads them. */
function removeUnread(folder: string, { exports = {} }: Manifest): void {
  const unread = new Set(globSync("**/*.d.ts", { cwd: folder }));
  const read = (file: string): void => {
    const declarations = `${file.replace(/(\.d)?\.[jt]s$/, "")}.d.ts`;
    if (!unread.delete(declarations)) return;
    const text = readFileSync(join(folder, declarations), "utf8");
    for (const [, name = ""] of text.matchAll(/(?:from |import ?\(?|path=)"(\.[^"]+)"/g))
      read(join(dirname(declarations), name));
  };
  for (const [, face = ""] of JSON.stringify(exports).matchAll(/"(\.\/[^"]+)"/g))
    for (const file of globSync(face, { cwd: folder })) read(file);
  for (const file of unread) rmSync(join(folder, file));
}

/** Paths of a package's faces once they are compiled. */
function compiledFaces(value: unknown): unknown {
  if (typeof value === "string") return value.replace(/\.ts$/, ".js");
  return Object.fromEntries(
    Object.entries(value as object).map(([name, path]) => [name, compiledFaces(path)]),
  );
}

function manifestOf(name: string): Manifest {
  const source = JSON.parse(readFileSync(join(root, name, "package.json"), "utf8")) as Manifest;
  const manifest = Object.fromEntries(Object.entries(source).filter(([field]) => !left.includes(field)));
  for (const field of ["exports", "imports", "bin"])
    if (manifest[field] !== undefined) manifest[field] = compiledFaces(manifest[field]);
  // The program that it writes is TypeScript, which an older one does not run.
  const node = name === "apps/create-jecho" ? ">=22.18" : ">=22.13";
  const compiled: Manifest = { ...manifest, ...published, name: source.name, engines: { node } };
  if (name !== "server") return compiled;
  const { "./internal": _, ...exports } = compiled["exports"] as Record<string, unknown>;
  return withPlatforms({ ...compiled, exports });
}

/**
 * Writes all packages into a folder, each as it is packed.
 *
 * @returns the names of their folders: of those for this machine, and of other platforms' binaries
 */
export function compilePackages(folder: string): { readonly here: string[]; readonly elsewhere: string[] } {
  rmSync(folder, { recursive: true, force: true });
  const { status, error } = spawnSync(
    "tsc",
    ["-p", join(root, "tsconfig.packages.json"), "--outDir", folder],
    { cwd: root, stdio: ["ignore", "ignore", "inherit"], shell: process.platform === "win32" },
  );
  if (status !== 0) throw error ?? new Error("the packages do not compile");
  renameCompiled(folder);
  rmSync(join(folder, forBenches));
  for (const file of globSync(asTheyAre, { cwd: root, exclude: [ofTheRepository] })) copy(file, folder);
  // Its program is in ours.
  copy(
    "node_modules/@jitl/quickjs-singlefile-mjs-release-sync/LICENSE",
    folder,
    "modulators/LICENSE.quickjs",
  );
  for (const name of packages) {
    copy("LICENSE", folder, `${name}/LICENSE`);
    const manifest = manifestOf(name);
    writeFileSync(join(folder, name, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
    removeUnread(join(folder, name), manifest);
  }
  const { here, elsewhere } = writePlatforms(folder, published);
  for (const name of [...here, ...elsewhere]) copy("LICENSE", folder, `${name}/LICENSE`);
  return { here: [...packages, ...here], elsewhere };
}
