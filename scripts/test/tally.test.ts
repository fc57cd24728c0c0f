import { expect, test } from "vitest";
import { add, format, tallyPlaywright, tallyVitest, withExitCode } from "../tally.ts";

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map(status => ({ status })),
});

test("Vitest's tests are counted by their status", () => {
  const report = {
    testResults: [file("passed", "passed", "skipped", "todo"), file("failed", "passed", "failed")],
  };
  expect(tallyVitest(report)).toEqual({ passed: 2, failed: 1, skipped: 2 });
});

test("a file that could not be loaded is one failure", () => {
  expect(tallyVitest({ testResults: [file("failed")] })).toEqual({ passed: 0, failed: 1, skipped: 0 });
});

test("a file whose hook failed is one failure beside its tests", () => {
  expect(tallyVitest({ testResults: [file("failed", "passed", "skipped")] })).toEqual({
    passed: 1,
    failed: 1,
    skipped: 1,
  });
});

test("Playwright's flaky tests passed in the end", () => {
  const stats = { expected: 3, unexpected: 1, flaky: 1, skipped: 2 };
  expect(tallyPlaywright({ stats, errors: [] })).toEqual({ passed: 4, failed: 1, skipped: 2 });
});

test("an exit code without a failed test is a failure; one with it adds none", () => {
  expect(withExitCode({ passed: 5, failed: 0, skipped: 0 }, 1).failed).toBe(1);
  expect(withExitCode({ passed: 5, failed: 2, skipped: 0 }, 1).failed).toBe(2);
  expect(withExitCode({ passed: 5, failed: 0, skipped: 0 }, 0).failed).toBe(0);
});

test("the last line names skipped tests only where there are some", () => {
  const sum = add({ passed: 1, failed: 0, skipped: 0 }, { passed: 2, failed: 1, skipped: 0 });
  expect(format(sum)).toBe("3 passed, 1 failed");
  expect(format({ ...sum, skipped: 4 })).toBe("3 passed, 1 failed, 4 skipped");
});
