import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Machine } from "./machine.ts";
import { type Plot, svgOf } from "./plot.ts";
import { formatTable, type MissingRow, type Row } from "./report.ts";

/** Result of one suite, as the README shows it. */
export interface SuiteResult {
  readonly suite: string;
  /** A short run. */
  readonly quick: boolean;
  /** Time that it took. */
  readonly seconds: number;
  readonly rows: readonly Row[];
  readonly missing: readonly MissingRow[];
  readonly notes: readonly string[];
  readonly plots: readonly Plot[];
}

/** Rows that a reader needs: those with a goal, ratios, and what JEcho itself costs. Where there are none, all. */
export function headlines(rows: readonly Row[]): readonly Row[] {
  const chosen = rows.filter(
    ({ metric, unit, goal }) => goal !== undefined || unit === "x" || metric.includes("jecho"),
  );
  return chosen.length === 0 ? rows : chosen;
}

/** Puts a suite's headlines between `<!-- results NAME -->` and `<!-- end NAME -->`. A text without them stays as it is. */
export function withResults(
  readme: string,
  { suite, quick, seconds, rows, missing, plots }: SuiteResult,
  machine: Machine,
): string {
  const begin = `<!-- results ${suite} -->`;
  const end = `<!-- end ${suite} -->`;
  const from = readme.indexOf(begin);
  const to = readme.indexOf(end);
  if (from < 0 || to < from) return readme;
  const { date, processors, memoryGb, system, versions } = machine;
  const parts = [
    begin,
    `${quick ? "A short run (`--quick`)" : "Run"} of ${date.slice(0, 10)}, ${seconds} s, on ${processors}, ${memoryGb} GB, ${system}, Node ${versions["node"]}.`,
    ...plots.map(({ name, title }) => `![${title}](plots/${name}.svg)`),
    formatTable(headlines(rows), missing),
    end,
  ];
  return readme.slice(0, from) + parts.join("\n\n") + readme.slice(to + end.length);
}

/** Writes tables and plots of these suites; those of others stay. @param folder where README.md and plots/ lie */
export async function updateReadme(
  folder: string,
  results: readonly SuiteResult[],
  machine: Machine,
): Promise<void> {
  const file = join(folder, "README.md");
  let text = await readFile(file, "utf8");
  for (const result of results) text = withResults(text, result, machine);
  await writeFile(file, text);
  await mkdir(join(folder, "plots"), { recursive: true });
  for (const plot of results.flatMap(({ plots }) => plots))
    await writeFile(join(folder, "plots", `${plot.name}.svg`), svgOf(plot));
}
