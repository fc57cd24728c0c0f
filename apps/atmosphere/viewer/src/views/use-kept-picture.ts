import { useEffect, useEffectEvent } from "react";
import { keepPicture, keptPicture } from "../kept-pictures.ts";
import { isShown, useEvery, watchVisibility } from "../page-visibility.ts";
import type { FieldBoard } from "./field-board.ts";

/** A connection that is there shows something newer before that. */
const PATIENCE_MS = 1000;
/** A kept picture is at most as old as that when the page ends. */
const KEEP_MS = 10_000;

/** Keeps a board's picture for a later visit, and shows what an earlier one has left until there is a newer one. */
export function useKeptPicture(board: FieldBoard): void {
  useEffect(() => {
    const timer = setTimeout(async () => {
      const kept = await keptPicture(board.part);
      if (kept !== undefined) board.showKept(kept);
    }, PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [board]);
  const keep = useEffectEvent((): void => {
    const picture = board.toKeep();
    if (picture !== undefined) void keepPicture(board.part, picture);
  });
  useEvery(KEEP_MS, () => keep());
  // Whoever leaves comes back to what was there then.
  useEffect(
    () =>
      watchVisibility(() => {
        if (!isShown()) keep();
      }),
    [],
  );
}
