import type { Demodulator } from "./modulator.ts";
import type { GridData, PackedGrid } from "./standard.ts";

/** As in the modulator. */
const NO_NUMBER = 65_535;
const LAST_LEVEL = 65_534;

/** Makes `GridData` of levels. */
export class PackedGridDemodulator implements Demodulator<PackedGrid, GridData> {
  push(event: PackedGrid, emit: (event: GridData) => void): void {
    const { step, layer, time, latFirst, latStep, rows, lonFirst, lonStep, columns, levels } = event;
    const values = levels.length === 0 ? event.values : unpacked(event.least, event.greatest, levels);
    emit({ step, layer, time, latFirst, latStep, rows, lonFirst, lonStep, columns, values });
  }
}

function unpacked(least: number, greatest: number, levels: Uint16Array): Float32Array {
  const values = new Float32Array(levels.length);
  const unit = (greatest - least) / LAST_LEVEL;
  for (let i = 0; i < values.length; i++) {
    const level = levels[i] as number;
    values[i] = level === NO_NUMBER ? Number.NaN : least + level * unit;
  }
  return values;
}
