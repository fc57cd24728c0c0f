import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import type { PagesReport } from "../pages.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const BUNDLERS = ["esbuild", "webpack", "vite"];
let report: PagesReport;

beforeAll(() => {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/pages.ts", ...BUNDLERS], {
    cwd: root,
    encoding: "utf8",
  });
  expect(status, stderr).toBe(0);
  report = JSON.parse(readFileSync(join(root, ".cache/pages/report.json"), "utf8")) as PagesReport;
  if (report.skipped !== "") console.warn(`No page is built: ${report.skipped}`);
}, 600_000);

test.for(BUNDLERS)("%s builds a page with the packed client library, as it comes", (bundler, { skip }) => {
  skip(report.skipped !== "", report.skipped);
  expect(report.built[bundler]).toBe("");
});

test("TypeScript 5.2 takes the packages' declarations", ({ skip }) => {
  skip(report.skipped !== "", report.skipped);
  expect(report.declarations).toBe("");
});

test("what is installed stays below its budget, and so does what a page loads to subscribe", ({ skip }) => {
  skip(report.skipped !== "", report.skipped);
  expect(report.clientBytes).toBeLessThan(12e6);
  expect(report.fullBytes).toBeLessThan(30e6);
  process.stdout.write(
    `metric users.first_page_kb ${(report.firstPageBytes / 1e3).toFixed(1)} kB (gzip, page and SharedWorker)\n`,
  );
  expect(report.firstPageBytes).toBeLessThan(60e3);
});
