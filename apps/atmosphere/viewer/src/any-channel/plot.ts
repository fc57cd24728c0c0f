/** Drawing of plain plots on a canvas. Colours come from the page's style. */
import { colourMap, colourTable } from "../drawing/colour-map.ts";
import { type Range, rangeOf, shortNumber } from "./numbers.ts";

const LEFT = 64;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 22;
const SCALE = colourTable(colourMap("viridis"));

interface Frame {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly style: CSSStyleDeclaration;
}

/** Fits the canvas to its place on the screen and clears it. */
function begin(canvas: HTMLCanvasElement): Frame | undefined {
  const { width, height } = canvas.getBoundingClientRect();
  const context = canvas.getContext("2d");
  if (context === null || width < LEFT + RIGHT + 10 || height < TOP + BOTTOM + 10) return undefined;
  const ratio = devicePixelRatio;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const style = getComputedStyle(canvas);
  context.font = `11px ${style.fontFamily}`;
  return { context, width, height, style };
}

/** Values over their places: times, or indices. */
export function drawLine(
  canvas: HTMLCanvasElement,
  places: ArrayLike<number> | undefined,
  values: ArrayLike<number>,
  describePlace: (place: number) => string,
): void {
  const frame = begin(canvas);
  const range = rangeOf(values);
  if (frame === undefined || range === undefined) return;
  const { context, width, height, style } = frame;
  const plotted = padded(range);
  const first = places === undefined ? 0 : (places[0] as number);
  const last = places === undefined ? values.length - 1 : (places[values.length - 1] as number);
  const x = (place: number): number =>
    LEFT + ((place - first) / Math.max(1e-9, last - first)) * (width - LEFT - RIGHT);
  const y = (value: number): number =>
    height - BOTTOM - ((value - plotted.least) / (plotted.most - plotted.least)) * (height - TOP - BOTTOM);
  drawAxes(frame, plotted, y);
  context.fillStyle = style.getPropertyValue("--ink-dim");
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  context.fillText(describePlace(first), LEFT, height - 6);
  context.textAlign = "right";
  context.fillText(describePlace(last), width - RIGHT, height - 6);
  context.strokeStyle = style.getPropertyValue("--accent");
  context.lineWidth = 1.4;
  context.lineJoin = "round";
  context.beginPath();
  // Where there are more values than pixels, each pixel has the least and the most of its own.
  const stride = Math.max(1, Math.ceil(values.length / width));
  let isDown = false;
  for (let i = 0; i < values.length; i += stride) {
    const range = rangeOf(
      Array.from({ length: Math.min(stride, values.length - i) }, (_, k) => values[i + k] as number),
    );
    if (range === undefined) {
      isDown = false;
      continue;
    }
    const at = x(places === undefined ? i : (places[i] as number));
    if (isDown) context.lineTo(at, y(range.least));
    else context.moveTo(at, y(range.least));
    if (range.most > range.least) context.lineTo(at, y(range.most));
    isDown = true;
  }
  context.stroke();
  if (values.length === 1) {
    context.fillStyle = style.getPropertyValue("--accent");
    context.fillRect(LEFT - 2, y(values[0] as number) - 2, 4, 4);
  }
}

function drawAxes({ context, width, style }: Frame, range: Range, y: (value: number) => number): void {
  context.strokeStyle = style.getPropertyValue("--line");
  context.fillStyle = style.getPropertyValue("--ink-dim");
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.lineWidth = 1;
  for (const tick of ticksOf(range)) {
    const at = Math.round(y(tick)) + 0.5;
    context.beginPath();
    context.moveTo(LEFT, at);
    context.lineTo(width - RIGHT, at);
    context.stroke();
    context.fillText(shortNumber(Number(tick.toPrecision(6))), LEFT - 8, at);
  }
}

/** A line that never changes lies in the middle. */
function padded({ least, most }: Range): Range {
  const margin = most > least ? (most - least) * 0.04 : Math.abs(most) * 0.1 || 1;
  return { least: least - margin, most: most + margin };
}

function ticksOf({ least, most }: Range): number[] {
  const rough = (most - least) / 7;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find(factor => factor * power >= rough) ?? 10) * power;
  const ticks: number[] = [];
  for (let tick = Math.ceil(least / step) * step; tick <= most; tick += step) ticks.push(tick);
  return ticks;
}

/** A list of numbers as a row of colours, from its least to its most. */
export function drawStrip(canvas: HTMLCanvasElement, values: ArrayLike<number>): void {
  const context = canvas.getContext("2d");
  const range = rangeOf(values);
  const width = Math.max(1, Math.round(canvas.getBoundingClientRect().width * devicePixelRatio));
  if (context === null || range === undefined) return;
  if (canvas.width !== width || canvas.height !== 1) {
    canvas.width = width;
    canvas.height = 1;
  }
  const image = context.createImageData(width, 1);
  const span = range.most - range.least || 1;
  for (let i = 0; i < width; i++) {
    const value = values[Math.floor((i / width) * values.length)] as number;
    if (!Number.isFinite(value)) continue;
    const entry = 4 * Math.round(((value - range.least) / span) * 255);
    image.data.set(SCALE.subarray(entry, entry + 4), 4 * i);
  }
  context.putImageData(image, 0, 0);
}
