import { expect, test } from "vitest";
import { quickJsEngine } from "../src/sandbox/quickjs.ts";
import { DEFAULT_LIMITS, type Program } from "../src/sandbox/sandbox.ts";

test("QuickJS: however many ask at once, no more instances are made ready than are kept", async () => {
  const engine = await quickJsEngine({ cpuMs: () => 0, nowMs: () => 0 }, DEFAULT_LIMITS.memoryMiB);
  const watch = { enter() {}, leave() {} };
  // None is installed.
  const program = {} as Program;
  const taken = async (): Promise<number> => {
    for (let count = 0; ; count++)
      try {
        engine.create(DEFAULT_LIMITS, watch, program);
      } catch (error) {
        expect(error).toMatchObject({ code: "MODULATOR_HOST_FAILED" });
        return count;
      }
  };
  await engine.prepare();
  const kept = await taken();
  expect(kept).toBeGreaterThan(0);
  await Promise.all([engine.prepare(), engine.prepare(), engine.prepare()]);
  expect(await taken()).toBe(kept);
});
