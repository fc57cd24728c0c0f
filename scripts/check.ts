// `npm run check`: all that is checked without running the code. One line per check, then what those that failed said.
import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import { circles } from "./circles.ts";
import { violations } from "./layering.ts";
import { sharedNames } from "./names.ts";

interface Result {
  ok: boolean;
  output: string;
  /** Figure that it has measured. */
  figure?: string;
}

const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);
const colors = process.stdout.isTTY && !process.env["NO_COLOR"];

const skipped = ["node_modules", "dist", "site", "generated", ".git", ".cache", "test-results"];

async function command(name: string, args: string[]): Promise<Result> {
  const [file, first] = name === "npm" && process.platform === "win32" ? ["npm.cmd", args] : [name, args];
  const child = spawn(file, first, {
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32",
    env: { ...process.env, ...(colors ? { FORCE_COLOR: "1" } : { NO_COLOR: "1" }) },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", chunk => (output += chunk));
  const ok = await new Promise<boolean>(resolve => {
    child.once("error", error => {
      output += `${name} could not be started: ${error.message}`;
      resolve(false);
    });
    child.once("close", code => resolve(code === 0));
  });
  return { ok, output };
}

function filesOf(pattern: string): string[] {
  const exclude = (path: string) => skipped.includes(path.split(sep).at(-1)!);
  return globSync(pattern, { exclude }).map(path => path.split(sep).join("/"));
}

const SOURCES = "{shared,modulators,client,react,server}/src/**/*.ts";

async function layering(): Promise<Result> {
  const bad = violations(root, filesOf("**/*.{ts,tsx,mts,mjs}"));
  return { ok: bad.length === 0, output: bad.join("\n") };
}

async function importCircles(): Promise<Result> {
  const { largest, bad } = circles(root, filesOf(SOURCES));
  const figure = `the largest, of types, has ${largest} files`;
  return { ok: bad.length === 0, output: bad.join("\n"), figure };
}

async function names(): Promise<Result> {
  const bad = sharedNames(root, filesOf(SOURCES));
  return { ok: bad.length === 0, output: bad.join("\n") };
}

const failures: string[] = [];

async function check(name: string, run: () => Promise<Result>): Promise<void> {
  const startedAt = performance.now();
  const { ok, output, figure } = await run();
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(
    `${ok ? "ok  " : "FAIL"}  ${name.padEnd(28)} ${seconds.padStart(5)} s${figure === undefined ? "" : `  ${figure}`}`,
  );
  if (!ok) failures.push(`--- ${name}\n${output.trim()}`);
}

await Promise.all([
  check("format and lint (Biome)", () =>
    command("biome", ["ci", "--error-on-warnings", `--colors=${colors ? "force" : "off"}`, "."]),
  ),
  check("layering", layering),
  check("import circles", importCircles),
  check("one name, one type", names),
  check("types (tsc)", () => command("tsc", ["-p", ".", "--pretty", String(!!colors)])),
  check("packages (publint, attw)", () => command(process.execPath, ["scripts/check-packages.ts"])),
  check("unused code (knip)", () => command("knip", ["--no-progress", "--no-config-hints"])),
]);

if (failures.length > 0) {
  console.log(`\n${failures.join("\n\n")}\n\n${failures.length} of 7 checks failed.`);
  process.exitCode = 1;
}
