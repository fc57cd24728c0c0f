import { formatNumber } from "./report.ts";
import { summarise } from "./statistics.ts";

export interface Axis {
  readonly label: string;
  readonly unit?: string;
  /** Linear by default; a linear axis begins at 0. */
  readonly scale?: "linear" | "log";
}

/** Lines over a common axis: the median of each point, and the range that half of its rounds lie in. */
export interface Plot {
  /** Name of its file, without the ending. */
  readonly name: string;
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly {
    readonly name: string;
    readonly points: readonly (readonly [x: number, rounds: readonly number[]])[];
  }[];
}

const WIDTH = 720;
const HEIGHT = 400;
const ROOM = { left: 74, right: 190, top: 44, bottom: 54 } as const;
const INNER_WIDTH = WIDTH - ROOM.left - ROOM.right;
const INNER_HEIGHT = HEIGHT - ROOM.top - ROOM.bottom;
const TICKS = 5;
const LEGEND_STEP = 20;
/** Told apart by eyes that see few colours, and on white as on black. */
const COLOURS = ["#2f7fc1", "#d9730d", "#2f9e6e", "#b4509e", "#8a7a00", "#d64545", "#6b6bd6", "#7a8794"];
const MARKS = ["circle", "square", "diamond", "triangle"] as const;

const STYLE = `
text { font: 12px system-ui, sans-serif; fill: #24292f; }
.title { font-size: 15px; font-weight: 600; }
.grid { stroke: #8c959f; stroke-opacity: 0.28; }
.axis { stroke: #57606a; }
@media (prefers-color-scheme: dark) { text { fill: #d0d7de; } .axis { stroke: #8b949e; } }
`;

interface Scale {
  readonly ticks: readonly number[];
  at(value: number): number;
}

/** @throws RangeError where there is nothing to draw, or a logarithm of what has none is asked for */
export function svgOf({ title, x, y, series }: Plot): string {
  const drawn = series.map(({ name, points }) => ({
    name,
    points: points.map(([at, rounds]) => ({ at, ...summarise(rounds) })),
  }));
  const all = drawn.flatMap(({ points }) => points);
  if (all.length === 0) throw new RangeError(`"${title}" has no points`);
  const across = scaleOf(
    x,
    all.map(({ at }) => at),
    INNER_WIDTH,
  );
  const up = scaleOf(
    y,
    all.flatMap(({ low, high }) => [low, high]),
    INNER_HEIGHT,
  );
  const px = (value: number): string => (ROOM.left + across.at(value)).toFixed(1);
  const py = (value: number): string => (ROOM.top + INNER_HEIGHT - up.at(value)).toFixed(1);
  const [right, bottom] = [ROOM.left + INNER_WIDTH, ROOM.top + INNER_HEIGHT];
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<text class="title" x="${ROOM.left}" y="24">${escaped(title)}</text>`,
    ...up.ticks.flatMap(tick => [
      `<line class="grid" x1="${ROOM.left}" x2="${right}" y1="${py(tick)}" y2="${py(tick)}"/>`,
      `<text x="${ROOM.left - 8}" y="${py(tick)}" dy="0.35em" text-anchor="end">${short(tick)}</text>`,
    ]),
    ...across.ticks.flatMap(tick => [
      `<line class="axis" x1="${px(tick)}" x2="${px(tick)}" y1="${bottom}" y2="${bottom + 5}"/>`,
      `<text x="${px(tick)}" y="${bottom + 20}" text-anchor="middle">${short(tick)}</text>`,
    ]),
    `<path class="axis" fill="none" d="M${ROOM.left} ${ROOM.top}V${bottom}H${right}"/>`,
    `<text x="${ROOM.left + INNER_WIDTH / 2}" y="${HEIGHT - 12}" text-anchor="middle">${escaped(labelOf(x))}</text>`,
    `<text transform="translate(16 ${ROOM.top + INNER_HEIGHT / 2}) rotate(-90)" text-anchor="middle">${escaped(labelOf(y))}</text>`,
  ];
  for (const [i, { name, points }] of drawn.entries()) {
    const colour = COLOURS[i % COLOURS.length] as string;
    const kind = MARKS[i % MARKS.length] as (typeof MARKS)[number];
    const line = points.map(({ at, median }, n) => `${n === 0 ? "M" : "L"}${px(at)} ${py(median)}`).join("");
    parts.push(
      `<path d="${line}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...points.flatMap(({ at, low, high, median }) => [
        `<path d="M${px(at)} ${py(low)}V${py(high)}" stroke="${colour}" stroke-opacity="0.6"/>`,
        markAt(kind, Number(px(at)), Number(py(median)), colour),
      ]),
      markAt(kind, right + 20, ROOM.top + 8 + i * LEGEND_STEP, colour),
      `<text x="${right + 32}" y="${ROOM.top + 8 + i * LEGEND_STEP}" dy="0.35em">${escaped(name)}</text>`,
    );
  }
  return `${[...parts, "</svg>"].join("\n")}\n`;
}

function labelOf({ label, unit, scale }: Axis): string {
  return [label, unit === undefined ? "" : `(${unit})`, scale === "log" ? "- logarithmic" : ""]
    .filter(Boolean)
    .join(" ");
}

function scaleOf({ scale = "linear" }: Axis, values: readonly number[], length: number): Scale {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (scale === "linear") {
    const step = stepFor(most / TICKS || 1);
    const end = Math.ceil(most / step - 1e-9) * step || step;
    const ticks = Array.from({ length: Math.round(end / step) + 1 }, (_, i) => i * step);
    return { ticks, at: value => (length * value) / end };
  }
  if (least <= 0) throw new RangeError("a logarithmic axis is for what is greater than 0");
  // Powers of two where that is how it was counted, and they are few.
  const base = values.every(value => Number.isInteger(Math.log2(value))) && most / least <= 2 ** 8 ? 2 : 10;
  const exponent = (value: number): number => Math.log(value) / Math.log(base);
  const from = Math.floor(exponent(least) + 1e-9);
  const to = Math.max(from + 1, Math.ceil(exponent(most) - 1e-9));
  const ticks = Array.from({ length: to - from + 1 }, (_, i) => base ** (from + i));
  return { ticks, at: value => (length * (exponent(value) - from)) / (to - from) };
}

/** The next of 1, 2, 5, 10, ... */
function stepFor(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const steps = [1, 2, 5, 10].map(step => step * power);
  return steps.find(step => step >= least - 1e-12) ?? 10 * power;
}

function short(value: number): string {
  for (const [unit, of] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const)
    if (Math.abs(value) >= unit) return `${formatNumber(value / unit)}${of}`;
  return formatNumber(value);
}

function markAt(kind: (typeof MARKS)[number], x: number, y: number, colour: string): string {
  const shapes = {
    circle: `<circle cx="${x}" cy="${y}" r="4"`,
    square: `<rect x="${x - 3.5}" y="${y - 3.5}" width="7" height="7"`,
    diamond: `<path d="M${x} ${y - 5}L${x + 5} ${y}L${x} ${y + 5}L${x - 5} ${y}Z"`,
    triangle: `<path d="M${x} ${y - 5}L${x + 5} ${y + 4}H${x - 5}Z"`,
  };
  return `${shapes[kind]} fill="${colour}"/>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
