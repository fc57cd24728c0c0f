import { Worker } from "node:worker_threads";
import { DEFAULT_LIMITS } from "@jecho/modulators/node";
import { expect, test } from "vitest";
import { workerCarrier } from "../../../src/tiers/hosted/worker-carrier.ts";

test("a thread that no more will come to ends by itself", async () => {
  const program = new URL("../../../src/generated/worker.mjs", import.meta.url);
  const exited = Promise.withResolvers<number>();
  const { start } = workerCarrier(() => {
    const thread = new Worker(program, { execArgv: ["--no-warnings"] }).once("exit", exited.resolve);
    return { post: (...all) => thread.postMessage(...all), terminate() {}, hold() {} };
  });
  start(DEFAULT_LIMITS, 1 << 20, { frame() {}, exit() {} }).finish();
  expect(await exited.promise).toBe(0);
});
