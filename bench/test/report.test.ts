import { describe, expect, it } from "vitest";
import { headlines, withResults } from "../src/readme.ts";
import { atLeast, atMost, formatGoals, formatNumber, formatRow, Report } from "../src/report.ts";
import { ratios, summarise } from "../src/statistics.ts";

function reported(fill: (report: Report) => void): { lines: string[]; report: Report } {
  const lines: string[] = [];
  const report = new Report(line => lines.push(line));
  fill(report);
  return { lines, report };
}

describe("rows", () => {
  it("are printed as metric, value, unit, with spread and verdict", () => {
    const { lines } = reported(report => {
      report.metric("sinks.jecho", 12_638_462.4, "deliveries/s");
      report.metric("sinks.single_1000_vs_uws_bare", [1.2, 1, 1.1], "x", atMost(1.15));
      report.metric("sinks.async_1000_vs_ws", [9, 9.5, 12], "x", atLeast(10));
    });
    expect(lines).toEqual([
      "metric sinks.jecho 12638462 deliveries/s",
      "metric sinks.single_1000_vs_uws_bare 1.1 x (1.05..1.15, 3 rounds) reached (at most 1.15)",
      "metric sinks.async_1000_vs_ws 9.5 x (9.25..10.8, 3 rounds) missed (at least 10)",
    ]);
  });

  it("stay where they are missed or could not be measured", () => {
    const { report } = reported(its => {
      its.metric("table1.a", 2, "x", atMost(1));
      its.missing("table1.b", atLeast(20), "mosquitto is not there");
    });
    expect(report.rows).toMatchObject([{ metric: "table1.a", reached: false }]);
    expect(report.missingRows).toMatchObject([{ metric: "table1.b", why: "mosquitto is not there" }]);
  });

  it("with a goal are told together at the end", () => {
    const { report } = reported(its => {
      its.metric("sinks.a", 2, "x", atMost(1));
      its.metric("sinks.longer", 2, "x", atLeast(1));
      its.metric("sinks.free", 2, "x");
      its.missing("sinks.b", atLeast(20), "mosquitto is not there");
    });
    expect(formatGoals([{ rows: report.rows, missing: report.missingRows }]).split("\n")).toEqual([
      "missed      sinks.a       2 x  at most 1",
      "reached     sinks.longer  2 x  at least 1",
      "unmeasured  sinks.b            at least 20",
      "3 goals: 1 reached, 1 missed, 1 unmeasured",
    ]);
  });

  it("have a name once, and only a proper one", () => {
    const { report } = reported(its => its.metric("types.a", 1, "us"));
    expect(() => report.metric("types.a", 1, "us")).toThrow("twice");
    expect(() => report.metric("Types", 1, "us")).toThrow("not the name");
    expect(() => report.metric("types.none", [], "us")).toThrow("no measurements");
  });

  it("show three digits that matter", () => {
    expect([0, 0.00813, 1.234, 12.34, 123.4, 123_456].map(formatNumber)).toEqual([
      "0",
      "0.00813",
      "1.23",
      "12.3",
      "123",
      "123456",
    ]);
  });
});

it("ratios are made round by round", () => {
  expect(ratios([2, 9], [1, 3])).toEqual([2, 3]);
  expect(() => ratios([1], [])).toThrow("as many rounds");
  expect(summarise([4, 1, 3, 2])).toEqual({ median: 2.5, low: 1.75, high: 3.25, rounds: 4 });
});

it("a suite's table has goals, ratios and what JEcho costs; or all rows where there are none of these", () => {
  const { report } = reported(its => {
    its.metric("sinks.ws", 9, "us");
    its.metric("sinks.jecho", 1, "us");
    its.metric("sinks.vs_ws", 9, "x");
  });
  const shown = (rows: typeof report.rows) =>
    headlines(rows).map(({ metric }) => metric.slice("sinks.".length));
  expect(shown(report.rows)).toEqual(["jecho", "vs_ws"]);
  expect(shown(report.rows.slice(0, 1))).toEqual(["ws"]);
});

it("a suite's table replaces what stood between its markers, and nothing else", () => {
  const { report } = reported(its => its.metric("types.a", [1, 2, 3], "us", atMost(1)));
  const machine = {
    date: "2026-11-21T00:00:00Z",
    system: "Linux",
    processors: "2 x X",
    memoryGb: 24,
    versions: {},
  };
  const plots = [{ name: "types", title: "All", x: { label: "n" }, y: { label: "us" }, series: [] }];
  const result = {
    suite: "types",
    quick: true,
    seconds: 9,
    rows: report.rows,
    missing: [],
    notes: [],
    plots,
  };
  const text = withResults("a <!-- results types -->old<!-- end types --> b", result, machine);
  expect(text).toMatch(/^a <!-- results types -->.*\*\*missed\*\*.*<!-- end types --> b$/s);
  expect(text).not.toContain("old");
  expect(text).toContain("A short run (`--quick`) of 2026-11-21, 9 s, on 2 x X");
  expect(text).toContain("![All](plots/types.svg)");
  expect(text).toContain("`types.a`");
  expect(withResults("no markers", result, machine)).toBe("no markers");
  expect(formatRow(report.rows[0]!)).toContain("missed");
});
