// Adds up what Vitest's and Playwright's JSON reporters wrote.
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
  /** A line for each failure: file, name of the test, and the first line of the error. */
  failures: string[];
}

export const nothing: Tally = { passed: 0, failed: 0, skipped: 0, failures: [] };

/** The part of Vitest's JSON report (Jest's format) that is read here. */
export interface VitestReport {
  testResults: {
    name: string;
    status: string;
    message?: string;
    assertionResults: { fullName: string; status: string; failureMessages?: string[] | undefined }[];
  }[];
}

/** The part of Playwright's JSON report that is read here. */
export interface PlaywrightReport {
  stats: { expected: number; unexpected: number; flaky: number; skipped: number };
  errors: PlaywrightError[];
  suites: PlaywrightSuite[];
}

interface PlaywrightError {
  message?: string;
}

interface PlaywrightSuite {
  suites?: PlaywrightSuite[];
  specs: {
    file: string;
    title: string;
    tests: { status: string; results: { errors: PlaywrightError[] }[] }[];
  }[];
}

/** A file that failed before it had any test counts as one failed test. */
export function tallyVitest(report: VitestReport, root = ""): Tally {
  const tally = { ...nothing, failures: [] as string[] };
  for (const { name, status, message, assertionResults } of report.testResults) {
    const file = relative(root, name);
    const before = tally.failed;
    for (const { fullName, status, failureMessages } of assertionResults) {
      if (status === "passed") tally.passed++;
      else if (status === "failed") {
        tally.failed++;
        tally.failures.push(failure(file, fullName, failureMessages?.[0]));
      } else tally.skipped++;
    }
    if (status === "failed" && tally.failed === before) {
      tally.failed++;
      tally.failures.push(failure(file, "the file itself", message));
    }
  }
  return tally;
}

export function tallyPlaywright(report: PlaywrightReport): Tally {
  const { expected, unexpected, flaky, skipped } = report.stats;
  const failures = report.suites.flatMap(failuresIn);
  for (const { message } of report.errors) failures.push(failure("e2e", "outside of tests", message));
  return { passed: expected + flaky, failed: unexpected, skipped, failures };
}

function failuresIn({ suites = [], specs }: PlaywrightSuite): string[] {
  const own = specs.flatMap(({ file, title, tests }) =>
    tests
      .filter(({ status }) => status === "unexpected")
      .map(({ results }) => failure(`e2e/test/${file}`, title, results.at(-1)?.errors[0]?.message)),
  );
  return [...own, ...suites.flatMap(failuresIn)];
}

function failure(file: string, name: string, message = ""): string {
  const error = stripVTControlCharacters(message).trim().split("\n", 1)[0];
  return `${file} > ${name}${error ? `: ${error}` : ""}`;
}

/**
 * A runner that ended with an error though no test failed (an unhandled rejection, a crash, no report at all) counts as one
 * failed test, so that the sum and the exit code always agree.
 */
export function withExitCode(tally: Tally, code: number, runner: string): Tally {
  if (code === 0 || tally.failed > 0) return tally;
  return { ...tally, failed: 1, failures: [...tally.failures, `${runner} ended with exit code ${code}`] };
}

export function add(a: Tally, b: Tally): Tally {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    failures: [...a.failures, ...b.failures],
  };
}

/** The last lines of a run: each failure, then the sum. Whoever has only the end of a log can tell what failed. */
export function format({ passed, failed, skipped, failures }: Tally): string {
  const sum = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
  return [...failures.map(line => `FAILED ${line}`), sum].join("\n");
}
