import type { ReactNode } from "react";
import type { ColourRange } from "../drawing/colour-range.ts";
import { clampMap, type MapCamera, zoomMap } from "../drawing/projection.ts";
import type { Aim } from "../handed-page.ts";
import type { Look } from "../look.ts";
import { strokeMark } from "./board.ts";
import { EarthBoard } from "./earth-board.ts";
import { EarthView, type EarthViewProps } from "./earth-view.tsx";

const KEY_PX = 60;
const KEY_ZOOM = 1.4;
/** Nearly from pole to pole: nobody drags a map for the strips that are left. */
const WHOLE_DEGREES = 170;
const WHOLE: Aim = { latitude: 0, longitude: 0, reach: 360 };

class MapBoard extends EarthBoard<MapCamera> {
  camera: MapCamera;

  constructor(place: number, look: Look, range: ColourRange, aim: Aim = WHOLE) {
    super("map", place, look, range);
    const { latitude, longitude, reach } = aim;
    this.camera = { kind: "map", latitude, longitude, degreesPerPixel: reach, width: 1, height: 1 };
  }

  override step(east: number, north: number): void {
    this.drag(-KEY_PX * east, KEY_PX * north);
  }

  override drag(dx: number, dy: number): void {
    const { longitude, latitude, degreesPerPixel } = this.camera;
    const moved = {
      ...this.camera,
      longitude: longitude - dx * degreesPerPixel,
      latitude: latitude + dy * degreesPerPixel,
    };
    this.moveTo(clampMap(moved));
  }

  override zoom(factor: number, x = this.camera.width / 2, y = this.camera.height / 2): void {
    this.moveTo(zoomMap(this.camera, factor, x, y));
  }

  override reset(): void {
    this.moveTo(clampMap({ ...this.camera, latitude: 0, longitude: 0, degreesPerPixel: 360 }));
  }

  protected override get scrolls(): boolean {
    return this.camera.height * this.camera.degreesPerPixel > WHOLE_DEGREES;
  }

  protected override aim(): Aim {
    const { latitude, longitude, degreesPerPixel, width } = this.camera;
    return { latitude, longitude, reach: degreesPerPixel * width };
  }

  protected override fit(camera: MapCamera): MapCamera {
    // The same part of the earth in a canvas of another width.
    const degreesPerPixel = (this.camera.degreesPerPixel * this.camera.width) / camera.width;
    return clampMap({ ...camera, degreesPerPixel });
  }

  protected override marks(context: CanvasRenderingContext2D): void {
    const { width, height, longitude, degreesPerPixel } = this.camera;
    for (const turn of [-360, 0, 360]) {
      const x = width / 2 + (this.look.longitude + turn - longitude) / degreesPerPixel;
      if (x < -1 || x > width + 1) continue;
      strokeMark(context, () => {
        context.beginPath();
        context.moveTo(x, 0);
        context.lineTo(x, height);
        context.stroke();
      });
    }
  }
}

export function MapView(props: EarthViewProps): ReactNode {
  const { place, look, range, before } = props;
  return (
    <EarthView
      {...props}
      name="map"
      title="Map"
      make={() => new MapBoard(place, look, range, before?.aim)}
      keyZoom={KEY_ZOOM}
      keys="Arrow keys move the map, plus and minus zoom, 0 shows all, Enter takes the middle for the section, or for the place that is being picked, Page Up and Page Down change the layer."
      tools={board => (
        <div className="segments">
          <button
            type="button"
            aria-label="Zoom out"
            data-testid="zoom-out"
            onClick={() => board.zoom(1 / KEY_ZOOM)}
          >
            −
          </button>
          <button
            type="button"
            aria-label="Zoom in"
            data-testid="zoom-in"
            onClick={() => board.zoom(KEY_ZOOM)}
          >
            +
          </button>
          <button
            type="button"
            title="Show the whole earth"
            data-testid="show-all"
            onClick={() => board.reset()}
          >
            All
          </button>
        </div>
      )}
    />
  );
}
