import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@playwright/test";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Most lines that a new user has to write to see an array of her own. */
const MOST_LINES = 40;

/** All that she writes: the heat of a plate that two wires cross. */
const MODEL = `export const rows = 96;
export const columns = 128;
export const values = new Float32Array(rows * columns);
const next = new Float32Array(values.length);

export function advance(): void {
  for (let turn = 0; turn < 20; turn++) {
    for (let row = 1; row < rows - 1; row++)
      for (let column = 1; column < columns - 1; column++) {
        const at = row * columns + column;
        const around = values[at - 1]! + values[at + 1]! + values[at - columns]! + values[at + columns]!;
        next[at] = row === 30 || column === 90 ? 100 : around / 4;
      }
    values.set(next);
  }
}
`;

let folder: string;
let model: ChildProcess | undefined;

test.beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "jecho-user-"));
});

test.afterAll(() => {
  model?.kill();
  rmSync(folder, { recursive: true, force: true });
});

function run(command: string, args: readonly string[], cwd: string): { ok: boolean; said: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  return { ok: status === 0, said: `${stdout}${stderr}` };
}

test("a new user sees an array of her own on her phone: create, install, write a model, start", async ({
  browser,
}, info) => {
  test.setTimeout(900_000);
  const packages = join(folder, "packages");
  const packed = run(process.execPath, [join(ROOT, "scripts/packages.ts"), packages], ROOT);
  expect(packed.ok, packed.said).toBe(true);
  const [archive] = globSync("create-jecho-*.tgz", { cwd: packages });

  const startedAt = performance.now();
  const created = run("npx", ["--yes", `./packages/${archive}`, "plate", "--packages", "packages"], folder);
  expect(created.ok, created.said).toBe(true);
  expect(created.said).toContain("cd plate\n  npm install\n  npm start");
  const program = join(folder, "plate");
  const installed = run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], program);
  info.skip(
    !installed.ok,
    `npm's registry does not give what the program needs: ${installed.said.slice(-300)}`,
  );
  expect(MODEL.trimEnd().split("\n").length).toBeLessThanOrEqual(MOST_LINES);
  writeFileSync(join(program, "model.ts"), MODEL);
  const checked = run("npm", ["run", "check"], program);
  expect(checked.ok, checked.said).toBe(true);

  let said = "";
  model = spawn(process.execPath, ["start.ts"], { cwd: program, env: { ...process.env, PORT: "0" } });
  for (const stream of [model.stdout, model.stderr]) stream?.on("data", chunk => (said += chunk));
  await expect.poll(() => said, { timeout: 120_000 }).toContain("The page is at ");
  const phone = await browser.newContext({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 });
  const page = await phone.newPage();
  const errors: string[] = [];
  page.on("pageerror", ({ message }) => errors.push(message));
  await page.goto(/The page is at (\S+)/.exec(said)?.[1] as string);
  // A phone has room for 98 cells of her 128 columns, so every second one comes.
  const status = page.getByRole("status");
  await expect(status).toHaveText(/^step \d+: 48 × 64 values from 0\.00 to 100\.00$/, { timeout: 60_000 });
  const seconds = (performance.now() - startedAt) / 1000;
  const step = async () => Number(/\d+/.exec((await status.textContent()) ?? "")?.[0]);
  const before = await step();
  await expect.poll(step).toBeGreaterThan(before);
  const colours = await page.evaluate(() => {
    const canvas = document.querySelector("canvas") as HTMLCanvasElement;
    const { data } = (canvas.getContext("2d") as CanvasRenderingContext2D).getImageData(0, 0, 64, 48);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  expect(colours).toBeGreaterThan(10);
  expect(errors).toEqual([]);
  const overhang = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth - clientWidth;
  });
  expect(overhang).toBeLessThanOrEqual(0);
  await page.screenshot({ path: info.outputPath("phone.png") });
  await phone.close();
  process.stdout.write(
    `metric users.time_to_first_picture_s ${seconds.toFixed(1)} s (${MODEL.trimEnd().split("\n").length} lines of her own)\n`,
  );
});
