import { describe, expect, it } from "vitest";
import { type Plot, svgOf } from "../src/plot.ts";
import { Report } from "../src/report.ts";

const plot: Plot = {
  name: "sinks",
  title: "Cost & <benefit>",
  x: { label: "subscribers", scale: "log" },
  y: { label: "time", unit: "us/event" },
  series: [
    {
      name: "jecho",
      points: [
        [100, [1, 2, 3]],
        [1000, [4]],
        [5000, [19]],
      ],
    },
    { name: "ws", points: [[100, [7]]] },
  ],
};

type Point = { x: number; y: number };

/** Points of the series whose marks are circles, in pixels; its mark in the legend comes last. */
function circles(svg: string): Point[] {
  return [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, x, y]) => ({
    x: Number(x),
    y: Number(y),
  }));
}

function ticks(svg: string): string[] {
  return [...svg.matchAll(/<text x="[\d.]+" y="[\d.]+"[^>]*>([\d.]+[kMG]?)<\/text>/g)].map(
    ([, label]) => label ?? "",
  );
}

describe("a plot", () => {
  const svg = svgOf(plot);

  it("names its axes with their units, its title and every series", () => {
    for (const text of [
      "Cost &amp; &lt;benefit>",
      "subscribers - logarithmic",
      "time (us/event)",
      "jecho",
      "ws",
    ])
      expect(svg).toContain(`>${text}</text>`);
  });

  it("has round ticks: powers across, steps of 1, 2 or 5 upwards from 0", () => {
    expect(ticks(svg)).toEqual(["0", "5", "10", "15", "20", "100", "1k", "10k"]);
    const counted = { name: "a", points: [1, 2, 4, 8].map(n => [n, [3]] as const) };
    expect(ticks(svgOf({ ...plot, series: [counted] })).slice(-4)).toEqual(["1", "2", "4", "8"]);
  });

  it("puts medians in proportion, on both scales", () => {
    const [first, second, third] = circles(svg) as [Point, Point, Point];
    expect((second.x - first.x) / (third.x - first.x)).toBeCloseTo(Math.log(10) / Math.log(50), 2);
    // 2, 4 and 19 above 0.
    expect((first.y - second.y) / (first.y - third.y)).toBeCloseTo(2 / 17, 2);
  });

  it("shows the range of the rounds", () => {
    const [, low, high] = /<path d="M[\d.]+ ([\d.]+)V([\d.]+)" stroke="#2f7fc1"/.exec(svg) ?? [];
    const [first, , third] = circles(svg) as [Point, Point, Point];
    const perUnit = (first.y - third.y) / 17;
    expect((Number(low) - Number(high)) / perUnit).toBeCloseTo(1, 1);
  });

  it("is readable on dark pages too", () => {
    expect(svg).toContain("@media (prefers-color-scheme: dark)");
  });

  it("keeps everything inside of its picture", () => {
    for (const { x, y } of circles(svg)) {
      expect(x).toBeGreaterThan(0);
      expect(x).toBeLessThan(720);
      expect(y).toBeGreaterThan(0);
      expect(y).toBeLessThan(400);
    }
  });

  it("of nothing, or of the logarithm of nothing, is refused", () => {
    expect(() => svgOf({ ...plot, series: [] })).toThrow("has no points");
    expect(() => svgOf({ ...plot, series: [{ name: "a", points: [[0, [1]]] }] })).toThrow("greater than 0");
  });
});

it("what could not be measured is not drawn", () => {
  const report = new Report(() => {});
  report.plot({ ...plot, series: [...plot.series, { name: "mosquitto", points: [[100, []]] }] });
  report.plot({ ...plot, name: "nothing", series: [] });
  expect(report.plots.map(({ name, series }) => [name, series.map(({ name }) => name)])).toEqual([
    ["sinks", ["jecho", "ws"]],
  ]);
});
