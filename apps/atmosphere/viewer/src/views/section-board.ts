/** Draws all layers along a meridian: latitude across, height upwards. */
import type { View } from "@jecho/client";
import { approximateHeightKm, LAYER_PRESSURES_HPA } from "../../../src/model/layers.ts";
import { spreadOf } from "../drawing/colour-range.ts";
import {
  fractionOfPressure,
  heightAxis,
  kilometreTicks,
  layerOfFraction,
  layerTable,
  pressureOfFraction,
  pressureTicks,
} from "../drawing/height-axis.ts";
import { SectionPicture } from "../drawing/picture.ts";
import { formatLatitude, formatLongitude, normaliseLongitude, suitedStride } from "../drawing/projection.ts";
import { type Raster, valueAt } from "../drawing/raster.ts";
import type { Scene } from "../drawing/scene.ts";
import type { FieldEvent } from "../field-view.ts";
import { formatValue, type Look, pressureLabel } from "../look.ts";
import { drawSource, FADE_SECONDS, fadeClock, MARK_COLOUR, strokeMark } from "./board.ts";
import { FieldBoard } from "./field-board.ts";

/** Room for the axes around the field in CSS pixels; the style sheet places the field's canvas the same way. */
const MARGIN = { left: 44, right: 38, top: 8, bottom: 22 } as const;
const AXIS = heightAxis(LAYER_PRESSURES_HPA);
const LAYER_COUNT = LAYER_PRESSURES_HPA.length;
const LAYERS = layerTable(AXIS, 1024);
const LABEL_PX = 17;
/** How far from its meridian a section still shows what a source gives off. */
const SOURCE_DEGREES = 10;

export class SectionBoard extends FieldBoard {
  override readonly camera = { kind: "section" } as const;
  override readonly picture = new SectionPicture(LAYER_COUNT);
  protected override readonly name = "section";
  #width = 600;
  #height = 300;

  protected override looked(before: Look): void {
    const { look } = this;
    if (look.longitude !== before.longitude) this.request();
    if (look.smooth !== before.smooth) this.stage?.invalidateField();
    if (look.layer !== before.layer || look.longitude !== before.longitude) this.stage?.invalidateLines();
  }

  /** One column of the grid, the nearest to the chosen longitude, in all layers. */
  wanted(): View {
    const { lonStep } = this.steps;
    const longitude = normaliseLongitude(Math.round(this.look.longitude / lonStep) * lonStep);
    const stride = this.detail === "auto" ? suitedStride(180 / this.#width, this.steps) : this.detail;
    return {
      firstLayer: 0,
      lastLayer: LAYER_COUNT - 1,
      south: -90,
      north: 90,
      west: longitude,
      east: longitude,
      stride,
    };
  }

  override request(): void {
    this.subscription?.update(this.wanted());
    this.subscription?.describe({ kind: this.name, place: this.place, detail: this.detail });
  }

  receive(event: FieldEvent): void {
    this.noteSeen();
    this.forgetKept();
    this.picture.receive(event, performance.now() / 1000);
    this.stage?.invalidateField();
  }

  /** The layer under a pixel of the surface; undefined beside the field. */
  layerAt(x: number, y: number): number | undefined {
    const at = this.#plotAt(x, y);
    return at && Math.round(layerOfFraction(AXIS, at.up));
  }

  override resized(width: number, height: number): void {
    this.#width = width;
    this.#height = height;
    this.request();
  }

  override scene(width: number, height: number): Scene {
    const { top, under } = this.picture;
    // All layers of a step come together: one look at them is enough for the range.
    if (top !== undefined) this.range.offer(this.part, this.rangeKey(), spreadOf(top.values));
    return {
      camera: { kind: "section", width, height, layers: LAYERS },
      rasters: [
        ...(under !== undefined ? [{ raster: under, dim: 0.5 }] : []),
        ...(top !== undefined ? [{ raster: top, dim: 1 }] : []),
      ],
      range: this.range.rangeOf(this.rangeKey()) ?? { low: 0, high: 1 },
      smooth: this.look.smooth,
      nowSeconds: fadeClock(this.picture.changedSeconds),
      fadeSeconds: FADE_SECONDS,
    };
  }

  protected override subject(): string {
    return `Ozone along ${formatLongitude(this.picture.longitude)}`;
  }

  protected override rangeKey(): string {
    return "all";
  }

  protected override drawn({ columns }: Raster): Record<string, string | number> {
    const half = this.steps.lonStep / 2;
    const west = normaliseLongitude(this.picture.longitude - half);
    const edges = [-90, 90, west, west + 2 * half].map(degrees => Number(degrees.toFixed(3)));
    return { layer: `0-${LAYER_COUNT - 1}`, window: edges.join(","), rows: columns, columns: 1 };
  }

  override lines(context: CanvasRenderingContext2D, width: number, height: number): void {
    const { left, right, top, bottom } = MARGIN;
    const [plotWidth, plotHeight] = [width - left - right, height - top - bottom];
    const style = getComputedStyle(document.body);
    context.font = `${Math.round(Number.parseFloat(style.fontSize) * 0.85)}px ${style.fontFamily}`;
    context.fillStyle = style.getPropertyValue("--ink-dim");
    context.strokeStyle = "rgb(236 241 245 / 0.14)";
    context.lineWidth = 0.75;
    this.#drawLatitudes(context, plotWidth, plotHeight);
    const apart = LABEL_PX / plotHeight;
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const { label, fraction } of pressureTicks(AXIS, apart)) {
      const y = top + (1 - fraction) * plotHeight;
      context.fillText(label, left - 8, y);
      line(context, left, y, left + plotWidth, y);
      context.fillRect(left - 4, y - 0.25, 4, 0.5);
    }
    context.textAlign = "left";
    for (const { label, fraction } of kilometreTicks(AXIS, apart)) {
      const y = top + (1 - fraction) * plotHeight;
      context.fillText(label, left + plotWidth + 8, y);
      context.fillRect(left + plotWidth, y - 0.25, 4, 0.5);
    }
    context.textBaseline = "alphabetic";
    context.fillText("km", left + plotWidth + 8, height - 6);
    context.textAlign = "right";
    context.fillText("hPa", left - 8, height - 6);
    context.strokeStyle = "rgb(150 158 166 / 0.45)";
    context.strokeRect(left, top, plotWidth, plotHeight);
    this.#drawLayer(context, plotWidth, plotHeight);
    for (const { id, latitude, longitude, layer } of this.sources) {
      const pressure = LAYER_PRESSURES_HPA[layer];
      if (pressure === undefined) continue;
      const x = left + ((latitude + 90) / 180) * plotWidth;
      const y = top + (1 - fractionOfPressure(AXIS, pressure)) * plotHeight;
      const away = Math.abs(normaliseLongitude(longitude - this.look.longitude));
      drawSource(context, { x, y }, id, away < SOURCE_DEGREES);
    }
  }

