// `node scripts/check-packages.ts [--write]`: compiles the packages, and checks them as others will have them. `--write` takes what they export now into
// `docs/faces.txt`, so that a change of it stands in a diff.
import { globSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkPackage, Package } from "@arethetypeswrong/core";
import { filterProblems } from "@arethetypeswrong/core/problems";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { compilePackages } from "./compiled-packages.ts";
import { facesReport } from "./faces.ts";

/** Most bytes of each package, not packed; what npm installs in all is measured by `pages.ts`. */
const BUDGETS: Readonly<Record<string, number>> = {
  shared: 470e3,
  modulators: 4_300e3,
  client: 720e3,
  react: 40e3,
  server: 790e3,
  "apps/jecho": 100e3,
  "apps/create-jecho": 30e3,
};

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, ".cache/compiled");
const facesFile = join(root, "docs/faces.txt");

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: object;
}

function filesOf(name: string): string[] {
  return globSync("**/*", { cwd: join(folder, name) }).filter(file =>
    statSync(join(folder, name, file)).isFile(),
  );
}

async function publintOn(name: string): Promise<string[]> {
  const pkgDir = join(folder, name);
  const { messages, pkg } = await publint({ pkgDir, strict: true, pack: false });
  return messages.map(message => `publint: ${name}: ${formatMessage(message, pkg, { color: false })}`);
}

/** The packages are ES modules alone: what `require` of an older Node, or a resolver before `exports`, makes of them does not count. */
async function attwOn(name: string): Promise<string[]> {
  const manifest = JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8")) as Manifest;
  // What has no exports is a command, which nobody imports.
  if (manifest.exports === undefined) return [];
  const files = filesOf(name).map(file => [
    `/node_modules/${manifest.name}/${file.replaceAll("\\", "/")}`,
    readFileSync(join(folder, name, file)),
  ]);
  const analysis = await checkPackage(
    new Package(Object.fromEntries(files), manifest.name, manifest.version),
  );
  if (!analysis.types) return [`attw: ${name}: no types`];
  const found = (["node16-esm", "bundler"] as const).flatMap(resolutionKind =>
    filterProblems(analysis, { resolutionKind }),
  );
  return found.map(problem => `attw: ${name}: ${JSON.stringify(problem)}`);
}

function sizeOf(name: string): string[] {
  const bytes = filesOf(name).reduce((sum, file) => sum + statSync(join(folder, name, file)).size, 0);
  const budget = BUDGETS[name] ?? 0;
  return bytes <= budget ? [] : [`${name} has ${bytes} bytes, more than its budget of ${budget}`];
}

/** Lines of one report that the other one has not. */
function missing(of: string, from: string): string[] {
  const lines = new Set(from.split("\n"));
  return of.split("\n").filter(line => !lines.has(line));
}

function facesOf(): string[] {
  const report = facesReport(folder);
  if (process.argv.includes("--write")) writeFileSync(facesFile, report);
  const kept = readFileSync(facesFile, "utf8");
  if (report === kept) return [];
  return [
    "what the packages export is not what docs/faces.txt says; where that is meant: node scripts/check-packages.ts --write",
    ...missing(kept, report).map(line => `- ${line.trim()}`),
    ...missing(report, kept).map(line => `+ ${line.trim()}`),
  ];
}

compilePackages(folder);
const names = Object.keys(BUDGETS);
const findings = [
  ...(await Promise.all(names.flatMap(name => [publintOn(name), attwOn(name)]))).flat(),
  ...names.flatMap(sizeOf),
  ...facesOf(),
];
rmSync(folder, { recursive: true, force: true });
if (findings.length > 0) {
  console.log(findings.join("\n"));
  process.exitCode = 1;
}
