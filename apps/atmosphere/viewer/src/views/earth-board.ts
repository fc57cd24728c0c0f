/** Common part of the map and the globe: one layer over the earth, seen by a camera. */
import type { View } from "@jecho/client";
import { drawEarthLines } from "../drawing/coastlines.ts";
import { type ColourRange, spreadOf } from "../drawing/colour-range.ts";
import { LayerPicture } from "../drawing/picture.ts";
import {
  alignWindow,
  type Camera,
  degreesPerPixel,
  formatLatitude,
  formatLongitude,
  isWithin,
  type Place,
  suitedStride,
  toEarth,
  toScreen,
  visibleWindow,
} from "../drawing/projection.ts";
import { type Raster, valueAt } from "../drawing/raster.ts";
import type { Scene } from "../drawing/scene.ts";
import type { FieldEvent } from "../field-view.ts";
import type { Aim } from "../handed-page.ts";
import { formatValue, type Look, layerLabel } from "../look.ts";
import { drawSource, FADE_SECONDS, fadeClock, strokeMark } from "./board.ts";
import { FieldBoard } from "./field-board.ts";

/** Cells beyond what is visible, so that a small move finds data there. */
const MARGIN_CELLS = 2;
const OLD_DIM = 0.5;
const COLOURS = { coast: "rgb(240 244 247 / 0.72)", graticule: "rgb(236 241 245 / 0.14)", label: "#e8edf1" };

export abstract class EarthBoard<C extends Camera> extends FieldBoard {
  abstract override camera: C;
  protected override readonly name: "map" | "globe";
  override readonly picture = new LayerPicture();
  #hasKeys = false;
  /** Place that a finger touched last: it is described until the finger touches elsewhere. */
  #touched: Place | undefined;

  /** @param place among the views of the page */
  constructor(name: "map" | "globe", place: number, look: Look, range: ColourRange) {
    super(place, look, range);
    this.name = name;
  }

  /** Moves the picture by pixels, under a finger or pointer. */
  abstract drag(dx: number, dy: number): void;

  /** Moves by one press of an arrow key: east is right, north is up. */
  abstract step(east: number, north: number): void;

  /** Makes the picture larger by this factor; where the camera can do that, around this place. */
  abstract zoom(factor: number, x?: number, y?: number): void;

  /** Shows the whole earth again. */
  abstract reset(): void;

  protected override looked(before: Look): void {
    const { look } = this;
    if (look.layer !== before.layer) this.request();
    if (look.layer !== before.layer || look.smooth !== before.smooth) this.stage?.invalidateField();
    const isMarkedAnew =
      look.layer !== before.layer || look.longitude !== before.longitude || look.source !== before.source;
    if (isMarkedAnew) this.stage?.invalidateLines();
  }

  setKeys(hasKeys: boolean): void {
    this.#hasKeys = hasKeys;
    this.readOut();
    this.stage?.invalidateLines();
  }

  /** The view that the picture needs now. */
  wanted(): View {
    const { layer } = this.look;
    const stride =
      this.detail === "auto" ? suitedStride(degreesPerPixel(this.camera), this.steps) : this.detail;
    const window = alignWindow(visibleWindow(this.camera), this.steps, stride, MARGIN_CELLS);
    return { firstLayer: layer, lastLayer: layer, ...window, stride };
  }

  override request(): void {
    this.elements?.host.toggleAttribute("data-scrolls", this.scrolls);
    this.subscription?.update(this.wanted());
    const aim = this.aim();
    this.subscription?.describe({ kind: this.name, place: this.place, detail: this.detail, aim });
  }

  receive(event: FieldEvent): void {
    this.noteSeen();
    // An event of the layer that was left a moment ago; in a replay it may be one that was looked at then.
    if (event.layer !== this.look.layer && !this.#isReplay) return;
    this.forgetKept();
    this.picture.receive(event, performance.now() / 1000);
    this.range.offer(this.part, String(event.layer), spreadOf(event.values));
    this.stage?.invalidateField();
  }

  get #isReplay(): boolean {
    return this.subscription?.snapshot().isReplay === true;
  }

  protected moveTo(camera: C): void {
    this.camera = camera;
    this.request();
    this.readOut();
    this.stage?.invalidate();
  }

