// `npm run packages [-- FOLDER] [-- --platforms]`: the packages as programs outside this repository install them, as JavaScript with types:
// `npm install FOLDER/*.tgz`. Without an argument FOLDER is `dist`. Of the gateway's binaries those of this machine's platform are packed; with
// `--platforms` the others come into `FOLDER/platforms`.
import { spawnSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { withPlatforms, writePlatforms } from "./platforms.ts";

interface Manifest {
  readonly name: string;
  readonly [field: string]: unknown;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const [folder = join(root, "dist")] = process.argv
  .slice(2)
  .filter(argument => !argument.startsWith("-"))
  .map(path => resolve(path));

const packages = ["shared", "modulators", "client", "react", "server", "apps/jecho", "apps/create-jecho"];
/** What belongs to the packages and is not compiled: documents, and modulators, for a modulator's source is known by its very text. */
const asTheyAre = [
  "{shared,modulators,client,server}/src/generated/*.mjs",
  "modulators/standard/*.{js,d.ts}",
  "{shared,modulators,client,react,server,apps/jecho,apps/create-jecho}/README.md",
  "apps/create-jecho/template/*",
  "modulators/docs/*.md",
];
/** What it says is about the sources. */
const ofTheRepository = "modulators/docs/papers.md";
/** Of the workspace only. */
const left = ["private", "scripts", "devDependencies"];

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, error } = spawnSync(command, args, {
    cwd,
    stdio: ["ignore", "ignore", "inherit"],
    shell: process.platform === "win32",
  });
  if (status !== 0) throw error ?? new Error(`${command} ${args[0]} failed`);
}

function copy(file: string, to = file): void {
  const target = join(folder, to);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(root, file), target);
}

/** What TypeScript 5.2, or a later one with the library of ES2022, does not know in declarations, and what says the same to any. */
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
 * What the compiler leaves as it was: the names of modules that are loaded by their URL (workers, children), where
 * declarations refer to others, and types that are newer than many a compiler.
 */
function renameCompiled(): void {
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

/** Where a package's faces are once they are compiled. */
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
  const compiled = { ...manifest, name: source.name, engines: { node: ">=22.13" } };
  return name === "server" ? withPlatforms(compiled) : compiled;
}

function pack(name: string, to: string): void {
  copy("LICENSE", `${name}/LICENSE`);
  mkdirSync(to, { recursive: true });
  run("npm", ["pack", "--silent", "--pack-destination", to], join(folder, name));
}

rmSync(folder, { recursive: true, force: true });
run("tsc", ["-p", join(root, "tsconfig.packages.json"), "--outDir", folder], root);
renameCompiled();
for (const file of globSync(asTheyAre, { cwd: root, exclude: [ofTheRepository] })) copy(file);
// Its program is in ours.
copy("node_modules/@jitl/quickjs-singlefile-mjs-release-sync/LICENSE", "modulators/LICENSE.quickjs");
for (const name of packages)
  writeFileSync(join(folder, name, "package.json"), `${JSON.stringify(manifestOf(name), undefined, 2)}\n`);
const { here, elsewhere } = writePlatforms(folder);
for (const name of [...packages, ...here]) pack(name, folder);
if (process.argv.includes("--platforms")) for (const name of elsewhere) pack(name, join(folder, "platforms"));
for (const file of globSync("*.tgz", { cwd: folder }).sort()) console.log(join(folder, file));
