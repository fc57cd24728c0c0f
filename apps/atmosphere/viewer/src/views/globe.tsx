import type { ReactNode } from "react";
import { meridian, traceOnGlobe } from "../drawing/coastlines.ts";
import type { ColourRange } from "../drawing/colour-range.ts";
import { clamp, type GlobeCamera, normaliseLongitude } from "../drawing/projection.ts";
import type { Aim } from "../handed-page.ts";
import type { Look } from "../look.ts";
import { strokeMark } from "./board.ts";
import { EarthBoard } from "./earth-board.ts";
import { EarthView, type EarthViewProps } from "./earth-view.tsx";

const KEY_DEGREES = 15;
const KEY_ZOOM = 1.3;
const LEAST_ZOOM = 0.8;
const MOST_ZOOM = 14;
const WHOLE: Aim = { latitude: 0, longitude: 0, reach: 1 };
const FILL = 0.47;

class GlobeBoard extends EarthBoard<GlobeCamera> {
  camera: GlobeCamera;
  #zoom: number;

  constructor(place: number, look: Look, range: ColourRange, aim: Aim = WHOLE) {
    super("globe", place, look, range);
    const { latitude, longitude, reach } = aim;
    this.camera = { kind: "globe", latitude, longitude, radius: 1, width: 2, height: 2 };
    this.#zoom = clamp(reach, LEAST_ZOOM, MOST_ZOOM);
  }

  override step(east: number, north: number): void {
    this.#turn(KEY_DEGREES * east, KEY_DEGREES * north);
  }

  #turn(east: number, north: number): void {
    this.moveTo({
      ...this.camera,
      longitude: normaliseLongitude(this.camera.longitude + east),
      latitude: clamp(this.camera.latitude + north, -90, 90),
    });
  }

  override drag(dx: number, dy: number): void {
    const degrees = 180 / Math.PI / this.camera.radius;
    this.#turn(-dx * degrees, dy * degrees);
  }

  override zoom(factor: number): void {
    this.#zoom = clamp(this.#zoom * factor, LEAST_ZOOM, MOST_ZOOM);
    this.moveTo(this.fit(this.camera));
  }

  override reset(): void {
    this.#zoom = 1;
    this.moveTo(this.fit({ ...this.camera, latitude: 0, longitude: 0 }));
  }

  protected override aim(): Aim {
    const { latitude, longitude } = this.camera;
    return { latitude, longitude, reach: this.#zoom };
  }

  protected override fit(camera: GlobeCamera): GlobeCamera {
    return { ...camera, radius: Math.min(camera.width, camera.height) * FILL * this.#zoom };
  }

  protected override marks(context: CanvasRenderingContext2D): void {
    const { width, height, radius } = this.camera;
    strokeMark(context, () => traceOnGlobe(context, this.camera, meridian(this.look.longitude)));
    context.strokeStyle = "rgb(150 158 166 / 0.45)";
    context.lineWidth = 1;
    context.beginPath();
    context.arc(width / 2, height / 2, radius, 0, 2 * Math.PI);
    context.stroke();
  }
}

export function GlobeView(props: EarthViewProps): ReactNode {
  const { place, look, range, before } = props;
  return (
    <EarthView
      {...props}
      name="globe"
      title="Globe"
      make={() => new GlobeBoard(place, look, range, before?.aim)}
      keyZoom={KEY_ZOOM}
      keys="Arrow keys turn the globe, plus and minus zoom, 0 puts it back, Enter takes the middle for the section, or for the place that is being picked, Page Up and Page Down change the layer."
    />
  );
}
