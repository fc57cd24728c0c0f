import type { GridSteps } from "../drawing/projection.ts";

/** The model's rows run from pole to pole, both included; its columns go round. */
export function gridSteps(rows: number, columns: number): GridSteps {
  return { latStep: 180 / (rows - 1), lonStep: 360 / columns };
}
