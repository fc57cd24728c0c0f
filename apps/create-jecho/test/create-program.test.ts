import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const COMMAND = fileURLToPath(new URL("../src/main.ts", import.meta.url));
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "jecho-create-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function create(...args: string[]): { status: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...args], {
    cwd: folder,
    encoding: "utf8",
  });
  return { status, out: stdout, err: stderr };
}

test("writes a program that is named after its folder, and says what comes next", () => {
  const { status, out } = create("My Weather");
  expect(status).toBe(0);
  expect(out).toContain("npm start");
  const program = join(folder, "My Weather");
  expect(readdirSync(program)).toEqual(
    expect.arrayContaining([
      ".gitignore",
      "model.ts",
      "page.ts",
      "start.ts",
      "tsconfig.json",
      "vite.config.ts",
    ]),
  );
  const { name, dependencies } = JSON.parse(readFileSync(join(program, "package.json"), "utf8"));
  expect(name).toBe("my-weather");
  expect(dependencies["@jecho/client"]).toMatch(/^\d/);
});

test("takes JEcho's packages from a folder of archives, by its way from the program", () => {
  for (const file of [
    "jecho-0.1.0.tgz",
    "jecho-client-0.1.0.tgz",
    "jecho-uws-linux-x64-20.0.8.tgz",
    "create-jecho-0.1.0.tgz",
  ])
    writeFileSync(join(folder, file), "");
  expect(create("a", "--packages", ".").status).toBe(0);
  const { dependencies } = JSON.parse(readFileSync(join(folder, "a/package.json"), "utf8"));
  expect(dependencies).toMatchObject({
    jecho: "file:../jecho-0.1.0.tgz",
    "@jecho/client": "file:../jecho-client-0.1.0.tgz",
    "@jecho/uws-linux-x64": "file:../jecho-uws-linux-x64-20.0.8.tgz",
  });
  expect(Object.keys(dependencies)).not.toContain("create-jecho");
});

test("an older Node is told so, and not that it lacks something", () => {
  const older = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--import", `data:text/javascript,${encodeURIComponent(older)}`, COMMAND, "new"],
    { cwd: folder, encoding: "utf8" },
  );
  expect(status).toBe(1);
  expect(stderr).toContain("create-jecho: it needs Node 22.18 or newer, and this is Node 20.20.2");
  expect(readdirSync(folder)).toEqual([]);
});

test.each<[args: string[], why: RegExp]>([
  [[], /one folder is wanted/],
  [["."], /there is something in \. already/],
  [["new", "--packages", "."], /there are no packages in \.: npm run packages writes them/],
  [["new", "--package", "."], /--package/],
])("%j is refused in words", (args, why) => {
  writeFileSync(join(folder, "something"), "");
  const { status, err } = create(...args);
  expect(status).toBe(2);
  expect(err).toMatch(why);
});
