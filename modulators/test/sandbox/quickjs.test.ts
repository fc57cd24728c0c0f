import { expect, test, vi } from "vitest";
import { quickJsEngine } from "../../src/sandbox/quickjs.ts";
import { DEFAULT_LIMITS, type Program } from "../../src/sandbox/sandbox.ts";

const PLACE = { cpuMs: () => 0, nowMs: () => 0 };
const WATCH = { enter() {}, leave() {} };

test("QuickJS: instances that are made at the same time draw different numbers", async () => {
  const program: Program = {
    source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { mostPerSecond = Math.random(); }`,
    parameters: "",
    objects: [],
    offers: [],
    behind: 0,
    schemas: [],
    context: [],
    timeMs: 0,
  };
  // As in two processes within a millisecond.
  vi.useFakeTimers({ toFake: ["Date"], now: 0 });
  try {
    const drawn: number[] = [];
    for (let i = 0; i < 2; i++) {
      const engine = await quickJsEngine(PLACE, DEFAULT_LIMITS.memoryMiB);
      await engine.prepare();
      const sandbox = engine.create(DEFAULT_LIMITS, WATCH, program);
      sandbox.install(program);
      drawn.push(sandbox.mostPerSecond);
      sandbox.dispose();
    }
    for (const number of drawn) expect(number > 0 && number < 1).toBe(true);
    expect(new Set(drawn).size).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});

test("QuickJS: however many ask at once, no more instances are made ready than are kept", async () => {
  const engine = await quickJsEngine(PLACE, DEFAULT_LIMITS.memoryMiB);
  // None is installed.
  const program = {} as Program;
  const taken = async (): Promise<number> => {
    for (let count = 0; ; count++)
      try {
        engine.create(DEFAULT_LIMITS, WATCH, program);
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
