import { type ReactNode, useCallback } from "react";
import { meridian, traceOnGlobe } from "../drawing/coastlines.ts";
import type { ColourRange } from "../drawing/colour-range.ts";
import { ColourScale } from "../drawing/colour-scale.tsx";
import { clamp, type GlobeCamera, normaliseLongitude, toEarth } from "../drawing/projection.ts";
import type { Aim } from "../handed-page.ts";
import type { Look } from "../look.ts";
import type { ViewElements } from "./board.ts";
import { strokeMark } from "./board.ts";
import { EarthBoard } from "./earth-board.ts";
import { watchGestures } from "./gestures.ts";
import type { EarthViewProps } from "./map.tsx";
import { useEarthView } from "./use-earth-view.ts";
import { ViewFrame } from "./view-frame.tsx";

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

  turn(east: number, north: number): void {
    this.moveTo({
      ...this.camera,
      longitude: normaliseLongitude(this.camera.longitude + east),
      latitude: clamp(this.camera.latitude + north, -90, 90),
    });
  }

  drag(dx: number, dy: number): void {
    const degrees = 180 / Math.PI / this.camera.radius;
    this.turn(-dx * degrees, dy * degrees);
  }

  zoom(factor: number): void {
    this.#zoom = clamp(this.#zoom * factor, LEAST_ZOOM, MOST_ZOOM);
    this.moveTo(this.fit(this.camera));
  }

  reset(): void {
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

export function GlobeView({
  place,
  before,
  page,
  look,
  range,
  onPlace,
  onLayerStep,
}: EarthViewProps): ReactNode {
  const { board, subscribed, detail, setDetail } = useEarthView<GlobeCamera, GlobeBoard>(
    () => new GlobeBoard(place, look, range, before?.aim),
    page,
    look,
    before,
  );
  const attach = useCallback(
    (elements: ViewElements, surface: HTMLElement, signal: AbortSignal) => {
      const click = (x: number, y: number): void => {
        const place = toEarth(board.camera, x, y);
        if (place) onPlace(place);
      };
      const keys: Record<string, () => void> = {
        ArrowLeft: () => board.turn(-KEY_DEGREES, 0),
        ArrowRight: () => board.turn(KEY_DEGREES, 0),
        ArrowUp: () => board.turn(0, KEY_DEGREES),
        ArrowDown: () => board.turn(0, -KEY_DEGREES),
        "+": () => board.zoom(KEY_ZOOM),
        "=": () => board.zoom(KEY_ZOOM),
        "-": () => board.zoom(1 / KEY_ZOOM),
        "0": () => board.reset(),
        PageUp: () => onLayerStep(1),
        PageDown: () => onLayerStep(-1),
        Enter: () => click(board.camera.width / 2, board.camera.height / 2),
      };
      watchGestures(
        surface,
        {
          drag: (dx, dy) => board.drag(dx, dy),
          zoom: factor => board.zoom(factor),
          hover: at => board.setPointer(at),
          touch: at => board.touch(at),
          click,
          keys,
        },
        signal,
      );
      return board.attach(elements);
    },
    [board, onPlace, onLayerStep],
  );
  return (
    <ViewFrame
      name="globe"
      place={place}
      title="Globe"
      page={page}
      subscribed={subscribed}
      detail={detail}
      onDetail={setDetail}
      attach={attach}
      caption={() => board.caption()}
      onKeys={hasKeys => board.setKeys(hasKeys)}
      isPicking={look.isPicking}
      scale={<ColourScale name="globe" source={board} range={range} colours={look.colours} />}
      keys="Arrow keys turn the globe, plus and minus zoom, 0 puts it back, Enter takes the middle for the section, or for the place that is being picked, Page Up and Page Down change the layer."
    />
  );
}
