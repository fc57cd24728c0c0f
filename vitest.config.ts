import { globSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the concentrators of a test's sessions run. */
    readonly place: "here" | "worker";
  }
}

const common = {
  // Processes, not threads: sandboxes and gateways load native code, and one that dies must not take others along.
  pool: "forks",
  // A process runs several files: one of its own for each would be a seventh of all the work.
  isolate: false,
  // A condition is waited for as long as a loaded machine may need; it costs nothing where it holds sooner.
  expect: { poll: { timeout: 120_000, interval: 10 } },
  testTimeout: 300_000,
  hookTimeout: 120_000,
  teardownTimeout: 60_000,
} as const;

/** What differs where the concentrator is in another thread: what crosses `places/` (queues, order, errors, closing, resuming). */
const ACROSS_THREADS = [
  "callbacks",
  "channels",
  "delegate",
  "demand",
  "eager-handlers",
  "endings",
  "handover",
  "history",
  "queue",
  "reset",
  "resume",
  "shared-connection",
  "shared-objects",
  "slow-consumers",
  "synchronous",
  "typed-channels",
].map(name => `client/test/${name}.test.ts`);

/** Suites that run once for each place that modulators can run in. */
const MODULATORS =
  "modulators/test/{intercepts,services,typed-events,input-types,authoring,conformance,provenance,rate,versions}.test.ts";
/** Once for each engine of JavaScript: what the standard modulators compute is no matter of walls. */
const STANDARD = "modulators/test/standard/*.test.ts";
/** Only where there is a wall. */
const WALLED = "modulators/test/hostile-*.test.ts";
/** Suites some of whose modulators are compiled: in the others all are hosted. */
const COMPILED = [
  "modulators/test/{intercepts,typed-events,authoring,conformance,provenance,rate,versions}.test.ts",
  "modulators/test/hostile-{values,declared}.test.ts",
];
/** Suites that wait long for little work. */
const LONG =
  /test\/(chaos|rolling-restart|reset-behind|slow-consumers-told|packages|workers|placement|cluster)\.test\.ts$/;

/** Begins with the long suites, so that none is left over at the end. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isShort = ({ moduleId }: TestSpecification): number => (LONG.test(moduleId) ? 0 : 1);
    return (await super.sort(files)).sort((a, b) => isShort(a) - isShort(b));
  }
}

/** Suites that take the whole machine for themselves: they run at the end, one after the other. */
const GREEDY_WALLED = ["modulators/test/hostile-starved.test.ts"];
const PLACES = {
  local: [MODULATORS, STANDARD],
  compiled: COMPILED,
  "isolated-vm": [MODULATORS, WALLED],
  quickjs: [MODULATORS, STANDARD, WALLED],
};
/** All others. */
const ALL = "{scripts,shared,modulators,client,react,server,apps/*,bench}/test/**/*.test.{ts,tsx}";
/** Tests that stop their process' clock, or measure its time: each file has a process of its own, where nothing of others goes on. */
const IS_APART = /useFakeTimers|threadCpuUs/;
const APART = globSync(ALL).filter(file => IS_APART.test(readFileSync(file, "utf8")));
const modulatorPlaces = (Object.keys(PLACES) as (keyof typeof PLACES)[]).map(modulatorPlace => ({
  extends: true as const,
  test: {
    ...common,
    name: modulatorPlace,
    include: PLACES[modulatorPlace],
    exclude: GREEDY_WALLED,
    provide: { modulatorPlace },
  },
}));

const alone = { ...common, maxWorkers: 1, sequence: { groupOrder: 1 } } as const;
const greedyPlaces = (["isolated-vm", "quickjs"] as const).map(modulatorPlace => ({
  extends: true as const,
  test: { ...alone, name: `${modulatorPlace}, alone`, include: GREEDY_WALLED, provide: { modulatorPlace } },
}));

export default defineConfig({
  oxc: { jsx: { runtime: "automatic" } },
  test: {
    globalSetup: "scripts/prepare.mjs",
    // On two cores, beside Playwright: most tests wait most of their time.
    maxWorkers: 6,
    sequence: { sequencer: LongFirst },
    projects: [
      {
        extends: true,
        test: {
          ...common,
          name: "all",
          include: [ALL],
          exclude: [MODULATORS, STANDARD, WALLED, ...APART],
          provide: { place: "here" },
        },
      },
      { extends: true, test: { ...common, name: "own clock", isolate: true, include: APART } },
      {
        extends: true,
        test: { ...common, name: "worker thread", include: ACROSS_THREADS, provide: { place: "worker" } },
      },
      ...modulatorPlaces,
      ...greedyPlaces,
    ],
  },
});
