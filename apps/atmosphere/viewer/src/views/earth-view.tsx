import { type ReactNode, useCallback } from "react";
import type { ColourRange } from "../drawing/colour-range.ts";
import { ColourScale } from "../drawing/colour-scale.tsx";
import { type Camera, type Place, toEarth } from "../drawing/projection.ts";
import type { HandedView, KeptView } from "../handed-page.ts";
import type { Look } from "../look.ts";
import type { PageState } from "../page-state.ts";
import type { ViewElements } from "./board.ts";
import type { EarthBoard } from "./earth-board.ts";
import { watchGestures } from "./gestures.ts";
import { useEarthView } from "./use-earth-view.ts";
import { ViewFrame } from "./view-frame.tsx";

export interface EarthViewProps {
  /** Among the views of the page. */
  readonly place: number;
  /** View that was open in its place: on another device, or here before. */
  readonly before: HandedView | KeptView | undefined;
  readonly page: PageState;
  readonly look: Look;
  readonly range: ColourRange;
  /** A place was chosen. */
  readonly onPlace: (place: Place) => void;
  /** Layers up (1) or down (-1). */
  readonly onLayerStep: (by: number) => void;
}

interface EarthKind<B> {
  readonly name: "map" | "globe";
  readonly title: string;
  readonly make: () => B;
  /** Factor of one press of plus or minus. */
  readonly keyZoom: number;
  /** The keys in words, for those who do not see the picture. */
  readonly keys: string;
  readonly tools?: (board: B) => ReactNode;
}

/** A map or a globe: its gestures and keys, and the frame around it. */
export function EarthView<C extends Camera, B extends EarthBoard<C>>({
  place,
  before,
  page,
  look,
  range,
  onPlace,
  onLayerStep,
  name,
  title,
  make,
  keyZoom,
  keys: words,
  tools,
}: EarthViewProps & EarthKind<B>): ReactNode {
  const { board, subscribed, detail, setDetail } = useEarthView<C, B>(make, page, look, before);
  const attach = useCallback(
    (elements: ViewElements, surface: HTMLElement, signal: AbortSignal) => {
      const click = (x: number, y: number): void => {
        const place = toEarth(board.camera, x, y);
        if (place) onPlace(place);
      };
      const keys: Record<string, () => void> = {
        ArrowLeft: () => board.step(-1, 0),
        ArrowRight: () => board.step(1, 0),
        ArrowUp: () => board.step(0, 1),
        ArrowDown: () => board.step(0, -1),
        "+": () => board.zoom(keyZoom),
        "=": () => board.zoom(keyZoom),
        "-": () => board.zoom(1 / keyZoom),
        "0": () => board.reset(),
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
    [board, keyZoom, onPlace, onLayerStep],
  );
  return (
    <ViewFrame
      name={name}
      place={place}
      title={title}
      page={page}
      subscribed={subscribed}
      detail={detail}
      onDetail={setDetail}
      attach={attach}
      caption={() => board.caption()}
      onKeys={hasKeys => board.setKeys(hasKeys)}
      isPicking={look.isPicking}
      keys={words}
      scale={<ColourScale name={name} source={board} range={range} colours={look.colours} />}
      tools={tools?.(board)}
    />
  );
}
