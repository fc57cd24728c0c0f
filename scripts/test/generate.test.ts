import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { generate, isGenerated } from "../generate.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const LINKED = ["node_modules", "modulators/node_modules"];
const left: string[] = [];

afterEach(() => {
  for (const folder of left.splice(0)) rmSync(folder, { recursive: true });
});

/** A folder with what git has of these packages, and the installed packages of this one. */
function copyOfSources(): string {
  const copy = mkdtempSync(join(tmpdir(), "jecho-generate-"));
  left.push(copy);
  const filter = (path: string) => !["node_modules", "generated"].includes(basename(path));
  for (const path of ["package.json", "package-lock.json", "scripts", "shared", "modulators"])
    cpSync(join(root, path), join(copy, path), { recursive: true, filter });
  for (const path of LINKED)
    if (existsSync(join(root, path))) symlinkSync(join(root, path), join(copy, path), "junction");
  return copy;
}

test("files are generated from what git has, and a changed source or generated file is noticed", () => {
  const copy = copyOfSources();
  expect(isGenerated(copy)).toBe(false);
  expect(generate(copy, process.execPath)).toBe(true);
  expect(isGenerated(copy)).toBe(true);
  for (const file of [
    "shared/schema/frame.fbs",
    "modulators/standard/fifo.js",
    "shared/src/generated/frame-schema.ts",
  ]) {
    const path = join(copy, file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, `${text}\n`);
    expect(isGenerated(copy), file).toBe(false);
    writeFileSync(path, text);
    expect(isGenerated(copy), file).toBe(true);
  }
  rmSync(join(copy, "modulators/src/generated/guard.mjs"));
  expect(isGenerated(copy)).toBe(false);
});

test("a generator that fails is reported, and its files are not taken for generated", () => {
  const copy = copyOfSources();
  appendFileSync(join(copy, "shared/schema/frame.fbs"), "table {");
  expect(generate(copy, process.execPath)).toBe(false);
  expect(isGenerated(copy)).toBe(false);
});

test("of commands that start at the same time one generates the files, and the others wait for it", async () => {
  const copy = copyOfSources();
  const log = join(copy, "log");
  appendFileSync(
    join(copy, "shared/scripts/generate-property-places.ts"),
    `(await import("node:fs")).appendFileSync(${JSON.stringify(log)}, "ran");`,
  );
  const commands = [1, 2, 3].map(() => spawn(process.execPath, [join(copy, "scripts/prepare.mjs")]));
  const codes = await Promise.all(commands.map(command => once(command, "exit")));
  expect(codes.map(([code]) => code)).toEqual([0, 0, 0]);
  expect(isGenerated(copy)).toBe(true);
  expect(readFileSync(log, "utf8")).toBe("ran");
});
