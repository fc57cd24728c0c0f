export { monthLabel } from "./calendar.ts";
export { LARGEST_SOURCE_COUNT, Model, type ModelOptions, type ModelState } from "./model.ts";
export { equilibriumOzone, relaxationTime } from "./ozone.ts";
