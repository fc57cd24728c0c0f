import { useCallback, useEffect, useState } from "react";
import type { Camera } from "../drawing/projection.ts";
import type { HandedView, KeptView } from "../handed-page.ts";
import type { Detail, Look } from "../look.ts";
import type { PageState } from "../page-state.ts";
import { type Subscribed, useSubscription } from "../session.ts";
import type { EarthBoard } from "./earth-board.ts";
import { gridSteps } from "./grid-steps.ts";
import { useKeptPicture } from "./use-kept-picture.ts";

/** A board of the earth with its own subscription, kept up to date with the page. */
export function useEarthView<C extends Camera, B extends EarthBoard<C>>(
  make: () => B,
  page: PageState,
  look: Look,
  before: HandedView | KeptView | undefined,
): { board: B; subscribed: Subscribed; detail: Detail; setDetail: (detail: Detail) => void } {
  const [board] = useState(make);
  const [detail, setDetail] = useState<Detail>(before?.detail ?? "auto");
  const subscribed = useSubscription({
    onLabel: label => page.address.setView(label),
    initial: () => board.wanted(),
    receive: event => board.receive(event),
    before,
  });
  const { subscription } = subscribed;
  const { rows = 0, columns = 0, sources } = page.latest.simulation ?? {};
  useEffect(() => board.follow(subscription), [board, subscription]);
  useEffect(() => board.setLook(look), [board, look]);
  useEffect(() => board.setSources(sources ?? []), [board, sources]);
  useEffect(() => {
    if (rows > 1) board.setGrid(gridSteps(rows, columns), detail);
  }, [board, rows, columns, detail]);
  useKeptPicture(board);
  return { board, subscribed, detail, setDetail: useCallback((value: Detail) => setDetail(value), []) };
}
