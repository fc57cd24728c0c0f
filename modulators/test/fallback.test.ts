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

test.skipIf(process.platform === "win32")(
  "F10: a producer without a file descriptor left lives on, says why no host starts, and has one later",
  async () => {
    const program = fileURLToPath(new URL("no-descriptors.ts", import.meta.url));
    const limited = ["-c", 'ulimit -n 256 && exec "$0" "$@"', process.execPath, "--no-warnings", program];
    const { stdout } = await promisify(execFile)("sh", limited);
    expect(JSON.parse(stdout)).toEqual(["MODULATOR_HOST_FAILED", "installed"]);
  },
);
