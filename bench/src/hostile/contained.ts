import { atLeast } from "../report.ts";
import type { Context } from "../suite.ts";
import { runVitest } from "../vitest.ts";

/** Hostile modulators run on each engine; what a gateway must withstand, once. */
const PLACES: Readonly<Record<string, { readonly on: string; readonly files: readonly string[] }>> = {
  "isolated-vm": { on: " on isolated-vm", files: ["hostile-"] },
  quickjs: { on: " on quickjs", files: ["hostile-"] },
  all: { on: "", files: ["server/test", "client/test", "modulators/test/host", "modulators/test/fallback"] },
};
/** A short run leaves out those that take their time. */
const QUICK: Readonly<Record<string, readonly string[]>> = {
  "isolated-vm": ["hostile-values"],
  quickjs: ["hostile-values"],
  all: ["server/test/bounds"],
};
/** Titles that name a row of docs/attacks.md: `8 ...`, `hostile 22: ...`, `SLOW-1, row 44: ...`, `F13, ...`. */
const NAMED = "^(hostile )?\\d+|row \\d+|F\\d+";
const ROWS = /^(?:hostile )?(\d+)\b|\brow (\d+)\b|\b(F\d+)\b/g;

interface Row {
  passed: number;
  readonly failed: string[];
}

/** Runs the tests of hostile modulators, on each engine, and those of what a gateway must withstand: a line for each row. */
export async function rowsContained({ report, quick }: Context): Promise<void> {
  const rows = new Map<string, Row>();
  for (const [project, { on, files }] of Object.entries(PLACES)) {
    const some = quick ? (QUICK[project] ?? []) : files;
    const { testResults } = await runVitest([...some, "--project", project, "-t", NAMED]);
    for (const { title, fullName, status } of testResults.flatMap(result => result.assertionResults))
      if (status === "passed" || status === "failed")
        for (const name of rowsOf(title)) {
          const row = rows.get(name + on) ?? { passed: 0, failed: [] };
          rows.set(name + on, row);
          if (status === "passed") row.passed++;
          else row.failed.push(fullName);
        }
  }
  const sorted = [...rows].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  for (const [name, { passed, failed }] of sorted)
    report.note(
      `hostile.contained: ${name}: ${failed.length === 0 ? `contained (${passed} tests)` : `NOT contained: ${failed.join("; ")}`}`,
    );
  const contained = sorted.filter(([, { failed }]) => failed.length === 0).length;
  report.metric("hostile.contained", contained, `of ${rows.size}`, atLeast(Math.max(1, rows.size)));
}

function rowsOf(title: string): string[] {
  return Array.from(title.matchAll(ROWS), ([, number, row, fault]) => fault ?? `row ${number ?? row}`);
}
