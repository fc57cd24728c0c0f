// `node scripts/pages.ts [BUNDLER...]`: installs the packed packages outside this repository, has an old compiler read them, and builds
// a page with the client library by bundlers as they come, into `.cache/pages/BUNDLER`. What was built of the same sources before stays. `.cache/pages/report.json` says how it went.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { digestOf } from "./generate.mjs";
import { inTurn } from "./prepare.mjs";

export interface PagesReport {
  /** Hash of the sources. */
  readonly stamp: string;
  /** Why nothing could be installed; "" where it could. */
  skipped: string;
  /** Installed size of the client package with all that it needs, without isolated-vm. */
  clientBytes: number;
  /** Bytes, gzipped, of what a page loads until it sees the first event of a plain subscription: its program, and its SharedWorker's. */
  firstPageBytes: number;
  /** The same of all packages. */
  fullBytes: number;
  /** Errors that TypeScript 5.2 found in the declarations; "" where there are none. */
  declarations: string;
  /** Errors of the builds, by bundler; "" where there were none. */
  readonly built: Record<string, string>;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const cache = join(root, ".cache/pages");
const reportFile = join(cache, "report.json");
const SOURCES = [
  "package-lock.json",
  "scripts",
  "e2e/pages/bundled",
  ...["shared", "modulators", "client", "react", "server", "apps/jecho", "apps/create-jecho"].flatMap(
    name => [`${name}/src`, `${name}/package.json`],
  ),
];

/** Packages that are built with, by bundler. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  esbuild: ["esbuild@0.28.2"],
  webpack: ["webpack@5.112.2"],
  vite: ["vite@8.3.8"],
  next: ["next@16.4.6", "react@19.3.1", "react-dom@19.3.1"],
};
/** Modules that a page loads when they are needed, as they are imported. */
const LATER = [
  "./page-here.js",
  "../producer/producing.js",
  "./elsewhere.js",
  "./overview.js",
  "./inheritance.js",
  "./iteration.js",
  "./page-host.js",
  "./session-handovers.js",
  "../concentrator/production.js",
  "./tiers/browser-environment.js",
  "./generated/worker-source.mjs",
];
/** The oldest compiler that is to take the packages' declarations. */
const OLD_COMPILER = "typescript@5.2.2";
/** A program in TypeScript that imports all that a page may. */
const FACES = [
  "client",
  "client/fbs",
  "client/moe",
  "client/modulating",
  "client/opentelemetry",
  "modulators/testing",
]
  .map((face, i) => `export * as face${i} from "@jecho/${face}";\n`)
  .join("");
/** A file of its own: processes that webpack starts get this one's options, too, and --input-type is for text alone. */
const WEBPACK_PROGRAM = "webpack-build.mjs";
const WEBPACK = `import webpack from "webpack";
webpack({ mode: "production", context: process.cwd(), entry: "./main.js", output: { path: process.cwd() + "/dist" } }, (error, stats) => {
  console.log(error ?? stats.toString("errors-only"));
  process.exitCode = error || stats.hasErrors() ? 1 : 0;
});`;
/** The command that builds the page into `dist`. */
const BUILDS: Readonly<Record<string, readonly string[]>> = {
  esbuild: ["node_modules/esbuild/bin/esbuild", "main.js", "--bundle", "--minify", "--outfile=dist/main.js"],
  webpack: [WEBPACK_PROGRAM],
  vite: ["node_modules/vite/bin/vite.js", "build"],
  next: ["node_modules/next/dist/bin/next", "build"],
};

function run(
  command: string,
  args: readonly string[],
  cwd: string,
): { readonly ok: boolean; readonly said: string } {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    shell: process.platform === "win32",
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1" },
  });
  return { ok: status === 0, said: `${error?.message ?? ""}${stdout}${stderr}` };
}

function install(folder: string, packages: readonly string[]): string {
  const { ok, said } = run(
    "npm",
    ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...packages],
    folder,
  );
  return ok ? "" : said.slice(-1000);
}

/** Bytes of all that is installed. isolated-vm has the binaries of all platforms, and is optional. */
function installedBytes(folder: string): number {
  return globSync("node_modules/**/*", { cwd: folder, exclude: ["node_modules/isolated-vm"] })
    .map(path => statSync(join(folder, path)))
    .reduce((sum, stats) => sum + (stats.isFile() ? stats.size : 0), 0);
}

