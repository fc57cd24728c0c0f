// Adds up what Vitest's and Playwright's JSON reporters wrote.

export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/** The part of Vitest's JSON report (Jest's format) that is read here. */
export interface VitestReport {
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

/** The part of Playwright's JSON report that is read here. */
export interface PlaywrightReport {
  stats: { expected: number; unexpected: number; flaky: number; skipped: number };
  errors: unknown[];
}

/** A file that failed before it had any test counts as one failed test. */
export function tallyVitest(report: VitestReport): Tally {
  const tally = { passed: 0, failed: 0, skipped: 0 };
  for (const file of report.testResults) {
    const before = tally.failed;
    for (const { status } of file.assertionResults) {
      if (status === "passed") tally.passed++;
      else if (status === "failed") tally.failed++;
      else tally.skipped++;
    }
    if (file.status === "failed" && tally.failed === before) tally.failed++;
  }
  return tally;
}

export function tallyPlaywright(report: PlaywrightReport): Tally {
  const { expected, unexpected, flaky, skipped } = report.stats;
  return { passed: expected + flaky, failed: unexpected, skipped };
}

/**
 * A runner that ended with an error though no test failed (an unhandled rejection, a crash, no report at all) counts as one
 * failed test, so that the sum and the exit code always agree.
 */
export function withExitCode(tally: Tally, code: number): Tally {
  return code !== 0 && tally.failed === 0 ? { ...tally, failed: 1 } : tally;
}

export function add(a: Tally, b: Tally): Tally {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

export function format({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
