import { type ReactNode, useCallback } from "react";
import type { ColourRange } from "../drawing/colour-range.ts";
import { ColourScale } from "../drawing/colour-scale.tsx";
import { clampMap, type MapCamera, type Place, toEarth, zoomMap } from "../drawing/projection.ts";
import type { Aim, HandedView, KeptView } from "../handed-page.ts";
import type { Look } from "../look.ts";
import type { PageState } from "../page-state.ts";
import type { ViewElements } from "./board.ts";
import { strokeMark } from "./board.ts";
import { EarthBoard } from "./earth-board.ts";
import { watchGestures } from "./gestures.ts";
import { useEarthView } from "./use-earth-view.ts";
import { ViewFrame } from "./view-frame.tsx";

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

  drag(dx: number, dy: number): void {
    const { longitude, latitude, degreesPerPixel } = this.camera;
    const moved = {
      ...this.camera,
      longitude: longitude - dx * degreesPerPixel,
      latitude: latitude + dy * degreesPerPixel,
    };
    this.moveTo(clampMap(moved));
  }

  zoom(factor: number, x = this.camera.width / 2, y = this.camera.height / 2): void {
    this.moveTo(zoomMap(this.camera, factor, x, y));
  }

  showAll(): void {
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

export interface EarthViewProps {
  /** Among the views of the page. */
  readonly place: number;
  /** What was open in its place: on another device, or here before. */
  readonly before: HandedView | KeptView | undefined;
  readonly page: PageState;
  readonly look: Look;
  readonly range: ColourRange;
  /** A place was chosen. */
  readonly onPlace: (place: Place) => void;
  /** Layers up (1) or down (-1). */
  readonly onLayerStep: (by: number) => void;
}

export function MapView({
  place,
  before,
  page,
  look,
  range,
  onPlace,
  onLayerStep,
}: EarthViewProps): ReactNode {
  const { board, subscribed, detail, setDetail } = useEarthView<MapCamera, MapBoard>(
    () => new MapBoard(place, look, range, before?.aim),
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
        ArrowLeft: () => board.drag(KEY_PX, 0),
        ArrowRight: () => board.drag(-KEY_PX, 0),
        ArrowUp: () => board.drag(0, KEY_PX),
        ArrowDown: () => board.drag(0, -KEY_PX),
        "+": () => board.zoom(KEY_ZOOM),
        "=": () => board.zoom(KEY_ZOOM),
        "-": () => board.zoom(1 / KEY_ZOOM),
        "0": () => board.showAll(),
        PageUp: () => onLayerStep(1),
        PageDown: () => onLayerStep(-1),
        Enter: () => click(board.camera.width / 2, board.camera.height / 2),
      };
      watchGestures(
        surface,
        {
          drag: (dx, dy) => board.drag(dx, dy),
          zoom: (factor, x, y) => board.zoom(factor, x, y),
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
      name="map"
      place={place}
      title="Map"
      page={page}
      subscribed={subscribed}
      detail={detail}
      onDetail={setDetail}
      attach={attach}
      caption={() => board.caption()}
      onKeys={hasKeys => board.setKeys(hasKeys)}
      isPicking={look.isPicking}
      keys="Arrow keys move the map, plus and minus zoom, 0 shows all, Enter takes the middle for the section, or for the place that is being picked, Page Up and Page Down change the layer."
      scale={<ColourScale name="map" source={board} range={range} colours={look.colours} />}
      tools={
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
            onClick={() => board.showAll()}
          >
            All
          </button>
        </div>
      }
    />
  );
}
