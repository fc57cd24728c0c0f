import { type ReactNode, useCallback, useEffect, useState } from "react";
import type { ColourRange } from "../drawing/colour-range.ts";
import { ColourScale } from "../drawing/colour-scale.tsx";
import { clamp, formatLongitude, normaliseLongitude } from "../drawing/projection.ts";
import type { HandedView, KeptView } from "../handed-page.ts";
import type { Detail, Look } from "../look.ts";
import type { PageState } from "../page-state.ts";
import { useSubscription } from "../session.ts";
import type { ViewElements } from "./board.ts";
import { watchGestures } from "./gestures.ts";
import { gridSteps } from "./grid-steps.ts";
import { SectionBoard } from "./section-board.ts";
import { useKeptPicture } from "./use-kept-picture.ts";
import { ViewFrame } from "./view-frame.tsx";

interface SectionViewProps {
  /** Among the views of the page. */
  readonly place: number;
  /** View that was open in its place: on another device, or here before. */
  readonly before: HandedView | KeptView | undefined;
  readonly page: PageState;
  readonly look: Look;
  readonly range: ColourRange;
  readonly onLayer: (layer: number) => void;
  readonly onLayerStep: (by: number) => void;
  readonly onLongitude: (longitude: number) => void;
}

export function SectionView({
  place,
  before,
  page,
  look,
  range,
  onLayer,
  onLayerStep,
  onLongitude,
}: SectionViewProps): ReactNode {
  const [board] = useState(() => new SectionBoard(place, look, range));
  const [detail, setDetail] = useState<Detail>(before?.detail ?? "auto");
  const subscribed = useSubscription({
    onLabel: label => page.address.setView(label),
    initial: () => board.wanted(),
    receive: event => board.receive(event),
    before,
  });
  const { subscription } = subscribed;
  useKeptPicture(board);
  const { rows = 73, columns = 144, sources } = page.latest.simulation ?? {};
  const { lonStep } = gridSteps(rows, columns);
  useEffect(() => board.follow(subscription), [board, subscription]);
  useEffect(() => board.setLook(look), [board, look]);
  useEffect(() => board.setSources(sources ?? []), [board, sources]);
  useEffect(() => board.setGrid(gridSteps(rows, columns), detail), [board, rows, columns, detail]);

  const attach = useCallback(
    (elements: ViewElements, surface: HTMLElement, signal: AbortSignal) => {
      const keys: Record<string, () => void> = {
        ArrowUp: () => onLayerStep(1),
        ArrowDown: () => onLayerStep(-1),
        PageUp: () => onLayerStep(5),
        PageDown: () => onLayerStep(-5),
        ArrowLeft: () => onLongitude(normaliseLongitude(board.look.longitude - lonStep)),
        ArrowRight: () => onLongitude(normaliseLongitude(board.look.longitude + lonStep)),
      };
      watchGestures(
        surface,
        {
          hover: at => board.setPointer(at),
          touch: at => board.touch(at),
          click: (x, y) => {
            const layer = board.layerAt(x, y);
            if (layer !== undefined) onLayer(layer);
          },
          keys,
        },
        signal,
      );
      return board.attach(elements);
    },
    [board, onLayer, onLayerStep, onLongitude, lonStep],
  );
  return (
    <ViewFrame
      name="section"
      place={place}
      title="Section"
      page={page}
      subscribed={subscribed}
      detail={detail}
      onDetail={setDetail}
      attach={attach}
      caption={() => board.caption()}
      onKeys={() => undefined}
      keys="Arrow up and down change the layer, left and right the longitude."
      scale={<ColourScale name="section" source={board} range={range} colours={look.colours} />}
      tools={
        <label className="field grows">
          <span>Longitude</span>
          <input
            type="range"
            min={-180}
            max={180 - lonStep}
            step={lonStep}
            value={clamp(look.longitude, -180, 180 - lonStep)}
            aria-valuetext={formatLongitude(look.longitude)}
            data-testid="section-longitude"
            onChange={event => onLongitude(Number(event.target.value))}
          />
          <output className="number">{formatLongitude(look.longitude)}</output>
        </label>
      }
    />
  );
}
