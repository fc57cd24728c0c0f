import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { CommandProcess, Worker } from "../src/processes.ts";

/** Stays until it is ended. */
const STAYING = { command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"], env: {} };

/** Is there such a process, other than as an entry that nobody has asked for yet? */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

it("a program that knows nothing of us is started, measured and ended", async () => {
  const program = await CommandProcess.start(STAYING);
  expect(runs(program.pid)).toBe(true);
  await expect.poll(() => program.memoryBytes()).toBeGreaterThan(1 << 20);
  await expect.poll(() => program.treeCpuMs()).toBeGreaterThan(0);
  await program.stop();
  expect(runs(program.pid)).toBe(false);
});

it("a program that is not there is an error, and leaves nothing", async () => {
  await expect(CommandProcess.start({ ...STAYING, command: "/no/such/program" })).rejects.toThrow("ENOENT");
});

it("a program ends with the process that wanted it, however that ended", async () => {
  const child = fork(fileURLToPath(new URL("orphaned.ts", import.meta.url)), [], {
    execArgv: ["--no-warnings"],
  });
  const [pid] = (await once(child, "message")) as [number];
  expect(runs(pid)).toBe(true);
  child.kill("SIGKILL");
  await expect.poll(() => runs(pid) && !isZombie(pid)).toBe(false);
});

function isZombie(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && !existsSync(`/proc/${pid}/exe`);
}

it("what a call throws is the caller's, with the worker's name", async () => {
  const worker = new Worker("publisher");
  try {
    await expect(worker.call("nothing")).rejects.toThrow('publisher: Error: there is no "nothing"');
  } finally {
    await worker.stop();
  }
  await expect(worker.call("sync")).rejects.toThrow();
});
