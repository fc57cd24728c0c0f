import type { Plot } from "./plot.ts";
import { type Summary, summarise } from "./statistics.ts";

/** Goal that a row has to reach. */
export interface Goal {
  readonly sense: "at most" | "at least";
  readonly value: number;
}

export interface Row {
  /** `SUITE.NAME` */
  readonly metric: string;
  readonly unit: string;
  readonly summary: Summary;
  readonly goal?: Goal;
  readonly reached?: boolean;
}

/** A row with a goal that could not be measured on this machine. */
export interface MissingRow {
  readonly metric: string;
  readonly goal: Goal;
  readonly why: string;
}

export const atMost = (value: number): Goal => ({ sense: "at most", value });
export const atLeast = (value: number): Goal => ({ sense: "at least", value });

export function isReached(value: number, { sense, value: goal }: Goal): boolean {
  return sense === "at most" ? value <= goal : value >= goal;
}

function wanted({ sense, value }: Goal): string {
  return `${sense} ${formatNumber(value)}`;
}

const NAME = /^[a-z0-9]+\.[a-z0-9_]+$/;

/** All rows of one run; each is printed as soon as it is known. Rows that are missed are rows like any others. */
export class Report {
  readonly rows: Row[] = [];
  readonly missingRows: MissingRow[] = [];
  /** Remarks that a reader of the numbers should know. */
  readonly notes: string[] = [];
  readonly plots: Plot[] = [];
  readonly #print: (line: string) => void;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  /** @param values one for each round; the median counts */
  metric(metric: string, values: number | readonly number[], unit: string, goal?: Goal): void {
    if (!NAME.test(metric)) throw new RangeError(`"${metric}" is not the name of a metric`);
    if (this.rows.some(row => row.metric === metric)) throw new RangeError(`${metric} stands there twice`);
    const summary = summarise(typeof values === "number" ? [values] : values);
    const judged = goal === undefined ? {} : { goal, reached: isReached(summary.median, goal) };
    const row: Row = { metric, unit, summary, ...judged };
    this.rows.push(row);
    this.#print(formatRow(row));
  }

  /** Says that a row could not be measured: none is left out in silence. */
  missing(metric: string, goal: Goal, why: string): void {
    this.missingRows.push({ metric, goal, why });
    this.#print(`unmeasured ${metric} (${wanted(goal)}): ${why}`);
  }

  /** Draws what rows say. Series and points that could not be measured are left out. */
  plot(plot: Plot): void {
    const series = plot.series
      .map(({ name, points }) => ({ name, points: points.filter(([, rounds]) => rounds.length > 0) }))
      .filter(({ points }) => points.length > 0);
    if (series.length > 0) this.plots.push({ ...plot, series });
  }

  note(text: string): void {
    if (this.notes.includes(text)) return;
    this.notes.push(text);
    this.#print(`  ${text}`);
  }
}

/** `metric SUITE.NAME VALUE UNIT`, then the spread and, for a row with a goal, the verdict. */
export function formatRow({ metric, unit, summary, goal, reached }: Row): string {
  const { median, low, high, rounds } = summary;
  const parts = [`metric ${metric} ${formatNumber(median)} ${unit}`];
  if (rounds > 1) parts.push(`(${formatNumber(low)}..${formatNumber(high)}, ${rounds} rounds)`);
  if (goal !== undefined) parts.push(`${reached ? "reached" : "missed"} (${wanted(goal)})`);
  return parts.join(" ");
}

/** Three digits that matter, without an exponent. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const digits = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  return digits >= 2 ? String(Math.round(value)) : String(Number(value.toFixed(Math.min(12, 2 - digits))));
}

/** Rows as a Markdown table. */
export function formatTable(rows: readonly Row[], missing: readonly MissingRow[] = []): string {
  const lines = ["| metric | median | spread | goal | |", "| --- | ---: | --- | --- | --- |"];
  for (const { metric, unit, summary, goal, reached } of rows) {
    const spread = summary.rounds > 1 ? `${formatNumber(summary.low)} to ${formatNumber(summary.high)}` : "";
    const verdict = reached === undefined ? "" : reached ? "reached" : "**missed**";
    lines.push(
      `| \`${metric}\` | ${formatNumber(summary.median)} ${unit} | ${spread} | ${goal === undefined ? "" : wanted(goal)} | ${verdict} |`,
    );
  }
  for (const { metric, goal, why } of missing)
    lines.push(`| \`${metric}\` | | | ${wanted(goal)} | unmeasured: ${why} |`);
  return lines.join("\n");
}

/** Every row with a goal, in columns, and their sum. */
export function formatGoals(
  results: readonly { readonly rows: readonly Row[]; readonly missing: readonly MissingRow[] }[],
): string {
  const lines = results.flatMap(({ rows, missing }) => [
    ...rows.flatMap(({ metric, unit, summary, goal, reached }) =>
      goal === undefined
        ? []
        : [[reached ? "reached" : "missed", metric, `${formatNumber(summary.median)} ${unit}`, wanted(goal)]],
    ),
    ...missing.map(({ metric, goal }) => ["unmeasured", metric, "", wanted(goal)]),
  ]);
  const widths = [0, 1, 2].map(column => Math.max(0, ...lines.map(line => (line[column] ?? "").length)));
  const count = (verdict: string): number => lines.filter(([first]) => first === verdict).length;
  return [
    ...lines.map(line => line.map((part, i) => part.padEnd(widths[i] ?? 0)).join("  ")),
    `${lines.length} goals: ${count("reached")} reached, ${count("missed")} missed, ${count("unmeasured")} unmeasured`,
  ].join("\n");
}