  #drawLatitudes(context: CanvasRenderingContext2D, plotWidth: number, plotHeight: number): void {
    const { left, top } = MARGIN;
    const spacing = plotWidth < 420 ? 60 : 30;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    for (let latitude = -60; latitude <= 60; latitude += spacing) {
      const x = left + ((latitude + 90) / 180) * plotWidth;
      context.fillText(latitude === 0 ? "Equator" : formatLatitude(latitude, 0), x, top + plotHeight + 16);
      line(context, x, top, x, top + plotHeight);
    }
  }

  #drawLayer(context: CanvasRenderingContext2D, plotWidth: number, plotHeight: number): void {
    const pressure = LAYER_PRESSURES_HPA[this.look.layer];
    if (pressure === undefined) return;
    const { left, top } = MARGIN;
    const y = top + (1 - fractionOfPressure(AXIS, pressure)) * plotHeight;
    strokeMark(context, () => line(context, left, y, left + plotWidth, y));
    const label = pressureLabel(this.look.layer);
    const baseline = y < top + 20 ? y + 15 : y - 6;
    context.textAlign = "left";
    context.strokeStyle = "rgb(9 11 13 / 0.75)";
    context.lineWidth = 3;
    context.strokeText(label, left + 6, baseline);
    context.fillStyle = MARK_COLOUR;
    context.fillText(label, left + 6, baseline);
  }

  #plotAt(x: number, y: number): { latitude: number; up: number } | undefined {
    const across = (x - MARGIN.left) / this.#width;
    const up = 1 - (y - MARGIN.top) / this.#height;
    return across < 0 || across > 1 || up < 0 || up > 1 ? undefined : { latitude: across * 180 - 90, up };
  }

  override touch(at: { x: number; y: number }): void {
    this.setPointer(at);
  }

  protected override read(): string | undefined {
    const at = this.pointer && this.#plotAt(this.pointer.x, this.pointer.y);
    return at && this.#describe(at.latitude, at.up);
  }

  #describe(latitude: number, up: number): string {
    const { top } = this.picture;
    const pressure = pressureOfFraction(AXIS, up);
    const value = top && valueAt(top, latitude, Math.round(layerOfFraction(AXIS, up)));
    const height = `${pressure.toPrecision(3)} hPa  ${Math.max(0, approximateHeightKm(pressure)).toFixed(1)} km`;
    return `${formatLatitude(latitude)}  ${height}  ${value === undefined ? "no data" : formatValue(value)}`;
  }
}

function line(context: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
