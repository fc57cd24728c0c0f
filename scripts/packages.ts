// `npm run packages [-- FOLDER]`: the packages as programs outside this repository install them, as JavaScript with types:
// `npm install FOLDER/*.tgz`. Without an argument FOLDER is `dist`.
import { spawnSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

interface Manifest {
  readonly name: string;
  readonly [field: string]: unknown;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = resolve(process.argv[2] ?? join(root, "dist"));

const packages = ["shared", "modulators", "client", "server", "apps/jecho"];
/** What belongs to the packages and is not compiled: documents, and modulators, for a modulator's source is known by its very text. */
const asTheyAre = [
  "{shared,modulators,client,server}/src/generated/*.mjs",
  "modulators/standard/*.{js,d.ts}",
  "{shared,modulators,client,server,apps/jecho}/README.md",
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

/**
 * What the compiler leaves as it was: the names of modules that are loaded by their URL (workers, children), and where
 * declarations refer to others.
 */
function renameCompiled(): void {
  for (const file of globSync("**/*.{js,d.ts}", { cwd: folder })) {
    const text = readFileSync(join(folder, file), "utf8");
    const compiled = text
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
  return { ...manifest, name: source.name, engines: { node: ">=22.13" } };
}

rmSync(folder, { recursive: true, force: true });
run("tsc", ["-p", join(root, "tsconfig.packages.json"), "--outDir", folder], root);
renameCompiled();
for (const file of globSync(asTheyAre, { cwd: root, exclude: [ofTheRepository] })) copy(file);
for (const name of packages) {
  copy("LICENSE", `${name}/LICENSE`);
  writeFileSync(join(folder, name, "package.json"), `${JSON.stringify(manifestOf(name), undefined, 2)}\n`);
  run("npm", ["pack", "--silent", "--pack-destination", folder], join(folder, name));
}
for (const file of globSync("*.tgz", { cwd: folder }).sort()) console.log(join(folder, file));
