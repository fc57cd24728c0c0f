/** Runs the suites of the places of modulators in a page: the very same files, by Vitest's own runner. */
import { startTests } from "vitest/internal/browser";

/** How a case ended. */
export interface PageResult {
  readonly name: string;
  readonly errors: readonly string[];
}

/** A file, suite or test as Vitest tells of it, as far as it is read here. */
interface Task {
  readonly name: string;
  readonly mode: string;
  readonly tasks?: readonly Task[];
  readonly result?: { readonly state: string; readonly errors?: readonly { readonly message: string }[] };
}

declare global {
  /** @param limitMs for each case */
  var runSuite: (suite: string, limitMs: number) => Promise<PageResult[]>;
}

const SUITES: Readonly<Record<string, () => Promise<unknown>>> = {
  conformance: () => import("../conformance.test.ts"),
  intercepts: () => import("../intercepts.test.ts"),
  services: () => import("../services.test.ts"),
  "typed-events": () => import("../typed-events.test.ts"),
  "input-types": () => import("../input-types.test.ts"),
  authoring: () => import("../authoring.test.ts"),
  "hostile-services": () => import("../hostile-services.test.ts"),
  "hostile-time": () => import("../hostile-time.test.ts"),
  "hostile-memory": () => import("../hostile-memory.test.ts"),
  "hostile-reach": () => import("../hostile-reach.test.ts"),
  "hostile-values": () => import("../hostile-values.test.ts"),
};

globalThis.runSuite = async (suite, limitMs) => {
  const config = {
    root: "/",
    setupFiles: [],
    sequence: { hooks: "stack", setupFiles: "list", shuffle: false },
    maxConcurrency: 1,
    testTimeout: limitMs,
    hookTimeout: limitMs,
    retry: 0,
    tags: [],
    expect: { poll: { timeout: limitMs / 2, interval: 20 } },
  };
  // What Vitest gives to a worker of its own.
  Object.assign(globalThis, {
    __vitest_worker__: { config, ctx: {}, filepath: suite, providedContext: { modulatorPlace: "quickjs" } },
  });
  const runner = { config, importFile: () => SUITES[suite]?.() };
  const files: readonly Task[] = await startTests([suite], runner as never);
  return files.flatMap(file => resultsOf(file, []));
};

function resultsOf({ name, mode, tasks, result }: Task, path: readonly string[]): PageResult[] {
  // Some are for hosts that are processes.
  if (mode === "skip") return [];
  const errors = (result?.errors ?? []).map(({ message }) => message);
  const here = [...path, name];
  // A suite that itself failed, while it was collected or in a hook, has more to say than its tests.
  const inner = (tasks ?? []).flatMap(task => resultsOf(task, here));
  if (tasks !== undefined && errors.length === 0) return inner;
  if (result?.state !== "pass" && errors.length === 0) errors.push(`it is ${result?.state ?? "not run"}`);
  return [...inner, { name: here.slice(1).join(" › "), errors }];
}
