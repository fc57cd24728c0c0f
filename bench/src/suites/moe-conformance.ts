import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { atMost } from "../report.ts";
import type { Context } from "../suite.ts";

const PLACES = ["local", "isolated-vm", "quickjs"];
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

interface VitestReport {
  readonly numTotalTests: number;
  readonly numFailedTests: number;
  readonly numFailedTestSuites: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** Part of `moe`: the suites that run once for each place that modulators can run in, as `npm test` runs them. */
export async function moeConformance({ report, quick }: Context): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-moe-"));
  try {
    const file = join(folder, "report.json");
    const projects = PLACES.flatMap(place => ["--project", place]);
    const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
    // Hostile modulators take their time: a short run leaves them out.
    const files = quick ? ["conformance", "intercepts", "services.test", "standard"] : [];
    const all = [vitest, "run", ...files, ...projects, "--reporter=json", `--outputFile=${file}`];
    // It ends with an error where a case failed: that is a result.
    await new Promise<void>(resolve => {
      execFile(process.execPath, all, { cwd: ROOT, maxBuffer: 64 << 20 }, () => resolve());
    });
    const result = JSON.parse(await readFile(file, "utf8")) as VitestReport;
    report.metric("moe.conformance_cases", result.numTotalTests, "cases");
    if (quick)
      report.note("moe.conformance_failed: without the hostile modulators, for the run is a short one");
    report.metric("moe.conformance_failed", result.numFailedTests, "cases", atMost(0));
    for (const { assertionResults } of result.testResults)
      for (const { status, fullName } of assertionResults)
        if (status === "failed") report.note(`moe.conformance_failed: ${fullName}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}
