/** The atmosphere application, for its tests and benchmarks. */
export { buildViewer, VIEWER_FOLDER } from "./build-viewer.ts";
export { Model, type ModelOptions } from "./model/mod.ts";
export { readWinds } from "./model/winds-file.ts";
export { Simulation, type SimulationOptions, type SimulationState } from "./simulation.ts";
export { CHANNELS, GridData, Status, Steering } from "./types.ts";
