import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fifo } from "@jecho/modulators";
import { expect, onTestFinished, test } from "vitest";
import { confined } from "../../../src/tiers/hosted/confinement.ts";
import { Rig } from "../../rig.ts";

const MAIN = fileURLToPath(new URL("../../../src/generated/main.mjs", import.meta.url));

/** Outcome of each line of code in a process that is confined as hosts are: "done", or the code of its error. */
function tried(lines: readonly string[]): string[] {
  const { file, flags } = confined(MAIN);
  const code = `
    const fs = require("node:fs");
    const results = [];
    for (const line of ${JSON.stringify(lines)})
      try { new Function("fs", "require", line)(fs, require); results.push("done"); }
      catch (error) { results.push(error.code); }
    console.log(JSON.stringify(results));`;
  const { stdout, stderr } = spawnSync(file, [...flags, "-e", code], { encoding: "utf8", env: {} });
  expect(stderr).toBe("");
  return JSON.parse(stdout) as string[];
}

test("a host may read its own code, and no other file, write none, and start no program", () => {
  const folder = mkdtempSync(join(tmpdir(), "jecho-confined-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const written = JSON.stringify(join(folder, "written"));
  const results = tried([
    `fs.readFileSync(${JSON.stringify(MAIN)})`,
    `fs.readFileSync(${JSON.stringify(fileURLToPath(import.meta.url))})`,
    `fs.readFileSync("/etc/passwd")`,
    `fs.readFileSync("/proc/self/environ")`,
    `fs.readdirSync(${JSON.stringify(folder)})`,
    `fs.writeFileSync(${written}, "x")`,
    `require("node:child_process").spawnSync("true")`,
  ]);
  expect(results).toEqual(["done", ...new Array(6).fill("ERR_ACCESS_DENIED")]);
});

test.runIf(existsSync("/proc/self/environ"))(
  "a host has nothing of its producer's environment, and leaves no image of its memory",
  async () => {
    process.env.JECHO_TEST_SECRET = "secret";
    onTestFinished(() => {
      delete process.env.JECHO_TEST_SECRET;
    });
    await using rig = new Rig();
    await rig.install(fifo().modulator);
    const of = (name: string): string => readFileSync(`/proc/${rig.host.stats.pid}/${name}`, "utf8");
    const names = of("environ")
      .split("\0")
      .filter(line => line !== "")
      .map(line => line.slice(0, line.indexOf("=")));
    expect(names.filter(name => name !== "TZ" && !name.startsWith("MALLOC_"))).toEqual([]);
    if (!existsSync("/usr/bin/prlimit")) return;
    expect(of("limits")).toMatch(/^Max core file size +0 +0 /m);
    expect(of("limits")).toMatch(/^Max file size +0 +0 /m);
  },
);
