import { atMost } from "../report.ts";
import type { Context } from "../suite.ts";
import { runVitest } from "../vitest.ts";

const PLACES = ["local", "isolated-vm", "quickjs"];

/** Part of `moe`: the suites that run once for each place that modulators can run in, as `npm test` runs them. */
export async function moeConformance({ report, quick }: Context): Promise<void> {
  const projects = PLACES.flatMap(place => ["--project", place]);
  // Hostile modulators take their time: a short run leaves them out.
  const files = quick ? ["conformance", "intercepts", "services.test", "standard"] : [];
  const result = await runVitest([...files, ...projects]);
  report.metric("moe.conformance_cases", result.numTotalTests, "cases");
  if (quick)
    report.note("moe.conformance_failed: without the hostile modulators, for the run is a short one");
  report.metric("moe.conformance_failed", result.numFailedTests, "cases", atMost(0));
  for (const { assertionResults } of result.testResults)
    for (const { status, fullName } of assertionResults)
      if (status === "failed") report.note(`moe.conformance_failed: ${fullName}`);
}
