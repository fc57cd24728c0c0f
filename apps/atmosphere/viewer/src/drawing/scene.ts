/** Scene to paint from rasters, however it is painted. */
import { type Camera, toEarth } from "./projection.ts";
import type { Raster } from "./raster.ts";

/** A section fills its canvas: latitudes from 90 S to 90 N across, heights upwards. */
export interface SectionCamera {
  readonly kind: "section";
  readonly width: number;
  readonly height: number;
  /** Fractional layers at evenly spaced heights from the bottom up. */
  readonly layers: Float32Array;
}

export interface Scene {
  readonly camera: Camera | SectionCamera;
  /** From the undermost to the topmost. */
  readonly rasters: readonly { readonly raster: Raster; readonly dim: number }[];
  readonly range: { readonly low: number; readonly high: number };
  /** Linear between the cells' centres, or the cells as they are. */
  readonly smooth: boolean;
  /** On the clock of `Raster.changedAt`. */
  readonly nowSeconds: number;
  /** How long a changed cell is seen to have changed; 0 where changes are not shown. */
  readonly fadeSeconds: number;
}

export interface FieldPainter {
  readonly kind: "webgl2" | "canvas";
  /** There is no graphics processor behind it. */
  readonly isSoftware: boolean;
  /** In device pixels. */
  resize(width: number, height: number): void;
  /** 256 RGBA colours. */
  setColours(table: Uint8Array): void;
  /** False where it cannot paint yet. */
  paint(scene: Scene): boolean;
  /** Forgets everything that it holds. */
  close(): void;
}

/** x, y of a raster under a pixel (in CSS pixels), and how bright it is there. */
export function place(
  camera: Camera | SectionCamera,
  px: number,
  py: number,
): { x: number; y: number; shade: number } | undefined {
  if (camera.kind === "section") {
    const { width, height, layers } = camera;
    const entry = Math.min(layers.length - 1, Math.max(0, Math.floor((1 - py / height) * layers.length)));
    return { x: (px / width) * 180 - 90, y: layers[entry] as number, shade: 1 };
  }
  const earth = toEarth(camera, px, py);
  if (earth === undefined) return undefined;
  const { latitude: y, longitude: x } = earth;
  if (camera.kind === "map") return { x, y, shade: 1 };
  const far = ((px - camera.width / 2) ** 2 + (py - camera.height / 2) ** 2) / camera.radius ** 2;
  return { x, y, shade: limbShade(Math.sqrt(Math.max(0, 1 - far))) };
}

/** Just enough to look round: the colours must stay readable. `out` is 1 in the middle and 0 at the rim. */
function limbShade(out: number): number {
  return 0.62 + 0.38 * Math.sqrt(out);
}

/** How bright a cell is where changes are shown: `glow` is 1 when it just changed. */
export const QUIET_BRIGHTNESS = 0.42;
