import { cpSync, existsSync, globSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const OWN = fileURLToPath(new URL("..", import.meta.url));
const TEMPLATE = join(OWN, "template");
const ARCHIVE = /^((?:jecho-)?)([a-z0-9-]+?)-\d+\.\d+\.\d+[^/]*\.tgz$/;

/**
 * Writes the program.
 *
 * @param packages a folder with JEcho's packages as archives; undefined for those of npm
 * @throws Error where there is something in the folder, or nothing in that of the packages
 */
export function createProgram(folder: string, packages: string | undefined): void {
  const target = resolve(folder);
  if (existsSync(target) && readdirSync(target).length > 0)
    throw new Error(`there is something in ${folder} already`);
  cpSync(TEMPLATE, target, { recursive: true });
  // npm leaves files of this name out of packages.
  renameSync(join(target, "gitignore"), join(target, ".gitignore"));
  const file = join(target, "package.json");
  const manifest = manifestIn(target);
  const { version } = manifestIn(OWN);
  for (const name of Object.keys(manifest.dependencies))
    if (name.startsWith("@jecho/")) manifest.dependencies[name] = version;
  manifest.name =
    basename(target)
      .toLowerCase()
      .replaceAll(/[^a-z0-9._-]+/g, "-")
      .replace(/^[._-]+/, "") || "program";
  if (packages !== undefined) Object.assign(manifest.dependencies, archivesIn(packages, target));
  writeFileSync(file, `${JSON.stringify(manifest, undefined, 2)}\n`);
}

interface Manifest {
  name: string;
  readonly version: string;
  readonly dependencies: Record<string, string>;
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

function archivesIn(packages: string, target: string): Record<string, string> {
  const archives: Record<string, string> = {};
  for (const file of globSync("*.tgz", { cwd: packages }).sort()) {
    const [, scope, name = ""] = ARCHIVE.exec(file) ?? [];
    if (name === "" || name === "create-jecho") continue;
    archives[scope === "" ? name : `@jecho/${name}`] = `file:${relative(target, resolve(packages, file))}`;
  }
  if (Object.keys(archives).length === 0)
    throw new Error(`there are no packages in ${packages}: npm run packages writes them`);
  return archives;
}
