/** Paints rasters on a plain 2D canvas, for browsers without WebGL 2: coarser, and the same picture. */
import { interpolate, type Raster, valueAt } from "./raster.ts";
import { type FieldPainter, place, QUIET_BRIGHTNESS, type Scene } from "./scene.ts";

const MOST_PIXELS = 120_000;

export class FieldCanvas implements FieldPainter {
  readonly kind = "canvas";
  readonly isSoftware = true;
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  #table = new Uint8Array(1024);

  /** Throws where the browser has no 2D canvas either. */
  constructor(canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d", { willReadFrequently: true });
    if (context === null) throw new Error("this browser can draw neither with WebGL 2 nor on a 2D canvas");
    this.#canvas = canvas;
    this.#context = context;
  }

  /** Takes fewer pixels than there are; the style sheet stretches the canvas. */
  resize(width: number, height: number): void {
    const shrink = Math.min(1, Math.sqrt(MOST_PIXELS / Math.max(1, width * height)));
    const [columns, rows] = [
      Math.max(1, Math.round(width * shrink)),
      Math.max(1, Math.round(height * shrink)),
    ];
    if (this.#canvas.width === columns && this.#canvas.height === rows) return;
    this.#canvas.width = columns;
    this.#canvas.height = rows;
  }

  setColours(table: Uint8Array): void {
    this.#table = table.slice();
  }

  paint(scene: Scene): boolean {
    const { width, height } = this.#canvas;
    const image = this.#context.createImageData(width, height);
    const { camera } = scene;
    const topmostFirst = scene.rasters.toReversed();
    for (let row = 0, at = 0; row < height; row++) {
      for (let column = 0; column < width; column++, at += 4) {
        const here = place(
          camera,
          ((column + 0.5) / width) * camera.width,
          ((row + 0.5) / height) * camera.height,
        );
        if (here === undefined) continue;
        for (const { raster, dim } of topmostFirst) {
          const value = (scene.smooth ? interpolate : valueAt)(raster, here.x, here.y);
          if (value === undefined) continue;
          this.#set(image.data, at, value, scene, here.shade * dim, glowAt(raster, here.x, here.y, scene));
          break;
        }
      }
    }
    this.#context.putImageData(image, 0, 0);
    return true;
  }

  close(): void {
    this.#context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
  }

  #set(
    data: Uint8ClampedArray,
    at: number,
    value: number,
    scene: Scene,
    shade: number,
    glow: number | undefined,
  ): void {
    const { low, high } = scene.range;
    const entry = Math.round(Math.min(1, Math.max(0, (value - low) / (high - low))) * 255) * 4;
    const bright = glow === undefined ? 1 : QUIET_BRIGHTNESS + (1 - QUIET_BRIGHTNESS) * glow;
    const white = glow === undefined ? 0 : 0.28 * 255 * glow ** 3;
    for (let channel = 0; channel < 3; channel++) {
      data[at + channel] = ((this.#table[entry + channel] as number) * bright + white) * shade;
    }
    data[at + 3] = 255;
  }
}

function glowAt(raster: Raster, x: number, y: number, scene: Scene): number | undefined {
  if (raster.changedAt === undefined || scene.fadeSeconds === 0) return undefined;
  const changedAt = valueAt({ ...raster, values: raster.changedAt }, x, y) ?? Number.NEGATIVE_INFINITY;
  return Math.min(1, Math.max(0, 1 - (scene.nowSeconds - changedAt) / scene.fadeSeconds));
}
