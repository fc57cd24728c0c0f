import { expect, test } from "vitest";
import { add, format, nothing, tallyPlaywright, tallyVitest, withExitCode } from "../tally.ts";

const error = ["\u001b[31mexpected 1\u001b[39m\n  at here"];
const file = (status: string, ...tests: string[]) => ({
  name: "/home/client/test/a.test.ts",
  status,
  message: "",
  assertionResults: tests.map(status => ({
    fullName: `is ${status}`,
    status,
    failureMessages: status === "failed" ? error : [],
  })),
});

test("Vitest's tests are counted by their status, and those that failed are named", () => {
  const report = {
    testResults: [file("passed", "passed", "skipped", "todo"), file("failed", "passed", "failed")],
  };
  expect(tallyVitest(report, "/home")).toEqual({
    passed: 2,
    failed: 1,
    skipped: 2,
    failures: ["client/test/a.test.ts > is failed: expected 1"],
  });
});

test("a file that could not be loaded is one failure", () => {
  const broken = { ...file("failed"), message: "no such module" };
  expect(tallyVitest({ testResults: [broken] }, "/home")).toEqual({
    ...nothing,
    failed: 1,
    failures: ["client/test/a.test.ts > the file itself: no such module"],
  });
});

test("a file whose hook failed is one failure beside its tests", () => {
  expect(tallyVitest({ testResults: [file("failed", "passed", "skipped")] }, "/home")).toEqual({
    passed: 1,
    failed: 1,
    skipped: 1,
    failures: ["client/test/a.test.ts > the file itself"],
  });
});

test("Playwright's flaky tests passed in the end, and those that failed are named at every depth", () => {
  const stats = { expected: 3, unexpected: 1, flaky: 1, skipped: 2 };
  const spec = (title: string, status: string) => ({
    file: "b.spec.ts",
    title,
    tests: [{ status, results: [{ errors: error.map(message => ({ message })) }] }],
  });
  const inner = { specs: [spec("fails", "unexpected"), spec("passes", "expected")] };
  const suites = [{ specs: [spec("wavers", "flaky")], suites: [inner] }];
  expect(tallyPlaywright({ stats, errors: [], suites })).toEqual({
    passed: 4,
    failed: 1,
    skipped: 2,
    failures: ["e2e/test/b.spec.ts > fails: expected 1"],
  });
});

test("an exit code without a failed test is a failure; one with it adds none", () => {
  expect(withExitCode({ ...nothing, passed: 5 }, 1, "Vitest")).toEqual({
    ...nothing,
    passed: 5,
    failed: 1,
    failures: ["Vitest ended with exit code 1"],
  });
  expect(withExitCode({ ...nothing, failed: 2 }, 1, "Vitest").failed).toBe(2);
  expect(withExitCode({ ...nothing, passed: 5 }, 0, "Vitest").failed).toBe(0);
});

test("the last line is the sum, with skipped tests only where there are some, after a line for each failure", () => {
  const sum = add({ ...nothing, passed: 1 }, { ...nothing, passed: 2, failed: 1, failures: ["a > b: c"] });
  expect(format(sum)).toBe("FAILED a > b: c\n3 passed, 1 failed");
  expect(format({ ...nothing, skipped: 4 })).toBe("0 passed, 0 failed, 4 skipped");
});
