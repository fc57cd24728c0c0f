export { monthLabel, SECONDS_PER_MONTH } from "./calendar.ts";
export { Grid } from "./grid.ts";
export { approximateHeightKm, LAYER_PRESSURES_HPA } from "./layers.ts";
export { LARGEST_SOURCE_COUNT, Model, type ModelOptions } from "./model.ts";
export { equilibriumOzone, relaxationTime } from "./ozone.ts";
export type { ActiveSource, Source } from "./source.ts";
export type { MonthlyWinds } from "./winds.ts";
