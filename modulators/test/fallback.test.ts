import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("without-addons.ts", import.meta.url));

/** @param flags of the producer's process */
async function outcome(flags: readonly string[], ...engine: readonly string[]): Promise<unknown> {
  const args = ["--no-warnings", ...flags, PROGRAM, ...engine];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout);
}

test("hosted modulators run with isolated-vm, in a process", async () => {
  expect(await outcome([])).toEqual({ frames: 1, isProcess: true });
});

test("where isolated-vm does not load they run with QuickJS, in a thread", async () => {
  expect(await outcome(["--no-addons"])).toEqual({ frames: 1, isProcess: false });
});

test("who asks for isolated-vm where it does not load is told so", async () => {
  expect(await outcome(["--no-addons"], "isolated-vm")).toMatchObject({
    frames: 0,
    code: "MODULATORS_NOT_SERVED",
  });
});
