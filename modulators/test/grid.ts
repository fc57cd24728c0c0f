import type { GridData } from "@jecho/modulators";
import { encodeEvent, type Type, type } from "@jecho/shared";
import { type EventsFrame, encodeRun, parseFrame } from "@jecho/shared/internal";

export const BASE = 1;
export const grid: Type<GridData> = type("GridData", {
  step: "uint32",
  layer: "int32",
  time: "float64",
  latFirst: "float32",
  latStep: "float32",
  rows: "uint16",
  lonFirst: "float32",
  lonStep: "float32",
  columns: "uint16",
  values: "float32[]",
});

/** A small global grid, one layer of a step; each value tells its cell. */
export function layerOf(step: number, layer: number, rows = 9, columns = 16): GridData {
  const values = Float32Array.from({ length: rows * columns }, (_, cell) => cell + layer / 64 + step);
  const geometry = {
    latFirst: 90,
    latStep: -180 / (rows - 1),
    rows,
    lonFirst: 0,
    lonStep: 360 / columns,
    columns,
  };
  return grid.decode(encodeEvent(grid, { step, layer, time: step * 1800, ...geometry, values }));
}

export function encodeEvents(events: readonly GridData[], parameters = 0, flags = 0): Uint8Array {
  const parts = events.map(event => {
    const bytes = encodeEvent(grid, event);
    return { bytes, start: 0, end: bytes.byteLength };
  });
  return encodeRun({ channel: BASE, producer: 7, raised: 0, token: grid.token, parameters, flags }, parts);
}

export function runOf(bytes: Uint8Array): EventsFrame {
  return parseFrame(new DataView(bytes.buffer), bytes, 0, bytes.byteLength) as EventsFrame;
}