/** Bytes, gzipped, of a program with all that it begins with, as one file. */
function bytesOf(program: string, folder: string): number {
  const later = LATER.map(file => `--external:${file}`);
  const args = ["--bundle", "--minify", "--format=esm", ...later, "--outfile=measured.js"];
  const { ok, said } = run(process.execPath, ["node_modules/esbuild/bin/esbuild", program, ...args], folder);
  if (!ok) throw new Error(said);
  return gzipSync(readFileSync(join(folder, "measured.js")), { level: 9 }).length;
}

/** Errors that the oldest compiler finds in the packages' declarations, which are installed in the folder. */
function checkDeclarations(folder: string): string {
  writeFileSync(join(folder, "faces.ts"), FACES);
  // Node's types, which a bundler brings along, are nothing that a page has.
  const options =
    "--noEmit --strict --target es2022 --module nodenext --moduleResolution nodenext --typeRoots nowhere";
  const { ok, said } = run("node_modules/.bin/tsc", [...options.split(" "), "faces.ts"], folder);
  return ok ? "" : said;
}

function build(bundlers: readonly string[], report: PagesReport): void {
  const folder = mkdtempSync(join(tmpdir(), "jecho-pages-"));
  try {
    const packed = run(process.execPath, [join(root, "scripts/packages.ts"), join(folder, "packed")], root);
    if (!packed.ok) throw new Error(packed.said);
    const page = join(folder, "page");
    cpSync(join(root, "e2e/pages/bundled"), page, { recursive: true });
    writeFileSync(join(page, WEBPACK_PROGRAM), WEBPACK);
    writeFileSync(join(page, "package.json"), '{ "private": true, "type": "module" }\n');
    const packedFiles = (pattern: string): string[] =>
      globSync(pattern, { cwd: join(folder, "packed") }).map(file => join(folder, "packed", file));
    report.skipped = install(page, packedFiles("jecho-{shared,modulators,client}-*.tgz"));
    if (report.skipped !== "") return;
    report.clientBytes = installedBytes(page);
    report.skipped = install(page, packedFiles("*.tgz"));
    if (report.skipped !== "") return;
    report.fullBytes = installedBytes(page);
    const tools = ["esbuild", ...bundlers].flatMap(name => PACKAGES[name] ?? []);
    report.skipped = install(page, [OLD_COMPILER, ...tools]);
    if (report.skipped !== "") return;
    report.declarations = checkDeclarations(page);
    report.firstPageBytes =
      bytesOf("plain.js", page) + bytesOf("node_modules/@jecho/client/src/places/shared-worker.js", page);
    for (const bundler of bundlers) {
      for (const former of ["dist", "out"]) rmSync(join(page, former), { recursive: true, force: true });
      const { ok, said } = run(process.execPath, BUILDS[bundler] as string[], page);
      report.built[bundler] = ok ? "" : said.slice(-4000);
      if (!ok) continue;
      const target = join(cache, bundler);
      rmSync(target, { recursive: true, force: true });
      cpSync(join(page, bundler === "next" ? "out" : "dist"), target, { recursive: true });
      if (!existsSync(join(target, "index.html")))
        cpSync(join(page, "index.html"), join(target, "index.html"));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Builds what is missing, and returns what there is then. */
function buildMissing(wanted: readonly string[]): PagesReport {
  const stamp = digestOf(root, SOURCES);
  const former = existsSync(reportFile)
    ? (JSON.parse(readFileSync(reportFile, "utf8")) as PagesReport)
    : undefined;
  const report =
    former?.stamp === stamp
      ? former
      : { stamp, skipped: "", clientBytes: 0, fullBytes: 0, firstPageBytes: 0, declarations: "", built: {} };
  const missing = wanted.filter(bundler => report.built[bundler] !== "");
  mkdirSync(cache, { recursive: true });
  if (missing.length > 0) build(missing, report);
  writeFileSync(reportFile, `${JSON.stringify(report, undefined, 2)}\n`);
  return report;
}

const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(BUILDS);
// Several test runners may ask for them at the same time.
const report = await inTurn(() => buildMissing(wanted), join(root, ".cache/pages.pid"));
console.log(
  `${basename(reportFile)}: ${wanted.map(name => `${name} ${report.built[name] === "" ? "built" : "not built"}`).join(", ")}`,
);