  override resized(width: number, height: number): void {
    this.camera = this.fit({ ...this.camera, width, height });
    this.request();
  }

  /** Does a finger that moves up or down scroll the page, for it could move nothing here? */
  protected get scrolls(): boolean {
    return false;
  }

  /** Aim of the camera, for a canvas of any size. */
  protected abstract aim(): Aim;

  /** The camera in a canvas of its width and height. */
  protected abstract fit(camera: C): C;

  protected abstract marks(context: CanvasRenderingContext2D): void;

  override scene(): Scene {
    const { top, under } = this.picture;
    // In a replay another layer is no leftover: it is what was looked at then.
    const isOld = this.picture.layer !== this.look.layer && !this.#isReplay;
    const window = this.picture.window;
    const covers = window !== undefined && isWithin(visibleWindow(this.camera), window);
    const rasters = [
      ...(under !== undefined && !covers ? [{ raster: under, dim: OLD_DIM }] : []),
      ...(top !== undefined ? [{ raster: top, dim: isOld ? OLD_DIM : 1 }] : []),
    ];
    return {
      camera: this.camera,
      rasters,
      // A layer that was left keeps its own colours until the new one is there.
      range: this.range.rangeOf(this.rangeKey()) ?? { low: 0, high: 1 },
      smooth: this.look.smooth,
      nowSeconds: fadeClock(this.picture.changedSeconds),
      fadeSeconds: FADE_SECONDS,
    };
  }

  override lines(context: CanvasRenderingContext2D): void {
    drawEarthLines(context, this.camera, COLOURS, () => this.stage?.invalidateLines());
    this.marks(context);
    for (const source of this.sources) {
      const at = toScreen(this.camera, source);
      if (at) drawSource(context, at, source.id, source.layer === this.look.layer);
    }
    const { source } = this.look;
    const at = source && toScreen(this.camera, source);
    if (at) drawTarget(context, at.x, at.y);
    const touched = this.#touched && toScreen(this.camera, this.#touched);
    if (touched) drawCross(context, touched.x, touched.y);
    if (this.#hasKeys) drawCross(context, this.camera.width / 2, this.camera.height / 2);
  }

  protected override subject(): string {
    return `Ozone, ${layerLabel(this.picture.layer)}`;
  }

  protected override rangeKey(): string {
    return String(this.picture.layer);
  }

  protected override drawn({ rows, columns }: Raster): Record<string, string | number> {
    const { layer, window } = this.picture;
    const { south, north, west, east } = window ?? visibleWindow(this.camera);
    const edges = [south, north, west, east].map(degrees => Number(degrees.toFixed(3)));
    return { layer, window: edges.join(","), rows, columns };
  }

  override touch(at: { x: number; y: number }): void {
    this.#touched = toEarth(this.camera, at.x, at.y);
    this.stage?.invalidateLines();
    this.readOut();
  }

  /** Under the pointer, where a finger touched, or with keys in the middle. */
  protected override read(): string | undefined {
    const middle = { x: this.camera.width / 2, y: this.camera.height / 2 };
    const at = this.pointer ?? (this.#hasKeys ? middle : undefined);
    const here = at === undefined ? this.#touched : toEarth(this.camera, at.x, at.y);
    return here && this.#describe(here);
  }

  #describe(place: Place): string {
    const { top, under } = this.picture;
    const value = [top, under]
      .map(raster => raster && valueAt(raster, place.longitude, place.latitude))
      .find(found => found !== undefined);
    const where = `${formatLatitude(place.latitude)}  ${formatLongitude(place.longitude)}`;
    return `${where}  ${value === undefined ? "no data" : formatValue(value)}`;
  }
}

function drawTarget(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.beginPath();
  context.arc(x, y, 7, 0, 2 * Math.PI);
  for (const [dx, dy] of [
    [1, 0],
    [-1, 0],
    [0, 1],
    [0, -1],
  ] as const) {
    context.moveTo(x + 4 * dx, y + 4 * dy);
    context.lineTo(x + 11 * dx, y + 11 * dy);
  }
  strokeMark(context, () => context.stroke());
}

function drawCross(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.beginPath();
  context.moveTo(x - 6, y);
  context.lineTo(x + 6, y);
  context.moveTo(x, y - 6);
  context.lineTo(x, y + 6);
  strokeMark(context, () => context.stroke(), "#fff");
}
