import { JechoError } from "@jecho/shared";
import { unpackFloats } from "../../standard/packed-floats.js";
import type { Demodulator } from "../authoring/modulator.ts";
import type { GridData, PackedGrid } from "./modulators.ts";

/** Makes `GridData` of packed grids, bit by bit what was in the view. */
export class PackedGridDemodulator implements Demodulator<PackedGrid, GridData> {
  push(event: PackedGrid, emit: (event: GridData) => void): void {
    const { step, layer, time, latFirst, latStep, rows, lonFirst, lonStep, columns, words } = event;
    const values = unpackFloats(words, rows, columns);
    if (values === undefined)
      throw new JechoError(
        "EVENT_INVALID",
        `${words.length} words are no packed grid of ${rows} x ${columns}`,
      );
    emit({ step, layer, time, latFirst, latStep, rows, lonFirst, lonStep, columns, values });
  }
}
